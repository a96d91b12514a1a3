/* The lines that cost more than the floor: memory that was reserved at the peak, beyond the floor.
 *
 *     segments at the peak, oldest first   | 20 | 64 | 20 | 100 | 20 |
 *     the floor                            |------------|
 *     beyond it, by the lines for whose requests they were reserved
 *
 * An ideal allocator has all it needs before these segments were asked for, so the line of each is
 * the request for which no hole was found. All of them add up to reserved - lower. */
#ifndef MV_FLOOR_COSTS_H
#define MV_FLOOR_COSTS_H

#include "analyze/floor/floor.h"

typedef struct {
    uint64_t bytes; /* beyond the floor: of the first segment, perhaps a part */
    uint32_t segments;
    mv_stack_id stack; /* of the request; MV_NO_STACK: not recorded, or before the first event */
} mv_minimum_cost;

typedef struct {
    uint32_t count;
    mv_minimum_cost *rows; /* [count] most bytes first */
} mv_minimum_costs;

/* O(n log n). Nothing if the floor is not known. Lives in `arena`. Fails only when out of memory. */
mv_code mv_minimum_costs_find(mv_arena *arena, const mv_lives *lives, const mv_minimum *floor,
                              mv_minimum_costs *out, mv_err *err);

/* "beyond the floor: 20.0 MiB for train.py:62 forward, 16.0 MiB for ... and 4 others"; "" if
 * nothing is. NULL when out of memory. */
const char *mv_minimum_costs_sentence(mv_arena *arena, const mv_trace *trace,
                                      const mv_minimum_costs *costs);

#endif
