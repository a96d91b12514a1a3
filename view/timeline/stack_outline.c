/* Paints the elements of a stack as shapes.
 *
 * Each of the largest elements has a polygon and a tooltip. Smaller elements are numerous and thin,
 * so all those of a call site are drawn together, as one shape that consists of rectangles. The
 * smallest elements are only part of the grey area below these shapes, whose outline is the
 * total. */
#include <math.h>

#include "base/size.h"
#include "base/sort.h"
#include "view/timeline/stack_shapes.h"
#include "viz/scene/axis.h"
#include "viz/scene/heading.h"

enum {
    MOST_SHAPES = 4000,
    MOST_CORNERS = 160000, /* maximum number of corners of polygons, each of which takes about five
                              bytes in a file */
    MOST_SLIVERS = 36000,  /* maximum number of rectangles, each of which takes about twenty
                              bytes */
    SHAPE_CORNERS = 24,    /* size of a polygon without its corners, expressed as a number of
                              corners */
    TEXT_FRAMES = 5,
    LABEL_SIZE = 256
};

/* number of pixels by which a flat part of a shape may rise or fall */
#define FLAT 1.5f

/* ---- tooltips ---------------------------------------------------------------------------- */

const char *mv_stack_take(mv_stack *s, const char *text)
{
    return mv_hover_take(&s->plot->view->sheet->hover_bytes, text);
}

static const char *label_of(mv_stack *s, const mv_stack_site *site)
{
    char label[MV_GROUP_LABEL];

    mv_group_label(&s->colouring, site->group, label);
    return mv_scene_format(&s->plot->ui->scene, "%s%s",
                           site->group & MV_GROUP_LEAK ? "leaked: " : "", label);
}

static const char *describe_run(mv_stack *s, const mv_element *e)
{
    mv_scene *scene = &s->plot->ui->scene;
    char size[MV_SIZE_TEXT], count[MV_TICK_TEXT];

    return mv_scene_format(
        scene, "%s small %s, up to %s at a time\n%s%s", mv_axis_exact(e->members, count),
        s->plot->of_segments ? "segments" : "allocations", mv_size_text(size, e->highest),
        e->is_mixed || e->is_one_site ? "" : "mostly ",
        e->is_mixed ? "several lines of code" : label_of(s, &s->sites[e->site]));
}

/* Adds the frames of the user's code. If there are none, adds the frames that a report would
 * show. */
static const char *add_frames(mv_stack *s, mv_stack_id stack, const char *text)
{
    const mv_trace *t = s->plot->trace;
    const uint8_t *kinds = s->plot->document->sites.kinds;
    mv_scene *scene = &s->plot->ui->scene;
    char label[LABEL_SIZE];
    uint32_t count, shown = 0;
    const mv_frame_id *frames = mv_stack_frames(t, stack, &count);
    mv_frame_kind shows = mv_stack_shows(t, kinds, stack);
    bool has_user = false;

    for (uint32_t i = 0; i < count; i++)
        has_user = has_user || kinds[frames[i].row] == MV_FRAME_USER;
    for (uint32_t i = 0; i < count && shown < TEXT_FRAMES; i++) {
        if (has_user ? kinds[frames[i].row] != MV_FRAME_USER
                     : !mv_frame_is_shown(t, kinds, shows, frames[i]))
            continue;
        text = mv_scene_format(scene, "%s\n%s", text,
                               mv_frame_label(t, frames[i], label, sizeof label));
        shown++;
    }
    if (count == 0)
        text = mv_scene_format(scene, "%s\n%s", text,
                               mv_culprit_label(t, kinds, stack, label, sizeof label));
    return text;
}

const char *mv_stack_text(mv_stack *s, const mv_element *e)
{
    uint32_t row = e->first;
    const char *text;

    if (e->members > 1)
        return mv_stack_take(s, describe_run(s, e));
    while (row + 1 < e->first + e->count && s->lives->allocs.freed[row] < s->layout.from)
        row++;
    text = mv_plot_row_text(s->plot, mv_stack_rank(s, row));
    return mv_stack_take(s, add_frames(s, s->lives->allocs.stack[row], text));
}

/* ---- polygons ---------------------------------------------------------------------------- */

/* Adds the corners of one edge over samples [first, last], to the right or back to the left. */
static void edge(mv_stack *s, const mv_sample *samples, uint32_t first, uint32_t last, bool is_top)
{
    mv_scene *scene = &s->plot->ui->scene;
    float y_before = -1;

    for (uint32_t n = first; n <= last && !scene->failed; n++) {
        const mv_sample *at = &samples[is_top ? n : last - (n - first)];
        float y = mv_stack_y(s, at->offset + (is_top ? at->bytes : 0));
        float near = mv_stack_x(s, at->column + (is_top ? 0 : 1));
        float far = mv_stack_x(s, at->column + (is_top ? 1 : 0));
        if (y == y_before) {
            scene->points[scene->point_count - 1].x = far;
            continue;
        }
        mv_scene_point(scene, near, y);
        mv_scene_point(scene, far, y);
        y_before = y;
    }
}

