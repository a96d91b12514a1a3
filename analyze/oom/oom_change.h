/* The smallest change that would have made a failed request fit. */
#ifndef MV_OOM_CHANGE_H
#define MV_OOM_CHANGE_H

#include "analyze/heap/heap.h"

/* Each of the three changes is enough by itself; 0: it would not have helped. */
typedef struct {
    uint64_t
        free_bytes; /* bytes of blocks that would have to be freed: the fewest that were found */
    uint32_t free_blocks;
    uint32_t free_segments; /* 1: they make room within it; more: whole segments to release */
    uint32_t biggest;       /* row of the largest of these blocks in lives->allocs; MV_NO_ROW */
    uint64_t smaller_by;    /* bytes less in the request */
    uint64_t more_memory;   /* more bytes for the device, or for the limit, at most */
} mv_oom_change;

typedef struct {
    uint32_t domain;    /* MV_NO_ROW: nothing was ever held there */
    uint64_t requested; /* rounded */
    uint64_t segment;   /* needed from the device */
    uint64_t available; /* bytes of the device available to the request */
    uint64_t largest;   /* the largest hole of the domain */
} mv_oom_need;

/* For a hole the search is exact: the window of neighbouring pieces with the fewest used bytes.
 * Segments to release are taken in order of their bytes for each used byte, which is close to the
 * fewest. O(n log n) in the map. Fails only when out of memory. */
mv_code mv_oom_change_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                           mv_oom_need need, mv_oom_change *out, mv_err *err);

#endif
