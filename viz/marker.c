#include "analyze/size.h"
#include "viz/axis.h"
#include "viz/painter.h"

/* A step curve over the columns, with the highest value of each. */
static void curve(mv_painter *p, const uint64_t *values, uint64_t before, uint32_t colour,
                  float width, bool is_dashed)
{
    const mv_layout *l = &p->layout;
    uint32_t events = l->to - l->from;
    float last = -1;

    for (uint32_t c = 0; c < l->column_count; c++) {
        uint64_t most = before;
        float x0 = mv_painter_x(p, l->start[c]), x1 = mv_painter_x(p, l->start[c + 1]), y;
        for (uint32_t e = l->start[c]; e < l->start[c + 1]; e++)
            most = e == l->start[c] || values[e] > most ? values[e] : most;
        if (events == 0)
            x1 = p->x + p->w;
        y = mv_painter_y(p, most);
        if (y == last) { /* one long edge instead of many short ones */
            p->scene->points[p->scene->point_count - 1].x = x1;
            continue;
        }
        mv_scene_point(p->scene, x0, y);
        mv_scene_point(p->scene, x1, y);
        if (p->scene->failed)
            return;
        last = y;
    }
    mv_scene_add(p->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                      .stroke = colour,
                                      .width = width,
                                      .is_dashed = is_dashed});
}

void mv_marker_curves(mv_painter *p)
{
    const mv_series *s = &p->series;

    if (p->has_pending)
        curve(p, s->active, s->before.active, p->theme->active, 1.2f, true);
    curve(p, s->allocated, s->before.allocated, p->theme->outline, 1.1f, false);
    curve(p, s->reserved, s->before.reserved, p->theme->reserved, 1.6f, true);
}

static void callout(mv_painter *p, float x, float y, uint32_t colour, const char *text)
{
    float w = mv_text_width(text, 12) + 10;
    float left = x + 8;

    if (left + w > p->x + p->w)
        left = x - 8 - w;
    if (left < p->x)
        left = p->x + 2;
    mv_scene_rect(p->scene, left, y - 13, w, 18, (p->theme->background & ~0xffu) | 0xc8);
    mv_scene_text(p->scene, left + 5, y, 12, colour, MV_ANCHOR_START, text);
}

void mv_marker_peak(mv_painter *p)
{
    char size[MV_SIZE_TEXT], time[MV_TICK_TEXT] = "", at[MV_TICK_TEXT + 8] = "";
    const mv_events *e = &p->lives->events;
    float x, y;

    if (p->peak_event == MV_BEFORE)
        return;
    x = mv_painter_x(p, p->peak_event);
    y = mv_painter_y(p, p->peak);
    if (e->time_us[p->peak_event] != MV_NO_TIME && e->time_us[0] != MV_NO_TIME)
        snprintf(at, sizeof at, " (%s)",
                 mv_axis_time(e->time_us[p->peak_event] - e->time_us[0], time));
    mv_scene_point(p->scene, x, y - 1);
    mv_scene_point(p->scene, x - 6, y - 11);
    mv_scene_point(p->scene, x + 6, y - 11);
    mv_scene_add(p->scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = p->theme->outline});
    callout(p, x, y - 13 < p->y + 16 ? p->y + 16 : y - 13, p->theme->text,
            mv_scene_format(p->scene, "peak %s at event %u%s", mv_size_text(size, p->peak),
                            p->peak_event, at));
}

enum { MOST_OOM_TEXTS = 4 };

static void paint_oom(mv_painter *p, uint32_t event, uint32_t number)
{
    const mv_events *e = &p->lives->events;
    char asked[MV_SIZE_TEXT], free_bytes[MV_SIZE_TEXT];
    float x = mv_painter_x(p, event), y = p->y + 34 + 20 * (float)number;

    mv_scene_line(p->scene, x, p->y, x, p->y + p->h, p->theme->alarm, 1.5f);
    mv_scene_line(p->scene, x - 5, p->y - 1, x + 5, p->y + 9, p->theme->alarm, 2);
    mv_scene_line(p->scene, x - 5, p->y + 9, x + 5, p->y - 1, p->theme->alarm, 2);
    if (number < MOST_OOM_TEXTS)
        callout(p, x, y, p->theme->alarm,
                mv_scene_format(p->scene, "out of memory: asked for %s, %s free on the device",
                                mv_size_text(asked, e->size[event]),
                                mv_size_text(free_bytes, e->addr[event])));
}

void mv_marker_ooms(mv_painter *p)
{
    uint32_t number = 0;
    float last = -1;

    for (uint32_t e = p->layout.from; e < p->layout.to; e++) {
        if (p->lives->events.action[e] != MV_ACTION_OOM)
            continue;
        if (mv_painter_x(p, e) < last + 1) /* a storm of them is one line */
            continue;
        last = mv_painter_x(p, e);
        paint_oom(p, e, number++);
    }
}
