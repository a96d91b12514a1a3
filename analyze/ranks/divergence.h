/* Where the allocation sequences of several processes differ first, aligned at their starts.
 *
 *     rank 0   a b c d e f          rank 2 is the first to differ, at allocation 3;
 *     rank 1   a b c d e            rank 1 ends early, which is no difference
 *     rank 2   a b c x e f
 *
 * Only sequences that begin with the process can be aligned: those with a complete history. */
#ifndef MV_DIVERGENCE_H
#define MV_DIVERGENCE_H

#include "analyze/ranks/summary.h"

#define MV_NO_DIVERGENCE UINT64_MAX

/* The allocation that differs is between `first` and `last`. These are equal when both summaries
 * hold every allocation (stride 0). */
typedef struct {
    uint64_t first, last; /* MV_NO_DIVERGENCE: they agree as far as both go */
} mv_divergence;

/* Compares sizes and sites, or only sites. O(log n). */
mv_divergence mv_sequences_compare(const mv_summary *a, const mv_summary *b, bool sites_alone);

/* The point at exactly this allocation; NULL when the summary does not hold it. */
const mv_summary_point *mv_sequence_point(const mv_summary *summary, uint64_t allocation);

/* Whether the sequence begins with the process. */
bool mv_sequence_is_whole(const mv_summary *summary);

#endif
