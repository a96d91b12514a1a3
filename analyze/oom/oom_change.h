/* The smallest change that would have made a failed request fit. */
#ifndef MV_OOM_CHANGE_H
#define MV_OOM_CHANGE_H

#include "analyze/heap/heap.h"

/* Each of the three changes alone is enough; 0: that change would not have helped. */
typedef struct {
    uint64_t free_bytes; /* bytes of blocks to free: the fewest found */
    uint32_t free_blocks;
    uint32_t free_segments; /* 1: freeing them makes room within one segment; more: whole segments
                             * to release */
    uint32_t biggest;       /* row of lives->allocs: the largest of these blocks, or MV_NO_ROW */
    uint64_t smaller_by;    /* how many bytes smaller the request would have to be */
    uint64_t more_memory;   /* additional bytes that the device, or the limit, would need at most */
} mv_oom_change;

typedef struct {
    uint32_t domain;    /* domain of the request; MV_NO_ROW: never held memory */
    uint64_t requested; /* rounded */
    uint64_t segment;   /* bytes needed from the device */
    uint64_t available; /* bytes of the device available to the request */
    uint64_t largest;   /* largest hole of the domain */
} mv_oom_need;

/* For a hole, the search is exact: the window of neighbouring pieces with the fewest used bytes.
 * Segments to release are taken in order of total bytes per used byte, which is close to optimal.
 * O(n log n) in the map. Fails only when out of memory. */
mv_code mv_oom_change_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                           mv_oom_need need, mv_oom_change *out, mv_err *err);

#endif
