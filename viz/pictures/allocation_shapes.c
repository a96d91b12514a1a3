/* The allocations of a timeline as shapes.
 *
 * The elements that fill most of the picture have a polygon each, and a tip. The others are many
 * and thin: those of one call site are the rectangles of one shape. Even smaller ones are left to
 * the grey area under them, whose outline is the total. */

#include "base/size.h"
#include "base/sort.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"

enum {
    MOST_SHAPES = 4000,
    MOST_CORNERS = 160000, /* of polygons: some five bytes each in a file */
    MOST_SLIVERS = 36000,  /* some twenty bytes each */
    SHAPE_CORNERS = 24,    /* cost of a polygon besides its corners, in corners */
    TITLE_FRAMES = 5,
    LABEL_SIZE = 256
};

/* ---- texts ------------------------------------------------------------------------------- */

static int append(char *text, int at, size_t size, const char *prefix, const char *more)
{
    if (at < 0 || (size_t)at >= size)
        return at;
    return at + snprintf(text + at, size - (size_t)at, "%s%s", prefix, more);
}

static const char *describe_run(mv_painter *p, const mv_element *e)
{
    const mv_caller *caller = &p->callers.callers[e->site];
    char size[MV_SIZE_TEXT], count[MV_TICK_TEXT], label[LABEL_SIZE] = "several lines of code";

    if (!e->is_mixed)
        mv_caller_label(p, caller, label, sizeof label);
    return mv_scene_format(
        p->scene, "%s%s small %s, up to %s at a time\n%s%s", caller->is_leak ? "leaked: " : "",
        mv_axis_exact(e->members, count), p->of_segments ? "segments" : "allocations",
        mv_size_text(size, e->highest), e->is_mixed || e->is_one_site ? "" : "mostly ", label);
}

static const char *lifetime(mv_painter *p, uint32_t birth, uint32_t freed)
{
    char from[MV_TICK_TEXT], to[MV_TICK_TEXT], time[MV_TICK_TEXT];
    int64_t us = -1;

    if (birth == MV_BEFORE && freed == MV_NEVER)
        return "alive before the first event and after the last";
    if (birth == MV_BEFORE)
        return mv_scene_format(p->scene, "from before the first event to event %s",
                               mv_axis_exact(freed, to));
    if (freed == MV_NEVER)
        return mv_scene_format(p->scene, "from event %s, never freed", mv_axis_exact(birth, from));
    if (mv_painter_time(p, birth) >= 0)
        us = mv_painter_time(p, freed) - mv_painter_time(p, birth);
    mv_axis_exact(birth, from);
    mv_axis_exact(freed, to);
    if (us < 0)
        return mv_scene_format(p->scene, "from event %s to %s", from, to);
    return mv_scene_format(p->scene, "from event %s to %s, %s", from, to,
                           mv_axis_time(us, us, time));
}

/* The frames of the user's code; if there are none, those that a report would show. */
static int append_frames(mv_painter *p, mv_stack_id stack, char *text, int at, size_t size)
{
    char label[LABEL_SIZE];
    uint32_t count, shown = 0;
    const mv_frame_id *frames = mv_stack_frames(p->trace, stack, &count);
    bool has_user = false;

    for (uint32_t i = 0; i < count; i++)
        has_user = has_user || p->frame_kinds[frames[i].row] == MV_FRAME_USER;
    for (uint32_t i = 0; i < count && shown < TITLE_FRAMES; i++) {
        if (has_user ? p->frame_kinds[frames[i].row] != MV_FRAME_USER
                     : !mv_frame_is_shown(p->trace, p->frame_kinds, stack, i))
            continue;
        at = append(text, at, size, "\n", mv_frame_label(p->trace, frames[i], label, sizeof label));
        shown++;
    }
    if (count == 0)
        at = append(text, at, size, "\n",
                    mv_culprit_label(p->trace, p->frame_kinds, stack, label, sizeof label));
    return at;
}

