#include "analyze/lives/alive.h"

#include "analyze/lives/lasting.h"

mv_code mv_alive_allocs(mv_arena *arena, const mv_lives *lives, uint32_t event, mv_alive *out,
                        mv_err *err)
{
    uint32_t next = event + 1; /* MV_BEFORE + 1 is 0 */
    mv_lasting lasting;

    *out = (mv_alive){0};
    if (!mv_lasting_find(arena, &lives->allocs, &next, 1, &lasting))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "living rows");
    out->row = lasting.row;
    for (uint32_t i = 0; i < lasting.count; i++)
        if (mv_alloc_is_allocated(lives, lasting.row[i], event))
            out->row[out->count++] = lasting.row[i];
    return MV_OK;
}
