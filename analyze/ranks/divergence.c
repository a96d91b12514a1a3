#include "analyze/ranks/divergence.h"

bool mv_sequence_is_whole(const mv_summary *summary)
{
    return summary->history == MV_HISTORY_COMPLETE && summary->allocs > 0;
}

/* Returns the point after `count` allocations. `count` must be a multiple of the stride. */
static const mv_summary_point *point_after(const mv_summary *summary, uint64_t count)
{
    return &summary->point[(count >> summary->stride) - 1];
}

const mv_summary_point *mv_sequence_point(const mv_summary *summary, uint64_t allocation)
{
    uint64_t count = allocation + 1;

    if (allocation >= summary->allocs)
        return NULL;
    if (count == summary->allocs)
        return &summary->end;
    if (count >> summary->stride << summary->stride != count)
        return NULL;
    return point_after(summary, count);
}

static bool are_equal(const mv_summary_point *a, const mv_summary_point *b, bool sites_alone)
{
    return a->shape == b->shape && (sites_alone || a->chain == b->chain);
}

/* A hash covers all allocations up to its point, so hashes agree up to the first difference, and
 * differ at all points after it. */
mv_divergence mv_sequences_compare(const mv_summary *a, const mv_summary *b, bool sites_alone)
{
    uint32_t stride = a->stride > b->stride ? a->stride : b->stride;
    uint64_t shorter = a->allocs < b->allocs ? a->allocs : b->allocs;
    mv_bisect search = mv_bisect_over(1, (shorter >> stride) + 1); /* numbers of strides */
    uint64_t low, high;                                            /* the hashes agree at `low`
                                                                    * and differ at `high` */

    while (mv_bisect_next(&search)) {
        uint64_t count = search.middle << stride;
        mv_bisect_narrow(&search,
                         are_equal(point_after(a, count), point_after(b, count), sites_alone));
    }
    high = search.low;
    low = high - 1;
    if (high << stride <= shorter)
        return (mv_divergence){low << stride, (high << stride) - 1};
    if (a->allocs == b->allocs && shorter > 0 && !are_equal(&a->end, &b->end, sites_alone))
        return (mv_divergence){low << stride, shorter - 1};
    return (mv_divergence){MV_NO_DIVERGENCE, MV_NO_DIVERGENCE};
}