/* "20.0 MiB segment at 0x7f…, large pool, stream 0". */
static int describe_segment(mv_painter *p, uint32_t row, char *text, size_t size)
{
    const mv_segment_lives *s = &p->lives->segments;
    char bytes[MV_SIZE_TEXT];

    return snprintf(
        text, size, "%s%s at 0x%llx, %s pool, stream %llu\n%s", mv_size_text(bytes, s->size[row]),
        s->is_expandable[row] ? " of an expandable segment" : " segment",
        (unsigned long long)s->addr[row], mv_segment_kind_name((mv_segment_kind)s->kind[row]),
        (unsigned long long)p->trace->streams.value[s->stream[row].row],
        lifetime(p, s->birth[row], s->death[row]));
}

static int describe_alloc(mv_painter *p, uint32_t row, bool is_leak, char *text, size_t size)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    char bytes[MV_SIZE_TEXT], exact[MV_TICK_TEXT], asked[MV_TICK_TEXT];

    return snprintf(text, size, "%s%s (%s bytes, %s asked for)\n%s", is_leak ? "leaked: " : "",
                    mv_size_text(bytes, a->block[row]), mv_axis_exact(a->block[row], exact),
                    mv_axis_exact(a->requested[row], asked),
                    lifetime(p, a->birth[row], a->freed[row]));
}

const char *mv_shapes_describe(mv_painter *p, uint32_t row, bool is_leak)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    char text[900];
    int at = p->of_segments ? describe_segment(p, a->segment[row], text, sizeof text)
                            : describe_alloc(p, row, is_leak, text, sizeof text);

    append_frames(p, a->stack[row], text, at, sizeof text);
    return mv_scene_format(p->scene, "%s", text);
}

const char *mv_shapes_element(mv_painter *p, const mv_element *e)
{
    uint32_t row = e->first;

    if (e->members > 1)
        return describe_run(p, e);
    while (row + 1 < e->first + e->count && p->lives->allocs.freed[row] < p->layout.from)
        row++;
    return mv_shapes_describe(p, row, p->callers.callers[e->site].is_leak);
}

/* ---- polygons ---------------------------------------------------------------------------- */

/* Corners of one edge over samples [first, last], to the right or back to the left. */
static void edge(mv_painter *p, const mv_sample *samples, uint32_t first, uint32_t last,
                 bool is_top)
{
    float y_before = -1;

    for (uint32_t n = first; n <= last && !p->scene->failed; n++) {
        const mv_sample *s = &samples[is_top ? n : last - (n - first)];
        float y = mv_painter_y(p, s->offset + (is_top ? s->bytes : 0));
        float near = mv_painter_column(p, s->column + (is_top ? 0 : 1));
        float far = mv_painter_column(p, s->column + (is_top ? 1 : 0));
        if (y == y_before) {
            p->scene->points[p->scene->point_count - 1].x = far;
            continue;
        }
        mv_scene_point(p->scene, near, y);
        mv_scene_point(p->scene, far, y);
        y_before = y;
    }
}

/* The last sample of those that follow `first` without a gap. */
static uint32_t end_of_run(const mv_sample *samples, uint32_t first, uint32_t count)
{
    while (first + 1 < count && samples[first + 1].column == samples[first].column + 1)
        first++;
    return first;
}

/* An element may be too low to see for a while: one shape for each time it is visible. */
static void paint_polygons(mv_painter *p, const mv_element *e, uint32_t colour, const char *title)
{
    const mv_sample *samples = p->layout.samples + e->samples;
    float height = p->h * (float)((double)e->highest / (double)p->most);
    float width = p->w * (float)e->columns / (float)p->layout.column_count;
    bool has_edge = height > 5 && width > 5;
    mv_shape shape = {.kind = MV_SHAPE_POLYGON,
                      .fill = colour,
                      .stroke = has_edge ? p->theme->edge : 0,
                      .width = has_edge ? 0.8f : 0,
                      .is_crisp = !has_edge,
                      .title = title};

    if (!colour && !has_edge)
        return;
    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        last = end_of_run(samples, first, e->columns);
        edge(p, samples, first, last, true);
        edge(p, samples, first, last, false);
        mv_scene_add(p->scene, shape);
        shape.title = mv_painter_hover(p, title);
    }
}

