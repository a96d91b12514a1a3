#include "base/names.h"
#include "view/frame/colour_groups.h"

/* ---- names ------------------------------------------------------------------------------- */

const char *mv_colour_name(uint8_t mode)
{
    static const char *const names[] = {MV_COLOUR_LIST(MV_SECOND)};

    return names[mode % MV_COLOUR_COUNT];
}

const char *mv_clock_name(uint8_t clock)
{
    static const char *const names[] = {"events", "time", "ticks", "busy"};

    return names[clock % MV_CLOCKS];
}

/* ---- one allocation ---------------------------------------------------------------------- */

uint32_t mv_view_colour(const mv_view *view, uint32_t alloc)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_theme *theme = mv_theme_of(view->desk->is_dark);
    mv_colouring colouring;

    if (!d || alloc >= d->lives.allocs.count)
        return theme->rest;
    colouring = mv_colouring_of(view);
    return mv_group_colour(&colouring, theme, mv_colour_group(&colouring, alloc));
}

uint64_t mv_view_colour_key(const mv_view *view)
{
    return ((uint64_t)view->now->file << 32 | view->now->device) * 64 + view->now->colour * 4u +
           view->desk->is_dark * 2u + mv_view_is_evaluated(view);
}
