/* Formats the time of an event in the same way everywhere: as the time since the first event of any
 * device in the file, like times on the command line (analyze/lives/position.h). */
#pragma once

#include "analyze/lives/lives.h"
#include "viz/scene/axis.h"

/* Returns the time in microseconds; MV_NO_TIME: unknown. `events` must belong to one device of the
 * trace. */
int64_t mv_event_since_start(const mv_trace *trace, const mv_events *events, uint32_t event);

/* Returns the number of a device's events at or before a time. The events' times must not
 * decrease. */
uint32_t mv_events_until(const mv_events *events, int64_t time_us);

/* Formats the time of an event as "2.948 s" or "311.4 ms", in the unit that suits the device's last
 * event; "" if it is unknown. Returns `out`. */
const char *mv_event_time_text(const mv_trace *trace, const mv_events *events, uint32_t event,
                               char out[MV_TICK_TEXT]);

/* Formats the time that a device's events [first, end) cover. The result is " in 2.976 s" if the
 * first of them is the first event in the file. Otherwise it is " from 294.9 ms to 318.1 ms", so
 * that an event is always shown with the same time. "" if the time is unknown, or the same for all
 * events. Returns `out`. */
enum { MV_SPAN_TEXT = 2 * MV_TICK_TEXT + 16 };
const char *mv_events_span(const mv_trace *trace, const mv_events *events, uint32_t first,
                           uint32_t end, char out[MV_SPAN_TEXT]);
