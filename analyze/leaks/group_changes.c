#include "analyze/leaks/group_changes.h"

#include "base/sort.h"

mv_group_change *mv_group_changes(const mv_leak_state *w, const uint64_t *bytes,
                                  const uint8_t *skip, uint32_t *count)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    mv_group_change *list =
        mv_push_array(w->scratch, mv_group_change, 2 * (uint64_t)w->floor.lasting.count);

    *count = 0;
    for (mv_floor_walk at = {.floor = &w->floor, .allocs = a}; list && mv_floor_next(&at);) {
        uint32_t group = mv_leak_group_of(w, at.row);
        int64_t size = (int64_t)bytes[at.row];

        if (skip && skip[at.row])
            continue;
        list[(*count)++] = (mv_group_change){group, at.from, size};
        list[(*count)++] =
            (mv_group_change){group, mv_floor_bin(&w->floor, a->freed[at.row]), -size};
    }
    if (list)
        mv_sort_rows(w->scratch, list, *count, MV_RISING(mv_group_change, group),
                     MV_RISING(mv_group_change, bin));
    return list;
}
