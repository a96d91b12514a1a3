/* In which annotated range an event lies: the innermost record_function range that was open, or
 * where a file has no ranges the user metadata of the event
 * (torch.cuda.memory._set_memory_metadata). */
#ifndef MV_OPEN_RANGE_H
#define MV_OPEN_RANGE_H

#include "parse/model/trace.h"

/* The names for `count` events of a device, given in ascending order; MV_BEFORE and events outside
 * of every range get MV_NO_STRING. A range holds the events from its start to its end, both times
 * included. Returns [count]; NULL when memory is out. O(annotations * log + count). */
mv_string_id *mv_within_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                             const uint32_t *event, uint32_t count);

#endif
