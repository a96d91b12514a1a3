/* A literal little caching allocator, as slow and obvious as can be, that writes the trace of a
 * random workload together with the truth about it: block sizes, and levels after each event. */
#ifndef MV_FIXTURE_HEAP_H
#define MV_FIXTURE_HEAP_H

#include "analyze/totals.h"
#include "tests/fixture.h"

typedef struct {
    uint32_t seed;
    uint32_t calls;      /* mallocs, frees and empty_caches */
    uint32_t unrecorded; /* of those, at the start, that leave no events */
    bool expandable;
    uint64_t max_split; /* max_split_size; 0: unlimited */
    bool drains;        /* frees everything at the end, and empties the cache */
} mvt_heap_opts;

typedef struct {
    uint64_t addr, requested, block;
    uint32_t birth, freed, completed; /* events; MV_BEFORE, MV_NEVER as in lives.h; freed is
                                       * MV_BEFORE when requested before the first event */
} mvt_heap_alloc;

typedef struct {
    uint32_t events;
    mv_levels before;
    mv_levels *levels; /* [events] */
    uint32_t count;
    mvt_heap_alloc *allocs; /* [count] in order of birth, the unrecorded too; those that ended
                             * before the first event have completed == MV_BEFORE and birth ==
                             * MV_BEFORE */
    bool *ended_before;     /* [count] */
} mvt_heap_truth;

/* Appends events, final heap and settings to `t`. The truth lives as long as `t`. */
mvt_heap_truth mvt_heap_run(mvt_trace *t, mvt_heap_opts opts);

#endif