void mv_shapes_edges(mv_painter *p, const mv_element *e)
{
    paint_polygons(p, e, 0, NULL);
}

void mv_shapes_area(mv_painter *p, const uint64_t *levels, mv_shape shape)
{
    const mv_layout *l = &p->layout;
    float y_before = -1;

    for (uint32_t c = 0; c < l->column_count && !p->scene->failed; c++) {
        float y = mv_painter_y(p, levels[c]);
        if (y == y_before) {
            p->scene->points[p->scene->point_count - 1].x = mv_painter_column(p, c + 1);
            continue;
        }
        mv_scene_point(p->scene, mv_painter_column(p, c), y);
        mv_scene_point(p->scene, mv_painter_column(p, c + 1), y);
        y_before = y;
    }
    mv_scene_point(p->scene, mv_painter_column(p, l->column_count), p->y + p->h);
    mv_scene_point(p->scene, mv_painter_column(p, 0), p->y + p->h);
    mv_scene_add(p->scene, shape);
}

/* ---- slivers ----------------------------------------------------------------------------- */

/* The last sample of those in which an element does not move. */
static uint32_t end_of_sliver(const mv_sample *s, uint32_t first, uint32_t count)
{
    uint32_t last = first;

    while (last + 1 < count && s[last + 1].column == s[last].column + 1 &&
           s[last + 1].offset == s[first].offset && s[last + 1].bytes == s[first].bytes)
        last++;
    return last;
}

static void add_slivers(mv_painter *p, const mv_element *e)
{
    const mv_sample *s = p->layout.samples + e->samples;

    for (uint32_t first = 0, last; first < e->columns; first = last + 1) {
        last = end_of_sliver(s, first, e->columns);
        mv_scene_point(p->scene, mv_painter_column(p, s[first].column),
                       mv_painter_y(p, s[first].offset + s[first].bytes));
        mv_scene_point(p->scene, mv_painter_column(p, s[last].column + 1),
                       mv_painter_y(p, s[first].offset));
    }
}

/* ---- which element becomes what ---------------------------------------------------------- */

typedef struct {
    double area; /* bytes x columns */
    uint32_t element;
    uint32_t corners;
    uint32_t group; /* twice the rank of the call site, + 1 for the lighter shade */
    const char *title;
} candidate;

/* Corners that the polygons of an element have: two where an edge moves. */
static uint32_t corners_of(const mv_painter *p, const mv_element *e)
{
    const mv_sample *s = p->layout.samples + e->samples;
    uint32_t corners = SHAPE_CORNERS + 4;

    for (uint32_t i = 1; i < e->columns; i++) {
        bool is_gap = s[i].column != s[i - 1].column + 1;
        bool bottom = mv_painter_y(p, s[i].offset) != mv_painter_y(p, s[i - 1].offset);
        bool top = mv_painter_y(p, s[i].offset + s[i].bytes) !=
                   mv_painter_y(p, s[i - 1].offset + s[i - 1].bytes);
        corners += is_gap ? SHAPE_CORNERS + 4 : 2u * bottom + 2u * top;
    }
    return corners;
}

/* Elements that are visible and have a colour. Every second one of a site is a shade lighter, so
 * that neighbours differ. */
static uint32_t list_candidates(const mv_painter *p, candidate *list, uint8_t *is_lighter)
{
    const mv_layout *l = &p->layout;
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->element_count; i++) {
        const mv_element *e = &l->elements[i];
        candidate *c = &list[count];
        if (e->columns == 0 || e->is_mixed)
            continue;
        *c = (candidate){.element = i, .corners = corners_of(p, e)};
        for (uint32_t s = e->samples; s < e->samples + e->columns; s++)
            c->area += (double)l->samples[s].bytes;
        c->group = p->callers.callers[e->site].rank * 2 + is_lighter[e->site];
        is_lighter[e->site] ^= 1;
        count++;
    }
    return count;
}

