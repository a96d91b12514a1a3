#include <stdio.h>

#include "analyze/size.h"
#include "viz/axis.h"
#include "viz/view/chrome.h"

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

enum { STEPS = 6 };

/* From dark to light, which also people see who see no red or no green. */
static const uint32_t ramp[STEPS] = {0x2b3a80ff, 0x2f6c9aff, 0x2a9d8fff,
                                     0x6cbf5fff, 0xc3d046ff, 0xf7ea6bff};
static const uint32_t never_colour = 0xcc79a7ff;

static const struct {
    uint64_t below; /* the next step from here on */
    const char *text;
} sizes[STEPS] = {{64u << 10, "below 64 KiB"}, {1u << 20, "to 1 MiB"},
                  {8u << 20, "to 8 MiB"},      {64u << 20, "to 64 MiB"},
                  {512u << 20, "to 512 MiB"},  {UINT64_MAX, "512 MiB and more"}},
  lives[STEPS] = {{10, "below 10 events"}, {100, "to 100"},
                  {1000, "to 1,000"},      {10000, "to 10,000"},
                  {100000, "to 100,000"},  {UINT64_MAX, "100,000 events and more"}};

static uint32_t size_step(uint64_t bytes)
{
    uint32_t step = 0;

    while (step < STEPS - 1 && bytes >= sizes[step].below)
        step++;
    return step;
}

static uint32_t life_colour(const mv_lives *l, uint32_t alloc)
{
    uint32_t birth = l->allocs.birth[alloc] + 1, end = l->allocs.freed[alloc], step = 0;

    if (end == MV_NEVER)
        return never_colour;
    while (step < STEPS - 1 && end + 1 - birth >= lives[step].below)
        step++;
    return ramp[step];
}

/* ---- streams and pools ------------------------------------------------------------------- */

static uint32_t stream_of(const mv_document_device *d, uint32_t alloc)
{
    const mv_alloc_lives *a = &d->lives.allocs;

    if (a->birth[alloc] != MV_BEFORE)
        return d->lives.events.stream[a->birth[alloc]].row;
    if (a->segment[alloc] < d->lives.segments.count)
        return d->lives.segments.stream[a->segment[alloc]].row;
    return MV_NO_ROW;
}

/* Pools are by id and kind: row x 2 + 1 for small ones. */
static uint32_t pool_of(const mv_document_device *d, uint32_t alloc)
{
    uint32_t segment = d->lives.allocs.segment[alloc];

    if (segment >= d->lives.segments.count)
        return MV_NO_ROW;
    if (d->lives.segments.pool[segment].row == MV_NO_ROW)
        return d->lives.segments.kind[segment] == MV_SEGMENT_SMALL;
    return d->lives.segments.pool[segment].row * 2 +
           (d->lives.segments.kind[segment] == MV_SEGMENT_SMALL);
}

static uint32_t row_colour(const mv_theme *theme, uint32_t row)
{
    return row == MV_NO_ROW ? theme->unknown : mv_site_colour(row);
}

/* ---- one allocation ---------------------------------------------------------------------- */

static uint32_t site_colour(const mv_view *view, const mv_document_device *d, uint32_t alloc)
{
    const mv_theme *theme = mv_theme_of(view->is_dark);
    const mv_site_colours *s = &d->site_colours;
    uint32_t stack = d->lives.allocs.stack[alloc].row;

    if (view->now.colour == MV_COLOUR_SITE && mv_view_is_judged(view) && d->leaks.is_leaked[alloc])
        return theme->leak;
    if (stack >= s->stacks)
        stack = s->stacks;
    return mv_hue_colour(theme, view->now.colour == MV_COLOUR_SITE ? s->of_stack[stack]
                                                                   : s->by_content[stack]);
}

static uint32_t category_colour(const mv_view *view, uint32_t category)
{
    return category == MV_CATEGORY_UNKNOWN ? mv_theme_of(view->is_dark)->unknown
                                           : mv_site_colour(category);
}

