#include "viz/timeline.h"

#include <stdlib.h>

#include "analyze/culprit.h"
#include "analyze/size.h"
#include "viz/painter.h"

enum {
    WIDTH = 1400,
    HEIGHT = 760,
    LEFT = 88,
    RIGHT = 348,
    TOP = 120,
    BOTTOM = 78,
    MOST_SHAPES = 4000,
    MOST_CORNERS = 300000, /* of all shapes: a picture stays under 5 MB */
    TITLE_FRAMES = 4
};

/* ---- the window -------------------------------------------------------------------------- */

static void find_peaks(mv_painter *p, uint32_t from, uint32_t to)
{
    const mv_series *s = &p->series;

    p->peak = s->before.allocated;
    p->peak_reserved = s->before.reserved;
    p->peak_event = MV_BEFORE;
    for (uint32_t e = from; e < to; e++) {
        if (p->peak_event == MV_BEFORE || s->allocated[e] > p->peak) {
            p->peak = s->allocated[e];
            p->peak_event = e;
        }
        if (e == from || s->reserved[e] > p->peak_reserved)
            p->peak_reserved = s->reserved[e];
    }
}

static void place_plot(mv_painter *p)
{
    uint64_t most = p->peak > p->peak_reserved ? p->peak : p->peak_reserved;

    for (uint32_t e = p->layout.from; e < p->layout.to; e++) {
        if (p->series.active[e] > most)
            most = p->series.active[e];
        /* Every free is pending for one event; only longer ones are worth a curve. */
        if (e > p->layout.from && p->series.active[e] != p->series.allocated[e] &&
            p->series.active[e - 1] != p->series.allocated[e - 1])
            p->has_pending = true;
    }
    p->x = LEFT;
    p->y = TOP;
    p->w = p->scene->width - LEFT - RIGHT;
    p->h = p->scene->height - TOP - BOTTOM;
    p->most = most + most / 20;
    if (p->most == 0)
        p->most = 1;
}

/* ---- allocations ------------------------------------------------------------------------- */

/* What an element is, for the pointer that rests on it. */
static const char *describe(mv_painter *p, const mv_element *e)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    mv_stack_id stack = a->stack[e->first];
    char size[MV_SIZE_TEXT], line[256], text[900], from[32], to[32];
    uint32_t frames, shown = 0;
    int at;

    if (e->is_mixed || e->count > 1)
        return mv_scene_format(
            p->scene, "%u small allocations%s%s, up to %s at a time", e->count,
            e->is_mixed ? " of several lines" : " of ",
            e->is_mixed ? "" : mv_culprit_label(p->trace, p->frame_kinds, stack, line, sizeof line),
            mv_size_text(size, e->highest));
    snprintf(from, sizeof from, "event %u", a->birth[e->first]);
    snprintf(to, sizeof to, "event %u", a->freed[e->first]);
    at = snprintf(text, sizeof text, "%s (%llu bytes, %llu asked for), from %s, %s",
                  mv_size_text(size, a->block[e->first]), (unsigned long long)a->block[e->first],
                  (unsigned long long)a->requested[e->first],
                  a->birth[e->first] == MV_BEFORE ? "before the first event" : from,
                  a->freed[e->first] == MV_NEVER ? "not freed" : to);
    mv_stack_frames(p->trace, stack, &frames);
    for (uint32_t i = 0; i < frames && shown < TITLE_FRAMES; i++) {
        if (mv_frame_kind_of(p->trace, mv_stack_frames(p->trace, stack, &frames)[i]) !=
            MV_FRAME_USER)
            continue;
        mv_frame_label(p->trace, mv_stack_frames(p->trace, stack, &frames)[i], line, sizeof line);
        if (at > 0 && (size_t)at < sizeof text)
            at += snprintf(text + at, sizeof text - (size_t)at, "\n%s", line);
        shown++;
    }
    return mv_scene_format(p->scene, "%s", text);
}

static float left_of(const mv_painter *p, uint32_t column)
{
    if (p->layout.to == p->layout.from)
        return p->x + p->w * (float)column;
    return mv_painter_x(p, p->layout.start[column]);
}

