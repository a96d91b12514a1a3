#include "analyze/leaks/growing_line.h"

#include "analyze/leaks/group_changes.h"
#include "analyze/leaks/growth.h"
#include "analyze/leaks/step_work.h"

/* A line must rise, that is, hold more at the floor than one whole step before, in at least this
 * many whole steps and in this fraction of all steps, and must never fall. Lines rose up to 9 times
 * in recordings of conversations that ended, and up to 30 times in recordings of a single
 * conversation. */
#define LEAST_RISES 20
#define RISING      0.8

/* Blocks that are part of fewer floors than this belong to the request under way. */
#define FLOORS_OF_REQUEST 2

/* Returns the requested bytes that each group holds at the last floor in blocks older than the
 * request under way. Returns NULL when out of memory. */
static uint64_t *older_of_groups(const mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint64_t *older = mv_push_array(w->scratch, uint64_t, w->sites.groups);
    uint32_t last = w->floor.bins - 2;

    for (mv_floor_walk at = {.floor = &w->floor, .allocs = a}; older && mv_floor_next(&at);)
        if (at.from + FLOORS_OF_REQUEST <= last && w->floor.moment[last] <= a->freed[at.row])
            older[mv_leak_group_of(w, at.row)] += a->requested[at.row];
    return older;
}

/* Returns the bytes that the changes [from, to) of a group hold, summed over the floors of bins
 * [begin, end). */
static double held_within(const mv_group_change *list, uint32_t from, uint32_t to, uint32_t begin,
                          uint32_t end)
{
    double sum = 0;

    for (uint32_t i = from; i < to && list[i].bin < end; i++)
        sum += (double)list[i].bytes * (end - (list[i].bin > begin ? list[i].bin : begin));
    return sum;
}

/* Whether the changes [from, to), which all belong to one group, show growth. Sets the growth per
 * step. */
static bool evaluate(const mv_leak_state *w, const mv_step_work *work, const mv_group_change *list,
                     uint32_t from, uint32_t to, uint64_t older, mv_growing_line *out)
{
    uint32_t first = mv_growth_first_bin(w->out->steps.count), last = w->floor.bins - 2, rises = 0;
    int64_t held = 0, begun = 0;
    uint32_t allocated = 0, freed = 0;

    for (uint32_t i = from, end; i < to && list[i].bin <= last; i = end) {
        int64_t by = 0;

        for (end = i; end < to && list[end].bin == list[i].bin; end++) {
            by += list[end].bytes;
            allocated += list[end].bytes > 0;
            freed += list[end].bytes < 0;
        }
        held += by;
        if (list[i].bin <= first)
            begun = held;
        else if (by < 0)
            return false;
        rises += list[i].bin > first && by > 0;
    }
    out->group = list[from].group;
    out->bytes_per_step = (uint64_t)(held - begun) / (last - first);
    out->follows_work =
        mv_step_work_grows(work, out->group, held_within(list, from, to, work->early, work->late),
                           held_within(list, from, to, work->late, work->end));
    return rises >= LEAST_RISES && MV_KEPT_BY_CACHE * (uint64_t)freed > allocated - freed &&
           rises >= RISING * (last - first) && 2 * older >= (uint64_t)held;
}

bool mv_growing_lines_find(mv_leak_state *w, mv_growing_line **lines, uint32_t *count)
{
    const mv_group_change *list;
    const uint64_t *older;
    mv_step_work work;
    uint32_t changes;

    *count = 0;
    if (w->floor.bins < LEAST_RISES + 2)
        return true;
    older = older_of_groups(w);
    list = mv_group_changes(w, w->lives->allocs.requested, NULL, &changes);
    *lines = mv_push_array(w->scratch, mv_growing_line, w->sites.groups);
    if (!older || !list || !*lines ||
        !mv_step_work_find(w->scratch, w->lives, &w->sites, &w->outer, &w->out->steps, &work))
        return false;
    for (uint32_t i = 0, end; i < changes; i = end) {
        for (end = i + 1; end < changes && list[end].group == list[i].group;)
            end++;
        *count += evaluate(w, &work, list, i, end, older[list[i].group], &(*lines)[*count]);
    }
    return true;
}
