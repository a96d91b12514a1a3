#include "view/timeline/timeline_rows.h"

#include "analyze/filter/isolate.h"

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

/* ---- a part of the rows ------------------------------------------------------------------- */

static bool copy_bits(mv_arena *arena, const mv_timeline_rows *rows, mv_filter_bits *out)
{
    if (!mv_filter_bits_init(arena, rows->ask.index->count, out))
        return false;
    for (uint32_t i = 0; i < out->rows; i++)
        if (mv_drawn_has(&rows->drawn, i))
            mv_filter_bits_add(out, i);
    return true;
}

/* Finds the rows inside the selected segments. The other segments are kept without bytes, so that
 * no row changes its number. */
static bool find_held(mv_arena *arena, mv_timeline_rows *rows)
{
    const mv_lives *device = rows->ask.device;
    const mv_alloc_lives *a = &device->allocs, *kept = &rows->part.allocs;
    uint64_t *size = mv_push_array(arena, uint64_t, device->segments.count);
    mv_filter_bits bits;
    mv_err err;

    if (!size || !mv_filter_bits_init(arena, a->count, &bits))
        return false;
    for (uint32_t i = 0; i < kept->count; i++)
        size[kept->segment[i]] = kept->block[i];
    for (uint32_t i = 0; i < a->count; i++)
        if (a->segment[i] < device->segments.count && size[a->segment[i]] > 0)
            mv_filter_bits_add(&bits, i);
    if (mv_isolate_lives(arena, device, &bits, &rows->held, &err) != MV_OK)
        return false;
    rows->held.segments.size = size;
    return true;
}

static bool find_part(mv_arena *arena, mv_timeline_rows *rows)
{
    mv_filter_bits bits;
    mv_err err;

    if (!rows->only)
        return true;
    if (!copy_bits(arena, rows, &bits) ||
        mv_isolate_lives(arena, rows->ask.index->lives, &bits, &rows->part, &err) != MV_OK)
        return false;
    if (!rows->ask.of_segments)
        rows->held = rows->part;
    else if (!find_held(arena, rows))
        return false;
    return mv_pyramid_find(arena, &rows->held, &rows->levels, &err) == MV_OK;
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
    return find_part(arena, rows) ? rows : NULL;
}

void mv_timeline_rows_make_plain(const mv_timeline_rows_query *ask, mv_timeline_rows *out)
{
    mv_err err;

    *out = (mv_timeline_rows){.ask = *ask};
    mv_timescale_make(NULL, ask->index, MV_CLOCK_EVENTS, NULL, &out->scale, &err);
    out->scale.of_segments = ask->of_segments;
}