/* Corners of one edge over samples [first, last], to the right or back to the left. */
static void edge(mv_painter *p, const mv_sample *samples, uint32_t first, uint32_t last,
                 bool is_top)
{
    float y_before = -1;

    for (uint32_t n = first; n <= last; n++) {
        const mv_sample *s = &samples[is_top ? n : last - (n - first)];
        float y = mv_painter_y(p, s->offset + (is_top ? s->bytes : 0));
        float near = left_of(p, s->column + (is_top ? 0 : 1));
        float far = left_of(p, s->column + (is_top ? 1 : 0));
        if (y == y_before) {
            p->scene->points[p->scene->point_count - 1].x = far;
            continue;
        }
        mv_scene_point(p->scene, near, y);
        mv_scene_point(p->scene, far, y);
        if (p->scene->failed)
            return;
        y_before = y;
    }
}

/* Every other shape is a shade lighter, so that neighbours of one site can be told apart. */
static uint32_t element_colour(const mv_painter *p, uint32_t element)
{
    const mv_element *e = &p->layout.elements[element];
    uint32_t colour;

    if (e->is_mixed)
        return p->theme->rest;
    colour = mv_site_colour(p->callers.callers[e->site].rank);
    return element % 2 ? mv_lighter(colour) : colour;
}

/* An element may sink below visibility for a while: one shape for each time it is seen. */
static void paint_element(mv_painter *p, uint32_t element)
{
    const mv_element *e = &p->layout.elements[element];
    const mv_sample *samples = p->layout.samples + e->samples;
    mv_shape shape = {.kind = MV_SHAPE_POLYGON,
                      .fill = element_colour(p, element),
                      .stroke = p->theme->edge,
                      .width = e->highest > p->most / 150 ? 0.6f : 0};

    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        last = first;
        while (last + 1 < e->columns && samples[last + 1].column == samples[last].column + 1)
            last++;
        edge(p, samples, first, last, true);
        edge(p, samples, first, last, false);
        if (!shape.title)
            shape.title = describe(p, e);
        mv_scene_add(p->scene, shape);
    }
}

/* A level over all columns as an area. */
static void paint_area(mv_painter *p, const uint64_t *levels, mv_shape shape)
{
    const mv_layout *l = &p->layout;
    float y_before = -1;

    for (uint32_t c = 0; c < l->column_count && !p->scene->failed; c++) {
        float y = mv_painter_y(p, levels[c]);
        if (y == y_before) {
            p->scene->points[p->scene->point_count - 1].x = left_of(p, c + 1);
            continue;
        }
        mv_scene_point(p->scene, left_of(p, c), y);
        mv_scene_point(p->scene, left_of(p, c + 1), y);
        y_before = y;
    }
    mv_scene_point(p->scene, left_of(p, l->column_count), p->y + p->h);
    mv_scene_point(p->scene, p->x, p->y + p->h);
    mv_scene_add(p->scene, shape);
}

typedef struct {
    double area; /* bytes x columns */
    uint32_t element;
    uint32_t corners;
} importance;

static int most_area_first(const void *left, const void *right)
{
    const importance *a = left, *b = right;

    if (a->area != b->area)
        return a->area < b->area ? 1 : -1;
    return a->element < b->element ? -1 : 1;
}

static int in_order(const void *left, const void *right)
{
    const importance *a = left, *b = right;

    return a->element < b->element ? -1 : a->element > b->element;
}

/* How many elements can be drawn, the most important ones first. */
static uint32_t within_budget(const mv_painter *p, const importance *list, uint32_t count)
{
    uint32_t most = p->opts->top ? p->opts->top : MOST_SHAPES, kept = 0;
    uint64_t corners = 0;

    while (kept < count && kept < most && corners + list[kept].corners <= MOST_CORNERS)
        corners += list[kept++].corners;
    return kept;
}

/* Corners that the shapes of an element have: two where an edge moves. */
static uint32_t corners_of(const mv_painter *p, const mv_element *e)
{
    const mv_sample *s = p->layout.samples + e->samples;
    uint32_t corners = 4;

    for (uint32_t i = 1; i < e->columns; i++) {
        bool is_gap = s[i].column != s[i - 1].column + 1;
        bool bottom = mv_painter_y(p, s[i].offset) != mv_painter_y(p, s[i - 1].offset);
        bool top = mv_painter_y(p, s[i].offset + s[i].bytes) !=
                   mv_painter_y(p, s[i - 1].offset + s[i - 1].bytes);
        corners += is_gap ? 4 : 2u * bottom + 2u * top;
    }
    return corners;
}

