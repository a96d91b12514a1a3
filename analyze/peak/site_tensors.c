#include "analyze/peak/site_tensors.h"

#include "analyze/lives/alive.h"
#include "base/sort.h"

static bool find_all(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                     const mv_attribution *found, mv_site_tensors *out)
{
    const mv_tensor_blocks *t = &found->categories.tensors;
    uint32_t *site = mv_peak_sites_of_parts(scratch, found);

    out->rows = mv_push_array(arena, mv_site_tensor, t->count);
    out->first = mv_push_array(arena, uint32_t, (uint64_t)found->count + 2);
    if (!site || !out->rows || !out->first)
        return false;
    for (uint32_t i = 0; t->count && i < lives->allocs.count; i++) {
        uint32_t first, count = mv_tensors_in(t, i, &first);
        if (count == 0 || !mv_alloc_is_allocated(lives, i, found->at.event))
            continue;
        for (uint32_t k = first; k < first + count; k++) {
            out->rows[out->count++] =
                (mv_site_tensor){t->row[k], site[found->part_of[i]], t->bytes[k]};
            out->first[site[found->part_of[i]] + 1]++;
            out->bytes += t->bytes[k];
        }
    }
    for (uint32_t i = 0; i <= found->count; i++)
        out->first[i + 1] += out->first[i];
    mv_sort_rows(scratch, out->rows, out->count, MV_RISING(mv_site_tensor, site),
                 MV_FALLING(mv_site_tensor, bytes), MV_RISING(mv_site_tensor, tensor));
    return true;
}

mv_code mv_site_tensors_find(mv_arena *arena, const mv_lives *lives, const mv_attribution *found,
                             mv_site_tensors *out, mv_err *err)
{
    mv_arena scratch;
    bool is_done;

    *out = (mv_site_tensors){0};
    mv_arena_init(&scratch, arena->budget);
    is_done = find_all(arena, &scratch, lives, found, out);
    mv_arena_release(&scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "named tensors");
}
