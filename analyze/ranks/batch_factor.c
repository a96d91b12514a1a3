#include "analyze/ranks/batch_factor.h"

#include <math.h>

#include "base/sort.h"

/* Sizes whose relative difference is less than this are considered equal. */
#define SAME 0.01
/* Maximum relative difference between a size's ratio and the factor. */
#define NEAR 0.03
/* Minimum fraction of all requested bytes that must have changed. */
#define CHANGED 0.2

typedef struct {
    uint32_t count;
    uint64_t size[MV_SUMMARY_SIZES];
    uint32_t times[MV_SUMMARY_SIZES];
} size_list;

/* Returns the sizes of one site in ascending order, without sizes that the other site also has. */
static size_list own_sizes(const mv_summary_site *site, const mv_summary_site *other)
{
    size_list list = {0};

    for (uint32_t i = 0; i < MV_SUMMARY_SIZES && site->times[i]; i++) {
        uint32_t at = list.count;
        bool shared = false;
        for (uint32_t k = 0; k < MV_SUMMARY_SIZES && other->times[k]; k++)
            shared = shared || other->size[k] == site->size[i];
        if (shared || site->size[i] == 0)
            continue;
        for (; at > 0 && list.size[at - 1] > site->size[i]; at--) {
            list.size[at] = list.size[at - 1];
            list.times[at] = list.times[at - 1];
        }
        list.size[at] = site->size[i];
        list.times[at] = site->times[i];
        list.count++;
    }
    return list;
}

void mv_scaled_size_add(mv_scaled_size *sizes, uint32_t *count, uint64_t before, uint64_t after,
                        uint32_t times)
{
    double ratio = (double)after / (double)before;

    if (fabs(ratio - 1) > SAME)
        sizes[(*count)++] = (mv_scaled_size){ratio, (double)before * (double)times};
}

double mv_scaled_sizes_weight(const mv_scaled_size *sizes, uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += sizes[i].weight;
    return sum;
}

double mv_scaled_sizes_median(mv_scaled_size *sizes, uint32_t count)
{
    double weight = mv_scaled_sizes_weight(sizes, count), sum = 0;

    mv_sort_rows(NULL, sizes, count, MV_RISING(mv_scaled_size, ratio));
    for (uint32_t i = 0; i < count; i++) {
        sum += sizes[i].weight;
        if (sum >= weight / 2)
            return sizes[i].ratio;
    }
    return 0;
}

double mv_scaled_sizes_agreeing(const mv_scaled_size *sizes, uint32_t count, double factor)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        if (fabs(sizes[i].ratio / factor - 1) <= NEAR ||
            fabs(sizes[i].ratio / (factor * factor) - 1) <= NEAR)
            sum += sizes[i].weight;
    return sum;
}

/* Collects the sizes that changed at sites that both summaries have; *total is set to the weight of
 * all sizes. A site may have blocks of several sizes, some of which are unchanged (a workspace, a
 * mask); the other sizes are paired in order. Sites without frames are skipped, because all threads
 * of the backward pass have the same empty stack. */
static uint32_t gather(const mv_summary *reference, const mv_summary *rank, mv_scaled_size *out,
                       double *total)
{
    uint32_t count = 0;

    *total = 0;
    for (uint32_t i = 0; i < reference->sites; i++) {
        const mv_summary_site *a = &reference->site[i], *b = mv_summary_find(rank, a->key);
        if (!b || a->stack.row == MV_NO_STACK.row || a->stack.row == MV_EMPTY_STACK.row)
            continue;
        size_list before = own_sizes(a, b), after = own_sizes(b, a);
        *total += (double)a->requested;
        for (uint32_t k = 0; before.count == after.count && k < before.count; k++) {
            mv_scaled_size_add(out, &count, before.size[k], after.size[k], before.times[k]);
        }
    }
    return count;
}

double mv_batch_factor(mv_arena *scratch, const mv_summary *reference, const mv_summary *rank)
{
    mv_scaled_size *sizes =
        mv_push_array(scratch, mv_scaled_size, (uint64_t)reference->sites * MV_SUMMARY_SIZES);
    double total, changed, factor;
    uint32_t count;

    if (!sizes)
        return 0;
    count = gather(reference, rank, sizes, &total);
    changed = mv_scaled_sizes_weight(sizes, count);
    if (count < 2 || changed < CHANGED * total)
        return 0;
    factor = mv_scaled_sizes_median(sizes, count);
    return mv_scaled_sizes_agreeing(sizes, count, factor) >= MV_FACTOR_AGREEING * changed ? factor
                                                                                          : 0;
}
