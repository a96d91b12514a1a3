#include "analyze/totals/level_steps.h"

static mv_levels levels_before(const mv_lives *lives)
{
    const mv_segment_lives *s = &lives->segments;
    mv_levels before = {0};

    for (uint32_t i = 0; i < lives->allocs.preexisting; i++)
        mv_levels_add_before(&before, lives, i);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->birth[i] == MV_BEFORE)
            before.reserved += s->size[i];
    return before;
}

mv_code mv_totals_series(mv_arena *arena, const mv_lives *lives, mv_series *out, mv_err *err)
{
    uint32_t count = lives->events.count;
    mv_level_steps steps;
    mv_levels level;
    mv_arena scratch;
    bool is_ready;

    *out = (mv_series){.count = count, .before = levels_before(lives)};
    out->allocated = mv_push_array(arena, uint64_t, count);
    out->active = mv_push_array(arena, uint64_t, count);
    out->requested = mv_push_array(arena, uint64_t, count);
    out->reserved = mv_push_array(arena, uint64_t, count);
    mv_arena_init(&scratch, arena->budget);
    is_ready = out->allocated && out->active && out->requested && out->reserved &&
               mv_level_steps_init(&scratch, lives, &steps);
    level = out->before;
    for (uint32_t i = 0; is_ready && i < count; i++) {
        mv_levels_follow(&level, &steps, i);
        out->allocated[i] = level.allocated;
        out->active[i] = level.active;
        out->requested[i] = level.requested;
        out->reserved[i] = level.reserved;
    }
    mv_arena_release(&scratch);
    return is_ready ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "levels of %u events", count);
}
