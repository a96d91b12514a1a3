#include "cli/pictures/pictures.h"
#include "view/paper/paper.h"
#include "viz/pictures/envelopes.h"
#include "viz/pictures/state.h"
#include "viz/pictures/timeline.h"

static mv_timeline_opts timeline_opts(const mv_drawing *d, const mv_place *place)
{
    const mv_options *o = &d->cli->options;

    return (mv_timeline_opts){.width = o->width,
                              .height = o->height,
                              .from = place->window.first,
                              .to = place->window.end,
                              .is_dark = o->is_dark,
                              .top = o->top,
                              .filter = o->filter,
                              .title = d->name};
}

static void take_timeline(mv_drawing *d, const mv_timeline *timeline, mv_scene *out)
{
    d->figure[MV_FIGURE_EVENTS] += timeline->events;
    d->figure[MV_FIGURE_DRAWN] += timeline->drawn;
    d->figure[MV_FIGURE_MATCHES] += timeline->matches;
    *out = timeline->scene;
}

static mv_code paint_paper(mv_drawing *d, const mv_lives *lives, const mv_paper_kind *kind,
                           const mv_paper_opts *opts, mv_scene *out, mv_err *err)
{
    mv_paper paper;

    if (mv_paper_find(&d->cli->arena, d->trace, lives, kind, opts, &paper, err) != MV_OK)
        return err->code;
    d->figure[MV_FIGURE_EVENTS] += paper.events;
    d->figure[MV_FIGURE_DRAWN] += paper.drawn;
    d->figure[MV_FIGURE_MATCHES] += paper.matches;
    *out = paper.scene;
    return MV_OK;
}

static mv_paper_opts paper_opts(const mv_drawing *d, const mv_place *place)
{
    const mv_options *o = &d->cli->options;

    return (mv_paper_opts){.title = d->name,
                           .width = o->width,
                           .height = o->height,
                           .is_dark = o->is_dark,
                           .window = place->window,
                           .event = place->event,
                           .filter = o->filter,
                           .top = o->top,
                           .by_line = o->by == MV_BY_LINE,
                           .all_frames = o->all_frames};
}

mv_code mv_paint_active(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                        mv_scene *out, mv_err *err)
{
    mv_paper_opts opts = paper_opts(d, place);
    mv_leaks leaks;

    if ((d->filter.has_leaks && mv_leaks_find(work, d->trace, lives, &leaks, err) != MV_OK) ||
        mv_drawing_filter(d, work, lives, &leaks, &opts.only, err) != MV_OK)
        return err->code;
    return paint_paper(d, lives, &mv_paper_timeline, &opts, out, err);
}

mv_code mv_paint_pools(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                       mv_scene *out, mv_err *err)
{
    mv_timeline_opts opts = timeline_opts(d, place);
    mv_leaks leaks;
    mv_envelopes_picture pools;

    opts.leaks = &leaks;
    if (mv_leaks_find(work, d->trace, lives, &leaks, err) != MV_OK ||
        mv_drawing_filter(d, work, lives, &leaks, &opts.only, err) != MV_OK ||
        mv_envelopes_find(&d->cli->arena, d->trace, lives, &opts, &pools, err) != MV_OK)
        return err->code;
    take_timeline(d, &pools.timeline, out);
    return MV_OK;
}

mv_code mv_paint_segments(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                          mv_arena *work, mv_scene *out, mv_err *err)
{
    mv_paper_opts opts = paper_opts(d, place);

    if (mv_drawing_filter(d, work, lives, NULL, &opts.only, err) != MV_OK)
        return err->code;
    return paint_paper(d, lives, &mv_paper_segments, &opts, out, err);
}

mv_code mv_paint_state(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                       mv_scene *out, mv_err *err)
{
    const mv_options *o = &d->cli->options;
    mv_leaks leaks;
    mv_state_picture_opts opts = {.width = o->width,
                                  .height = o->height,
                                  .is_dark = o->is_dark,
                                  .title = d->name,
                                  .event = place->event,
                                  .top = o->top,
                                  .filter = o->filter,
                                  .leaks = &leaks};
    mv_state_picture state;

    if (mv_leaks_find(work, d->trace, lives, &leaks, err) != MV_OK ||
        mv_drawing_filter(d, work, lives, &leaks, &opts.only, err) != MV_OK ||
        mv_state_picture_find(&d->cli->arena, d->trace, lives, &opts, &state, err) != MV_OK)
        return err->code;
    d->figure[MV_FIGURE_EVENTS] += lives->events.count;
    d->figure[MV_FIGURE_DRAWN] += state.drawn;
    *out = state.scene;
    return MV_OK;
}
