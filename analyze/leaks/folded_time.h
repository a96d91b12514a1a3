/* Of a bounded recording (docs/recorder.md) the events before a moment are known only by the memory
 * that they left alive: no steps, and nothing that was freed. The same holds for a recording that
 * was paused and not resumed (analyze/thin/pauses.h). */
#ifndef MV_LEAKS_FOLDED_TIME_H
#define MV_LEAKS_FOLDED_TIME_H

#include "analyze/leaks/leak_state.h"

/* Makes "clean" unknown if the end was paused, or if a line grew in the second half of the folded time
 * (folded_lines.h): the last events may be too short to show it. Without the counters of lines,
 * memory that was allocated in that half and is still alive may be growth. False: memory is out. */
bool mv_folded_time_check(mv_leak_state *w);

#endif
