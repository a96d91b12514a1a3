#include <string.h>

#include "analyze/leaks/leak_words.h"
#include "base/size.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"

static void byte_axis(mv_painter *p)
{
    uint64_t ticks[MV_BYTE_TICKS];
    uint32_t count = mv_axis_byte_ticks(p->most, ticks);
    char text[MV_TICK_TEXT];

    for (uint32_t i = 0; i < count; i++) {
        float y = mv_painter_y(p, ticks[i]);
        mv_scene_line(p->scene, p->x, y, p->x + p->w, y, p->theme->grid, 1);
        mv_scene_text(p->scene, p->x - 8, y + 4, 12, p->theme->text, MV_ANCHOR_END,
                      mv_scene_format(p->scene, "%s", mv_axis_bytes(ticks[i], text)));
    }
}

int64_t mv_painter_time(const mv_painter *p, uint32_t event)
{
    const mv_events *e = &p->lives->events;

    if (event >= e->count || e->time_us[0] == MV_NO_TIME || e->time_us[event] == MV_NO_TIME)
        return -1;
    return e->time_us[event] - e->time_us[0];
}

static void event_axis(mv_painter *p)
{
    uint32_t from = p->layout.from, to = p->layout.to;
    uint64_t step = mv_axis_count_step((uint64_t)to - from, (uint32_t)(p->w / 84));
    float y = p->y + p->h;
    int64_t longest = mv_painter_time(p, to - 1);
    char text[MV_TICK_TEXT];

    for (uint64_t e = (from + step - 1) / step * step; e < to; e += step) {
        float x = mv_painter_x(p, (uint32_t)e);
        int64_t time = mv_painter_time(p, (uint32_t)e);
        mv_scene_line(p->scene, x, y, x, y + 5, p->theme->faint_text, 1);
        mv_scene_text(p->scene, x, y + 19, 12, p->theme->text, MV_ANCHOR_MIDDLE,
                      mv_scene_format(p->scene, "%s", mv_axis_count(e, text)));
        if (time >= 0)
            mv_scene_text(p->scene, x, y + 35, 11, p->theme->faint_text, MV_ANCHOR_MIDDLE,
                          mv_scene_format(p->scene, "%s", mv_axis_time(time, longest, text)));
    }
    mv_scene_text(p->scene, p->x - 24, y + 19, 11, p->theme->faint_text, MV_ANCHOR_END, "event");
    if (longest >= 0)
        mv_scene_text(p->scene, p->x - 24, y + 35, 11, p->theme->faint_text, MV_ANCHOR_END, "time");
    mv_scene_text(p->scene, p->x + p->w / 2, y + 56, 12, p->theme->faint_text, MV_ANCHOR_MIDDLE,
                  longest >= 0 ? "allocator events, and the time since the first"
                               : "allocator events (the file has no times)");
}

/* As many words of the text as fit, at least one; returns the number of bytes. */
static size_t fitting_words(mv_painter *p, const char *text, float size, float width)
{
    size_t kept = strcspn(text, " ");

    while (text[kept]) {
        size_t more = kept + 1 + strcspn(text + kept + 1, " ");
        const char *longer = mv_scene_format(p->scene, "%.*s", (int)more, text);
        if (mv_text_width(longer, size) > width)
            break;
        kept = more;
    }
    return kept;
}

/* A heap without events is a bar; this is written next to it. */
static void paint_no_events(mv_painter *p)
{
    static const char *const sentences[] = {
        "No events were recorded: this is the heap when the snapshot was taken.",
        "To see how it came about, record before the work that matters:",
        "torch.cuda.memory._record_memory_history()",
    };
    float x = mv_painter_column(p, 1) + 20, y = p->y + p->h / 2 - 24, width = p->x + p->w - x;
    float size = width < 315 ? 10 : 13; /* the last word must fit: it cannot be broken */

    for (uint32_t i = 0; i < sizeof sentences / sizeof *sentences; i++, y += 4)
        for (const char *at = sentences[i]; *at; y += 18) {
            size_t words = fitting_words(p, at, size, width);
            const char *line = mv_scene_format(p->scene, "%.*s", (int)words, at);
            mv_scene_text(p->scene, x, y, size, p->theme->text, MV_ANCHOR_START,
                          mv_text_fit(p->scene, line, size, width));
            at += words;
            at += *at == ' ';
        }
}

void mv_ruler_times(mv_painter *p)
{
    if (p->layout.to > p->layout.from)
        event_axis(p);
}

