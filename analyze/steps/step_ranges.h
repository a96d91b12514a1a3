/* Finds the ranges in which optimizers step. PyTorch opens a record_function range such as
 * "Optimizer.step#AdamW.step" around step() of every class that derives from torch.optim.Optimizer,
 * including the user's own classes. Source: profile_hook_step, torch/optim/optimizer.py. */
#pragma once

#include "parse/model/trace.h"

#define MV_STEP_OPEN INT64_MAX /* end of a range in which the trace ends */

/* Ranges that do not overlap, because overlapping ranges are joined. */
typedef struct {
    uint32_t count;
    int64_t *start_us; /* [count] ascending */
    int64_t *end_us;   /* [count] or MV_STEP_OPEN */
} mv_step_ranges;

/* Finds the ranges. O(annotations * log). Fails only when out of memory. */
mv_code mv_step_ranges_find(mv_arena *arena, const mv_trace *trace, mv_step_ranges *out,
                            mv_err *err);

/* Returns the range that contains a time, or MV_NO_ROW. A range includes its start and its end.
 * O(log ranges). */
uint32_t mv_step_ranges_at(const mv_step_ranges *ranges, int64_t time_us);
