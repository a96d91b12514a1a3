#include "analyze/lives/alive.h"

mv_code mv_alive_allocs(mv_arena *arena, const mv_lives *lives, uint32_t event, mv_alive *out,
                        mv_err *err)
{
    uint32_t rows = lives->allocs.count, count = 0;

    *out = (mv_alive){0};
    for (uint32_t i = 0; i < rows; i++)
        count += mv_alloc_is_allocated(lives, i, event);
    out->row = mv_push_array(arena, uint32_t, count);
    if (!out->row)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u living rows", count);
    for (uint32_t i = 0; i < rows; i++)
        if (mv_alloc_is_allocated(lives, i, event))
            out->row[out->count++] = i;
    return MV_OK;
}