void mv_ruler_paint(mv_painter *p)
{
    mv_scene_rect(p->scene, p->x, p->y, p->w, p->h, p->theme->plot);
    byte_axis(p);
    mv_ruler_times(p);
    if (p->lives->events.count == 0)
        paint_no_events(p);
    mv_scene_line(p->scene, p->x, p->y, p->x, p->y + p->h, p->theme->faint_text, 1);
    mv_scene_line(p->scene, p->x, p->y + p->h, p->x + p->w, p->y + p->h, p->theme->faint_text, 1);
}

/* ---- titles ------------------------------------------------------------------------------ */

/* Says what the picture cannot show. */
static const char *history_note(const mv_painter *p)
{
    switch (p->lives->history) {
    case MV_HISTORY_COMPLETE:
        return "\xc2\xb7 complete history";
    case MV_HISTORY_LATE:
        return "\xc2\xb7 recording began late: hatched blocks existed before";
    case MV_HISTORY_TRUNCATED:
        return "\xc2\xb7 history truncated: earlier events were overwritten, hatched blocks are "
               "from them";
    default:
        return "";
    }
}

static const char *device_note(mv_painter *p)
{
    uint32_t devices = mv_trace_devices(p->trace);

    if (devices > 1)
        return mv_scene_format(p->scene, "device %u of %u", p->lives->device, devices);
    return mv_scene_format(p->scene, "device %u", p->lives->device);
}

static const char *events_note(mv_painter *p)
{
    uint32_t events = p->layout.to - p->layout.from;
    char count[MV_TICK_TEXT], time[MV_TICK_TEXT], all[MV_TICK_TEXT];
    int64_t from = mv_painter_time(p, p->layout.from), to = -1;

    if (p->lives->events.count == 0)
        return "no events recorded";
    to = mv_painter_time(p, p->layout.to - 1);
    mv_axis_exact(events, count);
    mv_axis_exact(p->lives->events.count, all);
    return mv_scene_format(
        p->scene, "%s%s%s %s%s%s", count, events < p->lives->events.count ? " of " : "",
        events < p->lives->events.count ? all : "",
        p->lives->events.count == 1 ? "event" : "events", from >= 0 && to >= from ? " in " : "",
        from >= 0 && to >= from ? mv_axis_time(to - from, to - from, time) : "");
}

static void title_line(mv_painter *p, float y, float size, uint32_t colour, bool is_bold,
                       const char *text)
{
    mv_scene_point(p->scene, 24, y);
    mv_scene_add(p->scene,
                 (mv_shape){.kind = MV_SHAPE_TEXT,
                            .is_bold = is_bold,
                            .fill = colour,
                            .width = size,
                            .text = mv_text_fit(p->scene, text, size * (is_bold ? 1.1f : 1),
                                                p->scene->width - 48)});
}

/* The lines below the figures: what is shown, and the answer. */
static void verdict_lines(mv_painter *p)
{
    const char *shown = mv_shown_line(p);
    uint32_t colour = p->theme->text;
    float y = shown ? 98 : 76;
    char line[512];

    if (shown)
        title_line(p, 76, 13, colour, true, shown);
    if (p->opts->verdict) {
        title_line(p, y, 13, colour, true, p->opts->verdict);
    } else if (p->opts->leaks) {
        mv_verdict_line(p->trace, p->frame_kinds, p->opts->leaks, line, sizeof line);
        colour = p->opts->leaks->count > 0 ? p->theme->alarm : p->theme->text;
        title_line(p, y, 13, colour, p->opts->leaks->count > 0,
                   mv_scene_format(p->scene, "%s", line));
    }
}

void mv_ruler_titles(mv_painter *p)
{
    char allocated[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];
    const char *peak = p->layout.to == p->layout.from ? "" : "peak ";
    const char *least = p->lives->doubts.inexact_blocks ? "at least " : "";

    mv_size_text(allocated, p->shown.peak);
    mv_size_text(reserved, p->peak_reserved);
    title_line(p, 32, 17, p->theme->text, true, p->opts->title);
    title_line(
        p, 54, 13, p->theme->faint_text, false,
        p->of_segments
            ? mv_scene_format(p->scene,
                              "%s \xc2\xb7 segments \xc2\xb7 %sreserved %s \xc2\xb7 %s %s",
                              device_note(p), peak, reserved, events_note(p), history_note(p))
            : mv_scene_format(p->scene,
                              "%s \xc2\xb7 %sallocated %s%s \xc2\xb7 %sreserved %s \xc2\xb7 %s %s",
                              device_note(p), peak, least, allocated, peak, reserved,
                              events_note(p), history_note(p)));
    verdict_lines(p);
}
