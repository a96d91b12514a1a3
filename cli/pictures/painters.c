#include "cli/pictures/pictures.h"

mv_code mv_drawing_put(mv_drawing *d, const mv_lives *lives, const mv_paper_kind *kind,
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

mv_paper_opts mv_drawing_paper(const mv_drawing *d, const mv_place *place)
{
    const mv_options *o = &d->cli->options;

    return (mv_paper_opts){.title = o->title ? o->title : d->name,
                           .width = o->width,
                           .height = o->height,
                           .is_dark = o->is_dark,
                           .window = place->window,
                           .event = place->event,
                           .filter = o->filter,
                           .top = (uint32_t)o->top,
                           .by_line = o->by == MV_BY_LINE};
}

/* Draws a picture of blocks, for which --filter can also select leaks. */
static mv_code paint_blocks(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                            const mv_paper_kind *kind, mv_arena *work, mv_scene *out, mv_err *err)
{
    mv_paper_opts opts = mv_drawing_paper(d, place);
    mv_leaks leaks;

    if ((d->filter.has_leaks && mv_leaks_find(work, d->trace, lives, &leaks, err) != MV_OK) ||
        mv_drawing_filter(d, work, lives, &leaks, &opts.only, err) != MV_OK)
        return err->code;
    return mv_drawing_put(d, lives, kind, &opts, out, err);
}

mv_code mv_paint_active(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                        mv_scene *out, mv_err *err)
{
    return paint_blocks(d, lives, place, &mv_paper_timeline, work, out, err);
}

mv_code mv_paint_pools(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                       mv_scene *out, mv_err *err)
{
    return paint_blocks(d, lives, place, &mv_paper_pools, work, out, err);
}

mv_code mv_paint_state(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                       mv_scene *out, mv_err *err)
{
    return paint_blocks(d, lives, place, &mv_paper_state, work, out, err);
}

mv_code mv_paint_segments(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                          mv_arena *work, mv_scene *out, mv_err *err)
{
    mv_paper_opts opts = mv_drawing_paper(d, place);

    if (mv_drawing_filter(d, work, lives, NULL, &opts.only, err) != MV_OK)
        return err->code;
    return mv_drawing_put(d, lives, &mv_paper_segments, &opts, out, err);
}
