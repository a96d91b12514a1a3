#include "analyze/leaks/made_once.h"

#include "base/sort.h"

/* A line whose blocks held more than ever before in so many steps does not grow: a leak needs six.
 */
#define MOST_RISES 2

/* What the blocks of a group hold at the floor of a bin, more or less than at the one before. */
typedef struct {
    uint32_t group, bin;
    int64_t bytes;
} change;

static change *list_changes(mv_leak_state *w, uint32_t *count)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    change *list = mv_push_array(w->scratch, change, 2 * (uint64_t)a->count);

    *count = 0;
    for (uint32_t i = 0; list && i < a->count; i++) {
        uint32_t from = a->birth[i] == MV_BEFORE ? 0 : mv_floor_bin(&w->floor, a->birth[i]);
        uint32_t end = mv_floor_bin(&w->floor, a->freed[i]);
        uint32_t group = w->sites.group[mv_site_of(&w->sites, a->stack[i])];

        if (from >= end || w->is_explained[i])
            continue;
        list[(*count)++] = (change){group, from, (int64_t)a->block[i]};
        list[(*count)++] = (change){group, end, -(int64_t)a->block[i]};
    }
    if (list)
        mv_sort_rows(w->scratch, list, *count, MV_RISING(change, group), MV_RISING(change, bin));
    return list;
}

/* In how many bins changes[from] to changes[to - 1], of one group, come to more than ever before.
 */
static uint32_t count_rises(const mv_leak_state *w, const change *list, uint32_t from, uint32_t to)
{
    uint32_t first = mv_growth_first_bin(w->out->steps.count), rises = 0;
    int64_t held = 0, most = 0;

    for (uint32_t i = from, end; i < to && list[i].bin + 1 < w->floor.bins; i = end) {
        for (end = i; end < to && list[end].bin == list[i].bin; end++)
            held += list[end].bytes;
        rises += held > most && list[i].bin > first;
        most = held > most ? held : most;
    }
    return rises;
}

bool mv_made_once_explain(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint8_t *grows = mv_push_array(w->scratch, uint8_t, w->sites.groups);
    uint32_t count;
    const change *list = grows ? list_changes(w, &count) : NULL;

    if (!list)
        return false;
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].group == list[i].group;)
            end++;
        grows[list[i].group] = count_rises(w, list, i, end) > MOST_RISES;
    }
    for (uint32_t i = 0; i < a->count; i++)
        if (!grows[w->sites.group[mv_site_of(&w->sites, a->stack[i])]])
            mv_leak_explain(w, i);
    return mv_leak_floor_rises(w, "what lines made once or twice");
}
