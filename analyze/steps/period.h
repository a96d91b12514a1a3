/* Finds the steps of a program that does not mark its steps. They begin where a place in the
 * program's own code (outer_call.h) allocates once per step.
 *
 *     allocs    b b b | x a b c b c d | x a b c b c d | x a b c b c d
 *     place x           ^               ^               ^
 *
 * All allocations within an outermost call of a module count once, so layers and time steps within
 * a pass do not count as steps. Several consecutive allocations by one place also count once. A
 * place may be the only one in its loop (for example, "x = randn(n); r = x * 2" on one line). A
 * step is then the period with which the sizes and lifetimes of its blocks repeat. Each repetition
 * must also pass something on to the next, because assigning to a variable frees the variable's old
 * value only after the new value has been created. A list built during set-up passes nothing on and
 * has no period.
 *
 * Six or more objects of a user's class that are created one after another, with nothing else in
 * between, count as steps, too. A program that drops objects whose memory is never freed leaves no
 * other pattern. */
#pragma once

#include "analyze/lives/lives.h"
#include "analyze/steps/outer_call.h"

/* Sets *at to an array of *count event positions (*count is 0 if there are no steps) and *stack to
 * the first stack of the place. Memory allocated in `scratch` may be released after the call. O(n
 * log n). Returns false when out of memory. */
bool mv_period_find(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                    const mv_outer *outer, uint32_t **at, uint32_t *count, mv_stack_id *stack);
