/* memviz trace_plot: the memory timeline as a picture. */
#include "analyze/leaks/leaks.h"
#include "cli/complain.h"
#include "cli/input/filter_option.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/page.h"
#include "cli/report/picture.h"
#include "viz/pictures/envelopes.h"
#include "viz/pictures/timeline.h"

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    uint32_t first, end; /* devices */
    mv_filter filter;
    mv_picture picture;
    uint64_t events, drawn, matches;
} plot;

/* The rows of --filter; leaves `only` alone where it was not given. */
static mv_code choose_rows(plot *p, mv_arena *work, const mv_lives *lives, const mv_leaks *leaks,
                           mv_timeline_opts *opts, mv_err *err)
{
    mv_filter_bits *bits = mv_push_struct(work, mv_filter_bits);

    if (!p->cli->options.filter)
        return MV_OK;
    if (!bits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "filter");
    opts->only = bits;
    return mv_filter_allocs(work, p->trace, lives, leaks, &p->filter, bits, err);
}

static mv_code draw_pools(plot *p, const mv_lives *lives, const mv_timeline_opts *opts,
                          mv_timeline *out, mv_err *err)
{
    mv_envelopes_picture pools;
    mv_code code = mv_envelopes_find(&p->cli->arena, p->trace, lives, opts, &pools, err);

    *out = pools.timeline;
    return code;
}

static mv_code draw_window(plot *p, uint32_t device, mv_window window, mv_arena *work, mv_err *err)
{
    const mv_options *o = &p->cli->options;
    mv_timeline_opts opts = {.width = o->width,
                             .height = o->height,
                             .from = window.first,
                             .to = window.end,
                             .is_dark = o->is_dark,
                             .top = o->top,
                             .filter = o->filter,
                             .title = p->picture.name};
    mv_timeline timeline;
    mv_lives lives;
    mv_leaks leaks;
    mv_code code = mv_lives_find(work, p->trace, device, &lives, err);

    if (code == MV_OK)
        code = mv_leaks_find(work, p->trace, &lives, &leaks, err);
    if (code != MV_OK)
        return code;
    opts.leaks = &leaks;
    code = choose_rows(p, work, &lives, &leaks, &opts, err);
    if (code == MV_OK && o->view == MV_PICTURE_POOLS)
        code = draw_pools(p, &lives, &opts, &timeline, err);
    else if (code == MV_OK)
        code = mv_timeline_find(&p->cli->arena, p->trace, &lives, &opts, &timeline, err);
    if (code != MV_OK)
        return code;
    p->events += timeline.events;
    p->drawn += timeline.drawn;
    p->matches += timeline.matches;
    return mv_picture_append(&p->picture, &timeline.scene, err);
}

/* What is found of a device goes before the next one is looked at. */
static mv_code draw_device(plot *p, uint32_t device, mv_window window, mv_err *err)
{
    mv_arena work;
    mv_code code;

    mv_arena_init(&work, &p->cli->budget);
    code = draw_window(p, device, window, &work, err);
    mv_arena_release(&work);
    return code;
}

/* False, with a message, when a panel fails or there is nothing to draw. */
static bool draw_devices(plot *p)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_window window;

    for (uint32_t i = p->first; i < p->end; i++) {
        if (mv_device_is_idle(p->trace, i))
            continue;
        if (!mv_window_find(p->cli, p->trace, i, &window))
            return false;
        if (window.end == window.first && mv_trace_events(p->trace, i).count > 0)
            continue;
        if (draw_device(p, i, window, &err) != MV_OK) {
            mv_complain(mv_input_name(p->cli), &err);
            return false;
        }
    }
    if (p->picture.panels == 0)
        mv_complain_of(mv_input_name(p->cli), "nothing to draw: no events and no memory there");
    return p->picture.panels > 0;
}

static int report(plot *p)
{
    mv_report r;

    if (!mv_option_given(&p->cli->options, MV_HAS(JSON))) {
        mv_picture_say(&p->picture);
        return MV_EXIT_DONE;
    }
    mv_report_open(&r, p->cli);
    mv_report_member(&r, "written", mv_picture_json(&p->picture, &r));
    mv_report_member(&r, "events", mv_json_u64(p->events));
    mv_report_member(&r, "drawn", mv_json_u64(p->drawn));
    if (p->cli->options.filter)
        mv_report_member(&r, "matches", mv_json_u64(p->matches));
    return mv_report_close(&r);
}

static int run(plot *p, mv_trace *trace)
{
    if (!mv_filter_option_read(p->cli, &p->filter) || !mv_picture_open(&p->picture, p->cli))
        return MV_EXIT_USAGE;
    if (!mv_input_read(p->cli, trace) || !mv_input_devices(p->cli, trace, &p->first, &p->end) ||
        !draw_devices(p) || !mv_picture_write(&p->picture))
        return MV_EXIT_FAILED;
    return report(p);
}

int mv_cmd_trace_plot(mv_cli *cli)
{
    mv_trace trace;
    plot p = {.cli = cli, .trace = &trace};
    int status;

    if (mv_view_is_wanted(cli))
        return mv_cmd_view(cli);
    if (mv_option_given(&cli->options, MV_HAS(VIEW)) && cli->options.view != MV_PICTURE_ACTIVE &&
        cli->options.view != MV_PICTURE_POOLS)
        return mv_cmd_segment_plot(cli);
    if (!cli->options.output || mv_page_is_named(cli->options.output))
        return mv_page_run(
            cli, cli->options.view == MV_PICTURE_POOLS ? MV_PAGE_POOLS : MV_PAGE_ACTIVE, NULL);
    if (cli->options.at) {
        mv_complain_usage(cli->command->name, "--at names a moment, and this view shows a window "
                                              "of time: see --from, --to and --view state");
        return MV_EXIT_USAGE;
    }
    status = run(&p, &trace);
    mv_filter_release(&p.filter);
    return status;
}
