/* The memory timeline by pool: each pool is an envelope as high as the most it ever held, with its
 * blocks stacked inside.
 *
 *     pool (1, 0) · at most 20.0 MiB held, 12.3 MiB of it in use
 *       │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌          ← the envelope; held at that time: the dashed line
 *       │  ▓▓▓▓▓▓▓▓                       blocks in order of birth
 *     default pool · at most 1.19 GiB held, 1.15 GiB of it in use
 *       │ ▗▟█▙▖▟█▙▖
 *       └──────────────────────── events
 *
 * What a private pool (of a CUDA graph or a MemPool) holds cannot be used by others: the picture
 * shows how much of it is idle, and when. First numbers (mv_envelopes_lay), which tests compare
 * with a literal model; then a scene. */
#ifndef MV_ENVELOPES_H
#define MV_ENVELOPES_H

#include "viz/pictures/timeline.h"

typedef struct {
    mv_pool_id pool;    /* MV_NO_POOL: the file does not say which */
    uint32_t pools;     /* 1, or how many pools are merged because there are too many */
    uint64_t held;      /* most bytes in its segments at one moment of the window */
    uint32_t held_at;   /* the first event after which that was so; MV_BEFORE: before the first */
    uint64_t allocated; /* most bytes in its blocks at one moment */
    uint64_t
        high; /* height of the envelope: the larger of both, including what waits for a stream */
} mv_envelope;

typedef struct {
    uint32_t count;
    mv_envelope *envelopes; /* [count] the default pool, private ones by id, unknown, others */
    uint32_t *of_segment;   /* [segments.count + 1] its envelope, MV_NO_ROW: none in the window; the
                               last entry is for allocations in no known segment */
} mv_envelopes;

/* The pools that held or had allocated anything in events [from, to). At most `most` envelopes; the
 * last one merges the pools that hold least. O(n log n). Fails only when memory runs out. */
mv_code mv_envelopes_lay(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t from, uint32_t to, uint32_t most, mv_envelopes *out, mv_err *err);

/* The place of an envelope in the picture: its height is that of `most` bytes. */
typedef struct {
    mv_box box;
    mv_envelope envelope;
} mv_envelope_place;

typedef struct {
    mv_timeline timeline;
    uint32_t count;
    mv_envelope_place *places; /* [count] from the bottom up */
} mv_envelopes_picture;

/* Like mv_timeline_find. All envelopes have one scale; one that would be too low to see is drawn
 * higher, and its title says by how much. */
mv_code mv_envelopes_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          const mv_timeline_opts *opts, mv_envelopes_picture *out, mv_err *err);

#endif
