/* Writes sentences about unknown totals and about contradictions. Used by mv_totals_find. */
#pragma once

#include "analyze/totals/totals.h"

/* What mv_totals_find found, except for the totals. */
typedef struct {
    mv_levels end;            /* totals according to the events */
    uint64_t uneven_segments; /* number of final segments whose sums differ from the sums of
                               * their blocks */
    uint64_t unknown_pools;   /* number of segments whose pool is not in the file */
    bool has_private_pools;   /* some segment is known to be in a private pool */
} mv_totals_findings;

/* Fills out->audit from the other fields of `out`. Returns false when out of memory. */
bool mv_totals_audit(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_totals_findings *found, mv_totals *out);
