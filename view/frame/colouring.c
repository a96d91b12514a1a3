#include "view/frame/view.h"

/* ---- names ------------------------------------------------------------------------------- */

const char *mv_colour_name(uint8_t mode)
{
    static const char *const names[] = {
#define MV_COLOUR_NAME(name, text) text,
        MV_COLOUR_LIST(MV_COLOUR_NAME)
#undef MV_COLOUR_NAME
    };

    return names[mode % MV_COLOUR_COUNT];
}

const char *mv_clock_name(uint8_t clock)
{
    static const char *const names[] = {"events", "time", "ticks"};

    return names[clock % 3];
}

/* ---- scales: sizes and lifetimes --------------------------------------------------------- */

/* From dark to light, which people who see no red or no green can also tell apart. */
static const uint32_t ramp[MV_COLOUR_STEPS] = {0x2b3a80ff, 0x2f6c9aff, 0x2a9d8fff,
                                               0x6cbf5fff, 0xc3d046ff, 0xf7ea6bff};
static const uint32_t never_colour = 0xcc79a7ff;

/* The step of a number: the first for those below `first`, each next one for `times` as many. */
static uint32_t step_of(uint64_t number, uint64_t first, uint64_t times)
{
    uint32_t step = 0;

    while (step < MV_COLOUR_STEPS - 1 && number >= first) {
        number /= times;
        step++;
    }
    return step;
}

uint32_t mv_size_step(uint64_t bytes)
{
    return step_of(bytes, 64u << 10, 16);
}

uint32_t mv_life_step(const mv_alloc_lives *a, uint32_t alloc)
{
    uint32_t birth = a->birth[alloc] == MV_BEFORE ? 0 : a->birth[alloc];

    return a->freed[alloc] == MV_NEVER ? MV_NEVER_FREED : step_of(a->freed[alloc] - birth, 10, 10);
}

static uint32_t life_colour(const mv_lives *l, uint32_t alloc)
{
    uint32_t step = mv_life_step(&l->allocs, alloc);

    return step == MV_NEVER_FREED ? never_colour : ramp[step];
}

/* ---- streams and pools: those of the segment --------------------------------------------- */

static uint32_t row_colour(const mv_theme *theme, const mv_document_device *d, uint32_t alloc,
                           bool is_stream)
{
    const mv_segment_lives *s = &d->lives.segments;
    uint32_t segment = d->lives.allocs.segment[alloc], row = MV_NO_ROW;

    if (segment < s->count)
        row = is_stream ? s->stream[segment].row : s->pool[segment].row;
    return row == MV_NO_ROW ? theme->unknown : mv_site_colour(row);
}

/* ---- one allocation ---------------------------------------------------------------------- */

static uint32_t site_colour(const mv_view *view, const mv_document_device *d, uint32_t alloc)
{
    const mv_theme *theme = mv_theme_of(view->desk->is_dark);
    const mv_site_colours *s = &d->site_colours;
    uint32_t stack = d->lives.allocs.stack[alloc].row;

    if (view->now->colour == MV_COLOUR_SITE && mv_view_is_judged(view) && d->leaks.is_leaked[alloc])
        return theme->leak;
    if (stack >= s->stacks)
        stack = s->stacks;
    return mv_hue_colour(theme, view->now->colour == MV_COLOUR_SITE ? s->of_stack[stack]
                                                                    : s->by_content[stack]);
}

static uint32_t category_colour(const mv_view *view, uint32_t category)
{
    return category == MV_CATEGORY_UNKNOWN ? mv_theme_of(view->desk->is_dark)->unknown
                                           : mv_site_colour(category);
}

uint32_t mv_view_colour(const mv_view *view, uint32_t alloc)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_theme *theme = mv_theme_of(view->desk->is_dark);

    if (!d || alloc >= d->lives.allocs.count)
        return theme->rest;
    switch (view->now->colour) {
    case MV_COLOUR_CATEGORY:
        return mv_view_is_judged(view)
                   ? category_colour(view, d->attribution.categories.of_alloc[alloc])
                   : theme->unknown;
    case MV_COLOUR_SIZE:
        return ramp[mv_size_step(d->lives.allocs.block[alloc])];
    case MV_COLOUR_LIFETIME:
        return life_colour(&d->lives, alloc);
    case MV_COLOUR_STREAM:
        return row_colour(theme, d, alloc, true);
    case MV_COLOUR_POOL:
        return row_colour(theme, d, alloc, false);
    default:
        return site_colour(view, d, alloc);
    }
}

uint64_t mv_view_colour_key(const mv_view *view)
{
    return ((uint64_t)view->now->file << 32 | view->now->device) * 64 + view->now->colour * 4u +
           view->desk->is_dark * 2u + mv_view_is_judged(view);
}
