/* Explains blocks of lines that allocate only once or twice, such as buffers, copies, and the best
 * result so far. Each of these blocks raises the floor, and several may look like a trend, but none
 * of them grows. */
#include "analyze/leaks/leak_state.h"

#include "analyze/leaks/group_changes.h"

/* A line whose blocks reach a new maximum in at most this many steps does not grow, because a leak
 * needs six steps. */
#define MOST_RISES 2

/* Returns the number of bins in which the sum of one group's changes, [from, to), reaches a new
 * maximum. */
static uint32_t count_rises(const mv_leak_state *w, const mv_group_change *list, uint32_t from,
                            uint32_t to)
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
    const mv_group_change *list =
        grows ? mv_group_changes(w, a->block, w->is_explained, &count) : NULL;

    if (!list)
        return false;
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].group == list[i].group;)
            end++;
        grows[list[i].group] = count_rises(w, list, i, end) > MOST_RISES;
    }
    for (mv_floor_walk at = {.floor = &w->floor, .allocs = a}; mv_floor_next(&at);)
        if (!grows[mv_leak_group_of(w, at.row)])
            mv_leak_explain(w, at.row);
    return mv_leak_floor_rises(w, "blocks made once or twice by a line");
}
