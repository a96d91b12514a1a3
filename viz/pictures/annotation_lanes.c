/* What the program said it was doing: its annotations above the plot, each nesting level in a lane
 * of its own, marks in the lane above. Without annotations, the steps that the leak report found.
 */
#include "base/search.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"

enum {
    LANES = 2,
    MARKS = LANES /* the lane of marks */,
    LANE_HEIGHT = 13,
    MOST_OPEN = 16,
    MOST_NAMES = 3
};

typedef struct {
    mv_painter *p;
    float last_end[LANES];
    mv_string_id
        names[MOST_NAMES]; /* how many distinct names are listed for ranges too narrow for theirs */
    uint32_t name_count;
    bool has_more_names;
} lanes;

static bool concerns(const mv_painter *p, uint32_t annotation)
{
    int32_t device = p->trace->annotations.device[annotation];

    return device < 0 || (uint32_t)device == p->lives->device;
}

/* The first event at or after a time. Times of a trace do not decrease, or only by microseconds. */
static uint32_t event_at(const mv_events *e, int64_t time)
{
    return (uint32_t)mv_lower_bound_i64(e->time_us, e->count, time);
}

/* Ends of ranges, as opposed to marks. */
static bool has_ranges(const mv_painter *p)
{
    if (p->lives->events.count == 0 || mv_painter_time(p, 0) < 0)
        return false;
    for (uint32_t i = 0; i < p->trace->annotations.count; i++)
        if (concerns(p, i) && p->trace->annotations.stage[i] != MV_STAGE_MARK)
            return true;
    return false;
}

static bool has_steps(const mv_painter *p)
{
    return p->opts->leaks && p->opts->leaks->steps.count > 0;
}

/* Whether it is a mark within the window; then *event is the first at or after it. */
static bool is_mark(const mv_painter *p, uint32_t annotation, uint32_t *event)
{
    if (p->trace->annotations.stage[annotation] != MV_STAGE_MARK || !concerns(p, annotation))
        return false;
    *event = event_at(&p->lives->events, p->trace->annotations.time_us[annotation]);
    return *event >= p->layout.from && *event <= p->layout.to && p->layout.to > p->layout.from;
}

bool mv_lanes_marks(const mv_painter *p)
{
    uint32_t event;

    if (p->lives->events.count == 0 || mv_painter_time(p, 0) < 0)
        return false;
    for (uint32_t i = 0; i < p->trace->annotations.count; i++)
        if (is_mark(p, i, &event))
            return true;
    return false;
}

bool mv_lanes_any(const mv_painter *p)
{
    return has_ranges(p) || has_steps(p);
}

static float lane_top(const mv_painter *p, uint32_t lane)
{
    return p->y - 4 - (float)(lane + 1) * LANE_HEIGHT;
}

/* Text to the right of the lanes, above the legend. */
static void side_note(mv_painter *p, uint32_t lane, const char *text)
{
    float x = p->x + p->w + 24;

    mv_scene_text(p->scene, x, lane_top(p, lane) + 9, 11, p->theme->faint_text, MV_ANCHOR_START,
                  mv_text_fit(p->scene, text, 11, p->scene->width - x - 24));
}

static void side_title(mv_painter *p, uint32_t lane, const char *text)
{
    mv_scene_text(p->scene, p->x - 8, lane_top(p, lane) + 9, 11, p->theme->faint_text,
                  MV_ANCHOR_END, text);
}

/* ---- annotations ------------------------------------------------------------------------- */

static void keep_name(lanes *l, mv_string_id name)
{
    for (uint32_t i = 0; i < l->name_count; i++)
        if (l->names[i].row == name.row)
            return;
    if (l->name_count == MOST_NAMES)
        l->has_more_names = true;
    else
        l->names[l->name_count++] = name;
}

static void paint_range(lanes *l, mv_string_id name, uint32_t lane, uint32_t from, uint32_t to)
{
    mv_painter *p = l->p;
    const char *text = mv_string_text(p->trace, name);
    float x0, x1, y = lane_top(p, lane);
    mv_shape shape = {.kind = MV_SHAPE_RECTS, .fill = p->theme->lane};

    if (to < p->layout.from || from >= p->layout.to)
        return;
    from = from < p->layout.from ? p->layout.from : from;
    to = to > p->layout.to ? p->layout.to : to;
    x0 = mv_painter_x(p, from);
    x1 = mv_painter_x(p, to);
    if (x1 < x0 + 1.5f)
        x1 = x0 + 1.5f;
    if (x0 < l->last_end[lane] + 0.7f)
        x0 = l->last_end[lane] + 0.7f;
    if (x1 < x0 + 0.5f) /* thousands of ranges: one a pixel is enough */
        return;
    l->last_end[lane] = x1;
    shape.title =
        mv_painter_hover(p, mv_scene_format(p->scene, "%.300s\nevents %u to %u", text, from, to));
    mv_scene_point(p->scene, x0, y);
    mv_scene_point(p->scene, x1, y + LANE_HEIGHT - 2);
    mv_scene_add(p->scene, shape);
    if (mv_text_width(text, 9) < x1 - x0 - 6)
        mv_scene_text(p->scene, x0 + 3, y + 8.5f, 9, p->theme->text, MV_ANCHOR_START,
                      mv_scene_format(p->scene, "%.120s", text));
    else
        keep_name(l, name);
}

