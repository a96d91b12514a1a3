#include "analyze/leaks/group_changes.h"

#include "base/sort.h"

mv_group_change *mv_group_changes(const mv_leak_state *w, const uint64_t *bytes,
                                  const uint8_t *skip, uint32_t *count)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    mv_group_change *list =
        mv_push_array(w->scratch, mv_group_change, 2 * (uint64_t)w->floor.lasting.count);
    uint32_t from = 0;

    *count = 0;
    for (uint32_t k = 0; list && k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k], group;

        if (!mv_floor_holds(&w->floor, a, i, &from) || (skip && skip[i]))
            continue;
        group = mv_leak_group_of(w, i);
        list[(*count)++] = (mv_group_change){group, from, (int64_t)bytes[i]};
        list[(*count)++] =
            (mv_group_change){group, mv_floor_bin(&w->floor, a->freed[i]), -(int64_t)bytes[i]};
    }
    if (list)
        mv_sort_rows(w->scratch, list, *count, MV_RISING(mv_group_change, group),
                     MV_RISING(mv_group_change, bin));
    return list;
}
