#include "view/timeline/timeline_rows.h"

#include <string.h>

static bool copy_rows(mv_arena *arena, mv_ground *ground)
{
    uint64_t words = ((uint64_t)ground->ask.index->count + 63) / 64;

    if (!ground->ask.rows)
        return true;
    ground->rows = mv_push_array(arena, uint64_t, words);
    if (!ground->rows)
        return false;
    memcpy(ground->rows, ground->ask.rows, words * sizeof *ground->rows);
    return true;
}

static bool find_drawn(mv_arena *arena, mv_ground *ground)
{
    const mv_index *index = ground->ask.index;
    mv_err err;

    if (ground->rows)
        return mv_drawn_some(arena, index, ground->rows, &ground->drawn, &err) == MV_OK;
    return mv_drawn_all(arena, index, &ground->drawn, &err) == MV_OK;
}

/* The highest point of the stack of some rows: no pyramid has it. */
static uint64_t highest(const mv_ground *ground)
{
    const mv_index *x = ground->ask.index;
    mv_index_walk walk = mv_index_walk_from(x, 0, x->events);
    uint64_t level = mv_drawn_bytes(&ground->drawn, MV_BEFORE), most = level;

    while (mv_index_walk_next(&walk)) {
        if (!mv_drawn_has(&ground->drawn, walk.rank))
            continue;
        level += walk.is_end ? -x->bytes[walk.rank] : x->bytes[walk.rank];
        most = level > most ? level : most;
    }
    return most;
}

void *mv_ground_make(mv_arena *arena, void *context, const void *ask)
{
    mv_ground *ground = mv_push_struct(arena, mv_ground);
    mv_err err;

    (void)context;
    if (!ground)
        return NULL;
    memcpy(&ground->ask, ask, sizeof ground->ask);
    if (!copy_rows(arena, ground) || !find_drawn(arena, ground) ||
        mv_timescale_make(arena, ground->ask.index, (mv_clock)ground->ask.clock,
                          &ground->drawn.slides, &ground->scale, &err) != MV_OK)
        return NULL;
    ground->scale.of_segments = ground->ask.of_segments;
    ground->has_drawn = true;
    if (ground->rows)
        ground->most = highest(ground);
    return ground;
}

void mv_ground_make_plain(const mv_ground_ask *ask, mv_ground *out)
{
    mv_err err;

    *out = (mv_ground){.ask = *ask};
    mv_timescale_make(NULL, ask->index, MV_CLOCK_EVENTS, NULL, &out->scale, &err);
    out->scale.of_segments = ask->of_segments;
}
