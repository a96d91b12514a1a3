/* Levels over time: the lines over the stack, peaks, and out-of-memory events. */
#include <math.h>

#include "base/duration.h"
#include "base/size.h"
#include "view/timeline/plot.h"
#include "viz/scene/axis.h"

enum {
    MOST_OOM_LINES = 32,
    OOM_NAME = 110 /* requests that are at most this many pixels apart share
                                            * a label */
};

/* ---- the envelope ------------------------------------------------------------------------- */

static bool is_same(const mv_viewport *a, const mv_viewport *b)
{
    return a->scale == b->scale && a->x == b->x && a->dx == b->dx && a->box.w == b->box.w;
}

enum { EXACT_US = 2000 }; /* microseconds in each frame, when other threads make the tiles */

static bool make_columns(mv_timeline_pane *pane, mv_envelope *e, uint32_t columns)
{
    mv_extent *grown;

    if (columns <= e->capacity)
        return true;
    grown = mv_arena_grow(&pane->arena, e->columns, columns * sizeof *grown);
    if (!grown)
        return false;
    e->columns = grown;
    e->capacity = columns;
    return true;
}

/* Rounds moments outward so that the pyramid can answer at once. An error of less than a column
 * cannot be seen while the picture moves. */
static mv_window rounded(const mv_pyramid *pyramid, mv_window moments)
{
    uint32_t first = moments.first == MV_BEFORE ? 0 : moments.first, width = moments.end - first;

    if (width < MV_PYRAMID_CUT)
        return moments;
    moments.first = mv_pyramid_cut(first, width) - 1; /* for event 0, this is MV_BEFORE */
    if (moments.end < pyramid->events)
        moments.end = mv_pyramid_cut(moments.end, width);
    return moments;
}

bool mv_envelope_moments(const mv_envelope *e, uint32_t column, uint32_t end, mv_window *out)
{
    const mv_viewport *at = &e->at;

    if (e->to.there)
        return mv_alignment_column(&e->to, mv_viewport_border(at, column),
                                   mv_viewport_border(at, end), out);
    *out = mv_viewport_column(at, column);
    if (end > column + 1)
        out->end = mv_viewport_column(at, end - 1).end;
    return true;
}

static bool column_of(const mv_envelope *e, uint32_t column, mv_window *out)
{
    return mv_envelope_moments(e, column, column + 1, out);
}

/* Finds levels for all columns at once. They are approximate until refine() makes them exact, one
 * column at a time. */
static void begin_envelope(mv_timeline_pane *pane, mv_envelope *e, mv_pyramid_reader *reader,
                           mv_viewport at, const mv_alignment *to)
{
    uint32_t columns = at.box.w > 0 ? (uint32_t)at.box.w : 0;
    uint32_t step = e->coarse && to ? e->coarse : 1;
    mv_window moments;

    e->at = at;
    e->pyramid = reader->pyramid;
    e->to = to ? *to : (mv_alignment){0};
    e->from = e->end = 0;
    e->count = make_columns(pane, e, columns) ? columns : 0;
    for (uint32_t c = 0, end; c < e->count; c = end) {
        end = c + step < e->count ? c + step : e->count;
        if (!mv_envelope_moments(e, c, end, &moments))
            continue;
        if (e->end == 0)
            e->from = c;
        e->end = end;
        moments = rounded(reader->pyramid, moments);
        e->columns[c] = mv_pyramid_range(reader, moments.first, moments.end);
        for (uint32_t i = c + 1; i < end; i++)
            e->columns[i] = e->columns[c];
    }
    e->exact = e->from;
}

/* Makes one column exact. If several columns were merged, the outer ones may contain no moment of
 * the other device. */
static void refine(mv_envelope *e, mv_pyramid_reader *reader)
{
    uint32_t c = e->exact++;
    mv_window moments;

    if (column_of(e, c, &moments))
        e->columns[c] = mv_pyramid_range(reader, moments.first, moments.end);
    else if (c == e->from)
        e->from++;
    else
        e->end = c;
}