static bool paint_allocations(mv_arena *scratch, mv_painter *p, uint32_t *drawn)
{
    const mv_layout *l = &p->layout;
    importance *list = mv_push_array(scratch, importance, l->element_count);
    uint32_t count = 0;

    if (!list)
        return false;
    for (uint32_t i = 0; i < l->element_count; i++) {
        const mv_element *e = &l->elements[i];
        double area = 0;
        if (e->columns == 0)
            continue;
        for (uint32_t s = e->samples; s < e->samples + e->columns; s++)
            area += (double)l->samples[s].bytes;
        list[count++] = (importance){area, i, corners_of(p, e)};
    }
    qsort(list, count, sizeof *list, most_area_first);
    count = within_budget(p, list, count);
    qsort(list, count, sizeof *list, in_order);
    paint_area(p, l->allocated, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = p->theme->rest});
    for (uint32_t i = 0; i < count; i++) {
        const mv_element *e = &l->elements[list[i].element];
        paint_element(p, list[i].element);
        *drawn += e->is_mixed ? 0 : e->count;
    }
    if (p->lives->allocs.preexisting > 0)
        paint_area(
            p, l->preexisting,
            (mv_shape){.kind = MV_SHAPE_POLYGON, .is_hatched = true, .stroke = p->theme->hatch});
    return true;
}

/* ---- the picture ------------------------------------------------------------------------- */

static mv_code paint(mv_arena *arena, mv_arena *scratch, mv_painter *p, mv_timeline *out,
                     mv_err *err)
{
    mv_layout_opts layout = {.from = p->layout.from, .to = p->layout.to};
    mv_code code;

    p->frame_kinds = mv_frame_kinds(scratch, p->trace);
    find_peaks(p, layout.from, layout.to);
    if (!p->frame_kinds || !mv_callers_find(scratch, p))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
    place_plot(p);
    layout.columns = (uint32_t)p->w;
    layout.least = (uint64_t)((double)p->most / (double)p->h * 0.8) + 1;
    layout.visible = layout.least / 2 + 1;
    layout.site_of_stack = p->callers.site_of_stack;
    code = mv_layout_find(scratch, p->lives, p->series.allocated, &layout, &p->layout, err);
    if (code != MV_OK)
        return code;
    mv_scene_init(p->scene, arena, p->scene->width, p->scene->height, p->theme->background);
    mv_ruler_titles(p);
    mv_ruler_paint(p);
    if (!paint_allocations(scratch, p, &out->drawn))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
    mv_marker_curves(p);
    mv_ruler_lanes(p);
    mv_marker_ooms(p);
    mv_marker_peak(p);
    mv_callers_legend(p, p->scene->width - RIGHT + 24, TOP + 6, RIGHT - 48);
    return p->scene->failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline") : MV_OK;
}

mv_code mv_timeline_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_timeline_opts *opts, mv_timeline *out, mv_err *err)
{
    uint32_t events = lives->events.count;
    mv_painter p = {.trace = trace,
                    .lives = lives,
                    .opts = opts,
                    .theme = mv_theme_of(opts->is_dark),
                    .scene = &out->scene};
    mv_arena scratch;
    mv_code code;

    *out = (mv_timeline){.scene.width = opts->width ? (float)opts->width : WIDTH,
                         .scene.height = opts->height ? (float)opts->height : HEIGHT};
    p.layout.from = opts->from < events ? opts->from : events;
    p.layout.to = opts->to && opts->to < events ? opts->to : events;
    if (p.layout.to < p.layout.from)
        p.layout.to = p.layout.from;
    out->events = p.layout.to - p.layout.from;
    mv_arena_init(&scratch, arena->budget);
    code = mv_totals_series(&scratch, lives, &p.series, err);
    if (code == MV_OK)
        code = paint(arena, &scratch, &p, out, err);
    mv_arena_release(&scratch);
    return code;
}
