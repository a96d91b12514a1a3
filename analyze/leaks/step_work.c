#include "analyze/leaks/step_work.h"

#include "analyze/leaks/growth.h"

/* The work of a line grows in proportion to the group if it grew by this share of the group's
 * relative growth. Part of the work may not depend on the size of the batch, and a window of earlier
 * batches grows later than the work. */
#define SHARE_OF_GROWTH 0.5

/* Chooses the spans: each is a third of the whole steps after the warm-up. */
static void set_spans(const mv_steps *steps, mv_step_work *out)
{
    uint32_t first = mv_growth_first_bin(steps->count);
    uint32_t third = steps->count > first ? (steps->count - first) / 3 : 0;

    out->end = steps->count;
    out->late = out->end - third;
    out->early = out->late - third;
}

static bool is_in_module(const mv_step_work *work, const mv_outer *outer, uint32_t site)
{
    uint32_t place = mv_outer_of(outer, work->sites->stack[site]);

    return place != MV_NO_ROW && outer->kind[place] == MV_OUTER_CALL;
}

/* Leaves out the work that does not count. */
static void leave_out(const mv_outer *outer, mv_step_work *work)
{
    bool has_modules = false;

    for (uint32_t s = 0; s < work->sites->count; s++)
        has_modules = has_modules || (work->late_bytes[s] > 0 && is_in_module(work, outer, s));
    for (uint32_t s = 0; s < work->sites->count; s++)
        if (has_modules ? !is_in_module(work, outer, s)
                        : mv_outer_of(outer, work->sites->stack[s]) == MV_NO_ROW)
            work->early_bytes[s] = work->late_bytes[s] = 0;
}

bool mv_step_work_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                       const mv_outer *outer, const mv_steps *steps, mv_step_work *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t bin = 0;

    *out = (mv_step_work){.sites = sites,
                          .early_bytes = mv_push_array(arena, uint64_t, sites->count),
                          .late_bytes = mv_push_array(arena, uint64_t, sites->count)};
    set_spans(steps, out);
    if (!out->early_bytes || !out->late_bytes)
        return false;
    for (uint32_t i = a->preexisting; i < a->count; i++) {
        while (bin < steps->count && steps->at[bin] <= a->birth[i])
            bin++;
        if (bin < out->early || bin >= out->end || a->freed[i] >= steps->at[bin])
            continue;
        (bin < out->late ? out->early_bytes : out->late_bytes)[mv_site_of(sites, a->stack[i])] +=
            a->requested[i];
    }
    leave_out(outer, out);
    return true;
}

bool mv_step_work_grows(const mv_step_work *work, uint32_t group, double early, double late)
{
    double all = 0, follows = 0;

    if (early <= 0 || late <= early)
        return false;
    for (uint32_t s = 0; s < work->sites->count; s++) {
        double before = (double)work->early_bytes[s], now = (double)work->late_bytes[s];

        if (work->sites->group[s] == group)
            continue;
        all += now;
        if (before > 0 && now / before - 1 >= SHARE_OF_GROWTH * (late / early - 1))
            follows += now;
    }
    return all > 0 && 2 * follows >= all;
}
