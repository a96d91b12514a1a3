/* The verdict on one failed request. docs/oom.md has the rules. */
#ifndef MV_OOM_EVALUATE_H
#define MV_OOM_EVALUATE_H

#include "analyze/oom/oom.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_sites *sites;
    const mv_heap *heap; /* heap at the moment */
    const mv_block_rules *rules;
    uint32_t domain; /* domain of the request; MV_NO_ROW: it never had a segment */
} mv_oom_case;

/* Sets hole and suspect; needs only the limit of the outlook. */
void mv_oom_suspect(const mv_oom_case *this_case, mv_oom *oom);

/* Whether the forecast peak of the step exceeds what could be reserved. */
bool mv_oom_is_above_limit(const mv_oom *oom);

/* Sets verdict and decided_by; needs suspect and outlook. */
void mv_oom_evaluate(const mv_oom_case *this_case, mv_oom *oom);

#endif
