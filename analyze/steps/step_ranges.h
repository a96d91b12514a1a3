/* The ranges in which optimizers step. PyTorch opens a record_function range
 * "Optimizer.step#AdamW.step" around step() of every class that derives from torch.optim.Optimizer,
 * including the user's own. Source: profile_hook_step, torch/optim/optimizer.py. */
#ifndef MV_STEP_RANGES_H
#define MV_STEP_RANGES_H

#include "parse/model/trace.h"

#define MV_STEP_OPEN INT64_MAX /* as an end: the trace ends within the range */

/* Ranges do not overlap: overlapping ranges are joined. */
typedef struct {
    uint32_t count;
    int64_t *start_us; /* [count] ascending */
    int64_t *end_us;   /* [count] or MV_STEP_OPEN */
} mv_step_ranges;

/* O(annotations * log). Fails only when out of memory. */
mv_code mv_step_ranges_find(mv_arena *arena, const mv_trace *trace, mv_step_ranges *out,
                            mv_err *err);

/* The range that contains a time, including its start and end, or MV_NO_ROW. O(log ranges). */
uint32_t mv_step_ranges_at(const mv_step_ranges *ranges, int64_t time_us);

#endif
