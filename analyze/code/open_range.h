/* Finds the annotated range in which an event happened. This is the innermost record_function range
 * that was open or, in files without ranges, the event's user metadata
 * (torch.cuda.memory._set_memory_metadata). */
#pragma once

#include "parse/model/trace.h"

/* The start or the end of an annotated range, for sorting by time. Those with equal times keep the
 * order of the file. */
typedef struct {
    int64_t time_us;
    uint32_t row; /* row of the annotations */
} mv_annotation_bound;

/* Finds the names of the ranges for `count` events of a device, which must be in ascending order.
 * The name is MV_NO_STRING for MV_BEFORE and for events outside all ranges. A range contains the
 * events from its start to its end, both included. Returns [count] names; NULL when out of memory.
 * O(annotations * log + count). */
mv_string_id *mv_within_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                             const uint32_t *event, uint32_t count);
