/* memviz top: shows who holds memory now, in recordings that may still be growing. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/complain.h"
#include "cli/live/live_files.h"
#include "cli/live/metrics.h"
#include "cli/live/screen.h"
#include "cli/report/rows.h"
#include "cli/report/table.h"
#include "cli/report/terminal.h"
#include "record/watched.h"

/* Number of rows in text without --limit, and number of other lines, in total and per device on a
 * screen. */
enum { TEXT_ROWS = 20, OTHER_LINES = 8, LEAST_ROWS = 3, METRIC_ROWS = 10 };

/* REFRESH_MS is the interval between screens. The pause is at least SHARE times as long as the last
 * screen took, so that screens use at most a fifth of a CPU. */
enum { REFRESH_MS = 1000, SHARE = 4 };

/* State that is kept from one report to the next. */
typedef struct {
    mv_cli *cli;
    mv_arena arena;
    mv_nvml nvml;
    const bool *is_running; /* [options.files] which files are being recorded; NULL: none */
    mv_followed *followed;  /* [options.files] state of each followed file; NULL: only one report is
                             * made */
    mv_top_order order;
    uint64_t state; /* hash of the files' states when they were last read */
} watch;

/* An mv_nvml_is_ours. Accepts every process, because it is not known until the files are read which
 * ones matter. */
static bool is_any(void *user, uint32_t pid)
{
    (void)user;
    (void)pid;
    return true;
}

/* Returns which files are being written now. NULL: none, or out of memory. */
static const bool *find_running(watch *w)
{
    const mv_options *o = &w->cli->options;
    bool *running = mv_push_array(&w->arena, bool, (uint64_t)o->files), is_one = false;

    for (int i = 0; running && i < o->files; i++) {
        uint32_t pid = mv_watched_process_of(o->file[i]);
        running[i] = pid && mv_watched_is_recorded(pid);
        is_one = is_one || running[i];
    }
    return is_one ? running : NULL;
}

static mv_top_report new_report(const watch *w)
{
    return (mv_top_report){
        .nvml = &w->nvml, .is_running = w->is_running, .followed = w->followed, .order = w->order};
}

static int put_once(watch *w)
{
    mv_top_report report = new_report(w);

    report.limit = mv_rows_wanted(w->cli, TEXT_ROWS, 1, OTHER_LINES);
    if (w->cli->confine)
        w->cli->confine(w->cli);
    if (!mv_top_report_read(w->cli, &report))
        return MV_EXIT_FAILED;
    if (mv_table_is_wanted(w->cli))
        return mv_table_put(w->cli, &report);
    mv_top_report_put(&report);
    return MV_EXIT_DONE;
}

/* ---- a screen ---------------------------------------------------------------------------- */

static void forget(mv_cli *cli)
{
    mv_arena_release(&cli->arena);
    mv_arena_release(&cli->scratch);
    mv_arena_init(&cli->arena, &cli->budget);
    mv_arena_init(&cli->scratch, &cli->budget);
}

static void draw(watch *w, mv_top_report *report)
{
    static const char *const orders[] = {"bytes", "growth", "age"};
    mv_out *out = &w->cli->out;
    mv_terminal terminal = mv_terminal_find();
    uint32_t rows = terminal.rows / (report->count ? report->count : 1);

    out->columns = terminal.columns;
    out->rows = terminal.rows;
    report->limit = rows > OTHER_LINES + LEAST_ROWS ? rows - OTHER_LINES : LEAST_ROWS;
    if (mv_option_given(&w->cli->options, MV_HAS(LIMIT)))
        report->limit = w->cli->options.limit ? w->cli->options.limit : UINT64_MAX;
    mv_out_words(out, "\033[H\033[2J");
    mv_top_report_put(report);
    mv_out_style(out, MV_STYLE_DIM);
    mv_out_format(out, "\nq quit   s sort (by %s)   v view", orders[w->order]);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_flush(out);
}

