/* Whether the sizes in a trace can be added up in 64 bits: every total of every report relies on
 * it.
 */
#ifndef MV_SUMS_H
#define MV_SUMS_H

#include "base/err.h"
#include "parse/model/trace.h"

/* MV_RANGE when the allocations of a device, the segments that it gives, or the segments or blocks
 * of the final heap are 2^64 bytes or more together: sums would wrap, and no machine has that much.
 */
mv_code mv_sums_check(const mv_trace *trace, mv_err *err);

#endif