bool mv_envelope_find(mv_timeline_pane *pane, mv_envelope *e, mv_pyramid_reader *reader,
                      mv_viewport at, const mv_alignment *to, uint32_t most)
{
    uint32_t columns = at.box.w > 0 ? (uint32_t)at.box.w : 0;
    int64_t until = mv_now_us() + EXACT_US;

    if (e->count != columns || e->pyramid != reader->pyramid || !is_same(&e->at, &at) ||
        !mv_alignment_is_same(&e->to, to ? to : &(mv_alignment){0}))
        begin_envelope(pane, e, reader, at, to);
    /* In a very long trace, the data of a column may have to be read from a file. */
    for (uint32_t i = 0; e->exact < e->end && i < most; i++) {
        if (most < UINT32_MAX && i > 0 && mv_now_us() > until)
            break;
        refine(e, reader);
    }
    return e->exact >= e->end;
}

bool mv_envelope_column(const mv_envelope *e, uint32_t event, uint32_t *out)
{
    mv_bisect b = mv_bisect_over(e->from, e->end);
    mv_window moments;

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, column_of(e, (uint32_t)b.middle, &moments) && event != MV_BEFORE &&
                                 moments.end <= event);
    *out = (uint32_t)b.low;
    if (b.low >= e->end || !column_of(e, *out, &moments))
        return false;
    return moments.first == event || (event != MV_BEFORE && event < moments.end &&
                                      (moments.first == MV_BEFORE || moments.first <= event));
}

/* ---- curves ------------------------------------------------------------------------------- */

uint64_t mv_measure_of(const mv_levels *levels, mv_measure which)
{
    return which == MV_ALLOCATED ? levels->allocated
           : which == MV_ACTIVE  ? levels->active
                                 : levels->reserved;
}

/* Returns the y of the highest value in a column, rounded to half a pixel. */
static float curve_y(const mv_viewport *at, const mv_envelope *e, mv_measure which, uint32_t column)
{
    float y = mv_viewport_y(at, (double)mv_measure_of(&e->columns[column].most, which));

    return (float)(int)(y * 2 + 0.5f) / 2;
}

static void dashed_curve(mv_ui *ui, const mv_viewport *at, const mv_envelope *e, mv_measure which,
                         mv_shape shape)
{
    mv_scene *scene = &ui->scene;
    float last = -1;

    for (uint32_t c = e->from; c < e->end && !scene->failed; c++) {
        float x = at->box.x + (float)c, y = curve_y(at, e, which, c);
        if (c > e->from && y == last) { /* one long edge is drawn faster than many short ones */
            scene->points[scene->point_count - 1].x = x + 1;
            continue;
        }
        mv_scene_point(scene, x, y);
        mv_scene_point(scene, x + 1, y);
        last = y;
    }
    shape.kind = MV_SHAPE_LINE;
    mv_scene_add(scene, shape);
}

/* Adds what the pen covers between `upper` and `lower` in columns [from, to). */
static void add_step(mv_scene *scene, float from, float to, float upper, float lower)
{
    mv_scene_point(scene, from, upper);
    mv_scene_point(scene, from, lower);
    mv_scene_point(scene, to, upper);
    mv_scene_point(scene, to, lower);
}

/* Paints the curve as a strip, in which each column extends from its value to the value of the
 * previous column. Stroking thousands of edges, up and down, would take longer than all other parts
 * of the frame. */
static void solid_curve(mv_ui *ui, const mv_viewport *at, const mv_envelope *e, mv_measure which,
                        mv_shape shape)
{
    mv_scene *scene = &ui->scene;
    float half = shape.width / 2, next = e->from < e->end ? curve_y(at, e, which, e->from) : 0;
    float before = next;
    uint32_t end;

    for (uint32_t c = e->from; c < e->end && !scene->failed; c = end) {
        float x = at->box.x + (float)c, y = next;
        add_step(scene, x, x + 1, fminf(y, before) - half, fmaxf(y, before) + half);
        for (end = c + 1; end < e->end && (next = curve_y(at, e, which, end)) == y; end++)
            ;
        if (end > c + 1)
            add_step(scene, x + 1, at->box.x + (float)end, y - half, y + half);
        before = y;
    }
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = shape.stroke});
}

