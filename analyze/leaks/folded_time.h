/* Of a bounded recording (docs/recorder.md) the events before a moment are known only by the memory
 * that they left alive: no steps, and nothing that was freed. The same holds for a recording that
 * was paused and not resumed (analyze/thin/pauses.h). */
#ifndef MV_LEAKS_FOLDED_TIME_H
#define MV_LEAKS_FOLDED_TIME_H

#include "analyze/leaks/leak_state.h"

/* Makes "clean" unknown if the end was paused, or if memory that was allocated in the second half of the folded time is still
 * alive: it may be growth, and the last events may be too short to show it. If none is, nothing
 * grew in that half. False: memory is out. */
bool mv_folded_time_check(mv_leak_state *w);

#endif
