/* Lists requests that failed, and requests that were served only after memory had been released.
 * This is part of mv_ooms_find, and is all that the counters of `stats` need. */
#pragma once

#include "analyze/oom/oom.h"

/* Lists the failures of the window in order, with the facts that the file contains about them, and
 * counts retries. `out` must be all zero. Returns false when out of memory. O(n log n). */
bool mv_oom_failures_list(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          mv_window window, mv_ooms *out);

/* Whether the last events release memory, in which case only later events would show why. */
bool mv_oom_ends_with_releases(const mv_events *events);
