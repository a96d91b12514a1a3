/* Whether the sizes in a trace can be added up: every total of every report relies on it. */
#ifndef MV_SUMS_H
#define MV_SUMS_H

#include "base/err.h"
#include "parse/model/trace.h"

/* No machine has that much, nor gives it in a run; PyTorch refuses a single request of more. Sums
 * of some such sums, and their differences, fit in 63 bits and a sign. */
#define MV_SUM_LIMIT ((uint64_t)1 << 60)

/* MV_RANGE when one of these is MV_SUM_LIMIT bytes or more together, over all devices: the
 * allocations, what is freed, the segments that are given, the segments that are given back, and
 * the segments and the blocks of the final heap. */
mv_code mv_sums_check(const mv_trace *trace, mv_err *err);

#endif
