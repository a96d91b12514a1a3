/* Decides the verdict on one failed request. docs/oom.md contains the rules. */
#pragma once

#include "analyze/oom/oom.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_sites *sites;
    const mv_heap *heap; /* heap at the time of the failure */
    const mv_block_rules *rules;
    uint32_t domain; /* domain of the request; MV_NO_ROW: the domain never contained a segment */
} mv_oom_case;

/* Sets `hole` and `suspect`. Of the outlook, only the limit must be set. */
void mv_oom_suspect(const mv_oom_case *this_case, mv_oom *oom);

/* Whether the forecast peak of the step is higher than what PyTorch could reserve. */
bool mv_oom_is_above_limit(const mv_oom *oom);

/* Whether the step's peak exceeds what could be reserved only because of sizes that were guessed. */
bool mv_oom_is_unsure(const mv_oom *oom);

/* Sets `verdict` and `decided_by`. `suspect` and `outlook` must be set. */
void mv_oom_evaluate(const mv_oom_case *this_case, mv_oom *oom);
