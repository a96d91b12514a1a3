#include "view/timeline/timeline_rows.h"

#include <string.h>

static bool copy_rows(mv_arena *arena, mv_timeline_rows *rows)
{
    uint64_t words = ((uint64_t)rows->ask.index->count + 63) / 64;

    if (!rows->ask.only)
        return true;
    rows->only = mv_push_array(arena, uint64_t, words);
    if (!rows->only)
        return false;
    memcpy(rows->only, rows->ask.only, words * sizeof *rows->only);
    return true;
}

static bool find_drawn(mv_arena *arena, mv_timeline_rows *rows)
{
    const mv_index *index = rows->ask.index;
    mv_err err;

    if (rows->only)
        return mv_drawn_some(arena, index, rows->only, &rows->drawn, &err) == MV_OK;
    return mv_drawn_all(arena, index, &rows->drawn, &err) == MV_OK;
}

/* The highest point of the stack of some rows: no pyramid has it. */
static uint64_t highest(const mv_timeline_rows *rows)
{
    const mv_index *x = rows->ask.index;
    mv_index_walk walk = mv_index_walk_from(x, 0, x->events);
    uint64_t level = mv_drawn_bytes(&rows->drawn, MV_BEFORE), most = level;

    while (mv_index_walk_next(&walk)) {
        if (!mv_drawn_has(&rows->drawn, walk.rank))
            continue;
        level += walk.is_end ? -x->bytes[walk.rank] : x->bytes[walk.rank];
        most = level > most ? level : most;
    }
    return most;
}

void *mv_timeline_rows_make(mv_arena *arena, void *context, const void *ask)
{
    mv_timeline_rows *rows = mv_push_struct(arena, mv_timeline_rows);
    mv_err err;

    (void)context;
    if (!rows)
        return NULL;
    memcpy(&rows->ask, ask, sizeof rows->ask);
    if (!copy_rows(arena, rows) || !find_drawn(arena, rows) ||
        mv_timescale_make(arena, rows->ask.index, (mv_clock)rows->ask.clock, &rows->drawn.slides,
                          &rows->scale, &err) != MV_OK)
        return NULL;
    rows->scale.of_segments = rows->ask.of_segments;
    rows->has_drawn = true;
    if (rows->only)
        rows->most = highest(rows);
    return rows;
}

void mv_timeline_rows_make_plain(const mv_timeline_rows_ask *ask, mv_timeline_rows *out)
{
    mv_err err;

    *out = (mv_timeline_rows){.ask = *ask};
    mv_timescale_make(NULL, ask->index, MV_CLOCK_EVENTS, NULL, &out->scale, &err);
    out->scale.of_segments = ask->of_segments;
}
