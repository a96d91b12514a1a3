/* Checks that the sizes in a trace can be added up without overflow. Every total in every report
 * relies on this check. */
#pragma once

#include "parse/model/trace.h"

/* Limit for the sums. No machine has this much memory or allocates this much in one run, and
 * PyTorch refuses a larger single request. A few sums below the limit, and their differences, fit
 * in a signed 64-bit number. */
#define MV_SUM_LIMIT ((uint64_t)1 << 60)

/* Fails with MV_RANGE if the allocations, the frees, the reserved segments, the released segments,
 * or the segments or blocks of the final heap have MV_SUM_LIMIT bytes or more in total, over all
 * devices. */
mv_code mv_sums_check(const mv_trace *trace, mv_err *err);
