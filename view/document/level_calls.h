/* On a level of calls, one call is several events (analyze/levels/levels.h). The moments between
 * these events, with an empty segment, never existed.
 *
 *     gain   SEGMENT_ALLOC, ALLOC
 *     loss   FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE */
#ifndef MV_LEVEL_CALLS_H
#define MV_LEVEL_CALLS_H

#include "analyze/lives/lives.h"

/* The last and the first event of the call that contains an event; the event itself if it is not
 * part of a call. MV_BEFORE is returned unchanged. */
uint32_t mv_call_last(const mv_trace *trace, const mv_events *events, uint32_t event);
uint32_t mv_call_first(const mv_trace *trace, const mv_events *events, uint32_t event);

/* The effect of the call that contains an event: "alloc" or "free", or the event's own action if it
 * is not part of a call. */
const char *mv_call_action(const mv_trace *trace, const mv_events *events, uint32_t event);

/* The number of calls among all events; 0: the trace is not of a level of calls. O(events). */
uint32_t mv_call_count(const mv_trace *trace, const mv_events *events);

#endif
