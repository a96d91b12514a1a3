/* Checks that the sizes in a trace can be added up: every total of every report relies on it. */
#ifndef MV_SUMS_H
#define MV_SUMS_H

#include "parse/model/trace.h"

/* No machine has this much memory, nor hands it out in a run; PyTorch refuses a single request
 * above it. A few such sums, and their differences, fit in 63 bits and a sign. */
#define MV_SUM_LIMIT ((uint64_t)1 << 60)

/* MV_RANGE if one of these is MV_SUM_LIMIT bytes or more in total, over all devices: allocations,
 * frees, reserved segments, released segments, and the segments and the blocks of the
 * final heap. */
mv_code mv_sums_check(const mv_trace *trace, mv_err *err);

#endif
