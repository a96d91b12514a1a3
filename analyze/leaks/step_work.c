#include "analyze/leaks/step_work.h"

#include <string.h>

#include "analyze/leaks/growth.h"
#include "base/search.h"
#include "base/sort.h"

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

/* Requested bytes of each site in the two spans. */
typedef struct {
    const mv_sites *sites;
    const mv_outer *outer;
    uint64_t *early, *late;
} site_bytes;

static bool is_in_module(const site_bytes *b, uint32_t site)
{
    uint32_t place = mv_outer_of(b->outer, b->sites->stack[site]);

    return place != MV_NO_ROW && b->outer->kind[place] == MV_OUTER_CALL;
}

/* Leaves out the work that does not count. */
static void leave_out(site_bytes *b)
{
    bool has_modules = false;

    for (uint32_t s = 0; s < b->sites->count; s++)
        has_modules = has_modules || (b->late[s] > 0 && is_in_module(b, s));
    for (uint32_t s = 0; s < b->sites->count; s++)
        if (has_modules ? !is_in_module(b, s)
                        : mv_outer_of(b->outer, b->sites->stack[s]) == MV_NO_ROW)
            b->early[s] = b->late[s] = 0;
}

static void add_bytes(const mv_alloc_lives *a, const mv_steps *steps, const mv_step_work *work,
                      site_bytes *b)
{
    uint32_t bin = 0;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        while (bin < steps->count && steps->at[bin] <= a->birth[i])
            bin++;
        if (bin < work->early || bin >= work->end || a->freed[i] >= steps->at[bin])
            continue;
        (bin < work->late ? b->early : b->late)[mv_site_of(b->sites, a->stack[i])] +=
            a->requested[i];
    }
}

static void add_up(mv_site_work *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rows[i + 1].before = rows[i].before + rows[i].bytes;
}

bool mv_step_work_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                       const mv_outer *outer, const mv_steps *steps, mv_step_work *out)
{
    site_bytes b = {sites, outer, mv_push_array(arena, uint64_t, sites->count),
                    mv_push_array(arena, uint64_t, sites->count)};

    *out = (mv_step_work){.by_growth = mv_push_array(arena, mv_site_work, sites->count + 1),
                          .by_group = mv_push_array(arena, mv_site_work, sites->count + 1)};
    if (!b.early || !b.late || !out->by_growth || !out->by_group)
        return false;
    set_spans(steps, out);
    add_bytes(&lives->allocs, steps, out, &b);
    leave_out(&b);
    for (uint32_t s = 0; s < sites->count; s++) {
        double early = (double)b.early[s], late = (double)b.late[s];
        if (b.late[s] > 0)
            out->by_growth[out->count++] = (mv_site_work){
                sites->group[s], b.early[s] > 0 ? late / early - 1 : -1, b.late[s], 0};
    }
    memcpy(out->by_group, out->by_growth, out->count * sizeof *out->by_group);
    mv_sort_rows(arena, out->by_growth, out->count, MV_FALLING(mv_site_work, growth));
    mv_sort_rows(arena, out->by_group, out->count, MV_RISING(mv_site_work, group),
                 MV_FALLING(mv_site_work, growth));
    add_up(out->by_growth, out->count);
    add_up(out->by_group, out->count);
    return true;
}

static uint32_t first_of_group(const mv_step_work *work, uint32_t group)
{
    mv_bisect b = mv_bisect_over(0, work->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, work->by_group[b.middle].group < group);
    return (uint32_t)b.low;
}

/* Returns the bytes of those rows in [from, to) that grew by `least` or more. */
static uint64_t bytes_growing(const mv_site_work *rows, uint32_t from, uint32_t to, double least)
{
    mv_bisect b = mv_bisect_over(from, to);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, rows[b.middle].growth >= least);
    return rows[b.low].before - rows[from].before;
}

bool mv_step_work_grows(const mv_step_work *work, uint32_t group, double early, double late)
{
    uint32_t from = first_of_group(work, group), to = first_of_group(work, group + 1);
    uint64_t own = work->by_group[to].before - work->by_group[from].before;
    uint64_t all = work->by_group[work->count].before - own, follows;
    double least = SHARE_OF_GROWTH * (late / early - 1);

    if (early <= 0 || late <= early || all == 0)
        return false;
    follows = bytes_growing(work->by_growth, 0, work->count, least) -
              bytes_growing(work->by_group, from, to, least);
    return follows >= all - follows;
}
