/* On a level of calls, each call consists of several events (analyze/levels/levels.h). The states
 * between these events, in which a segment is empty, never existed.
 *
 *     gain   SEGMENT_ALLOC, ALLOC
 *     loss   FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE */
#pragma once

#include "analyze/lives/lives.h"

/* Return the last and the first event of the call that contains an event, or the event itself if it
 * is not part of a call. MV_BEFORE is returned unchanged. */
uint32_t mv_call_last(const mv_trace *trace, const mv_events *events, uint32_t event);
uint32_t mv_call_first(const mv_trace *trace, const mv_events *events, uint32_t event);

/* Returns what the call that contains an event does: "alloc" or "free". If the event is not part of
 * a call, returns the event's own action. */
const char *mv_call_action(const mv_trace *trace, const mv_events *events, uint32_t event);

/* Returns the number of calls in all events; 0: the trace is not on a level of calls. O(events). */
uint32_t mv_call_count(const mv_trace *trace, const mv_events *events);
