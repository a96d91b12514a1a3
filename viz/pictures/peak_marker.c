#include "base/size.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"

/* ---- curves ------------------------------------------------------------------------------ */

/* A step curve over the columns, with the highest value of each. */
static void curve(mv_painter *p, const uint64_t *values, uint64_t before, mv_shape shape)
{
    const mv_layout *l = &p->layout;
    float last = -1;

    for (uint32_t c = 0; c < l->column_count && !p->scene->failed; c++) {
        uint64_t most = before;
        float y;
        for (uint32_t e = l->start[c]; e < l->start[c + 1]; e++)
            most = e == l->start[c] || values[e] > most ? values[e] : most;
        y = mv_painter_y(p, most);
        if (y == last) { /* one long edge instead of many short ones */
            p->scene->points[p->scene->point_count - 1].x = mv_painter_column(p, c + 1);
            continue;
        }
        mv_scene_point(p->scene, mv_painter_column(p, c), y);
        mv_scene_point(p->scene, mv_painter_column(p, c + 1), y);
        last = y;
    }
    mv_scene_add(p->scene, shape);
}

/* Painted before the allocations: the half of its width that they leave visible is enough, and a
 * spike of one column keeps its colour. */
void mv_marker_outline(mv_painter *p)
{
    curve(p, p->series.allocated, p->series.before.allocated,
          (mv_shape){.kind = MV_SHAPE_LINE, .stroke = p->theme->outline, .width = 2});
}

void mv_marker_curves(mv_painter *p)
{
    const mv_series *s = &p->series;

    if (p->has_pending)
        curve(p, s->active, s->before.active,
              (mv_shape){.kind = MV_SHAPE_LINE,
                         .stroke = p->theme->active,
                         .width = 1.3f,
                         .is_dashed = true,
                         .title = p->of_segments
                                      ? "allocated: what tensors use of the segments"
                                      : "active: allocated, and freed blocks that a stream may "
                                        "still use"});
    if (p->of_segments || p->shown.is_part)
        return;
    curve(p, s->reserved, s->before.reserved,
          (mv_shape){.kind = MV_SHAPE_LINE,
                     .stroke = p->theme->reserved,
                     .width = 1.7f,
                     .is_dashed = true,
                     .title = "reserved: what PyTorch holds on the device"});
}

/* ---- callouts ---------------------------------------------------------------------------- */

enum { CALLOUT_HEIGHT = 18, CALLOUT_RISE = 13, CALLOUT_GAP = 10 };

/* Whether no allocation is drawn there. */
static bool is_above_stack(const void *picture, mv_box box)
{
    const mv_painter *p = picture;
    const mv_layout *l = &p->layout;

    for (uint32_t c = 0; c < l->column_count; c++)
        if (mv_painter_column(p, c + 1) > box.x && mv_painter_column(p, c) < box.x + box.w &&
            mv_painter_y(p, l->allocated[c]) < box.y + box.h)
            return false;
    return true;
}

/* A text beside a point; left out when there is no room, so that what is there stays readable. */
static void callout(mv_painter *p, float x, float y, uint32_t colour, const char *text)
{
    mv_callout_size size = {mv_text_width(text, 12) + 10, CALLOUT_HEIGHT, CALLOUT_GAP, CALLOUT_RISE,
                            160};
    mv_box box;

    if (!mv_callouts_place(&p->callouts, (mv_box){p->x, p->y, p->w, p->h}, (mv_point){x, y}, size,
                           is_above_stack, p, &box))
        return;
    mv_scene_rect(p->scene, box.x, box.y, box.w, box.h, (p->theme->plot & ~0xffu) | 0xe6);
    mv_scene_text(p->scene, box.x + 5, box.y + 13, 12, colour, MV_ANCHOR_START, text);
}

