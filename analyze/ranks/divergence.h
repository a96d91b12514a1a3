/* Finds the first difference between the allocation sequences of several processes, which are
 * aligned at their starts.
 *
 *     rank 0   a b c d e f          rank 2 is the first to differ, at allocation 3;
 *     rank 1   a b c d e            rank 1 ends early, which is not a difference
 *     rank 2   a b c x e f
 *
 * Only sequences with a complete history can be aligned, because they begin when the process
 * starts. */
#pragma once

#include "analyze/ranks/summary.h"

#define MV_NO_DIVERGENCE UINT64_MAX

/* The first allocation that differs lies between `first` and `last`. These are equal if both
 * summaries contain every allocation (stride 0). */
typedef struct {
    uint64_t first, last; /* numbers of allocations; MV_NO_DIVERGENCE: the sequences agree up to
                           * the end of the shorter one */
} mv_divergence;

/* Compares sizes and sites or, with `sites_alone`, only sites. O(log n). */
mv_divergence mv_sequences_compare(const mv_summary *a, const mv_summary *b, bool sites_alone);

/* Returns the point at exactly this allocation, or NULL if the summary has no point there. */
const mv_summary_point *mv_sequence_point(const mv_summary *summary, uint64_t allocation);

/* Whether the summary has every allocation since the process started. */
bool mv_sequence_is_whole(const mv_summary *summary);