uint32_t mv_view_colour(const mv_view *view, uint32_t alloc)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_theme *theme = mv_theme_of(view->is_dark);

    if (!d || alloc >= d->lives.allocs.count)
        return theme->rest;
    switch (view->now.colour) {
    case MV_COLOUR_CATEGORY:
        return mv_view_is_judged(view)
                   ? category_colour(view, d->attribution.categories.of_alloc[alloc])
                   : theme->unknown;
    case MV_COLOUR_SIZE:
        return ramp[size_step(d->lives.allocs.block[alloc])];
    case MV_COLOUR_LIFETIME:
        return life_colour(&d->lives, alloc);
    case MV_COLOUR_STREAM:
        return row_colour(theme, stream_of(d, alloc));
    case MV_COLOUR_POOL:
        return row_colour(theme, pool_of(d, alloc));
    default:
        return site_colour(view, d, alloc);
    }
}

uint64_t mv_view_colour_key(const mv_view *view)
{
    return ((uint64_t)view->now.file << 32 | view->now.device) * 64 + view->now.colour * 4u +
           view->is_dark * 2u + mv_view_is_judged(view);
}

/* ---- what they mean ---------------------------------------------------------------------- */

typedef struct {
    mv_view *view;
    mv_legend_entry *entries;
    uint32_t count;
} legend;

static void add(legend *l, uint32_t colour, const char *text)
{
    if (l->count < MV_MOST_LEGEND)
        l->entries[l->count++] = (mv_legend_entry){colour, text};
}

static void site_legend(legend *l, const mv_document_device *d)
{
    const mv_trace *trace = &mv_view_document(l->view)->trace;
    const mv_theme *theme = mv_theme_of(l->view->is_dark);
    char label[200];

    if (mv_view_is_judged(l->view) && d->leaks.leaked_bytes)
        add(l, theme->leak, "leak");
    for (uint32_t i = 0; i < d->site_colours.named_count; i++) {
        const mv_named_site *site = &d->site_colours.named[i];
        add(l, mv_hue_colour(theme, site->hue),
            mv_scene_format(&l->view->ui.scene, "%s",
                            mv_frame_label(trace, site->frame, label, sizeof label)));
    }
}

static void category_legend(legend *l, const mv_document_device *d)
{
    if (!mv_view_is_judged(l->view)) {
        add(l, mv_theme_of(l->view->is_dark)->unknown, "categories are being found");
        return;
    }
    for (uint32_t i = 0; i < d->attribution.categories.count; i++)
        if (d->attribution.category_bytes[i])
            add(l, category_colour(l->view, i), d->attribution.categories.name[i]);
}

static void stream_legend(legend *l, const mv_trace *trace)
{
    for (uint32_t i = 0; i < trace->streams.count; i++)
        add(l, mv_site_colour(i),
            mv_scene_format(&l->view->ui.scene, "stream %llu",
                            (unsigned long long)trace->streams.value[i]));
}

static void pool_legend(legend *l, const mv_trace *trace)
{
    for (uint32_t i = 0; i < trace->pools.count * 2; i++) {
        const char *kind = i % 2 ? "small" : "large";
        add(l, mv_site_colour(i),
            i < 2 ? mv_scene_format(&l->view->ui.scene, "%s pool", kind)
                  : mv_scene_format(&l->view->ui.scene, "pool %llu,%llu %s",
                                    (unsigned long long)trace->pools.a[i / 2],
                                    (unsigned long long)trace->pools.b[i / 2], kind));
    }
}

uint32_t mv_colouring_legend(mv_view *view, mv_legend_entry entries[MV_MOST_LEGEND])
{
    const mv_document_device *d = mv_view_device(view);
    const mv_trace *trace = d ? &mv_view_document(view)->trace : NULL;
    legend l = {.view = view, .entries = entries};

    if (!d)
        return 0;
    switch (view->now.colour) {
    case MV_COLOUR_SITE:
        site_legend(&l, d);
        break;
    case MV_COLOUR_STACK:
        add(&l, mv_site_colour(0), "equal colours: equal stacks, in every file");
        break;
    case MV_COLOUR_CATEGORY:
        category_legend(&l, d);
        break;
    case MV_COLOUR_SIZE:
        for (int i = 0; i < STEPS; i++)
            add(&l, ramp[i], sizes[i].text);
        break;
    case MV_COLOUR_LIFETIME:
        for (int i = 0; i < STEPS; i++)
            add(&l, ramp[i], lives[i].text);
        add(&l, never_colour, "never freed");
        break;
    case MV_COLOUR_STREAM:
        stream_legend(&l, trace);
        break;
    case MV_COLOUR_POOL:
        pool_legend(&l, trace);
        break;
    default:
        break;
    }
    return l.count;
}