/* How many elements have a polygon of their own; the list has the largest first. */
static uint32_t count_polygons(const mv_painter *p, const candidate *list, uint32_t count)
{
    uint32_t parts = p->parts ? p->parts : 1;
    uint32_t kept = 0;
    uint64_t corners = 0;

    while (kept < count && kept < MOST_SHAPES / parts &&
           corners + list[kept].corners <= MOST_CORNERS / parts)
        corners += list[kept++].corners;
    return kept;
}

/* The rectangles of an element: columns in which it does not move are one. */
static uint32_t slivers_of(const mv_painter *p, const mv_element *e)
{
    const mv_sample *s = p->layout.samples + e->samples;
    uint32_t slivers = 0;

    for (uint32_t first = 0; first < e->columns; slivers++)
        first = end_of_sliver(s, first, e->columns) + 1;
    return slivers;
}

/* How many of the others are drawn as rectangles. */
static uint32_t count_slivers(const mv_painter *p, const candidate *list, uint32_t count)
{
    uint32_t most = MOST_SLIVERS / (p->parts ? p->parts : 1);
    uint64_t slivers = 0;
    uint32_t kept = 0;

    for (; kept < count; kept++) {
        slivers += slivers_of(p, &p->layout.elements[list[kept].element]);
        if (slivers > most)
            break;
    }
    return kept;
}

static uint32_t colour_of(const mv_painter *p, uint32_t group)
{
    const mv_callers *c = &p->callers;
    uint32_t colour = c->callers[c->by_rank[group / 2]].colour;

    return group % 2 ? mv_lighter(colour) : colour;
}

static void paint_slivers(mv_painter *p, const candidate *list, uint32_t count)
{
    const mv_callers *c = &p->callers;
    char label[LABEL_SIZE];

    for (uint32_t i = 0, first = 0; i < count; i++) {
        const mv_caller *caller = &c->callers[c->by_rank[list[i].group / 2]];
        add_slivers(p, &p->layout.elements[list[i].element]);
        if (i + 1 < count && list[i + 1].group == list[i].group)
            continue;
        mv_scene_add(p->scene,
                     (mv_shape){.kind = MV_SHAPE_RECTS,
                                .fill = colour_of(p, list[i].group),
                                .is_crisp = true,
                                .title = mv_scene_format(
                                    p->scene, "%u small or short-lived shapes\n%s", i + 1 - first,
                                    mv_caller_label(p, caller, label, sizeof label))});
        first = i + 1;
    }
}

bool mv_shapes_paint(mv_arena *scratch, mv_painter *p, uint32_t *drawn)
{
    const mv_layout *l = &p->layout;
    candidate *list = mv_push_array(scratch, candidate, l->element_count);
    uint8_t *is_lighter = mv_push_array(scratch, uint8_t, p->callers.count);
    uint32_t count, polygons, slivers;

    if (!list || !is_lighter)
        return false;
    count = list_candidates(p, list, is_lighter);
    mv_sort_rows(scratch, list, count, MV_FALLING(candidate, area), MV_RISING(candidate, element));
    polygons = count_polygons(p, list, count);
    slivers = count_slivers(p, list + polygons, count - polygons);
    /* The largest first: there may be too many tips. */
    for (uint32_t i = 0; i < polygons; i++)
        list[i].title = mv_painter_hover(p, mv_shapes_element(p, &l->elements[list[i].element]));
    mv_sort_rows(scratch, list, polygons, MV_RISING(candidate, element));
    mv_sort_rows(scratch, list + polygons, slivers, MV_RISING(candidate, group),
                 MV_RISING(candidate, element));
    mv_shapes_area(p, l->allocated,
                   (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = p->theme->rest, .is_crisp = true});
    paint_slivers(p, list + polygons, slivers);
    for (uint32_t i = 0; i < polygons; i++)
        paint_polygons(p, &l->elements[list[i].element], colour_of(p, list[i].group),
                       list[i].title);
    for (uint32_t i = 0; i < polygons + slivers; i++)
        *drawn += l->elements[list[i].element].members;
    if (p->lives->allocs.preexisting > 0 && p->lives->events.count > 0)
        mv_shapes_area(
            p, l->preexisting,
            (mv_shape){.kind = MV_SHAPE_POLYGON, .is_hatched = true, .stroke = p->theme->hatch});
    return true;
}
