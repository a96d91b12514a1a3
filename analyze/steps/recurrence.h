/* Finds earlier occurrences of the current point in a program, that is, the same point in the
 * program's latest steps.
 *
 *     allocs    p p p | a b c d e f | a b c d e f | a b c ?        ? is about to be requested,
 *                             ^ ^ ^         ^ ^ ^       ^ ^        and d was requested there before
 *                     same point, step 1    step 2      now
 *
 * Two points are the same if the allocations before them come from the same sites in the same
 * order. Differences among these allocations are skipped, for example where a cache was filled or
 * where a library made a different choice. If there are no stacks, sizes are compared instead of
 * sites.
 *
 * Layers repeat like steps, so only one point in each earlier step counts (steps.h). Without step
 * marks, a layer may be mistaken for a step (`is_marked`). */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/steps/steps.h"

/* Maximum number of repetitions to examine, starting with the latest. */
#define MV_MOST_REPETITIONS 8

typedef struct {
    uint32_t row;      /* row of lives->allocs that contains the request at that point */
    uint32_t step_end; /* row at which the step ends */
    uint32_t end;      /* row of the same point in the next repetition, or the current row */
    uint32_t step;     /* number of the repetition within the file, counted from 1 */
    /* [now - first] for each row of the window, the row that corresponds to it in this repetition,
     * or MV_NO_ROW. */
    uint32_t *peer;
} mv_repetition;

typedef struct {
    uint32_t now;     /* number of allocations before the moment, including those from before the
                     * first event; this is the row that the request would have */
    uint32_t first;   /* first row of the window */
    uint32_t current; /* first row of the current step */
    uint32_t count;
    mv_repetition at[MV_MOST_REPETITIONS]; /* [count] repetitions, the latest one first */
    uint32_t steps;                        /* number of repetitions in the file */
    bool is_marked;                        /* the steps come from the program's own marks */
    uint32_t *symbol; /* [now + 1] for each row, the symbol that is compared; the last entry is the
                       * request's */
} mv_recurrence;

typedef struct {
    uint32_t event;    /* event after the moment */
    mv_stack_id stack; /* stack of the request */
    uint64_t bytes;
} mv_recurrence_query;

/* Finds the earlier occurrences. O(n), plus a bounded amount of work for each repetition. Fails
 * only when out of memory. */
mv_code mv_recurrence_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                           const mv_steps *steps, mv_recurrence_query ask, mv_recurrence *out,
                           mv_err *err);

/* Pairs the rows after `a`, up to `a_end`, with the rows after `b`, up to `b_end`: peer[i] becomes
 * the counterpart of row a + 1 + i. `peer` has a_end - a - 1 entries, which must be MV_NO_ROW
 * before the call. */
void mv_recurrence_follow(const mv_recurrence *found, uint32_t a, uint32_t a_end, uint32_t b,
                          uint32_t b_end, uint32_t *peer);
