/* Lists every change of the four measures in totals.h, in order of events. Totals and series are
 * computed from these changes. Most changes follow from the event alone. The other changes, which
 * are prepared and sorted, are those of segments, which may end in pieces, and of allocations
 * without a recorded free. */
#pragma once

#include "analyze/lives/alive.h"
#include "analyze/totals/totals.h"

/* In the order in which the changes of one event apply: ends come before starts. */
typedef enum {
    MV_STEP_FREED,     /* an allocation's block is no longer allocated */
    MV_STEP_COMPLETED, /* an allocation's block is no longer active, and its bytes are no longer
                        * requested */
    MV_STEP_UNHOLD,    /* a segment is no longer reserved */
    MV_STEP_HOLD,
    MV_STEP_ALLOC
} mv_step_kind;

/* A change. `row` is a row of lives->segments for UNHOLD and HOLD, and of lives->allocs
 * otherwise. */
typedef struct {
    uint32_t event;
    uint32_t row;
    uint8_t kind; /* mv_step_kind */
} mv_level_step;

typedef struct {
    const mv_lives *lives;
    mv_level_step *prepared; /* changes that do not follow from one event alone, sorted by event */
    uint64_t prepared_count;
    uint64_t at;      /* next entry of `prepared` */
    uint32_t event;   /* argument of the last call of mv_level_steps_next */
    uint8_t own_done; /* number of the event's own changes that were already returned */
} mv_level_steps;

/* Prepares the changes. Returns false when out of memory. */
bool mv_level_steps_init(mv_arena *arena, const mv_lives *lives, mv_level_steps *steps);

/* Moves to the changes at `event`, so that the next call returns them. */
void mv_level_steps_seek(mv_level_steps *steps, uint32_t event);

static inline bool mv_is_free_action(uint8_t action)
{
    return action == MV_ACTION_FREE_REQUESTED || action == MV_ACTION_FREE_COMPLETED;
}

/* Finds the nth change (from 0) that follows from the event alone. Returns false if there are fewer
 * changes. */
static inline bool mv_level_own_step(const mv_lives *lives, uint32_t event, uint32_t nth,
                                     mv_level_step *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t row = lives->alloc_of[event];
    uint8_t action = lives->events.action[event];
    bool frees, completes;

    *out = (mv_level_step){event, row, MV_STEP_ALLOC};
    if (row == MV_NO_ROW)
        return false;
    if (action == MV_ACTION_ALLOC)
        return nth == 0;
    if (!mv_is_free_action(action))
        return false;
    frees = a->freed[row] == event && !mv_alloc_was_pending(lives, row);
    completes = a->completed[row] == event;
    out->kind = nth == 0 && frees ? MV_STEP_FREED : MV_STEP_COMPLETED;
    return nth < (uint32_t)frees + completes;
}

/* Returns the next change at `event`; false after the last change. Must be called for the events in
 * order, and for each event until it returns false. This function is inline, like mv_levels_apply,
 * because loops over all events spend their time here. */
static inline bool mv_level_steps_next(mv_level_steps *steps, uint32_t event, mv_level_step *out)
{
    if (steps->event != event) {
        steps->event = event;
        steps->own_done = 0;
    }
    if (steps->at < steps->prepared_count && steps->prepared[steps->at].event == event) {
        *out = steps->prepared[steps->at++];
        return true;
    }
    return mv_level_own_step(steps->lives, event, steps->own_done++, out);
}

/* Adds a change to the levels. */
static inline void mv_levels_apply(mv_levels *levels, const mv_lives *lives,
                                   const mv_level_step *step)
{
    const mv_alloc_lives *a = &lives->allocs;

    switch ((mv_step_kind)step->kind) {
    case MV_STEP_FREED:
        levels->allocated -= a->block[step->row];
        break;
    case MV_STEP_COMPLETED:
        levels->active -= a->block[step->row];
        levels->requested -= a->requested[step->row];
        break;
    case MV_STEP_UNHOLD:
        levels->reserved -= lives->segments.size[step->row];
        break;
    case MV_STEP_HOLD:
        levels->reserved += lives->segments.size[step->row];
        break;
    case MV_STEP_ALLOC:
        levels->allocated += a->block[step->row];
        levels->active += a->block[step->row];
        levels->requested += a->requested[step->row];
        break;
    }
}

