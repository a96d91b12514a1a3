/* Formats the time of an event, the same everywhere: since the first event of any device in its
 * file, like times on the command line (analyze/lives/position.h). */
#ifndef MV_MOMENT_TEXT_H
#define MV_MOMENT_TEXT_H

#include "analyze/lives/lives.h"
#include "viz/scene/axis.h"

/* Microseconds; MV_NO_TIME: unknown. `events` belong to one device of the trace. */
int64_t mv_event_time(const mv_trace *trace, const mv_events *events, uint32_t event);

/* The number of a device's events at or before a time. Times must not decrease. */
uint32_t mv_events_until(const mv_events *events, int64_t time_us);

/* "2.948 s", "311.4 ms": in the unit of the device's last event. "" when unknown. Returns `out`. */
const char *mv_event_time_text(const mv_trace *trace, const mv_events *events, uint32_t event,
                               char out[MV_TICK_TEXT]);

/* The time of a device's events [first, end): " in 2.976 s" if the first of them is the first in
 * the file, otherwise " from 294.9 ms to 318.1 ms", so that an event always has the same time; ""
 * when unknown. Returns `out`. */
enum { MV_SPAN_TEXT = 2 * MV_TICK_TEXT + 16 };
const char *mv_events_span(const mv_trace *trace, const mv_events *events, uint32_t first,
                           uint32_t end, char out[MV_SPAN_TEXT]);

#endif
