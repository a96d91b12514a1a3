#include "analyze/totals/level_steps.h"

#include "base/parallel_for.h"
#include "base/search.h"
#include "base/sort.h"

/* Whether `event` is a free of `row`, rather than another event that shows the end of the row. */
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

/* Counts the changes of allocations that do not follow from one event. When called again, fills
 * `prepared`. */
static void prepare_allocs(mv_level_steps *steps, uint32_t first, uint32_t end)
{
    const mv_lives *lives = steps->lives;
    const mv_alloc_lives *a = &lives->allocs;

    for (uint32_t i = first; i < end; i++) {
        if (a->freed[i] != MV_NEVER && !mv_alloc_was_pending(lives, i) &&
            !is_own_free(lives, a->freed[i], i))
            prepare(steps, a->freed[i], i, MV_STEP_FREED);
        if (a->completed[i] != MV_NEVER && !is_own_free(lives, a->completed[i], i))
            prepare(steps, a->completed[i], i, MV_STEP_COMPLETED);
    }
}

enum {
    PARTS = 16,
    PART_ROWS = 1 << 16 /* with fewer rows, a thread costs more than it saves */
};

typedef struct {
    const mv_lives *lives;
    uint32_t parts;
    uint64_t count[PARTS];
} counting;

static void count_part(void *user, uint32_t part)
{
    counting *c = user;
    uint64_t rows = c->lives->allocs.count;
    mv_level_steps steps = {.lives = c->lives};

    prepare_allocs(&steps, (uint32_t)(rows * part / c->parts),
                   (uint32_t)(rows * (part + 1) / c->parts));
    c->count[part] = steps.prepared_count;
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
    uint64_t of_allocs = 0;
    counting c = {.lives = lives, .parts = 1 + lives->allocs.count / PART_ROWS};

    c.parts = lives->ends_are_own ? 0 : c.parts < PARTS ? c.parts : PARTS;
    mv_parallel_for(c.parts, 0, count_part, &c);
    for (uint32_t i = 0; i < c.parts; i++)
        of_allocs += c.count[i];
    *steps = (mv_level_steps){.lives = lives, .event = MV_NO_ROW, .prepared_count = of_allocs};
    prepare_segments(steps);
    steps->prepared = mv_push_array(arena, mv_level_step, steps->prepared_count);
    if (!steps->prepared)
        return false;
    steps->prepared_count = 0;
    if (of_allocs > 0)
        prepare_allocs(steps, 0, lives->allocs.count);
    prepare_segments(steps);
    mv_sort_rows(arena, steps->prepared, steps->prepared_count, MV_RISING(mv_level_step, event),
                 MV_RISING(mv_level_step, kind), MV_RISING(mv_level_step, row));
    return true;
}

void mv_level_steps_seek(mv_level_steps *steps, uint32_t event)
{
    mv_bisect b = mv_bisect_over(0, steps->prepared_count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, steps->prepared[b.middle].event < event);
    steps->at = b.low;
    steps->event = MV_NO_ROW;
}

void mv_levels_add_before(mv_levels *levels, const mv_lives *lives, uint32_t alloc)
{
    const mv_alloc_lives *a = &lives->allocs;

    if (!mv_alloc_was_pending(lives, alloc))
        levels->allocated += a->block[alloc];
    levels->active += a->block[alloc];
    levels->requested += a->requested[alloc];
}
