/* The heap at one moment, built from the rows alive then, without replaying all earlier events. So
 * the allocator's state can follow a cursor.
 *
 *     index of active blocks ──► blocks alive after E, by address ─┐
 *     rows of lives->segments ─► segments held after E, by address ┴─► the map: runs, blocks, holes
 *
 * The map equals mv_heap_map_make's after mv_heap_advance(&heap, E), to the byte;
 * tests/core/test_heap_moment.c compares them. If a trace contradicts itself and two blocks at one
 * address are alive, the later block wins. */
#ifndef MV_HEAP_MOMENT_H
#define MV_HEAP_MOMENT_H

#include "analyze/heap/heap.h"
#include "viz/core/index.h"

typedef struct {
    uint32_t event; /* the event before the moment, or MV_BEFORE */
    mv_heap_sums sums;
    uint64_t largest; /* the largest hole of all segments */
    mv_heap_map map;
} mv_heap_moment;

/* `active` is the index of `lives` with the measure MV_INDEX_ACTIVE. O(k log k) for k living blocks
 * and segments, plus one pass over the rows of segments. Everything is allocated in `arena`. Fails
 * only when out of memory. */
mv_code mv_heap_moment_find(mv_arena *arena, const mv_lives *lives, const mv_index *active,
                            uint32_t event, mv_heap_moment *out, mv_err *err);

#endif
