#include "analyze/totals/level_steps.h"

#include "base/sort.h"

/* Whether `event` is a free of that row, not another event that shows its end. */
static bool is_own_free(const mv_lives *lives, uint32_t event, uint32_t row)
{
    return lives->alloc_of[event] == row && mv_is_free_action(lives->events.action[event]);
}

static void prepare(mv_level_steps *steps, uint32_t event, uint32_t row, mv_step_kind kind)
{
    if (steps->prepared)
        steps->prepared[steps->prepared_count] = (mv_level_step){event, row, (uint8_t)kind};
    steps->prepared_count++;
}

/* Counts the changes of allocations that do not follow from one event; a second call fills
 * `prepared`. */
static void prepare_allocs(mv_level_steps *steps)
{
    const mv_lives *lives = steps->lives;
    const mv_alloc_lives *a = &lives->allocs;

    for (uint32_t i = 0; i < a->count; i++) {
        if (a->freed[i] != MV_NEVER && !mv_alloc_was_pending(lives, i) &&
            !is_own_free(lives, a->freed[i], i))
            prepare(steps, a->freed[i], i, MV_STEP_FREED);
        if (a->completed[i] != MV_NEVER && !is_own_free(lives, a->completed[i], i))
            prepare(steps, a->completed[i], i, MV_STEP_COMPLETED);
    }
}

static void prepare_segments(mv_level_steps *steps)
{
    const mv_segment_lives *s = &steps->lives->segments;

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->birth[i] != MV_BEFORE)
            prepare(steps, s->birth[i], i, MV_STEP_HOLD);
        if (s->death[i] != MV_NEVER)
            prepare(steps, s->death[i], i, MV_STEP_UNHOLD);
    }
}

bool mv_level_steps_init(mv_arena *arena, const mv_lives *lives, mv_level_steps *steps)
{
    uint64_t of_allocs;

    *steps = (mv_level_steps){.lives = lives, .event = MV_NO_ROW};
    prepare_allocs(steps);
    of_allocs = steps->prepared_count;
    prepare_segments(steps);
    steps->prepared = mv_push_array(arena, mv_level_step, steps->prepared_count);
    if (!steps->prepared)
        return false;
    steps->prepared_count = 0;
    if (of_allocs > 0)
        prepare_allocs(steps);
    prepare_segments(steps);
    mv_sort_rows(arena, steps->prepared, steps->prepared_count, MV_RISING(mv_level_step, event),
                 MV_RISING(mv_level_step, kind), MV_RISING(mv_level_step, row));
    return true;
}

void mv_levels_add_before(mv_levels *levels, const mv_lives *lives, uint32_t alloc)
{
    const mv_alloc_lives *a = &lives->allocs;

    if (!mv_alloc_was_pending(lives, alloc))
        levels->allocated += a->block[alloc];
    levels->active += a->block[alloc];
    levels->requested += a->requested[alloc];
}
