/* The annotated range of an event: the innermost open record_function range or, in files without
 * ranges, the event's user metadata (torch.cuda.memory._set_memory_metadata). */
#ifndef MV_OPEN_RANGE_H
#define MV_OPEN_RANGE_H

#include "parse/model/trace.h"

/* The range names for `count` events of a device, given in ascending order; MV_BEFORE and events
 * outside all ranges get MV_NO_STRING. A range contains the events from its start through its end.
 * Returns [count]; NULL when out of memory. O(annotations * log + count). */
mv_string_id *mv_within_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                             const uint32_t *event, uint32_t count);

#endif
