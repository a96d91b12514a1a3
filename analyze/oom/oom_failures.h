/* Requests that failed, and requests that were served only after memory had been released. Part
 * of mv_ooms_find, and enough for the counters of `stats`. */
#ifndef MV_OOM_FAILURES_H
#define MV_OOM_FAILURES_H

#include "analyze/oom/oom.h"

/* Lists the failures of the window in order, with the facts from the file, and counts retries.
 * `out` must be all zero. O(n log n). False when out of memory. */
bool mv_oom_failures_list(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          mv_window window, mv_ooms *out);

/* Whether the events end with releases, whose purpose only later events would show. */
bool mv_oom_ends_with_releases(const mv_events *events);

#endif