/* Returns the last sample after `first` that follows without a gap. */
static uint32_t end_of_run(const mv_sample *samples, uint32_t first, uint32_t count)
{
    while (first + 1 < count && samples[first + 1].column == samples[first].column + 1)
        first++;
    return first;
}

/* Paints one shape for each period in which the element is high enough to be visible. */
static void paint_polygons(mv_stack *s, const mv_element *e, uint32_t colour, const char *title)
{
    const mv_plot *p = s->plot;
    const mv_sample *samples = s->layout.samples + e->samples;
    float height = (float)((double)e->highest / p->at.dy);
    bool has_edge = height > 5 && e->columns > 5;
    mv_shape shape = {.kind = MV_SHAPE_POLYGON,
                      .fill = colour,
                      .stroke = has_edge ? p->ui->theme->edge : 0,
                      .width = has_edge ? 0.8f : 0,
                      .is_crisp = !has_edge,
                      .title = title};

    if (!colour && !has_edge)
        return;
    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        last = end_of_run(samples, first, e->columns);
        edge(s, samples, first, last, true);
        edge(s, samples, first, last, false);
        mv_scene_add(&p->ui->scene, shape);
        shape.title = mv_stack_take(s, title);
    }
}

void mv_stack_edges(mv_stack *s, const mv_element *e)
{
    paint_polygons(s, e, 0, NULL);
}

void mv_stack_area(mv_stack *s, const uint64_t *levels, mv_shape shape)
{
    mv_scene *scene = &s->plot->ui->scene;
    uint32_t columns = s->layout.column_count;
    float y_before = -1, bottom = s->plot->plot.y + s->plot->plot.h;

    for (uint32_t c = 0; c < columns && !scene->failed; c++) {
        float y = mv_stack_y(s, levels[c]);
        if (y == y_before) {
            scene->points[scene->point_count - 1].x = mv_stack_x(s, c + 1);
            continue;
        }
        mv_scene_point(scene, mv_stack_x(s, c), y);
        mv_scene_point(scene, mv_stack_x(s, c + 1), y);
        y_before = y;
    }
    mv_scene_point(scene, mv_stack_x(s, columns), bottom);
    mv_scene_point(scene, mv_stack_x(s, 0), bottom);
    mv_scene_add(scene, shape);
}

static void paint_names(mv_stack *s, const mv_element *e, uint32_t fill)
{
    const mv_sample *at = s->layout.samples + e->samples;

    if (e->members != 1 ||
        (float)((double)e->highest / s->plot->at.dy) < mv_plot_label_height(s->plot))
        return;
    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        float x = mv_stack_x(s, at[first].column), top = 0, bottom = 0;
        for (last = first; last < e->columns; last++) {
            float high = mv_stack_y(s, at[last].offset + at[last].bytes);
            float low = mv_stack_y(s, at[last].offset);
            top = last == first ? high : top;
            bottom = last == first ? low : bottom;
            if (at[last].column - at[first].column != last - first || fabsf(high - top) > FLAT ||
                fabsf(low - bottom) > FLAT)
                break;
        }
        last--;
        mv_plot_label(s->plot, mv_stack_rank(s, e->first),
                      (mv_box){x, top, mv_stack_x(s, at[last].column + 1) - x, bottom - top}, fill);
    }
}

/* ---- slivers ----------------------------------------------------------------------------- */

/* Returns the last sample before an element moves. */
static uint32_t end_of_sliver(const mv_sample *s, uint32_t first, uint32_t count)
{
    uint32_t last = first;

    while (last + 1 < count && s[last + 1].column == s[last].column + 1 &&
           s[last + 1].offset == s[first].offset && s[last + 1].bytes == s[first].bytes)
        last++;
    return last;
}

static void add_slivers(mv_stack *s, const mv_element *e)
{
    const mv_sample *at = s->layout.samples + e->samples;
    mv_scene *scene = &s->plot->ui->scene;

    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        last = end_of_sliver(at, first, e->columns);
        mv_scene_point(scene, mv_stack_x(s, at[first].column),
                       mv_stack_y(s, at[first].offset + at[first].bytes));
        mv_scene_point(scene, mv_stack_x(s, at[last].column + 1), mv_stack_y(s, at[first].offset));
    }
}

/* ---- choosing shapes --------------------------------------------------------------------- */

typedef struct {
    double area; /* bytes x columns */
    uint32_t element;
    uint32_t corners;
    uint32_t group; /* twice the site, plus 1 for the lighter shade */
    const char *title;
} candidate;