/* Whether `event` has a change that does not follow from the event alone. */
static inline bool mv_level_steps_prepared(const mv_level_steps *steps, uint32_t event)
{
    return steps->at < steps->prepared_count && steps->prepared[steps->at].event == event;
}

/* Whether no event up to `last` has such a change. */
static inline bool mv_level_steps_are_own(const mv_level_steps *steps, uint32_t last)
{
    return steps->at >= steps->prepared_count || steps->prepared[steps->at].event > last;
}

/* Whether `event` and the next two events, all before `end`, allocate and free one block, and
 * change nothing else. Most blocks of programs are freed at once. */
static inline bool mv_level_steps_are_brief(const mv_level_steps *steps, uint32_t event,
                                            uint32_t end)
{
    const mv_lives *lives = steps->lives;
    uint32_t row = lives->alloc_of[event];

    return lives->events.action[event] == MV_ACTION_ALLOC && row != MV_NO_ROW && end - event > 2 &&
           mv_alloc_is_brief(lives, event) && lives->allocs.freed[row] == event + 1 &&
           lives->allocs.completed[row] == event + 2 && mv_level_steps_are_own(steps, event + 2);
}

/* Returns the allocation that `event` alone can change, or MV_NO_ROW if the event alone changes
 * nothing. */
static inline uint32_t mv_level_own_row(const mv_lives *lives, uint32_t event)
{
    uint8_t action = lives->events.action[event];

    return action == MV_ACTION_ALLOC || mv_is_free_action(action) ? lives->alloc_of[event]
                                                                  : MV_NO_ROW;
}

/* Finds the change in allocated bytes by an event that has no prepared changes. Returns false if
 * there is no change. */
static inline bool mv_level_own_change(const mv_lives *lives, uint32_t event, mv_level_step *out)
{
    uint32_t row = mv_level_own_row(lives, event);
    bool allocates = lives->events.action[event] == MV_ACTION_ALLOC;

    *out = (mv_level_step){event, row, allocates ? MV_STEP_ALLOC : MV_STEP_FREED};
    return row != MV_NO_ROW &&
           (allocates || (lives->allocs.freed[row] == event && !mv_alloc_was_pending(lives, row)));
}

/* Adds all changes by `event`. This is faster than mv_level_steps_next, because nearly all events
 * have no prepared changes. */
static inline void mv_levels_follow(mv_levels *levels, mv_level_steps *steps, uint32_t event)
{
    const mv_lives *lives = steps->lives;
    const mv_alloc_lives *a = &lives->allocs;
    mv_level_step step;
    uint32_t row;

    if (mv_level_steps_prepared(steps, event)) {
        while (mv_level_steps_next(steps, event, &step))
            mv_levels_apply(levels, lives, &step);
        return;
    }
    row = mv_level_own_row(lives, event);
    if (row == MV_NO_ROW)
        return;
    if (lives->events.action[event] == MV_ACTION_ALLOC) {
        levels->allocated += a->block[row];
        levels->active += a->block[row];
        levels->requested += a->requested[row];
        return;
    }
    if (a->freed[row] == event && !mv_alloc_was_pending(lives, row))
        levels->allocated -= a->block[row];
    if (a->completed[row] == event) {
        levels->active -= a->block[row];
        levels->requested -= a->requested[row];
    }
}

/* Adds an allocation from before the first event to the levels before the first event. */
void mv_levels_add_before(mv_levels *levels, const mv_lives *lives, uint32_t alloc);
