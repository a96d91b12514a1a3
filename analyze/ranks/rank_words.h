/* Writes sentences for the comparison of ranks: names, descriptions of outliers, and the verdict.
 * Used by mv_ranks_compare. */
#pragma once

#include "analyze/ranks/ranks.h"

/* Fills names, verdict and leak_note, and the `text` of each outlier. Returns false when out of
 * memory. */
bool mv_ranks_words(mv_arena *arena, const mv_summary *const *ranks, uint32_t count, mv_ranks *out);
