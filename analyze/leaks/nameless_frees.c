/* Looks for the frees of a line in a recording that has only the stacks of live blocks, as with
 * context='state': all freed blocks are without a stack. Those of the sizes that the line keeps may
 * be its own, so a list that is emptied now and then is not a leak while it fills again. */
#include "analyze/leaks/leak_state.h"

static bool keeps_size(const mv_leak_state *w, const mv_site_use *use, uint64_t bytes)
{
    uint32_t low = 0, high = use->alive;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->sized[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low < use->alive && w->sized[low].bytes == bytes;
}

bool mv_nameless_frees_add(mv_leak_state *w, const mv_site_use *use, mv_growth_site *site)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_steps *steps = &w->out->steps;

    if (w->uses[mv_site_of(&w->sites, MV_NO_STACK)].outlived == 0)
        return true;
    site->outlived = 0;
    site->lived = mv_push_array(w->scratch, uint32_t, w->floor.lasting.count);
    for (uint32_t k = a->preexisting; site->lived && k < w->floor.lasting.count; k++) {
        uint32_t i = w->floor.lasting.row[k];

        if (a->stack[i].row != MV_NO_ROW || a->freed[i] == MV_NEVER ||
            !keeps_size(w, use, a->requested[i]))
            continue;
        site->freed++;
        site->lived[site->outlived++] =
            mv_steps_bin(steps, a->freed[i]) - mv_steps_bin(steps, a->birth[i]);
    }
    return site->lived != NULL;
}
