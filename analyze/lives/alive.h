/* Finds the rows of a lives table that are alive at a given moment.
 *
 * A moment is identified by the event before it. After event E, all effects of E are complete.
 *
 *     born  <= E < freed        allocated
 *     born  <= E < completed    active, and its requested bytes count
 *     birth <= E < death        a segment is reserved
 *
 * MV_BEFORE is the moment before the first event, at which the preexisting rows are alive. */
#pragma once

#include "analyze/lives/lives.h"

/* Whether a preexisting allocation was freed before the first event and only waited for a stream.
 * Such a block is active, but within the trace it is never allocated. See mv_alloc_lives.freed. If
 * event 0 completes the block's free, the free was requested earlier, either immediately before or
 * long before. */
static inline bool mv_alloc_was_pending(const mv_lives *lives, uint32_t row)
{
    const mv_alloc_lives *a = &lives->allocs;

    if (a->birth[row] != MV_BEFORE || a->freed[row] != 0)
        return false;
    return lives->events.count == 0 || lives->alloc_of[0] != row ||
           lives->events.action[0] != MV_ACTION_FREE_REQUESTED;
}

/* Whether the two events after an alloc free the block. */
static inline bool mv_alloc_is_brief(const mv_lives *lives, uint32_t alloc)
{
    const uint32_t *row = lives->alloc_of + alloc;
    const uint8_t *action = lives->events.action + alloc;

    return lives->events.count - alloc > 2 && row[1] == row[0] && row[2] == row[0] &&
           action[1] == MV_ACTION_FREE_REQUESTED && action[2] == MV_ACTION_FREE_COMPLETED;
}

/* Whether birth <= event < end, where MV_BEFORE counts as the earliest event. */
static inline bool mv_alive_spans(uint32_t birth, uint32_t end, uint32_t event)
{
    return birth + 1 <= event + 1 && (event == MV_BEFORE || event < end);
}

static inline bool mv_alloc_is_allocated(const mv_lives *lives, uint32_t row, uint32_t event)
{
    const mv_alloc_lives *a = &lives->allocs;

    return mv_alive_spans(a->birth[row], a->freed[row], event) &&
           (event != MV_BEFORE || !mv_alloc_was_pending(lives, row));
}

static inline bool mv_alloc_is_active(const mv_lives *lives, uint32_t row, uint32_t event)
{
    const mv_alloc_lives *a = &lives->allocs;

    return mv_alive_spans(a->birth[row], a->completed[row], event);
}

/* Returns the stack of the event that freed a row, or MV_NO_STACK if the event has no stack
 * different from the allocation's, because PyTorch then repeats the allocation's stack. */
static inline mv_stack_id mv_alloc_freeing_stack(const mv_lives *lives, uint32_t row)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t event = a->freed[row];
    mv_stack_id stack;

    if (lives->freed_by)
        return (mv_stack_id){lives->freed_by[row] - 1};
    if (mv_alloc_was_pending(lives, row) || event >= lives->events.count ||
        lives->alloc_of[event] != row)
        return MV_NO_STACK;
    stack = lives->events.stack[event];
    return stack.row == MV_EMPTY_STACK.row || stack.row == a->stack[row].row ? MV_NO_STACK : stack;
}

static inline bool mv_segment_is_held(const mv_lives *lives, uint32_t row, uint32_t event)
{
    const mv_segment_lives *s = &lives->segments;

    return mv_alive_spans(s->birth[row], s->death[row], event);
}

typedef struct {
    uint32_t count;
    uint32_t *row; /* [count] rows of mv_alloc_lives, ascending */
} mv_alive;

/* Lists the rows that are allocated after `event`. O(rows). Fails only when out of memory. */
mv_code mv_alive_allocs(mv_arena *arena, const mv_lives *lives, uint32_t event, mv_alive *out,
                        mv_err *err);
