/* Random tables of lives, for tests of what is built on them: not what an allocator does, but all
 * that mv_lives and mv_segment_lives_as_allocs may hold. */
#ifndef MV_FIXTURE_LIVES_H
#define MV_FIXTURE_LIVES_H

#include "analyze/lives.h"

typedef struct {
    uint64_t seed;
    uint32_t most_events; /* at least 1; the table has fewer */
    bool is_plain; /* every event is the alloc or a free of one row; else also rows that share an
                    * event, were lost, waited from before the first event, never lived */
} mvt_lives_opts;

/* Fills the columns of the allocations, the actions and times of the events, and alloc_of. Sizes
 * are often equal and sometimes 0. `arena` keeps them; fails the test when memory is out. */
void mvt_random_lives(mv_arena *arena, mvt_lives_opts opts, mv_lives *out);

/* A number below `limit`, and the next state. */
uint32_t mvt_random(uint64_t *state, uint32_t limit);

#endif
