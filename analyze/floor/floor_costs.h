/* Finds the lines that caused memory beyond the floor to be reserved at the peak.
 *
 *     segments at the peak, oldest first   | 20 | 64 | 20 | 100 | 20 |
 *     the floor                            |------------|
 *     the rest, by the lines for whose requests it was reserved
 *
 * An ideal allocator would need none of these segments. The line of a segment is the line of the
 * request for which PyTorch found no hole. Together they add up to reserved - lower. */
#pragma once

#include "analyze/floor/floor.h"

typedef struct {
    uint64_t bytes; /* bytes beyond the floor, which may include only a part of the first segment */
    uint32_t segments;
    mv_stack_id stack; /* stack of the request; MV_NO_STACK: not recorded, or before the first
                        * event */
} mv_minimum_cost;

typedef struct {
    uint32_t count;
    mv_minimum_cost *rows; /* [count] costs sorted by bytes, largest first */
} mv_minimum_costs;

/* Finds the costs. O(n log n). There are no costs if the floor is unknown. All results are in
 * `arena`. Fails only when out of memory. */
mv_code mv_minimum_costs_find(mv_arena *arena, const mv_lives *lives, const mv_minimum *floor,
                              mv_minimum_costs *out, mv_err *err);

/* Returns "beyond the floor: 20.0 MiB for train.py:62 forward, 16.0 MiB for ... and 4 others"; ""
 * if there are no costs. Returns NULL when out of memory. */
const char *mv_minimum_costs_sentence(mv_arena *arena, const mv_trace *trace,
                                      const mv_minimum_costs *costs);
