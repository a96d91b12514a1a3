#include "view/document/moment_text.h"

#include <stdio.h>

#include "analyze/lives/position.h"
#include "base/search.h"
#include "parse/model/event_times.h"

int64_t mv_event_since_start(const mv_trace *trace, const mv_events *events, uint32_t event)
{
    int64_t start = mv_position_start_us(trace);

    if (event >= events->count || mv_event_time(events, event) == MV_NO_TIME || start == MV_NO_TIME)
        return MV_NO_TIME;
    return mv_event_time(events, event) - start;
}

const char *mv_event_time_text(const mv_trace *trace, const mv_events *events, uint32_t event,
                               char out[MV_TICK_TEXT])
{
    int64_t at = mv_event_since_start(trace, events, event), last;

    *out = 0;
    if (at == MV_NO_TIME)
        return out;
    last = mv_event_since_start(trace, events, events->count - 1);
    return mv_axis_time(at, last != MV_NO_TIME && last > at ? last : at, out);
}

const char *mv_events_span(const mv_trace *trace, const mv_events *events, uint32_t first,
                           uint32_t end, char out[MV_SPAN_TEXT])
{
    int64_t from = mv_event_since_start(trace, events, first), to = MV_NO_TIME;
    char text[MV_TICK_TEXT], last[MV_TICK_TEXT];

    *out = 0;
    if (end > first + 1)
        to = mv_event_since_start(trace, events, end - 1);
    if (from == MV_NO_TIME || to == MV_NO_TIME || to < from)
        return out;
    if (from == to)
        return out;
    if (from == 0)
        snprintf(out, MV_SPAN_TEXT, " in %s", mv_axis_time(to, to, text));
    else
        snprintf(out, MV_SPAN_TEXT, " from %s to %s", mv_axis_time(from, to, text),
                 mv_axis_time(to, to, last));
    return out;
}

uint32_t mv_events_until(const mv_events *e, int64_t time_us)
{
    return (uint32_t)mv_upper_bound_i64(e->time_us, e->count, time_us);
}
