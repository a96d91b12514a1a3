/* Where a program was at the same point before: the earlier repetitions of its latest steps.
 *
 *     allocs    p p p | a b c d e f | a b c d e f | a b c ?        ? is about to be asked for,
 *                             ^ ^ ^         ^ ^ ^       ^ ^        and d was asked for there before
 *                     same point, step 1    step 2      now
 *
 * Two points are the same when the allocations that lead to them come from the same sites in the
 * same order; what differs in between (a cache that was filled, a library that chose otherwise) is
 * stepped over. Without stacks, sizes take the place of sites.
 *
 * A layer comes again as well as a step does, so only points of earlier steps count (analyze/
 * steps.h), one of each. Where no mark of the program shows the steps, a layer may be taken for one
 * (`is_marked`). */
#ifndef MV_RECURRENCE_H
#define MV_RECURRENCE_H

#include "analyze/code/sites.h"
#include "analyze/steps/steps.h"

/* The latest so many repetitions are looked at. */
#define MV_MOST_REPETITIONS 8

typedef struct {
    uint32_t row;      /* of lives->allocs: what was asked for there */
    uint32_t step_end; /* row: here its step ends */
    uint32_t end;      /* row: here the next repetition is at the same point, or it is now */
    uint32_t step;     /* the how manieth repetition of the file, from 1 */
    /* [window.end - window.first] for each row of the window that leads to now, the row that
     * stands for it there; MV_NO_ROW: none. */
    uint32_t *peer;
} mv_repetition;

typedef struct {
    uint32_t now;     /* row: as many allocations came before the moment, those from before the
                       * first event included */
    uint32_t first;   /* row: the window, [first, now), is compared */
    uint32_t current; /* row: where the current step begins */
    uint32_t count;
    mv_repetition at[MV_MOST_REPETITIONS]; /* [count] the latest first */
    uint32_t steps;                        /* repetitions of the file */
    bool is_marked;                        /* marks of the program tell the steps */
    uint32_t *symbol; /* [now + 1] what is compared of each row; the last is what is asked for */
} mv_recurrence;

typedef struct {
    uint32_t event;    /* the moment: before this event */
    mv_stack_id stack; /* of what is asked for */
    uint64_t bytes;
} mv_recurrence_ask;

/* O(n), and a bounded effort for each repetition. Fails only when memory is out. */
mv_code mv_recurrence_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                           const mv_steps *steps, mv_recurrence_ask ask, mv_recurrence *out,
                           mv_err *err);

/* Pairs the rows after `a` with those after `b` up to `a_end` and `b_end`: peer[i] stands for row
 * a + 1 + i. `peer` has a_end - a - 1 places, which are MV_NO_ROW before. */
void mv_recurrence_follow(const mv_recurrence *found, uint32_t a, uint32_t a_end, uint32_t b,
                          uint32_t b_end, uint32_t *peer);

#endif
