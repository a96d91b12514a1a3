/* Finds the smallest change that would have made a failed request fit. */
#pragma once

#include "analyze/heap/heap.h"

/* Three changes, each of which would have been sufficient. 0 means that the change would not have
 * helped. */
typedef struct {
    uint64_t free_bytes; /* total size of the blocks to free; no smaller total was found */
    uint32_t free_blocks;
    uint32_t free_segments; /* 1: freeing the blocks makes enough room within one segment; more:
                             * number of whole segments to release */
    uint32_t biggest;       /* the largest of these blocks, a row of lives->allocs, or MV_NO_ROW */
    uint64_t smaller_by;    /* bytes by which the request would have to be smaller */
    uint64_t more_memory;   /* additional bytes that would be enough for the device or the limit */
} mv_oom_change;

typedef struct {
    uint32_t domain;    /* domain of the request; MV_NO_ROW: the domain never contained memory */
    uint64_t requested; /* bytes requested, rounded */
    uint64_t segment;   /* bytes needed from the device */
    uint64_t available; /* bytes of the device that are available to the request */
    uint64_t fits;      /* the largest request that would have been served; 0: none */
} mv_oom_need;

/* Finds the changes. The search for a hole is exact: it finds the window of neighbouring pieces
 * with the fewest used bytes. Segments to release are chosen in order of total bytes per used byte,
 * which is close to optimal. O(n log n) in the size of the map. Fails only when out of memory. */
mv_code mv_oom_change_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                           mv_oom_need need, mv_oom_change *out, mv_err *err);
