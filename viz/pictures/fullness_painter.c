/* Segments over time, coloured by how full they are. */

#include "base/size.h"
#include "base/sort.h"
#include "viz/pictures/fullness.h"
#include "viz/pictures/timeline_painter.h"

enum {
    MOST_ELEMENTS = 4000,
    MOST_RECTS = 36000, /* some twenty bytes each */
    ROW_HEIGHT = 21
};

typedef struct {
    double area; /* bytes x columns */
    uint32_t element;
    uint32_t rects;
} candidate;

/* The last sample of those in which an element neither moves nor changes its colour. */
static uint32_t end_of_rect(const mv_sample *s, const uint64_t *used, uint32_t first,
                            uint32_t count)
{
    uint32_t level = mv_fullness_level(used[first], s[first].bytes);

    while (first + 1 < count && s[first + 1].column == s[first].column + 1 &&
           s[first + 1].offset == s[first].offset && s[first + 1].bytes == s[first].bytes &&
           mv_fullness_level(used[first + 1], s[first + 1].bytes) == level)
        first++;
    return first;
}

static uint32_t list_candidates(const mv_painter *p, const uint64_t *used, candidate *list)
{
    const mv_layout *l = &p->layout;
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->element_count; i++) {
        const mv_element *e = &l->elements[i];
        candidate *c = &list[count];
        if (e->columns == 0)
            continue;
        *c = (candidate){.element = i};
        for (uint32_t s = e->samples; s < e->samples + e->columns; s++)
            c->area += (double)l->samples[s].bytes;
        for (uint32_t s = 0; s < e->columns; c->rects++)
            s = end_of_rect(l->samples + e->samples, used + e->samples, s, e->columns) + 1;
        count++;
    }
    return count;
}

/* The rectangles of one element that have one colour are one shape. */
static void paint_level(mv_painter *p, const mv_element *e, const uint64_t *used, uint32_t level,
                        const char *title)
{
    const mv_sample *s = p->layout.samples + e->samples;
    bool has_any = false;

    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        last = end_of_rect(s, used, first, e->columns);
        if (mv_fullness_level(used[first], s[first].bytes) != level)
            continue;
        mv_scene_point(p->scene, mv_painter_column(p, s[first].column),
                       mv_painter_y(p, s[first].offset + s[first].bytes));
        mv_scene_point(p->scene, mv_painter_column(p, s[last].column + 1),
                       mv_painter_y(p, s[first].offset));
        has_any = true;
    }
    if (!has_any)
        return;
    title = mv_scene_format(p->scene, "%s\nhere %s", title, mv_fullness_name(level));
    mv_scene_add(p->scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                      .fill = mv_fullness_colour(level, p->opts->is_dark),
                                      .is_crisp = true,
                                      .title = mv_painter_hover(p, title)});
}

bool mv_fullness_paint(mv_arena *scratch, mv_painter *p, uint32_t *drawn)
{
    const mv_layout *l = &p->layout;
    uint64_t *used = mv_fullness_of_samples(scratch, p->blocks, p->lives, l);
    candidate *list = mv_push_array(scratch, candidate, l->element_count);
    uint32_t count, rects = 0;

    if (!used || !list)
        return false;
    count = list_candidates(p, used, list);
    mv_sort_rows(scratch, list, count, MV_FALLING(candidate, area));
    mv_shapes_area(p, l->allocated,
                   (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = p->theme->rest, .is_crisp = true});
    for (uint32_t i = 0; i < count && i < MOST_ELEMENTS; i++) {
        const mv_element *e = &l->elements[list[i].element];
        const char *title = mv_shapes_element(p, e);
        rects += list[i].rects;
        if (rects > MOST_RECTS)
            break;
        for (uint32_t level = 0; level < MV_FULLNESS_LEVELS; level++)
            paint_level(p, e, used + e->samples, level, title);
        mv_shapes_edges(p, e);
        *drawn += e->members;
    }
    return true;
}

/* ---- the legend -------------------------------------------------------------------------- */

static bool is_held(const mv_lives *rows, uint32_t row, uint32_t event)
{
    const mv_alloc_lives *a = &rows->allocs;

    if (event == MV_BEFORE)
        return a->birth[row] == MV_BEFORE;
    return (a->birth[row] == MV_BEFORE || a->birth[row] <= event) && a->freed[row] > event;
}

float mv_fullness_legend(mv_arena *scratch, mv_painter *p, float x, float y, float w)
{
    uint64_t *used = mv_fullness_after(scratch, p->blocks, p->lives, p->peak_event);
    uint64_t bytes[MV_FULLNESS_LEVELS] = {0};
    char size[MV_SIZE_TEXT];

    if (!used) {
        p->scene->failed = true;
        return y;
    }
    for (uint32_t i = 0; i < p->lives->allocs.count; i++)
        if (is_held(p->lives, i, p->peak_event))
            bytes[mv_fullness_level(used[i], p->lives->allocs.block[i])] +=
                p->lives->allocs.block[i];
    mv_scene_text(
        p->scene, x, y, 12, p->theme->faint_text, MV_ANCHOR_START,
        mv_scene_format(p->scene, "How full the %s of the peak are", mv_size_text(size, p->peak)));
    for (uint32_t level = MV_FULLNESS_LEVELS; level-- > 0;) {
        y += ROW_HEIGHT;
        mv_scene_rect(p->scene, x, y - 10, 12, 12, mv_fullness_colour(level, p->opts->is_dark));
        mv_callers_row(p, x, y, w, mv_fullness_name(level), bytes[level]);
    }
    return y;
}
