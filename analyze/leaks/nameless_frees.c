/* Looks for the frees of a line in a recording that has only the stacks of live blocks, as with
 * context='state': all freed blocks are without a stack. Those of the sizes that the line keeps may
 * be its own, so a list that is emptied now and then is not a leak while it fills again. */
#include "analyze/leaks/leak_state.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/sort.h"

static bool list_all(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_steps *steps = &w->out->steps;

    w->nameless = mv_push_array(w->scratch, mv_nameless_free, w->floor.lasting.count);
    for (uint32_t k = 0; w->nameless && k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];
        if (i >= a->preexisting && a->stack[i].row == MV_NO_ROW && a->freed[i] != MV_NEVER)
            w->nameless[w->nameless_count++] =
                (mv_nameless_free){a->requested[i], mv_steps_bin(steps, a->freed[i]) -
                                                        mv_steps_bin(steps, a->birth[i])};
    }
    if (w->nameless)
        mv_sort_rows(w->scratch, w->nameless, w->nameless_count, MV_RISING(mv_nameless_free, bytes),
                     MV_RISING(mv_nameless_free, lived));
    return w->nameless;
}

/* Returns the first row of at least this size. */
static uint32_t first_of(const mv_leak_state *w, uint64_t bytes)
{
    mv_bisect b = mv_bisect_over(0, w->nameless_count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, w->nameless[b.middle].bytes < bytes);
    return b.low;
}

bool mv_nameless_frees_add(mv_leak_state *w, const mv_site_use *use, mv_growth_site *site)
{
    uint32_t capacity = 0;

    if (w->uses[mv_site_of(&w->sites, MV_NO_STACK)].outlived == 0)
        return true;
    if (!w->nameless && !list_all(w))
        return false;
    site->lived = NULL;
    site->outlived = 0;
    for (uint32_t i = 0; i < use->alive; i++) {
        uint64_t bytes = w->sized[i].bytes;
        uint32_t first, end, ages = 0;
        if (i > 0 && w->sized[i - 1].bytes == bytes)
            continue;
        first = first_of(w, bytes);
        end = bytes < UINT64_MAX ? first_of(w, bytes + 1) : w->nameless_count;
        site->freed += end - first;
        /* More of the oldest than there are live blocks change nothing (mv_growth_evaluate). */
        while (end > first && ages++ <= use->alive)
            if (!mv_append(w->scratch, site->lived, site->outlived, capacity,
                           w->nameless[--end].lived))
                return false;
    }
    return true;
}
