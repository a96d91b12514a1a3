/* memviz view: opens the viewer's window. With --headless, writes its frames as a picture, or
 * measures how long they take. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/texts.h"
#include "cli/complain.h"
#include "cli/live/live_files.h"
#include "cli/pictures/pictures.h"
#include "cli/report/table.h"
#include "parse/sample.h"
#include "parse/source/text_file.h"
#include "view/viewer.h"

enum { BENCH_FRAMES = 600 };

typedef struct {
    const mv_viewer_timing *timing;
    const char *shot; /* NULL: none was written */
} played;

/* Several files are shown side by side, as ranks. */
static mv_main_view first_view(mv_cli *cli)
{
    const mv_options *o = &cli->options;

    if (o->files > 1 && !mv_option_given(o, MV_HAS(VIEW)))
        return MV_MAIN_RANKS;
    return mv_pictures[mv_picture_wanted(cli)].main;
}

static mv_viewer_opts viewer_opts(mv_cli *cli)
{
    static char name[] = MV_SAMPLE_NAME, *sample[] = {name};
    const mv_options *o = &cli->options;
    bool is_sample = mv_option_given(o, MV_HAS(SAMPLE));

    return (mv_viewer_opts){
        .budget = &cli->budget,
        .file_count = is_sample ? 1 : (uint32_t)o->files,
        .files = is_sample ? sample : o->file,
        .start = {.from = o->from,
                  .to = o->to,
                  .at = o->at,
                  .filter = o->filter,
                  .level = o->level,
                  .device = o->device == MV_ALL_DEVICES ? MV_NO_ROW : (uint32_t)o->device,
                  .main = (uint8_t)first_view(cli)},
        .is_dark = o->is_dark,
        .scale = (float)o->scale,
        .width = o->width,
        .height = o->height,
        .tile_bytes = o->mem,
        .is_followed = mv_option_given(o, MV_HAS(FOLLOW)),
        .renderer = o->renderer};
}

/* Reads the user's own keys from $XDG_CONFIG_HOME/memviz/keys, or else from ~/.config/memviz/keys.
 * Returns NULL if the file does not exist. */
static const char *read_keys(mv_cli *cli)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    mv_err err = {.offset = MV_NO_OFFSET};
    char path[4096];
    mv_span text;

    if (config && *config)
        snprintf(path, sizeof path, "%s/memviz/keys", config);
    else
        snprintf(path, sizeof path, "%s/.config/memviz/keys", home ? home : "");
    return mv_text_file_read(&cli->arena, path, &text, &err) == MV_OK ? (const char *)text.data
                                                                      : NULL;
}

/* An error of the viewer itself is a complete sentence, so no file name is put in front of it. */
static int complain(const char *file, const mv_err *err)
{
    if (file || err->code != MV_IO)
        return mv_complain(file, err);
    return mv_complain_of(NULL, "%s", err->detail);
}

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                            \
    MEMBER("first_frame_ms", mv_value_real(p->timing->first_frame_ms)) \
    MEMBER("index_ms", mv_value_real(p->timing->index_ms))             \
    MEMBER("p50_ms", mv_value_real(p->timing->p50_ms))                 \
    MEMBER("p90_ms", mv_value_real(p->timing->p90_ms))                 \
    MEMBER("p99_ms", mv_value_real(p->timing->p99_ms))                 \
    MEMBER("max_ms", mv_value_real(p->timing->max_ms))                 \
    MEMBER("frames", mv_value_u64(p->timing->frames))                  \
    MEMBER("events", mv_value_u64(p->timing->events))                  \
    MEMBER("rss_bytes", mv_value_u64(p->timing->rss_bytes))            \
    MEMBER("peak_rss_bytes", mv_value_u64(p->timing->peak_rss_bytes))  \
    MEMBER("window_ms", mv_value_real(p->timing->window_ms))           \
    MEMBER("read_ms", mv_value_real(p->timing->read_ms))               \
    MEMBER("cpu_p50_ms", mv_value_real(p->timing->cpu_p50_ms))         \
    MEMBER("cpu_p99_ms", mv_value_real(p->timing->cpu_p99_ms))         \
    MEMBER("scene_p50_ms", mv_value_real(p->timing->scene_p50_ms))     \
    MEMBER("scene_p99_ms", mv_value_real(p->timing->scene_p99_ms))     \
    MEMBER("written", mv_value_text(p->shot))

MV_LIST_REPORT(list_report, played, p, REPORT_FIELDS)

const mv_table mv_report_view = {MV_TABLE(REPORT_FIELDS, list_report)};

