#include "analyze/totals/level_steps.h"

#include "analyze/lives/alive.h"
#include "base/sort.h"

static bool is_free(uint8_t action)
{
    return action == MV_ACTION_FREE_REQUESTED || action == MV_ACTION_FREE_COMPLETED;
}

/* Whether `event` is a free of that row, not another event that shows its end. */
static bool is_own_free(const mv_lives *lives, uint32_t event, uint32_t row)
{
    return lives->alloc_of[event] == row && is_free(lives->events.action[event]);
}

static void prepare(mv_level_steps *steps, uint32_t event, uint32_t row, mv_step_kind kind)
{
    if (steps->prepared)
        steps->prepared[steps->prepared_count] = (mv_level_step){event, row, (uint8_t)kind};
    steps->prepared_count++;
}

/* Counts the changes that do not follow from one event; a second call fills `prepared`. */
static void prepare_all(mv_level_steps *steps)
{
    const mv_lives *lives = steps->lives;
    const mv_alloc_lives *a = &lives->allocs;
    const mv_segment_lives *s = &lives->segments;

    steps->prepared_count = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->freed[i] != MV_NEVER && !mv_alloc_was_pending(lives, i) &&
            !is_own_free(lives, a->freed[i], i))
            prepare(steps, a->freed[i], i, MV_STEP_FREED);
        if (a->completed[i] != MV_NEVER && !is_own_free(lives, a->completed[i], i))
            prepare(steps, a->completed[i], i, MV_STEP_COMPLETED);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->birth[i] != MV_BEFORE)
            prepare(steps, s->birth[i], i, MV_STEP_HOLD);
        if (s->death[i] != MV_NEVER)
            prepare(steps, s->death[i], i, MV_STEP_UNHOLD);
    }
}

bool mv_level_steps_init(mv_arena *arena, const mv_lives *lives, mv_level_steps *steps)
{
    *steps = (mv_level_steps){.lives = lives, .event = MV_NO_ROW};
    prepare_all(steps);
    steps->prepared = mv_push_array(arena, mv_level_step, steps->prepared_count);
    if (!steps->prepared)
        return false;
    prepare_all(steps);
    mv_sort_rows(arena, steps->prepared, steps->prepared_count, MV_RISING(mv_level_step, event),
                 MV_RISING(mv_level_step, kind), MV_RISING(mv_level_step, row));
    return true;
}

/* The nth change, from 0, that follows from the event alone. */
static bool own_step(const mv_lives *lives, uint32_t event, uint32_t nth, mv_level_step *out)
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
    if (!is_free(action))
        return false;
    frees = a->freed[row] == event && !mv_alloc_was_pending(lives, row);
    completes = a->completed[row] == event;
    out->kind = nth == 0 && frees ? MV_STEP_FREED : MV_STEP_COMPLETED;
    return nth < (uint32_t)frees + completes;
}

bool mv_level_steps_next(mv_level_steps *steps, uint32_t event, mv_level_step *out)
{
    if (steps->event != event) {
        steps->event = event;
        steps->own_done = 0;
    }
    if (steps->at < steps->prepared_count && steps->prepared[steps->at].event == event) {
        *out = steps->prepared[steps->at++];
        return true;
    }
    return own_step(steps->lives, event, steps->own_done++, out);
}

void mv_levels_apply(mv_levels *levels, const mv_lives *lives, const mv_level_step *step)
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

void mv_levels_add_before(mv_levels *levels, const mv_lives *lives, uint32_t alloc)
{
    const mv_alloc_lives *a = &lives->allocs;

    if (!mv_alloc_was_pending(lives, alloc))
        levels->allocated += a->block[alloc];
    levels->active += a->block[alloc];
    levels->requested += a->requested[alloc];
}
