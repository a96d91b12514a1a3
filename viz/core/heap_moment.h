/* The heap at one point in time, built from the rows that are alive then. Earlier events need not
 * be replayed, so the allocator's state can follow a cursor.
 *
 *     index of active blocks ──► blocks alive after E, by address ─┐
 *     rows of lives->segments ─► segments held after E, by address ┴─► the map: runs, blocks, holes
 *
 * The map is byte for byte the same as the map that mv_heap_map_make makes after
 * mv_heap_advance(&heap, E). tests/core/test_heap_moment.c compares the two maps. If a trace
 * contradicts itself and two blocks at the same address are alive, the later block wins. */
#pragma once

#include "analyze/heap/heap.h"
#include "viz/core/index.h"

typedef struct {
    uint32_t event; /* the event after which the heap is shown; MV_BEFORE: before the first event */
    mv_heap_sums sums;
    uint64_t largest; /* size of the largest hole in any segment */
    mv_heap_map map;
} mv_heap_moment;

/* Builds the heap. `active` is the index of `lives` with the measure MV_INDEX_ACTIVE. Everything is
 * allocated in `arena`. O(k log k) for k living blocks and segments, plus one pass over the rows of
 * segments. Fails only when out of memory. */
mv_code mv_heap_moment_find(mv_arena *arena, const mv_lives *lives, const mv_index *active,
                            uint32_t event, mv_heap_moment *out, mv_err *err);
