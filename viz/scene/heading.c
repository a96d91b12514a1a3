#include "viz/scene/heading.h"

#include <math.h>

#include "base/size.h"
#include "parse/model/event_times.h"
#include "viz/scene/axis.h"
#include "viz/scene/distinct_texts.h"

const char *mv_heading_part_line(mv_scene *scene, mv_heading_part part, const char *rows,
                                 const char *of)
{
    char matches[MV_TICK_TEXT], count[MV_TICK_TEXT], bytes[MV_SIZE_TEXT], all[MV_SIZE_TEXT];
    const char *filter;

    if (!part.filter)
        return NULL;
    filter = mv_text_fit(scene, part.filter, 13, scene->width / 3);
    mv_axis_exact(part.rows, count);
    if (part.matches == 0)
        return mv_scene_format(scene, "only %s: none of the %s %s matches", filter, count, rows);
    return mv_scene_format(scene, "only %s: %s of %s %s, %s (%.1f %%) of %s %s", filter,
                           mv_axis_exact(part.matches, matches), count, rows,
                           mv_size_text(bytes, part.bytes),
                           part.all ? 100.0 * (double)part.bytes / (double)part.all : 0, of,
                           mv_size_text(all, part.all));
}

const char *mv_heading_moment(mv_scene *scene, const mv_trace *trace, const mv_lives *lives,
                              uint32_t event)
{
    uint32_t devices = mv_trace_devices(trace), events = lives->events.count;
    char number[MV_TICK_TEXT], all[MV_TICK_TEXT], time[MV_TICK_TEXT];
    int64_t start = mv_position_start_us(trace), us = -1;
    const char *device = devices > 1
                             ? mv_scene_format(scene, "device %u of %u", lives->device, devices)
                             : mv_scene_format(scene, "device %u", lives->device);

    if (events == 0)
        return mv_scene_format(
            scene, "%s \xc2\xb7 when the snapshot was taken: no events were recorded", device);
    if (event == MV_BEFORE)
        return mv_scene_format(scene, "%s \xc2\xb7 before the first event", device);
    if (start != MV_NO_TIME && mv_event_time(&lives->events, event) != MV_NO_TIME)
        us = mv_event_time(&lives->events, event) - start;
    mv_axis_exact(event, number);
    mv_axis_exact(events, all);
    return mv_scene_format(scene, "%s \xc2\xb7 after event %s of %s%s%s%s", device, number, all,
                           us >= 0 ? ", " : "", us >= 0 ? mv_axis_time(us, us, time) : "",
                           event + 1 == events ? ", the last" : "");
}

const char *mv_heading_history(const mv_lives *lives)
{
    switch (lives->history) {
    case MV_HISTORY_LATE:
        return " \xc2\xb7 recording began late";
    case MV_HISTORY_TRUNCATED:
        return " \xc2\xb7 history truncated: earlier events were overwritten";
    default:
        return "";
    }
}

/* Returns the relative luminance of a colour, according to WCAG 2. */
static double luminance(uint32_t colour)
{
    static const double weights[] = {0.0722, 0.7152, 0.2126};
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        double part = (double)(colour >> (8 + 8 * i) & 0xff) / 255;
        sum += weights[i] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

uint32_t mv_text_on(uint32_t fill)
{
    /* At this luminance, black and white are equally easy to read, with 4.58:1 for both. */
    return luminance(fill) > 0.179 ? 0x000000ff : 0xffffffff;
}

const char *mv_hover_take(uint32_t *budget, const char *text)
{
    uint32_t bytes = 0;

    if (!text)
        return NULL;
    for (const char *c = text; *c; c++)
        bytes += (*c >= ' ' && *c <= '~' && !strchr("&<>\"", *c)) || *c == '\n' ? 1 : 6;
    if (bytes > *budget)
        return NULL;
    *budget -= bytes;
    return text;
}
