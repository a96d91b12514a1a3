/* memviz segment_plot: the allocator's segments as a picture, over time or at a moment. */
#include "analyze/leaks/leaks.h"
#include "cli/complain.h"
#include "cli/input/filter_option.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/window.h"
#include "cli/report/page.h"
#include "cli/report/picture.h"
#include "viz/pictures/segment_timeline.h"
#include "viz/pictures/state.h"

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    uint32_t first, end; /* devices */
    mv_picture_view view;
    mv_filter filter;
    mv_picture picture;
    uint64_t events, drawn;
} plot;

static mv_code draw_state(plot *p, mv_arena *work, const mv_lives *lives, const mv_leaks *leaks,
                          uint32_t event, mv_err *err)
{
    const mv_options *o = &p->cli->options;
    mv_filter_bits bits;
    mv_state_picture_opts opts = {.width = o->width,
                                  .height = o->height,
                                  .is_dark = o->is_dark,
                                  .title = p->picture.name,
                                  .event = event,
                                  .top = o->top,
                                  .filter = o->filter,
                                  .only = o->filter ? &bits : NULL,
                                  .leaks = leaks};
    mv_state_picture state;
    mv_code code = MV_OK;

    if (o->filter)
        code = mv_filter_allocs(work, p->trace, lives, leaks, &p->filter, &bits, err);
    if (code == MV_OK)
        code = mv_state_picture_find(&p->cli->arena, p->trace, lives, &opts, &state, err);
    if (code != MV_OK)
        return code;
    p->events += lives->events.count;
    p->drawn += state.drawn;
    return mv_picture_append(&p->picture, &state.scene, err);
}

static mv_code draw_segments(plot *p, mv_arena *work, const mv_lives *lives, mv_window window,
                             mv_err *err)
{
    const mv_options *o = &p->cli->options;
    mv_filter_bits bits;
    mv_timeline_opts opts = {.width = o->width,
                             .height = o->height,
                             .from = window.first,
                             .to = window.end,
                             .is_dark = o->is_dark,
                             .by_line = o->by == MV_BY_LINE,
                             .top = o->top,
                             .filter = o->filter,
                             .only = o->filter ? &bits : NULL,
                             .title = p->picture.name};
    mv_timeline timeline;
    mv_code code = MV_OK;

    if (o->filter)
        code = mv_filter_segments(work, p->trace, lives, &p->filter, &bits, err);
    if (code == MV_OK)
        code = mv_segment_timeline_find(&p->cli->arena, p->trace, lives, &opts, &timeline, err);
    if (code != MV_OK)
        return code;
    p->events += timeline.events;
    p->drawn += timeline.drawn;
    return mv_picture_append(&p->picture, &timeline.scene, err);
}

/* False, with a message of its own, when an option names no moment or window of the device. */
static bool draw_view(plot *p, mv_arena *work, const mv_lives *lives, mv_err *err)
{
    mv_leaks leaks;
    mv_moment at;
    mv_window window;

    if (p->view == MV_PICTURE_SEGMENTS) {
        if (!mv_window_find(p->cli, p->trace, lives->device, &window))
            return false;
        /* A window without events, of a device that has some, shows nothing. */
        if (window.end > window.first || lives->events.count == 0)
            draw_segments(p, work, lives, window, err);
        return true;
    }
    if (!mv_at_find(p->cli, p->trace, lives, "end", &at))
        return false;
    if (mv_leaks_find(work, p->trace, lives, &leaks, err) == MV_OK)
        draw_state(p, work, lives, &leaks, at.event, err);
    return true;
}

/* False, with a message, when it fails. What is found of a device goes before the next one. */
static bool draw_device(plot *p, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_arena work;
    mv_lives lives;
    bool is_named = true;

    mv_arena_init(&work, &p->cli->budget);
    if (mv_lives_find(&work, p->trace, device, &lives, &err) == MV_OK)
        is_named = draw_view(p, &work, &lives, &err);
    mv_arena_release(&work);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(p->cli), &err);
    return is_named && err.code == MV_OK;
}

static bool draw_devices(plot *p)
{
    for (uint32_t i = p->first; i < p->end; i++)
        if (!mv_device_is_idle(p->trace, i) && !mv_at_is_elsewhere(p->cli, p->trace, i) &&
            !draw_device(p, i))
            return false;
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
    return mv_report_close(&r);
}

/* That of --view; else a moment has a state, and a window segments over time. */
static mv_picture_view choose_view(const mv_options *options)
{
    if (mv_option_given(options, MV_HAS(VIEW)))
        return options->view;
    return options->at ? MV_PICTURE_STATE : MV_PICTURE_SEGMENTS;
}

static int run(plot *p, mv_trace *trace)
{
    mv_cli *cli = p->cli;

    if (!mv_filter_option_read(cli, &p->filter) || !mv_picture_open(&p->picture, cli))
        return MV_EXIT_USAGE;
    if (p->view == MV_PICTURE_SEGMENTS && (p->filter.has_leaks || p->filter.has_categories)) {
        mv_complain_usage(cli->command->name, "--filter: leak and cat: name blocks, and this view "
                                              "shows segments: see --view state");
        return MV_EXIT_USAGE;
    }
    if (!mv_input_read(cli, trace) || !mv_input_devices(cli, trace, &p->first, &p->end) ||
        !draw_devices(p) || !mv_picture_write(&p->picture))
        return MV_EXIT_FAILED;
    return report(p);
}

int mv_cmd_segment_plot(mv_cli *cli)
{
    mv_trace trace;
    plot p = {.cli = cli, .trace = &trace, .view = choose_view(&cli->options)};
    int status;

    if (mv_option_given(&cli->options, MV_HAS(BY)) && cli->options.by > MV_BY_LINE) {
        mv_complain_usage(cli->command->name, "--by is use or line; peak and lines have the rest");
        return MV_EXIT_USAGE;
    }
    if (mv_view_is_wanted(cli))
        return mv_cmd_view(cli);
    if (p.view == MV_PICTURE_ACTIVE || p.view == MV_PICTURE_POOLS)
        return mv_cmd_trace_plot(cli);
    if (!cli->options.output || mv_page_is_named(cli->options.output))
        return p.view == MV_PICTURE_STATE ? mv_page_run(cli, MV_PAGE_STATE, "end")
                                          : mv_page_run(cli, MV_PAGE_SEGMENTS, NULL);
    if (p.view == MV_PICTURE_SEGMENTS && cli->options.at) {
        mv_complain_usage(cli->command->name, "--at names a moment, and this view shows a window "
                                              "of time: see --from, --to and --view state");
        return MV_EXIT_USAGE;
    }
    status = run(&p, &trace);
    mv_filter_release(&p.filter);
    return status;
}
