/* The memory timeline by pool, as numbers: each pool is an envelope as high as its maximum.
 *
 *     private pool (1, 0): at most 20.0 MiB reserved, at most 12.3 MiB allocated
 *       │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌          reserved at that time: the dashed line
 *       │  ▓▓▓▓▓▓▓▓                       allocated, by line of code (pool_levels.h)
 *     default pool: at most 1.19 GiB reserved, at most 1.15 GiB allocated
 *       │ ▗▟█▙▖▟█▙▖
 *       └──────────────────────── events
 *
 * Other pools cannot use the memory of a private pool (of a CUDA graph or a MemPool): the picture
 * shows how much of it is idle, and when. view/timeline/timeline_pools.c draws it. */
#ifndef MV_ENVELOPES_H
#define MV_ENVELOPES_H

#include "analyze/lives/lives.h"

typedef struct {
    mv_pool_id pool;  /* MV_NO_POOL: missing from the file */
    uint32_t pools;   /* 1, or the number of pools merged into it because there are too many */
    uint64_t held;    /* most bytes in its segments at any moment of the window */
    uint32_t held_at; /* the first event after which that maximum was reached; MV_BEFORE: before the
                         first */
    uint64_t allocated; /* most bytes in its blocks at any moment */
    uint64_t high; /* height of the envelope: the larger of both, including bytes that wait for a
                      stream */
} mv_pool_envelope;

typedef struct {
    uint32_t count;
    mv_pool_envelope *envelopes; /* [count] default, private by id, unknown, others */
    uint32_t *of_segment; /* [segments.count + 1] its envelope; MV_NO_ROW: none in the window; the
                             last entry is for allocations outside all known segments */
} mv_envelopes;

/* The pools that had anything reserved or allocated in events [from, to). At most `most` envelopes;
 * the last one merges the smallest pools. O(n log n). Fails only when out of memory. */
mv_code mv_envelopes_lay(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t from, uint32_t to, uint32_t most, mv_envelopes *out, mv_err *err);

#endif
