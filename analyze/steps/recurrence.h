/* Earlier occurrences of the current point in a program: the same point in its latest steps.
 *
 *     allocs    p p p | a b c d e f | a b c d e f | a b c ?        ? is about to be requested,
 *                             ^ ^ ^         ^ ^ ^       ^ ^        and d was requested there before
 *                     same point, step 1    step 2      now
 *
 * Two points are the same when the allocations before them come from the same sites in the same
 * order. Differences in between (filling a cache, another choice of a library) are skipped. Without
 * stacks, sizes take the place of sites.
 *
 * Layers repeat as steps do, so only one point of each earlier step counts (steps.h). Without step
 * marks, a layer may be mistaken for a step (`is_marked`). */
#ifndef MV_RECURRENCE_H
#define MV_RECURRENCE_H

#include "analyze/code/sites.h"
#include "analyze/steps/steps.h"

/* Number of the latest repetitions to examine. */
#define MV_MOST_REPETITIONS 8

typedef struct {
    uint32_t row;      /* row of lives->allocs: the request at that point */
    uint32_t step_end; /* row at which the step ends */
    uint32_t end;      /* row of the same point in the next repetition, or the current row */
    uint32_t step;     /* number of the repetition within the file, from 1 */
    /* [now - first] for each row of the window, its counterpart in this repetition,
     * or MV_NO_ROW. */
    uint32_t *peer;
} mv_repetition;

typedef struct {
    uint32_t now;   /* row: the number of allocations before the moment, including those from before
                     * the first event */
    uint32_t first; /* row at which the current step starts */
    uint32_t current; /* row: start of the current step */
    uint32_t count;
    mv_repetition at[MV_MOST_REPETITIONS]; /* [count] the latest one first */
    uint32_t steps;                        /* number of repetitions in the file */
    bool is_marked;                        /* the steps come from the program's own marks */
    uint32_t *symbol; /* [now + 1] symbol to compare for each row; the last entry is the request */
} mv_recurrence;

typedef struct {
    uint32_t event;    /* the moment is before this event */
    mv_stack_id stack; /* stack of the request */
    uint64_t bytes;
} mv_recurrence_query;

/* O(n), plus bounded work for each repetition. Fails only when out of memory. */
mv_code mv_recurrence_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                           const mv_steps *steps, mv_recurrence_query ask, mv_recurrence *out,
                           mv_err *err);

/* Pairs the rows after `a` with those after `b`, up to `a_end` and `b_end`: peer[i] is the
 * counterpart of row a + 1 + i. `peer` has a_end - a - 1 entries, which must be MV_NO_ROW before
 * the call. */
void mv_recurrence_follow(const mv_recurrence *found, uint32_t a, uint32_t a_end, uint32_t b,
                          uint32_t b_end, uint32_t *peer);

#endif