static void print_timing(mv_out *out, const mv_viewer_timing *t)
{
    mv_out_format(out, "timeline after %.0f ms (file read %.0f, index %.0f)\n", t->first_frame_ms,
                  t->read_ms, t->index_ms);
    mv_out_format(out, "%u frames: half within %.2f ms, 90 %% %.2f, 99 %% %.2f, all %.2f\n",
                  t->frames, t->p50_ms, t->p90_ms, t->p99_ms, t->max_ms);
    mv_out_format(out, "CPU time of the thread: half within %.2f ms, 99 %% %.2f\n", t->cpu_p50_ms,
                  t->cpu_p99_ms);
    mv_out_format(out, "%llu events, %llu bytes resident, %.1f an event\n",
                  (unsigned long long)t->events, (unsigned long long)t->rss_bytes,
                  t->events ? (double)t->rss_bytes / (double)t->events : 0);
}

static bool is_session(const char *file)
{
    return strcmp(file, "-") != 0 && mv_text_file_begins(file, MV_SESSION_BEGINS);
}

/* Returns the path of the session to open: the argument of --session, or the only FILE if it is a
 * session. NULL: none. */
static const char *session_of(const mv_options *o)
{
    if (o->session)
        return o->session;
    return o->files == 1 && is_session(o->file[0]) ? o->file[0] : NULL;
}

/* Reads the session at `path`, or that in --state, into `session` as the viewer's initial state.
 * Returns the exit status; a message is printed if the session is invalid. */
static int read_session(mv_cli *cli, const char *path, mv_viewer_opts *opts, mv_session *session)
{
    const mv_options *o = &cli->options;
    mv_err err = {.offset = MV_NO_OFFSET};
    uint32_t special;
    mv_span text;

    if (o->state) {
        if (mv_session_read_line(&cli->arena, mv_text_span(o->state), session, &err) != MV_OK)
            return mv_complain_usage("view", "--state: byte %llu: %s",
                                     (unsigned long long)err.offset, err.detail);
        opts->start.session = session;
    }
    if (!path)
        return MV_EXIT_DONE;
    if (mv_text_file_read(&cli->arena, path, &text, &err) != MV_OK ||
        mv_session_read(&cli->arena, text, session, &err) != MV_OK)
        return mv_complain(path, &err);
    special = mv_session_special_file(session);
    if (special < session->file_count)
        return mv_complain_of(path, "not opened: %s is not a file on disk",
                              session->files[special]);
    opts->start.session = session;
    opts->files = session->files;
    opts->file_count = session->file_count;
    return MV_EXIT_DONE;
}

/* Reads the text of --script. Returns false, with a message, if it cannot be read. */
static bool read_script(mv_cli *cli, const char **text)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_span span;

    *text = NULL;
    if (!cli->options.script)
        return true;
    if (mv_text_file_read(&cli->arena, cli->options.script, &span, &err) != MV_OK) {
        mv_complain(cli->options.script, &err);
        return false;
    }
    *text = (const char *)span.data;
    return true;
}

static int report(mv_cli *cli, const mv_viewer_timing *timing)
{
    const mv_options *o = &cli->options;

    if (mv_option_given(o, MV_HAS(JSON)))
        return mv_table_put(cli, &(played){timing, o->shot});
    if (mv_option_given(o, MV_HAS(BENCH)))
        print_timing(&cli->out, timing);
    if (o->shot) {
        mv_out_clean(&cli->out, mv_text_span(o->shot));
        mv_out_char(&cli->out, '\n');
    }
    return MV_EXIT_DONE;
}

static int play(mv_cli *cli, const mv_viewer_opts *opts)
{
    const mv_options *o = &cli->options;
    uint32_t frames = o->frame_count ? o->frame_count : BENCH_FRAMES;
    mv_viewer_play_opts play = {.bench_frames = mv_option_given(o, MV_HAS(BENCH)) ? frames : 0,
                                .shot = o->shot};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_viewer_timing timing;
    char *dump = NULL;
    size_t length = 0;
    int status;

    if (!read_script(cli, &play.script))
        return MV_EXIT_FAILED;
    play.dump = play.script ? open_memstream(&dump, &length) : NULL;
    if (play.script && !play.dump)
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    if (mv_viewer_play(opts, &play, &timing, &err) == MV_OK)
        status = MV_EXIT_DONE;
    else if (timing.script_line)
        status = mv_complain_of(o->script, "line %u: %s", timing.script_line, err.detail);
    else
        status = complain(timing.failed_file, &err);
    if (play.dump && fclose(play.dump) == 0 && dump)
        mv_out_text(&cli->out, dump);
    else if (play.dump && status == MV_EXIT_DONE)
        status = mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    free(dump);
    return status == MV_EXIT_DONE ? report(cli, &timing) : status;
}

