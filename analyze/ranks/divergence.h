/* The first difference between the allocation sequences of several processes, aligned at their
 * starts.
 *
 *     rank 0   a b c d e f          rank 2 is the first to differ, at allocation 3;
 *     rank 1   a b c d e            rank 1 ends early, which is not a difference
 *     rank 2   a b c x e f
 *
 * Only sequences with a complete history, which begin with the process, can be aligned. */
#ifndef MV_DIVERGENCE_H
#define MV_DIVERGENCE_H

#include "analyze/ranks/summary.h"

#define MV_NO_DIVERGENCE UINT64_MAX

/* The differing allocation is between `first` and `last`, which are equal if both summaries contain
 * every allocation (stride 0). */
typedef struct {
    uint64_t first, last; /* MV_NO_DIVERGENCE: the sequences agree up to the end of the
                           * shorter one */
} mv_divergence;

/* Compares sizes and sites, or only sites. O(log n). */
mv_divergence mv_sequences_compare(const mv_summary *a, const mv_summary *b, bool sites_alone);

/* The point at exactly this allocation; NULL if the summary does not contain it. */
const mv_summary_point *mv_sequence_point(const mv_summary *summary, uint64_t allocation);

/* Whether the sequence begins with the process. */
bool mv_sequence_is_whole(const mv_summary *summary);

#endif