/* Returns the number of corners in the polygons of an element, with two wherever an edge moves. */
static uint32_t corners_of(const mv_stack *s, const mv_element *e)
{
    const mv_sample *at = s->layout.samples + e->samples;
    uint32_t corners = SHAPE_CORNERS + 4;

    for (uint32_t i = 1; i < e->columns; i++) {
        bool is_gap = at[i].column != at[i - 1].column + 1;
        bool bottom = mv_stack_y(s, at[i].offset) != mv_stack_y(s, at[i - 1].offset);
        bool top = mv_stack_y(s, at[i].offset + at[i].bytes) !=
                   mv_stack_y(s, at[i - 1].offset + at[i - 1].bytes);
        corners += is_gap ? SHAPE_CORNERS + 4 : 2u * bottom + 2u * top;
    }
    return corners;
}

/* Lists the elements that are visible and have a colour. */
static uint32_t list_candidates(mv_stack *s, candidate *list)
{
    const mv_layout *l = &s->layout;
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->element_count; i++) {
        const mv_element *e = &l->elements[i];
        candidate *c = &list[count];
        if (e->columns == 0 || e->is_mixed)
            continue;
        *c = (candidate){.element = i, .corners = corners_of(s, e)};
        for (uint32_t k = e->samples; k < e->samples + e->columns; k++)
            c->area += (double)l->samples[k].bytes;
        c->group = e->site * 2 + s->sites[e->site].is_lighter;
        s->sites[e->site].is_lighter = !s->sites[e->site].is_lighter;
        count++;
    }
    return count;
}

/* Returns how many elements are drawn as polygons. The list must begin with the largest
 * elements. */
static uint32_t count_polygons(const candidate *list, uint32_t count)
{
    uint32_t kept = 0;
    uint64_t corners = 0;

    while (kept < count && kept < MOST_SHAPES && corners + list[kept].corners <= MOST_CORNERS)
        corners += list[kept++].corners;
    return kept;
}

/* Returns the number of rectangles of an element. Columns in which it does not move are merged. */
static uint32_t slivers_of(const mv_stack *s, const mv_element *e)
{
    const mv_sample *at = s->layout.samples + e->samples;
    uint32_t slivers = 0;

    for (uint32_t first = 0; first < e->columns; slivers++)
        first = end_of_sliver(at, first, e->columns) + 1;
    return slivers;
}

/* Returns how many of the remaining elements are drawn as rectangles. */
static uint32_t count_slivers(const mv_stack *s, const candidate *list, uint32_t count)
{
    uint64_t slivers = 0;
    uint32_t kept = 0;

    for (; kept < count; kept++) {
        slivers += slivers_of(s, &s->layout.elements[list[kept].element]);
        if (slivers > MOST_SLIVERS)
            break;
    }
    return kept;
}

static uint32_t colour_of(const mv_stack *s, uint32_t group)
{
    uint32_t colour = mv_stack_colour(s, &s->sites[group / 2]);

    return group % 2 ? mv_lighter(colour) : colour;
}

static void paint_slivers(mv_stack *s, const candidate *list, uint32_t count)
{
    mv_scene *scene = &s->plot->ui->scene;

    for (uint32_t i = 0, first = 0; i < count; i++) {
        uint32_t group = list[i].group;
        add_slivers(s, &s->layout.elements[list[i].element]);
        if (i + 1 < count && list[i + 1].group == group)
            continue;
        mv_scene_add(
            scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                              .fill = colour_of(s, group),
                              .is_crisp = true,
                              .title = mv_scene_format(scene, "%s small or short-lived shapes\n%s",
                                                       mv_scene_count(scene, i + 1 - first),
                                                       label_of(s, &s->sites[group / 2]))});
        first = i + 1;
    }
}

bool mv_stack_paint_outlines(mv_stack *s)
{
    const mv_layout *l = &s->layout;
    candidate *list = mv_push_array(&s->scratch, candidate, l->element_count);
    uint32_t count, polygons, slivers;

    if (!list)
        return false;
    count = list_candidates(s, list);
    mv_sort_rows(&s->scratch, list, count, MV_FALLING(candidate, area),
                 MV_RISING(candidate, element));
    polygons = count_polygons(list, count);
    slivers = count_slivers(s, list + polygons, count - polygons);
    /* The largest elements come first, because there may be too many tooltips. */
    for (uint32_t i = 0; i < polygons; i++)
        list[i].title = mv_stack_text(s, &l->elements[list[i].element]);
    mv_sort_rows(&s->scratch, list, polygons, MV_RISING(candidate, element));
    mv_sort_rows(&s->scratch, list + polygons, slivers, MV_RISING(candidate, group),
                 MV_RISING(candidate, element));
    paint_slivers(s, list + polygons, slivers);
    for (uint32_t i = 0; i < polygons; i++)
        paint_polygons(s, &l->elements[list[i].element], colour_of(s, list[i].group),
                       list[i].title);
    for (uint32_t i = 0; i < polygons; i++)
        paint_names(s, &l->elements[list[i].element], colour_of(s, list[i].group));
    for (uint32_t i = 0; i < polygons + slivers; i++)
        mv_stack_see(s, &l->elements[list[i].element]);
    return true;
}
