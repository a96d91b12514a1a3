/* Explains a floor that has risen although no line is blamed: excludes the lines that freed
 * everything, and finds the line that holds more than before. */
#include "analyze/leaks/leak_state.h"

#include <stdio.h>

#include "base/size.h"
#include "base/text.h"

/* Returns how much each group grew between the floors of the first and the last whole step. The sum
 * over all groups is the rise of the floor. Returns NULL when out of memory. */
static int64_t *rise_of_groups(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    int64_t *rise = mv_push_array(w->scratch, int64_t, w->sites.groups);
    uint32_t last = w->out->steps.count - 1, first = last + 1 - w->out->floor.steps;

    for (mv_floor_walk at = {.floor = &w->floor, .allocs = a}; rise && mv_floor_next(&at);) {
        uint32_t end = mv_floor_bin(&w->floor, a->freed[at.row]);
        int64_t *of = &rise[mv_leak_group_of(w, at.row)], bytes = (int64_t)a->block[at.row];

        *of += at.from <= last && end > last ? bytes : 0;
        *of -= at.from <= first && end > first ? bytes : 0;
    }
    return rise;
}

/* Names the line that may be a cache which fills. */
static const char *why_slowing(mv_leak_state *w)
{
    const mv_growth *g = &w->uses[w->slowing].growth;
    char label[160];

    mv_culprit_label(w->trace, w->sites.kinds, w->sites.stack[w->slowing], label, sizeof label);
    return mv_arena_printf(
        w->arena,
        "%s keeps fewer and fewer blocks, %u in the first third of the steps and "
        "%u in the last, as a cache that fills does",
        label, g->first_third, g->last_third);
}

const char *mv_floor_risen_why(mv_leak_state *w)
{
    const mv_leak_floor *f = &w->out->floor;
    const int64_t *rise = rise_of_groups(w);
    char by[MV_SIZE_TEXT], held[MV_SIZE_TEXT], label[160], of[256] = "";
    uint32_t most = MV_NO_ROW;

    if (w->slowing != MV_NO_ROW)
        return why_slowing(w);
    if (!rise)
        return NULL;
    for (uint32_t s = 0; s < w->sites.count; s++)
        if (rise[w->sites.group[s]] > (most == MV_NO_ROW ? 0 : rise[w->sites.group[most]]))
            most = s;
    if (most != MV_NO_ROW)
        snprintf(
            of, sizeof of, "; %s holds %s more",
            mv_culprit_label(w->trace, w->sites.kinds, w->sites.stack[most], label, sizeof label),
            mv_size_text(held, (uint64_t)rise[w->sites.group[most]]));
    return mv_arena_printf(w->arena, "the floor rises to the end, by %s over %u steps%s",
                           mv_size_text(by, f->last - f->first), f->steps, of);
}

bool mv_floor_without_set_up(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint32_t first = mv_growth_first_bin(w->out->steps.count);

    for (mv_floor_walk at = {.floor = &w->floor, .allocs = a}; mv_floor_next(&at);)
        if (at.from <= first && mv_floor_bin(&w->floor, a->freed[at.row]) == w->floor.bins - 1)
            mv_leak_explain(w, at.row);
    w->explains_more = false;
    return mv_leak_floor_rises(w, NULL);
}

bool mv_floor_without_gone(mv_leak_state *w)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint8_t *stays = mv_push_array(w->scratch, uint8_t, w->sites.groups);
    const char *rises_by = w->rises_by;

    if (!stays)
        return false;
    for (uint32_t k = 0; k < w->floor.lasting.count; k++)
        if (a->freed[w->floor.lasting.row[k]] == MV_NEVER)
            stays[mv_leak_group_of(w, w->floor.lasting.row[k])] = 1;
    for (mv_floor_walk at = {.floor = &w->floor, .allocs = a}; mv_floor_next(&at);)
        if (!stays[mv_leak_group_of(w, at.row)])
            mv_leak_explain(w, at.row);
    if (!mv_leak_floor_rises(w, "lines of which nothing is alive at the end"))
        return false;
    if (w->out->floor.rises) /* it still rises, so these lines are not the reason */
        w->rises_by = rises_by;
    return true;
}
