#include "analyze/lives/alive.h"

typedef bool (*alive_test)(const mv_lives *lives, uint32_t row, uint32_t event);

static mv_code collect(mv_arena *arena, const mv_lives *lives, uint32_t rows, alive_test is_alive,
                       uint32_t event, mv_alive *out, mv_err *err)
{
    uint32_t count = 0;

    *out = (mv_alive){0};
    for (uint32_t i = 0; i < rows; i++)
        count += is_alive(lives, i, event);
    out->row = mv_push_array(arena, uint32_t, count);
    if (!out->row)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u living rows", count);
    for (uint32_t i = 0; i < rows; i++)
        if (is_alive(lives, i, event))
            out->row[out->count++] = i;
    return MV_OK;
}

mv_code mv_alive_allocs(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        mv_alive_measure measure, mv_alive *out, mv_err *err)
{
    return collect(arena, lives, lives->allocs.count,
                   measure == MV_ALIVE_ACTIVE ? mv_alloc_is_active : mv_alloc_is_allocated, event,
                   out, err);
}

mv_code mv_alive_segments(mv_arena *arena, const mv_lives *lives, uint32_t event, mv_alive *out,
                          mv_err *err)
{
    return collect(arena, lives, lives->segments.count, mv_segment_is_held, event, out, err);
}
