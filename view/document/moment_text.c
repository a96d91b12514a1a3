#include "view/document/moment_text.h"

#include "analyze/lives/position.h"

int64_t mv_event_time(const mv_trace *trace, const mv_events *events, uint32_t event)
{
    int64_t start = mv_position_start_us(trace);

    if (event >= events->count || events->time_us[event] == MV_NO_TIME || start == MV_NO_TIME)
        return MV_NO_TIME;
    return events->time_us[event] - start;
}

const char *mv_event_time_text(const mv_trace *trace, const mv_events *events, uint32_t event,
                               char out[MV_TICK_TEXT])
{
    int64_t at = mv_event_time(trace, events, event), last;

    *out = 0;
    if (at == MV_NO_TIME)
        return out;
    last = mv_event_time(trace, events, events->count - 1);
    return mv_axis_time(at, last != MV_NO_TIME && last > at ? last : at, out);
}

const char *mv_events_duration(const mv_events *events, char out[MV_TICK_TEXT])
{
    uint32_t last = events->count - 1;
    int64_t length;

    *out = 0;
    if (events->count == 0 || events->time_us[0] == MV_NO_TIME ||
        events->time_us[last] == MV_NO_TIME)
        return out;
    length = events->time_us[last] - events->time_us[0];
    return length < 0 ? out : mv_axis_time(length, length, out);
}
