/* Segments in a printed picture, coloured by how full they are. */
#include "base/sort.h"
#include "view/timeline/stack_shapes.h"
#include "viz/pictures/fullness.h"

/* Limits that keep the file small. Each rectangle takes about twenty bytes. */
enum { MOST_ELEMENTS = 4000, MOST_RECTS = 36000 };

typedef struct {
    double area; /* bytes x columns */
    uint32_t element;
    uint32_t rects;
} candidate;

/* Returns the last sample before an element moves or changes its colour. */
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

static uint32_t list_candidates(const mv_layout *l, const uint64_t *used, candidate *list)
{
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

/* Paints all rectangles of an element that have the same colour, as one shape. */
static void paint_level(mv_stack *s, const mv_element *e, const uint64_t *used, uint32_t level,
                        const char *text)
{
    const mv_sample *at = s->layout.samples + e->samples;
    mv_scene *scene = &s->plot->ui->scene;
    bool has_any = false;

    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        last = end_of_rect(at, used, first, e->columns);
        if (mv_fullness_level(used[first], at[first].bytes) != level)
            continue;
        mv_scene_point(scene, mv_stack_x(s, at[first].column),
                       mv_stack_y(s, at[first].offset + at[first].bytes));
        mv_scene_point(scene, mv_stack_x(s, at[last].column + 1), mv_stack_y(s, at[first].offset));
        has_any = true;
    }
    if (!has_any)
        return;
    if (text)
        text = mv_scene_format(scene, "%s\nhere %s", text, mv_fullness_name(level));
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                   .fill = mv_fullness_colour(level, s->plot->view->desk->is_dark),
                                   .is_crisp = true,
                                   .title = text ? mv_stack_take(s, text) : NULL});
}

bool mv_stack_paint_fullness(mv_stack *s)
{
    const mv_layout *l = &s->layout;
    uint64_t *used = mv_fullness_of_samples(&s->scratch, &s->plot->device->lives, s->lives, l);
    candidate *list = mv_push_array(&s->scratch, candidate, l->element_count);
    uint32_t count, rects = 0;

    if (!used || !list)
        return false;
    count = list_candidates(l, used, list);
    mv_sort_rows(&s->scratch, list, count, MV_FALLING(candidate, area),
                 MV_RISING(candidate, element));
    for (uint32_t i = 0; i < count && i < MOST_ELEMENTS; i++) {
        const mv_element *e = &l->elements[list[i].element];
        const char *text = mv_stack_text(s, e);
        rects += list[i].rects;
        if (rects > MOST_RECTS)
            break;
        for (uint32_t level = 0; level < MV_FULLNESS_LEVELS; level++)
            paint_level(s, e, used + e->samples, level, text);
        mv_stack_edges(s, e);
        mv_stack_see(s, e);
    }
    return true;
}
