/* The numbers of a memory timeline by pool. Each pool is an envelope that is as high as the pool's
 * maximum.
 *
 *     private pool (1, 0): at most 20.0 MiB reserved, at most 12.3 MiB allocated
 *       │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌          reserved at that time: the dashed line
 *       │  ▓▓▓▓▓▓▓▓                       allocated, by line of code (pool_levels.h)
 *     default pool: at most 1.19 GiB reserved, at most 1.15 GiB allocated
 *       │ ▗▟█▙▖▟█▙▖
 *       └──────────────────────── events
 *
 * Other pools cannot use the memory of a private pool, which belongs to a CUDA graph or a MemPool.
 * The picture shows how much of this memory is idle, and when. view/timeline/timeline_pools.c draws
 * it. */
#pragma once

#include "analyze/lives/lives.h"

typedef struct {
    mv_pool_id pool;    /* id of the pool; MV_NO_POOL: the file does not contain the pool */
    uint32_t pools;     /* 1, or the number of pools that are merged because there are too many */
    uint64_t held;      /* the largest number of bytes in the pool's segments at any moment of the
                         * window */
    uint32_t held_at;   /* the event after which that maximum is first reached; MV_BEFORE: it is
                         reached before the first event */
    uint64_t allocated; /* the largest number of bytes in the pool's blocks at any moment of the
                         * window */
    uint64_t high; /* height of the envelope, which is the larger of the two maxima, including bytes
                      that wait for a stream */
} mv_pool_envelope;

typedef struct {
    uint32_t count;
    mv_pool_envelope *envelopes; /* [count] the default pool, private pools by id, the unknown pool,
                                    and all other pools */
    uint32_t *of_segment; /* [segments.count + 1] the envelope of each segment; MV_NO_ROW: none in
                             the window. The last entry is for allocations outside all known
                             segments */
} mv_envelopes;

/* Finds the pools that have anything reserved or allocated in events [from, to). Makes at most
 * `most` envelopes, and merges the smallest pools into the last one if there are more. O(n log n).
 * Fails only when out of memory. */
mv_code mv_envelopes_lay(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t from, uint32_t to, uint32_t most, mv_envelopes *out, mv_err *err);
