/* Sentences about unknown totals and contradictions. Part of mv_totals_find. */
#ifndef MV_TOTALS_AUDIT_H
#define MV_TOTALS_AUDIT_H

#include "analyze/totals/totals.h"

/* Results of mv_totals_find besides the totals. */
typedef struct {
    mv_levels end;            /* totals according to the events */
    uint64_t uneven_segments; /* final segments whose sums differ from the sums of their blocks */
    uint64_t unknown_pools;   /* segments without a pool in the file */
    bool has_private_pools;   /* some other segment is in a private pool */
} mv_totals_findings;

/* Fills out->audit from the rest of `out`. False when out of memory. */
bool mv_totals_audit(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_totals_findings *found, mv_totals *out);

#endif
