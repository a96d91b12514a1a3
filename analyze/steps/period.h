/* The beat of a program that marks no steps: a place in its own code (analyze/steps/outer_call.h)
 * that allocates once a step.
 *
 *     allocs    b b b | x a b c b c d | x a b c b c d | x a b c b c d
 *     place x           ^               ^               ^
 *
 * All that one outermost call of a module allocates counts once, so layers and time steps within
 * a pass make no beat. Several allocations of a place in a row count once as well. A place that
 * is alone in its loop ("x = randn(n); r = x * 2" on one line, and nothing else) is thinned to the
 * period with which its sizes and lifetimes repeat, if each repetition hands something over to the
 * next: a variable that is assigned again frees what it held when the new value is there. A list
 * that is built at set-up hands nothing over, and has no beat.
 *
 * Objects of a user's class that are made one after another, and nothing else, count as well, from
 * six of them on: nothing else is to be seen of objects that are dropped but never freed. */
#ifndef MV_PERIOD_H
#define MV_PERIOD_H

#include "analyze/lives/lives.h"
#include "analyze/steps/outer_call.h"

/* Sets *at to *count event positions (none: 0) and *stack to the first stack of the place.
 * `scratch` keeps what may be released after the call. False when memory is out. O(n log n). */
bool mv_period_find(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                    const mv_outer *outer, uint32_t **at, uint32_t *count, mv_stack_id *stack);

#endif
