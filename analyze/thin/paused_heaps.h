/* Removes the calls about blocks of registered heaps that lived within a pause. */
#ifndef MV_PAUSED_HEAPS_H
#define MV_PAUSED_HEAPS_H

#include "analyze/thin/pauses.h"

/* Replaces trace->heap_calls, in `arena`; returns the number of calls left out in *left_out. O(n).
 * Fails only when out of memory. */
mv_code mv_paused_heaps_thin(mv_arena *arena, mv_trace *trace, const mv_pauses *pauses,
                             uint64_t *left_out, mv_err *err);

#endif
