/* Finds the periods in which a recording was paused: between the marks MV_MARK_PAUSE and
 * MV_MARK_RESUME (capture/wire_live.h), before the moment of --start-after, and after the moment of
 * --stop-after. */
#pragma once

#include "parse/model/trace.h"

/* The period [from_us, to_us). */
typedef struct {
    int64_t from_us, to_us;
} mv_pause;

typedef struct {
    uint32_t count;
    mv_pause *pauses; /* [count] pauses in order, which do not overlap */
} mv_pauses;

/* Whether `x` is a valid moment for --start-after or --stop-after:
 *
 *     90s          the time this long after the first event
 *     NAME#K       the K-th mark or start of a range with this name; without #K the
 *                  first. @NAME#K is the same
 *     12           the 12th step mark (analyze/steps/steps.h), as counted by `leaks` */
bool mv_pause_moment_is_valid(const char *x);

/* Finds the pauses. `start_after` and `stop_after` may be NULL. A moment that never occurred counts
 * as after the end of the trace. Fails only when out of memory. */
mv_code mv_pauses_find(mv_arena *arena, const mv_trace *trace, const char *start_after,
                       const char *stop_after, mv_pauses *out, mv_err *err);

/* Returns the row of the pause that contains a time, or MV_NO_ROW. */
uint32_t mv_pause_at(const mv_pauses *pauses, int64_t time_us);
