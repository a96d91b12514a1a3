/* The heap at one moment, found from what is alive then, without a replay of all events before it.
 * So the allocator's state can follow a cursor.
 *
 *     index of active blocks ──► blocks alive after E, by address ─┐
 *     rows of lives->segments ─► segments held after E, by address ┴─► the map: runs, blocks, holes
 *
 * The map is the one that mv_heap_map_make gives after mv_heap_advance(&heap, E), to the byte;
 * tests/core/test_heap_moment.c compares. If a trace contradicts itself and two blocks at one
 * address are alive, the later one wins. */
#ifndef MV_HEAP_MOMENT_H
#define MV_HEAP_MOMENT_H

#include "analyze/heap/heap.h"
#include "viz/core/index.h"

typedef struct {
    uint32_t event; /* the moment is after it, or MV_BEFORE */
    mv_heap_sums sums;
    uint64_t largest; /* the hole of all segments */
    mv_heap_map map;
} mv_heap_moment;

/* `active` is the index of `lives` with the measure MV_INDEX_ACTIVE. O(k log k) for k blocks and
 * segments that are alive, and one pass over the rows of segments. Everything lives in `arena`.
 * Fails only when memory runs out. */
mv_code mv_heap_moment_find(mv_arena *arena, const mv_lives *lives, const mv_index *active,
                            uint32_t event, mv_heap_moment *out, mv_err *err);

#endif