/* Paints a curve. Dashes cross shapes of any colour, so a pale band below keeps them visible. */
void mv_curve_paint(mv_ui *ui, const mv_viewport *at, const mv_envelope *e, mv_measure which,
                    mv_shape shape)
{
    mv_shape band = {.stroke = (ui->theme->plot & ~0xffu) | 0xb0,
                     .width = shape.width + 2 * ui->scale};

    solid_curve(ui, at, e, which, shape.is_dashed ? band : shape);
    if (shape.is_dashed)
        dashed_curve(ui, at, e, which, shape);
}

void mv_plot_curves(mv_plot *p)
{
    const mv_theme *theme = p->ui->theme;
    const mv_envelope *e = &p->pane->envelope;
    float unit = p->ui->scale;
    mv_shape outline = {.stroke = (theme->outline & ~0xffu) | 0xa0, .width = unit};
    mv_shape active = {.stroke = theme->active, .width = 1.5f * unit, .is_dashed = true};
    mv_shape reserved = {.stroke = theme->reserved, .width = 1.6f * unit, .is_dashed = true};

    mv_scene_clip(&p->ui->scene, p->plot.x, p->plot.y, p->plot.w, p->plot.h);
    if (p->of_segments) {
        mv_curve_paint(p->ui, &p->at, e, MV_RESERVED, outline);
        mv_curve_paint(p->ui, &p->at, e, MV_ALLOCATED, active);
    } else {
        mv_curve_paint(p->ui, &p->at, e, MV_ALLOCATED, outline);
        if (p->has_pending)
            mv_curve_paint(p->ui, &p->at, e, MV_ACTIVE, active);
        if (!p->rows->only && mv_level_reserves(p->trace)) /* how much is reserved for a part of the
                                                            * rows is unknown */
            mv_curve_paint(p->ui, &p->at, e, MV_RESERVED, reserved);
    }
    mv_plot_other(p);
    mv_plot_whatif(p);
    mv_scene_unclip(&p->ui->scene);
}

/* ---- the device --------------------------------------------------------------------------- */

uint64_t mv_plot_capacity(const mv_plot *p)
{
    const mv_oom_outlook *o;

    if (!mv_view_is_evaluated(p->view))
        return MV_NO_BYTES;
    o = mv_ooms_last_limit(&p->device->ooms);
    return o ? o->limit_least : p->device->outlook.capacity;
}

/* Describes the capacity. If a request was refused because of a limit on the process, all that is
 * known about the capacity is that it lies between the reserved bytes and the total that was
 * refused. */
static const char *capacity_text(mv_plot *p, uint64_t capacity)
{
    const mv_oom_outlook *o = mv_ooms_last_limit(&p->device->ooms);
    const char *who = mv_level_reserves(p->trace) ? "PyTorch" : "the program";
    char least[MV_SIZE_TEXT], most[MV_SIZE_TEXT];

    mv_size_text(least, capacity);
    if (o && o->limit_most > capacity)
        return mv_scene_format(&p->ui->scene, "available to %s: %s to %s", who, least,
                               mv_size_text(most, o->limit_most));
    return mv_scene_format(&p->ui->scene, "available to %s: %s", who, least);
}

static void paint_capacity(mv_plot *p)
{
    uint64_t capacity = mv_plot_capacity(p);
    const char *text;
    float y;

    if (capacity == MV_NO_BYTES)
        return;
    y = mv_viewport_y(&p->at, (double)capacity);
    if (y < p->plot.y || y > p->plot.y + p->plot.h)
        return;
    mv_scene_line(&p->ui->scene, p->plot.x, y, p->plot.x + p->plot.w, y, p->ui->theme->alarm,
                  p->ui->scale);
    text = capacity_text(p, capacity);
    mv_plot_callout(p, p->plot.x, y - mv_ui_px(p->ui, 4), p->ui->theme->alarm, text, text);
}

/* ---- peaks -------------------------------------------------------------------------------- */

static void triangle(mv_plot *p, float x, float y, bool is_hollow)
{
    float side = mv_ui_px(p->ui, 6), high = mv_ui_px(p->ui, 10);
    uint32_t colour = p->ui->theme->outline;
    mv_shape shape = {.kind = MV_SHAPE_POLYGON, .fill = colour};

    if (is_hollow) {
        shape.kind = MV_SHAPE_LINE;
        shape.fill = 0;
        shape.stroke = colour;
        shape.width = p->ui->scale;
        mv_scene_point(&p->ui->scene, x, y - 1);
    }
    mv_scene_point(&p->ui->scene, x - side, y - 1 - high);
    mv_scene_point(&p->ui->scene, x + side, y - 1 - high);
    mv_scene_point(&p->ui->scene, x, y - 1);
    mv_scene_add(&p->ui->scene, shape);
    mv_callouts_take(&p->callouts, (mv_box){x - side - 1, y - high - 2, 2 * side + 2, high + 2});
}