static void paint_annotations(lanes *l)
{
    const mv_painter *p = l->p;
    const mv_annotations *a = &p->trace->annotations;
    struct {
        mv_string_id name;
        uint32_t event;
    } open[MOST_OPEN];
    uint32_t depth = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t event, level = depth;
        if (!concerns(p, i))
            continue;
        event = event_at(&p->lives->events, a->time_us[i]);
        if (a->stage[i] == MV_STAGE_START && depth < MOST_OPEN) {
            open[depth].name = a->name[i];
            open[depth++].event = event;
            continue;
        }
        while (level > 0 && open[level - 1].name.row != a->name[i].row)
            level--;
        if (a->stage[i] != MV_STAGE_END || level == 0)
            continue;
        depth = level - 1;
        if (depth < LANES)
            paint_range(l, a->name[i], depth, open[depth].event, event);
    }
}

static void diamond(lanes *l, float x, const char *title)
{
    mv_painter *p = l->p;
    float y = lane_top(p, MARKS) + 5;

    mv_scene_point(p->scene, x, y - 5);
    mv_scene_point(p->scene, x + 4, y);
    mv_scene_point(p->scene, x, y + 5);
    mv_scene_point(p->scene, x - 4, y);
    mv_scene_add(p->scene, (mv_shape){.kind = MV_SHAPE_POLYGON,
                                      .fill = p->theme->faint_text,
                                      .title = mv_painter_hover(p, title)});
}

/* Where the next mark is, or the end of the plot: a name may extend to there. */
static float next_mark(const mv_painter *p, uint32_t annotation)
{
    uint32_t event;

    for (uint32_t i = annotation + 1; i < p->trace->annotations.count; i++)
        if (is_mark(p, i, &event))
            return mv_painter_x(p, event) - 6;
    return p->x + p->w;
}

static void paint_marks(lanes *l)
{
    mv_painter *p = l->p;
    const mv_annotations *a = &p->trace->annotations;
    float last = -9;

    for (uint32_t i = 0; i < a->count; i++) {
        const char *name = mv_string_text(p->trace, a->name[i]);
        uint32_t event;
        float x;
        if (!is_mark(p, i, &event))
            continue;
        x = mv_painter_x(p, event);
        if (x < last + 2) /* many in one place are one row of diamonds */
            continue;
        last = x;
        diamond(l, x, mv_scene_format(p->scene, "mark: %.300s\nbefore event %u", name, event));
        if (x + 7 + mv_text_width(name, 9) < next_mark(p, i)) {
            mv_scene_text(p->scene, x + 6, lane_top(p, MARKS) + 8.5f, 9, p->theme->text,
                          MV_ANCHOR_START, mv_scene_format(p->scene, "%.120s", name));
            last = x + 6 + mv_text_width(name, 9);
        } else {
            keep_name(l, a->name[i]);
        }
    }
}

static void paint_names(lanes *l, uint32_t lane)
{
    char text[512] = "";
    size_t at = 0;

    for (uint32_t i = 0; i < l->name_count && at < sizeof text; i++) {
        int length = snprintf(text + at, sizeof text - at, "%s%.120s", i ? ", " : "",
                              mv_string_text(l->p->trace, l->names[i]));
        at += length > 0 ? (size_t)length : 0;
    }
    if (l->has_more_names && at < sizeof text)
        snprintf(text + at, sizeof text - at, ", \xe2\x80\xa6");
    if (*text)
        side_note(l->p, lane, text);
}

/* ---- steps ------------------------------------------------------------------------------- */

/* One cell for each step, in two shades. */
static void paint_steps(mv_painter *p, const mv_steps *steps)
{
    float y = lane_top(p, 0), end = -1;

    for (uint32_t i = 0; i < steps->count; i++) {
        uint32_t from = steps->at[i];
        uint32_t to = i + 1 < steps->count ? steps->at[i + 1] : p->lives->events.count;
        const char *number = mv_scene_format(p->scene, "%u", i + 1);
        float x0, x1;
        if (to <= p->layout.from || from >= p->layout.to)
            continue;
        x0 = mv_painter_x(p, from < p->layout.from ? p->layout.from : from);
        x1 = mv_painter_x(p, to > p->layout.to ? p->layout.to : to);
        if (x1 < end + 2) /* narrow ones: as many as can be distinguished */
            continue;
        end = x1;
        mv_scene_rect(p->scene, x0, y, x1 - x0 - 1, LANE_HEIGHT - 2, p->theme->lane);
        if (mv_text_width(number, 9) < x1 - x0 - 6)
            mv_scene_text(p->scene, x0 + 3, y + 8.5f, 9, p->theme->text, MV_ANCHOR_START, number);
    }
}

void mv_lanes_paint(mv_painter *p)
{
    lanes ranges = {.p = p, .last_end = {-1, -1}}, marks = {.p = p};
    const mv_steps *steps = has_steps(p) ? &p->opts->leaks->steps : NULL;

    if (has_ranges(p)) {
        side_title(p, 0, "annotations");
        paint_annotations(&ranges);
        paint_names(&ranges, 0);
    } else if (steps) {
        side_title(p, 0, "steps");
        paint_steps(p, steps);
        side_note(p, 0,
                  mv_scene_format(p->scene, "%u steps, %s", steps->count,
                                  steps->source == MV_STEPS_INFERRED ? "found by repetition"
                                                                     : "marked by the program"));
    }
    if (p->has_marks) {
        side_title(p, MARKS, "marks");
        paint_marks(&marks);
        paint_names(&marks, MARKS);
    }
}
