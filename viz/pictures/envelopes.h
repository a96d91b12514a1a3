/* The memory timeline by pool, as numbers: each pool is an envelope as high as the most it ever
 * held.
 *
 *     private pool (1, 0): at most 20.0 MiB reserved, at most 12.3 MiB allocated
 *       │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌          reserved at that time: the dashed line
 *       │  ▓▓▓▓▓▓▓▓                       allocated, by who allocated it (pool_levels.h)
 *     default pool: at most 1.19 GiB reserved, at most 1.15 GiB allocated
 *       │ ▗▟█▙▖▟█▙▖
 *       └──────────────────────── events
 *
 * What a private pool (of a CUDA graph or a MemPool) holds cannot be used by others: the picture
 * shows how much of it is idle, and when. view/timeline/timeline_pools.c draws it. */
#ifndef MV_ENVELOPES_H
#define MV_ENVELOPES_H

#include "analyze/lives/lives.h"

typedef struct {
    mv_pool_id pool;    /* MV_NO_POOL: the file does not say which */
    uint32_t pools;     /* 1, or how many pools are merged because there are too many */
    uint64_t held;      /* most bytes in its segments at one moment of the window */
    uint32_t held_at;   /* the first event after which that was so; MV_BEFORE: before the first */
    uint64_t allocated; /* most bytes in its blocks at one moment */
    uint64_t
        high; /* height of the envelope: the larger of both, including what waits for a stream */
} mv_pool_envelope;

typedef struct {
    uint32_t count;
    mv_pool_envelope *envelopes; /* [count] the default pool, private ones by id, unknown, others */
    uint32_t *of_segment; /* [segments.count + 1] its envelope, MV_NO_ROW: none in the window; the
                             last entry is for allocations in no known segment */
} mv_envelopes;

/* The pools that held or had allocated anything in events [from, to). At most `most` envelopes; the
 * last one merges the pools that hold least. O(n log n). Fails only when memory runs out. */
mv_code mv_envelopes_lay(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t from, uint32_t to, uint32_t most, mv_envelopes *out, mv_err *err);

#endif
