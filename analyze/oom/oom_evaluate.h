/* The verdict on one failed request. docs/oom.md has the rules. */
#ifndef MV_OOM_JUDGE_H
#define MV_OOM_JUDGE_H

#include "analyze/oom/oom.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_sites *sites;
    const mv_heap *heap; /* at the moment */
    const mv_block_rules *rules;
    uint32_t domain; /* of the request; MV_NO_ROW: it never had a segment */
} mv_oom_case;

/* Fills hole and suspect: of the outlook only the limit is needed. */
void mv_oom_suspect(const mv_oom_case *this_case, mv_oom *oom);

/* Whether the forecast peak of the step is more than could be reserved. */
bool mv_oom_is_above_limit(const mv_oom *oom);

/* Fills verdict and decided_by; suspect and outlook are known. */
void mv_oom_evaluate(const mv_oom_case *this_case, mv_oom *oom);

#endif