bool mv_view_is_wanted(const mv_cli *cli)
{
    mv_option_set known = MV_HAS(DEVICE) | MV_HAS(FROM) | MV_HAS(TO) | MV_HAS(AT) | MV_HAS(FILTER) |
                          MV_HAS(VIEW) | MV_HAS(THEME) | MV_COMMON_OPTIONS;

    return !(cli->options.given & ~known) && cli->options.view != MV_PICTURE_POOLS &&
           isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && mv_viewer_can_show();
}

/* Opens the files and processes that --follow names. */
static int find_followed(mv_cli *cli)
{
    const mv_options *o = &cli->options;

    if (o->files == 0 || o->session)
        return mv_complain_usage("view", "--follow needs the live file or the process ID of a "
                                         "recording");
    if (mv_option_given(o, MV_HAS(HEADLESS)))
        return mv_complain_usage("view", "--follow needs a window: without --follow, --headless "
                                         "reads a live file once");
    return mv_live_files_find(cli, &cli->arena, true) ? MV_EXIT_DONE : MV_EXIT_FAILED;
}

/* Reports the first file that cannot be read. This is done on the terminal before the window opens,
 * because otherwise a missing display would be reported instead. */
static int find_files(const mv_viewer_opts *opts)
{
    for (uint32_t i = 0; i < opts->file_count; i++) {
        const char *file = opts->files[i];
        if (strcmp(file, "-") != 0 && strcmp(file, MV_SAMPLE_NAME) != 0 && access(file, R_OK) != 0)
            return mv_complain_of(file, "%s", strerror(errno));
    }
    return MV_EXIT_DONE;
}

int mv_cmd_view(mv_cli *cli)
{
    const mv_options *o = &cli->options;
    int status = mv_option_given(o, MV_HAS(FOLLOW)) ? find_followed(cli) : MV_EXIT_DONE;
    mv_viewer_opts opts = viewer_opts(cli);
    const char *path = session_of(o);
    mv_session session;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (status != MV_EXIT_DONE)
        return status;
    if (mv_option_given(o, MV_HAS(SAMPLE)) && (o->files || o->session))
        return mv_complain_usage("view", "--sample opens the built-in recording: leave FILE out");
    if (path && ((o->session && o->files) ||
                 mv_option_given(o, MV_HAS(FROM) | MV_HAS(TO) | MV_HAS(AT) | MV_HAS(FILTER) |
                                        MV_HAS(DEVICE) | MV_HAS(VIEW) | MV_HAS(THEME) |
                                        MV_HAS(STATE) | MV_HAS(SCALE))))
        return mv_complain_usage("view", "a session sets the files and the view: it cannot be "
                                         "combined with them");
    for (int i = 0; o->files > 1 && i < o->files; i++)
        if (strcmp(o->file[i], "-") == 0 || is_session(o->file[i]))
            return mv_complain_usage("view", "%s must be the only file",
                                     strcmp(o->file[i], "-") == 0 ? "standard input" : "a session");
    status = read_session(cli, path, &opts, &session);
    if (status != MV_EXIT_DONE)
        return status;
    if (mv_option_given(o, MV_HAS(HEADLESS))) {
        if (opts.file_count == 0 && !o->script)
            return mv_complain_usage("view", "expected FILE with --headless");
        if (!mv_option_given(o, MV_HAS(SCRIPT) | MV_HAS(SHOT) | MV_HAS(BENCH)))
            return mv_complain_usage("view", "--headless needs --shot X.png, --script or --bench");
        if (o->shot && !mv_text_has_ending(o->shot, ".png"))
            return mv_complain_usage("view", "--shot %s: the name must end in .png", o->shot);
        return play(cli, &opts);
    }
    if (mv_option_given(o, MV_HAS(BENCH) | MV_HAS(SHOT) | MV_HAS(SCRIPT) | MV_HAS(JSON)))
        return mv_complain_usage("view", "--bench, --script, --shot and --json need --headless");
    if (!path && find_files(&opts) != MV_EXIT_DONE)
        return MV_EXIT_FAILED;
    opts.keys = read_keys(cli);
    if (mv_viewer_show(&opts, &err) != MV_OK)
        return complain(NULL, &err);
    return MV_EXIT_DONE;
}
