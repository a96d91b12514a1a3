/* The smallest change with which a request that failed would have fitted. */
#ifndef MV_OOM_CHANGE_H
#define MV_OOM_CHANGE_H

#include "analyze/heap/heap.h"

/* Each of the three alone is enough; 0: it would not have helped. */
typedef struct {
    uint64_t free_bytes; /* blocks in use that would have had to be gone: fewest bytes known */
    uint32_t free_blocks;
    uint32_t free_segments; /* 1: they open a hole in it; else: whole segments to give back */
    uint32_t biggest;       /* row of the largest of these blocks in lives->allocs; MV_NO_ROW */
    uint64_t smaller_by;    /* bytes less to ask for */
    uint64_t more_memory;   /* bytes more of the device, or of the limit, at most */
} mv_oom_change;

typedef struct {
    uint32_t domain;    /* MV_NO_ROW: nothing was ever held there */
    uint64_t requested; /* rounded */
    uint64_t segment;   /* needed from the device */
    uint64_t available; /* of the device that the request could have had */
    uint64_t largest;   /* hole of the domain */
} mv_oom_need;

/* Opening a hole is searched exactly: the window of neighbouring pieces with the fewest used bytes.
 * For segments to give back those with most bytes for each used one are taken first, which is
 * close to the fewest. O(n log n) in the map. Fails only for want of memory. */
mv_code mv_oom_change_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                           mv_oom_need need, mv_oom_change *out, mv_err *err);

#endif
