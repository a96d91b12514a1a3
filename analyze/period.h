/* The beat of a program that marks no steps: one allocation site that recurs once a step.
 *
 *     allocs    b b b | x a b c b c d | x a b c b c d | x a b c b c d
 *     site x            ^               ^               ^
 *
 * Sites nearest to the user's own code come first, since loops inside the library (over layers,
 * over heads) do not make steps; what happens inside optimizers, backward passes and set-up is
 * left aside. Allocations
 * of the site with none of another in between count once. A site that is alone in its loop ("x =
 * randn(n); r = x * 2" on one line, and nothing else) is thinned to the period with which its
 * sizes and lifetimes repeat. */
#ifndef MV_PERIOD_H
#define MV_PERIOD_H

#include "analyze/lives.h"

/* Sets *at to *count event positions (none: 0) and *stack to the site's stack. `scratch` keeps
 * what may be released after the call. False when memory is out. O(n log n). */
bool mv_period_find(mv_arena *arena, mv_arena *scratch, const mv_trace *trace,
                    const mv_lives *lives, uint32_t **at, uint32_t *count, mv_stack_id *stack);

#endif
