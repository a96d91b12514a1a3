/* Finds the moments of one device's trace that --at names, and the totals at a moment.
 *
 * A moment is a time directly after an event, when all effects of the event are complete and the
 * next event has not begun. MV_BEFORE is the moment before the first event.
 *
 *     events       0     1     2     3
 *     moments   B     0     1     2     3     (B: MV_BEFORE)
 *
 *     peak            the first moment at which the most bytes were allocated
 *     reserved-peak   the first moment at which the most bytes were reserved. If each block fills
 *                     its own segment, the block is included (mv_moment_filled)
 *     end             after the last event
 *     oom, oom#K      at the first, or K-th, out-of-memory event
 *     low, low#K      at the low point of the last, or K-th, whole step (only for
 *                     mv_failure_moment_read: analyze/steps/low_points.h)
 *     1234            after event 1234, which must exist
 *     1.5s            after the last event at or before this time (analyze/lives/position.h); it
 *                     must not be later than the last event of all devices
 *     @NAME, @NAME#K  at the start of this annotation: after the last event before it
 *
 * Within a window (--from, --to), only peaks and ooms of the window count, including those at its
 * first moment (after the event before the window), and `end` is the window's end. A window that is
 * longer than the trace, such as MV_ALL_EVENTS, is cut to the existing events. */
#pragma once

#include "analyze/lives/position.h"
#include "analyze/totals/totals.h"

typedef enum { MV_MOMENT_AFTER, MV_MOMENT_PEAK, MV_MOMENT_RESERVED_PEAK } mv_moment_kind;

/* A description of the moment to find on one device. */
typedef struct {
    mv_moment_kind kind;
    uint32_t event;   /* MV_MOMENT_AFTER: the event, or MV_BEFORE */
    mv_window window; /* range of events in which peaks are searched */
    bool of_level;    /* MV_MOMENT_RESERVED_PEAK: the trace has an origin.level */
} mv_moment_query;

/* Totals according to the events (mv_lives). They may differ from the final heap by the residual of
 * analyze/totals/totals.h. */
typedef struct {
    uint32_t event;  /* the moment is directly after this event; MV_BEFORE: before the first
                      * event */
    int64_t time_us; /* time of this event, or MV_NO_TIME */
    mv_levels bytes;
} mv_moment;

/* Whether `at` can name a moment in some file. The macro below is the message if it cannot. */
bool mv_moment_is_valid(const char *at);
#define MV_MOMENT_USAGE                                                                        \
    "'%s' is not a valid --at: expected peak, reserved-peak, end, oom, oom#K, low, low#K, an " \
    "event number, time (1.5s) or annotation (@NAME)"

/* Returns K for "oom#K", 1 for "oom", and 0 for any other string. */
uint64_t mv_moment_oom_number(const char *at);

/* Whether the string is "low" (*number is then 0) or "low#K" (*number is then K). */
bool mv_moment_is_low(const char *at, uint64_t *number);

/* Reads the argument of --at. If it does not name a moment, returns false, and `why` receives the
 * reason as a sentence. */
bool mv_moment_read(const mv_trace *trace, uint32_t device, const char *at, mv_window window,
                    mv_moment_query *out, char *why, uint32_t why_size);

/* Finds a moment and its totals. O(events). Temporary memory comes from the budget of `arena`.
 * Fails only when this budget runs out. */
mv_code mv_moment_find(mv_arena *arena, const mv_lives *lives, mv_moment_query ask, mv_moment *out,
                       mv_err *err);

/* In the trace of a level (analyze/levels) or of another tool, a call that allocates memory has two
 * events: segment_alloc, and the alloc of the block that fills the segment. Between the two events,
 * the memory has no owner. If `event` is the segment_alloc and the alloc is before `end`, returns
 * the alloc; otherwise returns `event`. */
uint32_t mv_moment_filled(const mv_lives *lives, uint32_t event, uint32_t end);

/* Returns the totals after one event. O(rows). */
mv_levels mv_moment_levels(const mv_lives *lives, uint32_t event);