static void paint_peak(mv_plot *p, uint64_t bytes, uint32_t event, bool is_global)
{
    const char *what = p->rows->only ? "most of these" : is_global ? "peak" : "highest in view";
    double next = event == MV_BEFORE ? 0.5 : event + (p->at.dx < 1 ? 0.5 : 0);
    float x = mv_viewport_x(&p->at, next), y = mv_viewport_y(&p->at, (double)bytes);
    char size[MV_SIZE_TEXT];

    if (x < p->plot.x || x > p->plot.x + p->plot.w || y < p->plot.y || y > p->plot.y + p->plot.h)
        return;
    triangle(p, x, y, !is_global);
    mv_size_text(size, bytes);
    mv_plot_callout(
        p, x, y - mv_ui_px(p->ui, 6), p->ui->theme->text,
        mv_scene_format(&p->ui->scene, "%s %s \xc2\xb7 %s", what, size, mv_plot_moment(p, event)),
        mv_scene_format(&p->ui->scene, is_global && !p->rows->only ? "peak %s" : "highest %s",
                        size));
}

static void paint_most_reserved(mv_plot *p)
{
    uint64_t bytes = p->most.most.reserved;
    float y = mv_viewport_y(&p->at, (double)bytes);
    double next =
        p->most.reserved_event == MV_BEFORE ? 0 : p->most.reserved_event + (p->at.dx < 1 ? 0.5 : 0);
    float x = fmaxf(mv_viewport_x(&p->at, next), p->plot.x);
    char size[MV_SIZE_TEXT];

    if (bytes == 0 || p->rows->only || y < p->plot.y)
        return;
    mv_size_text(size, bytes);
    mv_plot_callout(p, x, y - mv_ui_px(p->ui, 5), p->ui->theme->reserved,
                    mv_scene_format(&p->ui->scene, "most reserved %s", size),
                    mv_scene_format(&p->ui->scene, "reserved %s", size));
}

/* ---- out of memory ------------------------------------------------------------------------ */

static void hollow_bar(mv_plot *p, float x, uint64_t from, uint64_t bytes, uint32_t colour)
{
    float y0 = mv_viewport_y(&p->at, (double)from + (double)bytes);
    float y1 = mv_viewport_y(&p->at, (double)from), w = mv_ui_px(p->ui, 9);

    if (y0 < p->plot.y)
        y0 = p->plot.y;
    if (y1 - y0 >= 1)
        mv_ui_frame(p->ui, (mv_box){x, y0, w, y1 - y0}, colour);
}

/* Failed requests at nearly the same position. */
typedef struct {
    uint32_t first, count; /* event of the first request */
    uint64_t least, most;  /* requested bytes */
} oom_run;

/* Keeps labels away from the line of a request, unless there are so many lines that no room would
 * be left. */
static void take_oom_line(mv_plot *p, const oom_run *run)
{
    if (p->callouts.count < MOST_OOM_LINES)
        mv_callouts_take(&p->callouts,
                         (mv_box){mv_viewport_x(&p->at, run->first) - 1, p->plot.y, 2, p->plot.h});
}

/* Returns the upper end of the line, which is marked with a cross. */
static mv_point oom_cross(const mv_plot *p, uint32_t event)
{
    return (mv_point){mv_viewport_x(&p->at, event), p->plot.y + mv_ui_px(p->ui, 5) + 3};
}

