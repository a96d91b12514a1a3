/* Checks that the sizes in a trace can be added up: every total of every report relies on it. */
#ifndef MV_SUMS_H
#define MV_SUMS_H

#include "parse/model/trace.h"

/* No machine has this much memory, or hands out as much in one run; PyTorch refuses a single
 * request above it. A few such sums, and their differences, fit in 63 bits and a sign. */
#define MV_SUM_LIMIT ((uint64_t)1 << 60)

/* Fails with MV_RANGE if the allocations, the frees, the reserved segments, the released segments,
 * or the segments or blocks of the final heap have MV_SUM_LIMIT bytes or more in total, over all
 * devices. */
mv_code mv_sums_check(const mv_trace *trace, mv_err *err);

#endif