/* Waits for a key and reacts to it. Returns false if the user quits. */
static bool wait_for_key(watch *w, int64_t took_ms)
{
    static char program[] = "/proc/self/exe", view[] = "view";
    int64_t wait_ms = took_ms * SHARE > REFRESH_MS ? took_ms * SHARE : REFRESH_MS;
    int key = mv_screen_wait(wait_ms < INT32_MAX ? (int)wait_ms : INT32_MAX);

    if (key == 's')
        w->order = (w->order + 1) % MV_TOP_ORDERS;
    if (key == 'v')
        mv_screen_run((char *const[]){program, view, w->cli->options.file[0], NULL});
    return key != 'q' && key != MV_SCREEN_END;
}

/* Returns a hash of the files' names, sizes and times, which changes whenever a file does. */
static uint64_t find_state(const watch *w)
{
    const mv_options *o = &w->cli->options;
    uint64_t state = 0;
    struct stat st;

    for (int i = 0; i < o->files; i++)
        if (stat(o->file[i], &st) == 0)
            state = mv_mix(mv_mix(state, (uint64_t)st.st_ino), (uint64_t)st.st_size) ^
                    mv_mix((uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec);
        else
            state = mv_mix(state, 1);
    return state;
}

/* Does not read finished files again if they have not changed. */
static bool read_again(watch *w, mv_top_report *report)
{
    uint64_t state = find_state(w);

    if (report->files && !w->is_running && state == w->state) {
        mv_top_report_sort(report, w->order);
        return true;
    }
    w->state = state;
    *report = new_report(w);
    forget(w->cli);
    mv_nvml_sample(&w->nvml);
    return mv_top_report_read(w->cli, report);
}

static int put_again_and_again(watch *w)
{
    bool goes_on = true, is_read = true;
    mv_top_report report = {0};

    w->cli->options.given |= MV_HAS(QUIET);
    if (!mv_screen_open())
        return put_once(w);
    while (goes_on) {
        int64_t start_ms = mv_now_ms();
        is_read = read_again(w, &report);
        if (is_read)
            draw(w, &report);
        goes_on = is_read && wait_for_key(w, mv_now_ms() - start_ms);
    }
    mv_screen_close();
    if (is_read)
        return MV_EXIT_DONE;
    return mv_complain_of(w->cli->options.file[0],
                          "cannot be read any longer: its run has ended, or it was removed");
}

/* ---- metrics ----------------------------------------------------------------------------- */

/* An mv_metrics_fn. Writes the metrics of the current report. */
static bool put_metrics(void *user, FILE *out)
{
    watch *w = user;
    mv_top_report report = new_report(w);

    forget(w->cli);
    mv_nvml_sample(&w->nvml);
    report.limit = w->cli->options.limit ? w->cli->options.limit : METRIC_ROWS;
    if (!mv_top_report_read(w->cli, &report))
        return false;
    mv_metrics_put(out, &report);
    return true;
}

static int serve_metrics(watch *w)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    w->cli->options.given |= MV_HAS(QUIET);
    if (mv_metrics_serve(w->cli->options.metrics, put_metrics, w, &err) != MV_OK)
        return mv_complain(NULL, &err);
    return MV_EXIT_DONE;
}

static int put(watch *w)
{
    const mv_options *o = &w->cli->options;

    bool is_once = !o->metrics && (mv_option_given(o, MV_HAS(ONCE)) || o->output ||
                                   mv_table_is_wanted(w->cli) || !mv_screen_is_there());
    int status;

    if (is_once)
        return put_once(w);
    if (w->is_running)
        w->followed = mv_push_array(&w->arena, mv_followed, (uint64_t)o->files);
    status = o->metrics ? serve_metrics(w) : put_again_and_again(w);
    for (int i = 0; w->followed && i < o->files; i++)
        mv_followed_close(&w->followed[i]);
    return status;
}

int mv_cmd_top(mv_cli *cli)
{
    watch w = {.cli = cli};
    int status = MV_EXIT_FAILED;

    mv_arena_init(&w.arena, &cli->budget);
    if (mv_live_files_find(cli, &w.arena, false)) {
        /* This must happen first, because a confined process can neither look at other processes
         * nor load NVML. */
        w.is_running = find_running(&w);
        if (w.is_running) {
            mv_nvml_open(&w.arena, is_any, NULL, &w.nvml);
            mv_nvml_sample(&w.nvml);
        }
        status = put(&w);
        mv_nvml_close(&w.nvml);
    }
    mv_arena_release(&w.arena);
    return status;
}
