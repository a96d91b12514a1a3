#include "analyze/size.h"
#include "viz/axis.h"
#include "viz/painter.h"

static void byte_axis(mv_painter *p)
{
    uint64_t step = mv_axis_byte_step(p->most);
    char text[MV_TICK_TEXT];

    for (uint64_t bytes = 0; bytes <= p->most; bytes += step) {
        float y = mv_painter_y(p, bytes);
        mv_scene_line(p->scene, p->x, y, p->x + p->w, y, p->theme->grid, 1);
        mv_scene_text(p->scene, p->x - 8, y + 4, 12, p->theme->text, MV_ANCHOR_END,
                      mv_scene_format(p->scene, "%s", mv_axis_bytes(bytes, text)));
    }
}

/* Time of an event since the trace began; negative where the file has no times. */
static int64_t time_since_start(const mv_painter *p, uint32_t event)
{
    const mv_events *e = &p->lives->events;

    if (e->count == 0 || e->time_us[0] == MV_NO_TIME || e->time_us[event] == MV_NO_TIME)
        return -1;
    return e->time_us[event] - e->time_us[0];
}

static void event_axis(mv_painter *p)
{
    uint32_t from = p->layout.from, to = p->layout.to;
    uint64_t step = mv_axis_count_step((uint64_t)to - from, 11);
    float y = p->y + p->h;
    char text[MV_TICK_TEXT];

    for (uint64_t e = (from + step - 1) / step * step; e < to; e += step) {
        float x = mv_painter_x(p, (uint32_t)e);
        int64_t time = time_since_start(p, (uint32_t)e);
        mv_scene_line(p->scene, x, y, x, y + 5, p->theme->faint_text, 1);
        mv_scene_text(p->scene, x, y + 19, 12, p->theme->text, MV_ANCHOR_MIDDLE,
                      mv_scene_format(p->scene, "%s", mv_axis_count(e, text)));
        if (time >= 0)
            mv_scene_text(p->scene, x, y + 35, 11, p->theme->faint_text, MV_ANCHOR_MIDDLE,
                          mv_scene_format(p->scene, "%s", mv_axis_time(time, text)));
    }
    mv_scene_text(p->scene, p->x + p->w / 2, y + 55, 12, p->theme->faint_text, MV_ANCHOR_MIDDLE,
                  time_since_start(p, from) >= 0 ? "allocator events (below: time since the first)"
                                                 : "allocator events (the file has no times)");
}

void mv_ruler_paint(mv_painter *p)
{
    mv_scene_rect(p->scene, p->x, p->y, p->w, p->h, p->theme->plot);
    byte_axis(p);
    if (p->layout.to > p->layout.from)
        event_axis(p);
    mv_scene_line(p->scene, p->x, p->y, p->x, p->y + p->h, p->theme->faint_text, 1);
    mv_scene_line(p->scene, p->x, p->y + p->h, p->x + p->w, p->y + p->h, p->theme->faint_text, 1);
}

/* Says what the picture cannot show. */
static const char *history_note(const mv_painter *p)
{
    switch (p->lives->history) {
    case MV_HISTORY_COMPLETE:
        return "complete history";
    case MV_HISTORY_LATE:
        return "recording began late: what was allocated before has no stack";
    case MV_HISTORY_TRUNCATED:
        return "history truncated: earlier events were overwritten";
    default:
        return "no events recorded: the heap as it was when the file was written";
    }
}

void mv_ruler_titles(mv_painter *p)
{
    char allocated[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];
    const mv_timeline_opts *o = p->opts;
    const char *peak = p->peak_event == MV_BEFORE ? "" : "peak ";
    mv_shape title = {.kind = MV_SHAPE_TEXT,
                      .is_bold = true,
                      .fill = p->theme->text,
                      .width = 17,
                      .text = o->title};

    mv_size_text(allocated, p->peak);
    mv_size_text(reserved, p->peak_reserved);
    mv_scene_point(p->scene, 24, 32);
    mv_scene_add(p->scene, title);
    mv_scene_text(p->scene, 24, 53, 13, p->theme->faint_text, MV_ANCHOR_START,
                  mv_scene_format(p->scene,
                                  "device %u \xc2\xb7 %sallocated %s \xc2\xb7 %sreserved %s "
                                  "\xc2\xb7 %u events \xc2\xb7 %s",
                                  p->lives->device, peak, allocated, peak, reserved,
                                  p->layout.to - p->layout.from, history_note(p)));
    if (o->verdict)
        mv_scene_text(p->scene, 24, 74, 13, p->theme->alarm, MV_ANCHOR_START, o->verdict);
}

/* ---- annotations ------------------------------------------------------------------------- */

enum { LANES = 2, LANE_HEIGHT = 12, MOST_OPEN = 16 };

/* The first event at or after a time. Times of a trace do not decrease, or only by microseconds. */
static uint32_t event_at(const mv_events *e, int64_t time)
{
    uint32_t low = 0, high = e->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (e->time_us[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void paint_range(mv_painter *p, mv_string_id name, uint32_t lane, uint32_t from, uint32_t to,
                        float *last_end)
{
    const char *text = mv_string_text(p->trace, name);
    float x0, x1, y = p->y - 4 - (float)(lane + 1) * LANE_HEIGHT;
    mv_shape shape = {.kind = MV_SHAPE_RECTS, .fill = (p->theme->lane & ~0xffu) | 0x8c};

    if (to < p->layout.from || from >= p->layout.to)
        return;
    from = from < p->layout.from ? p->layout.from : from;
    to = to > p->layout.to ? p->layout.to : to;
    x0 = mv_painter_x(p, from);
    x1 = mv_painter_x(p, to);
    if (x1 < x0 + 1.5f)
        x1 = x0 + 1.5f;
    if (x0 < *last_end + 0.5f)
        x0 = *last_end + 0.5f;
    if (x1 < x0 + 0.5f) /* thousands of ranges: one a pixel is enough */
        return;
    *last_end = x1;
    shape.title = mv_scene_format(p->scene, "%.300s\nevents %u to %u", text, from, to);
    mv_scene_point(p->scene, x0, y);
    mv_scene_point(p->scene, x1, y + LANE_HEIGHT - 2);
    mv_scene_add(p->scene, shape);
    if (mv_text_width(text, 9) < x1 - x0 - 6)
        mv_scene_text(p->scene, x0 + 3, y + 8.5f, 9, p->theme->text, MV_ANCHOR_START,
                      mv_scene_format(p->scene, "%.120s", text));
}

/* Ranges above the plot, nested ones in a lane of their own. */
void mv_ruler_lanes(mv_painter *p)
{
    const mv_annotations *a = &p->trace->annotations;
    struct {
        mv_string_id name;
        uint32_t event;
    } open[MOST_OPEN];
    float last_end[LANES] = {-1, -1};
    uint32_t depth = 0;

    if (a->count == 0 || p->lives->events.count == 0 || time_since_start(p, 0) < 0)
        return;
    mv_scene_text(p->scene, p->x - 8, p->y - 8, 11, p->theme->faint_text, MV_ANCHOR_END,
                  "annotations");
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t event, level = depth;
        if (a->device[i] >= 0 && (uint32_t)a->device[i] != p->lives->device)
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
            paint_range(p, a->name[i], depth, open[depth].event, event, &last_end[depth]);
    }
}
