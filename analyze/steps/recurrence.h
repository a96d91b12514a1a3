/* Where a program was at the same point before: earlier repetitions of its latest steps.
 *
 *     allocs    p p p | a b c d e f | a b c d e f | a b c ?        ? is about to be asked for,
 *                             ^ ^ ^         ^ ^ ^       ^ ^        and d was asked for there before
 *                     same point, step 1    step 2      now
 *
 * Two points are the same when the allocations before them come from the same sites in the same
 * order. Differences in between (a cache that was filled, a library that chose otherwise) are
 * skipped. Without stacks, sizes take the place of sites.
 *
 * Layers repeat as steps do, so only one point of each earlier step counts (steps.h). Where no mark
 * of the program shows the steps, a layer may be mistaken for a step (`is_marked`). */
#ifndef MV_RECURRENCE_H
#define MV_RECURRENCE_H

#include "analyze/code/sites.h"
#include "analyze/steps/steps.h"

/* How many of the latest repetitions are looked at. */
#define MV_MOST_REPETITIONS 8

typedef struct {
    uint32_t row;      /* of lives->allocs: what was asked for there */
    uint32_t step_end; /* row: where its step ends */
    uint32_t end;  /* row: where the next repetition reaches the same point, or the current row */
    uint32_t step; /* number of the repetition in the file, from 1 */
    /* [now - first] for each row of the window, its counterpart in this repetition; MV_NO_ROW:
     * none. */
    uint32_t *peer;
} mv_repetition;

typedef struct {
    uint32_t now;   /* row: the number of allocations before the moment, including those from before
                     * the first event */
    uint32_t first; /* row: the window [first, now) is compared */
    uint32_t current; /* row: where the current step begins */
    uint32_t count;
    mv_repetition at[MV_MOST_REPETITIONS]; /* [count] the latest one first */
    uint32_t steps;                        /* repetitions of the file */
    bool is_marked;                        /* marks of the program show the steps */
    uint32_t *symbol; /* [now + 1] what is compared for each row; the last entry is the request */
} mv_recurrence;

typedef struct {
    uint32_t event;    /* the moment: before this event */
    mv_stack_id stack; /* of the request */
    uint64_t bytes;
} mv_recurrence_ask;

/* O(n), plus a bounded effort for each repetition. Fails only when memory is out. */
mv_code mv_recurrence_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                           const mv_steps *steps, mv_recurrence_ask ask, mv_recurrence *out,
                           mv_err *err);

/* Pairs the rows after `a` with those after `b`, up to `a_end` and `b_end`: peer[i] is the
 * counterpart of row a + 1 + i. `peer` has a_end - a - 1 entries, which must be MV_NO_ROW before
 * the call. */
void mv_recurrence_follow(const mv_recurrence *found, uint32_t a, uint32_t a_end, uint32_t b,
                          uint32_t b_end, uint32_t *peer);

#endif