static void paint_oom(mv_plot *p, const oom_run *run)
{
    const mv_events *e = &p->lives->events;
    mv_scene *scene = &p->ui->scene;
    uint32_t alarm = p->ui->theme->alarm, event = run->first;
    mv_point at = oom_cross(p, event);
    float x = at.x, arm = mv_ui_px(p->ui, 5);
    uint64_t reserved = mv_pyramid_at(&p->view->levels, event).reserved;
    float bar = mv_ui_px(p->ui, 10); /* one bar is on each side of the line, except near an edge,
                                        where both are on the same side */
    float left = fmaxf(p->plot.x, fminf(x - bar, p->plot.x + p->plot.w - 2 * bar));

    mv_scene_line(scene, x, p->plot.y, x, p->plot.y + p->plot.h, alarm, 1.5f * p->ui->scale);
    mv_scene_line(scene, x - arm, at.y - arm, x + arm, at.y + arm, alarm, 2.2f * p->ui->scale);
    mv_scene_line(scene, x - arm, at.y + arm, x + arm, at.y - arm, alarm, 2.2f * p->ui->scale);
    hollow_bar(p, left, reserved, e->size[event], alarm);
    if (e->addr[event] != MV_NO_BYTES)
        hollow_bar(p, left + bar + 1, reserved, e->addr[event], p->ui->theme->outline);
    mv_callouts_take(&p->callouts, (mv_box){x - arm - 1, p->plot.y, 2 * arm + 2, 2 * arm + 6});
}

static void name_oom(mv_plot *p, const oom_run *run)
{
    const mv_events *e = &p->lives->events;
    mv_scene *scene = &p->ui->scene;
    mv_point at = oom_cross(p, run->first);
    char asked[MV_SIZE_TEXT], other[MV_SIZE_TEXT];
    const char *text, *brief;

    mv_size_text(asked, run->least);
    if (run->count > 1) {
        mv_axis_exact(run->count, other);
        brief = mv_scene_format(scene, "%s failed requests", other);
        text = mv_scene_format(scene, "%s: requested %s", brief, asked);
        text = mv_scene_format(scene, run->most > run->least ? "%s to %s" : "%s each", text,
                               mv_size_text(other, run->most));
    } else {
        brief = mv_scene_format(scene, "out of memory: %s", asked);
        text = mv_scene_format(scene, "out of memory: requested %s", asked);
        if (e->addr[run->first] != MV_NO_BYTES)
            text = mv_scene_format(scene, "%s, %s free on the device", text,
                                   mv_size_text(other, e->addr[run->first]));
    }
    mv_plot_callout(p, at.x, at.y, p->ui->theme->alarm, text, brief);
}

/* Calls `each` with the failed requests in view. Requests within `gap` pixels are grouped. */
static void for_ooms(mv_plot *p, float gap, void (*each)(mv_plot *p, const oom_run *run))
{
    const mv_trace_marks *l = &p->device->trace_marks;
    uint32_t event = p->shown.first > 0 ? p->shown.first - 1 : MV_BEFORE;
    oom_run run = {0};

    for (;;) {
        uint64_t asked;
        event = mv_listed_event_after(l->ooms, l->oom_count, event);
        if (event == MV_NO_ROW || event >= p->shown.end)
            break;
        if (run.count && mv_viewport_x(&p->at, event) >= mv_viewport_x(&p->at, run.first) + gap) {
            each(p, &run);
            run.count = 0;
        }
        asked = p->lives->events.size[event];
        if (run.count++ == 0)
            run = (oom_run){event, 1, asked, asked};
        run.least = asked < run.least ? asked : run.least;
        run.most = asked > run.most ? asked : run.most;
    }
    if (run.count)
        each(p, &run);
}

/* ---- everything together ----------------------------------------------------------------- */

/* Paints the peaks and failed requests. The most important label is placed first. */
void mv_plot_peaks(mv_plot *p)
{
    const mv_document_device *d = p->device;
    bool is_of_allocs = !p->of_segments && p->lives->events.count > 0;

    for_ooms(p, 2, take_oom_line);
    for_ooms(p, 2, paint_oom);
    for_ooms(p, mv_ui_px(p->ui, OOM_NAME), name_oom);
    if (is_of_allocs && p->rows->only)
        paint_peak(p, p->most.most.allocated, p->most.allocated_event, true);
    else if (is_of_allocs)
        paint_peak(p, d->peak, d->peak_event, true);
    if (is_of_allocs && !p->rows->only && p->most.allocated_event != d->peak_event &&
        p->most.most.allocated < d->peak)
        paint_peak(p, p->most.most.allocated, p->most.allocated_event, false);
    paint_capacity(p);
    if (is_of_allocs && mv_level_reserves(p->trace))
        paint_most_reserved(p);
}
