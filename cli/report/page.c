#include "cli/report/page.h"

#include <stdio.h>

#include "cli/complain.h"
#include "cli/input/filter_option.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/overwrite.h"
#include "cli/input/window.h"
#include "cli/report/picture.h"
#include "cli/report/report.h"

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    const char *path, *moment;
    uint32_t first, end; /* devices */
    mv_filter filter;
    mv_html html;
    uint64_t events, drawn;
} page;

/* ---- where to ---------------------------------------------------------------------------- */

bool mv_page_is_named(const char *path)
{
    size_t length = strlen(path), tail = strlen(".html");

    return length > tail && strcmp(path + length - tail, ".html") == 0;
}

/* FILE.html; NULL, with a message, when there is no such name. */
static const char *path_beside(mv_cli *cli)
{
    const char *file = mv_input_name(cli);
    size_t size = strlen(file) + sizeof ".html";
    char *named;

    if (strcmp(file, "-") == 0) {
        mv_complain_usage(cli->command->name,
                          "standard input has no name: say where with -o X.html");
        return NULL;
    }
    named = mv_arena_push(&cli->arena, size, 1);
    if (named)
        snprintf(named, size, "%s.html", file);
    else
        mv_complain_of(file, "%s", mv_code_text(MV_NOMEM));
    return named;
}

/* ---- devices ----------------------------------------------------------------------------- */

/* False, with a message, when an option names no moment or window of the device. A window without
 * events, of a device that has some, shows nothing: then `is_shown` is false. */
static bool find_opening(page *p, const mv_lives *lives, mv_html_opening *out, bool *is_shown)
{
    mv_window window;
    mv_moment at;

    *out = (mv_html_opening){0};
    *is_shown = true;
    if (p->moment) {
        out->has_moment = mv_at_find(p->cli, p->trace, lives, p->moment, &at);
        out->moment = out->has_moment ? at.event : 0;
        return out->has_moment;
    }
    if (!mv_window_find(p->cli, p->trace, lives->device, &window))
        return false;
    out->from = window.first;
    out->to = window.end;
    *is_shown = window.end > window.first || lives->events.count == 0;
    return true;
}

static bool add_lives(page *p, const mv_lives *lives, mv_arena *work, mv_err *err)
{
    mv_html_opening opening;
    mv_leaks leaks;
    bool is_shown;

    if (!find_opening(p, lives, &opening, &is_shown))
        return false;
    if (!is_shown)
        return true;
    if (mv_leaks_find(work, p->trace, lives, &leaks, err) != MV_OK)
        return true;
    p->events += opening.to ? opening.to - opening.from : lives->events.count;
    p->drawn += lives->allocs.count;
    mv_html_add_device(&p->html, lives, &leaks, &opening, err);
    return true;
}

/* False, with a message, when it fails. What is found of a device goes before the next one. */
static bool add_device(page *p, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_arena work;
    mv_lives lives;
    bool is_named = true;

    mv_arena_init(&work, &p->cli->budget);
    if (mv_lives_find(&work, p->trace, device, &lives, &err) == MV_OK)
        is_named = add_lives(p, &lives, &work, &err);
    mv_arena_release(&work);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(p->cli), &err);
    return is_named && err.code == MV_OK;
}

static bool add_devices(page *p)
{
    for (uint32_t i = p->first; i < p->end; i++)
        if (!mv_device_is_idle(p->trace, i) &&
            !(p->moment && mv_at_is_elsewhere(p->cli, p->trace, i)) && !add_device(p, i))
            return false;
    if (p->html.devices == 0)
        mv_complain_of(mv_input_name(p->cli), "nothing to draw: no events and no memory there");
    return p->html.devices > 0;
}

/* ---- out --------------------------------------------------------------------------------- */

/* The whole file, or none and a message. */
static bool write_page(page *p)
{
    mv_sink sink;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (mv_sink_open(&sink, p->path, &err) == MV_OK) {
        if (mv_html_write(&p->html, &sink, &err) == MV_OK)
            mv_sink_commit(&sink, &err);
        else
            mv_sink_abort(&sink);
    }
    if (err.code != MV_OK)
        mv_complain(NULL, &err);
    return err.code == MV_OK;
}

static int report(page *p)
{
    mv_span path = {(const uint8_t *)p->path, strlen(p->path)};
    mv_report r;

    if (!mv_option_given(&p->cli->options, MV_HAS(JSON))) {
        mv_out_clean(&p->cli->out, path);
        mv_out_char(&p->cli->out, '\n');
        return MV_EXIT_DONE;
    }
    mv_report_open(&r, p->cli);
    mv_report_member(&r, "written", mv_json_span(&r, path));
    mv_report_member(&r, "events", mv_json_u64(p->events));
    mv_report_member(&r, "drawn", mv_json_u64(p->drawn));
    return mv_report_close(&r);
}

static int run(page *p, mv_trace *trace)
{
    mv_cli *cli = p->cli;
    const mv_options *o = &cli->options;

    if (!mv_filter_option_read(cli, &p->filter))
        return MV_EXIT_USAGE;
    if (p->html.view == MV_PAGE_SEGMENTS && (p->filter.has_leaks || p->filter.has_categories)) {
        mv_complain_usage(cli->command->name, "--filter: leak and cat: name blocks, and this view "
                                              "shows segments: see --view state");
        return MV_EXIT_USAGE;
    }
    p->path = o->output ? o->output : path_beside(cli);
    if (!p->path || mv_overwrite_by(cli, p->path))
        return MV_EXIT_USAGE;
    p->html.all_frames = o->all_frames;
    p->html.filter = o->filter ? &p->filter : NULL;
    p->html.filter_text = o->filter;
    p->html.top = o->top;
    if (mv_option_given(o, MV_HAS(THEME)))
        p->html.theme = o->is_dark ? MV_PAGE_DARK : MV_PAGE_LIGHT;
    if (!mv_input_read(cli, trace) || !mv_input_devices(cli, trace, &p->first, &p->end) ||
        !add_devices(p) || !write_page(p))
        return MV_EXIT_FAILED;
    return report(p);
}

int mv_page_run(mv_cli *cli, mv_page_view view, const char *moment)
{
    mv_trace trace;
    page p = {.cli = cli, .trace = &trace, .moment = moment};
    int status;

    if (!moment && cli->options.at) {
        mv_complain_usage(cli->command->name, "--at names a moment, and this view shows a window "
                                              "of time: see --from, --to and --view state");
        return MV_EXIT_USAGE;
    }
    mv_html_init(&p.html, &cli->arena, &trace, mv_picture_name(cli));
    p.html.view = view;
    status = run(&p, &trace);
    mv_filter_release(&p.filter);
    return status;
}
