/* Finds the steps of a program that does not mark them: a place in its own code (outer_call.h) that
 * allocates once per step.
 *
 *     allocs    b b b | x a b c b c d | x a b c b c d | x a b c b c d
 *     place x           ^               ^               ^
 *
 * Everything that one outermost call of a module allocates counts once, so layers and time steps
 * within a pass do not count as steps. Several allocations of a place in a row count once, too. A
 * place may be alone in its loop ("x = randn(n); r = x * 2" on one line, and nothing else). Then
 * the period with which its sizes and lifetimes repeat is one step, if each repetition passes
 * something to the next: assigning a variable frees its old value when the new value already
 * exists. A list built at set-up passes nothing on and has no period.
 *
 * Six or more objects of a user's class that are created one after another, with nothing else in
 * between, count as steps, too: a program that drops objects which are never freed leaves no
 * other pattern. */
#ifndef MV_PERIOD_H
#define MV_PERIOD_H

#include "analyze/lives/lives.h"
#include "analyze/steps/outer_call.h"

/* Sets *at to *count event positions (0: no steps) and *stack to the place's first stack. Memory
 * from `scratch` may be released after the call. False when out of memory. O(n log n). */
bool mv_period_find(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                    const mv_outer *outer, uint32_t **at, uint32_t *count, mv_stack_id *stack);

#endif