/* " (2.948 s)"; "" where the file has no times. */
static const char *at_time(mv_painter *p, uint32_t event)
{
    char text[MV_TICK_TEXT];
    int64_t time = mv_painter_time(p, event);

    if (time < 0)
        return "";
    return mv_scene_format(p->scene, " (%s)", mv_axis_time(time, time, text));
}

static void triangle(mv_painter *p, float x, float y, uint32_t colour)
{
    mv_scene_point(p->scene, x, y - 1);
    mv_scene_point(p->scene, x - 6, y - 11);
    mv_scene_point(p->scene, x + 6, y - 11);
    mv_scene_add(p->scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = colour});
    mv_callouts_take(&p->callouts, (mv_box){x - 7, y - 12, 14, 12});
}

static void paint_peak(mv_painter *p)
{
    char size[MV_SIZE_TEXT], event[MV_TICK_TEXT];
    const char *what = p->shown.is_part ? "most of these:" : "peak";
    bool is_before = p->peak_event == MV_BEFORE;
    uint32_t at = is_before ? p->layout.from : p->peak_event;
    /* The middle of the event: its column is wide when there are few. */
    float x =
        mv_painter_x(p, at) + (is_before ? 0 : p->w / 2 / (float)(p->layout.to - p->layout.from));
    float y = mv_painter_y(p, p->peak);

    triangle(p, x, y, p->theme->outline);
    mv_size_text(size, p->peak);
    callout(p, x, y - 8, p->theme->text,
            is_before ? mv_scene_format(p->scene, "%s %s before the first event", what, size)
                      : mv_scene_format(p->scene, "%s %s at event %s%s", what, size,
                                        mv_axis_exact(at, event), at_time(p, at)));
}

void mv_marker_peaks(mv_painter *p)
{
    char size[MV_SIZE_TEXT];
    float x;

    if (p->layout.to == p->layout.from)
        return;
    x = p->reserved_event == MV_BEFORE ? p->x : mv_painter_x(p, p->reserved_event);
    if (!p->of_segments && !p->shown.is_part)
        callout(
            p, x, mv_painter_y(p, p->peak_reserved) - 8, p->theme->reserved,
            mv_scene_format(p->scene, "peak reserved %s", mv_size_text(size, p->peak_reserved)));
    paint_peak(p);
}
/* ---- out of memory ----------------------------------------------------------------------- */

static void paint_oom(mv_painter *p, uint32_t event)
{
    const mv_events *e = &p->lives->events;
    char asked[MV_SIZE_TEXT], left[MV_SIZE_TEXT];
    float x = mv_painter_x(p, event);
    const char *text =
        mv_scene_format(p->scene, "out of memory: asked for %s, %s free on the device",
                        mv_size_text(asked, e->size[event]), mv_size_text(left, e->addr[event]));

    if (e->addr[event] == MV_NO_BYTES)
        text = mv_scene_format(p->scene, "out of memory: asked for %s", asked);
    mv_scene_point(p->scene, x, p->y);
    mv_scene_point(p->scene, x, p->y + p->h);
    mv_scene_add(
        p->scene,
        (mv_shape){.kind = MV_SHAPE_LINE, .stroke = p->theme->alarm, .width = 1.5f, .title = text});
    mv_scene_line(p->scene, x - 5, p->y + 3, x + 5, p->y + 13, p->theme->alarm, 2.2f);
    mv_scene_line(p->scene, x - 5, p->y + 13, x + 5, p->y + 3, p->theme->alarm, 2.2f);
    mv_callouts_take(&p->callouts, (mv_box){x - 6, p->y + 2, 12, 12});
    callout(p, x, p->y + 13, p->theme->alarm, text);
}

void mv_marker_ooms(mv_painter *p)
{
    float last = -2;

    for (uint32_t e = p->layout.from; e < p->layout.to; e++) {
        if (p->lives->events.action[e] != MV_ACTION_OOM)
            continue;
        if (mv_painter_x(p, e) < last + 1) /* many in one place are one line */
            continue;
        last = mv_painter_x(p, e);
        paint_oom(p, e);
    }
}
