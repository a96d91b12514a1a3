/* memviz segment_plot: the allocator's segments as a picture. */
#include "analyze/leaks.h"
#include "cli/at.h"
#include "cli/complain.h"
#include "cli/input.h"
#include "cli/picture.h"
#include "viz/state.h"

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    uint32_t first, end; /* devices */
    mv_picture picture;
    uint64_t events, drawn;
} plot;

static mv_code draw_state(plot *p, const mv_lives *lives, const mv_leaks *leaks, uint32_t event,
                          mv_err *err)
{
    const mv_options *o = &p->cli->options;
    mv_state_picture_opts opts = {.width = o->width,
                                  .height = o->height,
                                  .is_dark = o->is_dark,
                                  .title = p->picture.name,
                                  .event = event,
                                  .leaks = leaks};
    mv_state_picture state;
    mv_code code = mv_state_picture_find(&p->cli->arena, p->trace, lives, &opts, &state, err);

    if (code != MV_OK)
        return code;
    p->events += lives->events.count;
    p->drawn += state.drawn;
    return mv_picture_append(&p->picture, &state.scene, err);
}

/* False, with a message, when it fails. What is found of a device goes before the next one. */
static bool draw_device(plot *p, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_arena work;
    mv_lives lives;
    mv_leaks leaks;
    mv_moment at;
    bool is_named = true;

    mv_arena_init(&work, &p->cli->budget);
    if (mv_lives_find(&work, p->trace, device, &lives, &err) == MV_OK &&
        mv_leaks_find(&work, p->trace, &lives, &leaks, &err) == MV_OK) {
        is_named = mv_at_find(p->cli, p->trace, &lives, "end", &at);
        if (is_named)
            draw_state(p, &lives, &leaks, at.event, &err);
    }
    mv_arena_release(&work);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(p->cli), &err);
    return is_named && err.code == MV_OK;
}

static bool draw_devices(plot *p)
{
    for (uint32_t i = p->first; i < p->end; i++)
        if (!mv_at_is_elsewhere(p->cli, p->trace, i) && !draw_device(p, i))
            return false;
    if (p->picture.panels == 0)
        mv_complain_of(mv_input_name(p->cli), "nothing to draw: no device");
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

int mv_cmd_segment_plot(mv_cli *cli)
{
    mv_trace trace;
    plot p = {.cli = cli, .trace = &trace};

    if (mv_option_given(&cli->options, MV_HAS(VIEW)) && cli->options.view == MV_VIEW_ACTIVE)
        return mv_cmd_trace_plot(cli);
    if (!mv_picture_open(&p.picture, cli))
        return MV_EXIT_USAGE;
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &p.first, &p.end) ||
        !draw_devices(&p) || !mv_picture_write(&p.picture))
        return MV_EXIT_FAILED;
    return report(&p);
}
