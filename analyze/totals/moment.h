/* A moment of one device's trace, as --at names it, and the totals at that moment.
 *
 * A moment is after an event: all its effects are complete, and the next event has not begun.
 * MV_BEFORE is the moment before the first event.
 *
 *     events       0     1     2     3
 *     moments   B     0     1     2     3     (B: MV_BEFORE)
 *
 *     peak            when most bytes were allocated; the first such moment
 *     reserved-peak   when most bytes were reserved; the first such moment. If each block fills
 *                     a segment of its own, with that block in it (mv_moment_filled)
 *     end             after the last event
 *     oom, oom#K      at the first, or K-th, out-of-memory event
 *     low, low#K      at the low point of the last, or K-th, whole step (only for
 *                     mv_failure_moment_read: analyze/steps/low_points.h)
 *     1234            after event 1234, which must exist
 *     1.5s            after the last event at or before that time (analyze/lives/position.h); it
 *                     must not be later than the last event of all devices
 *     @NAME, @NAME#K  as that annotation begins: after the last event before its start
 *
 * Within a window (--from, --to), peaks and ooms are the window's, including its first moment
 * (after the event before the window), and `end` is the window's end. A window may be longer than
 * the trace, as MV_ALL_EVENTS is: it is cut to the existing events. */
#ifndef MV_MOMENT_H
#define MV_MOMENT_H

#include "analyze/lives/position.h"
#include "analyze/totals/totals.h"

typedef enum { MV_MOMENT_AFTER, MV_MOMENT_PEAK, MV_MOMENT_RESERVED_PEAK } mv_moment_kind;

/* The moment to find, on one device. */
typedef struct {
    mv_moment_kind kind;
    uint32_t event;   /* MV_MOMENT_AFTER: that event, or MV_BEFORE */
    mv_window window; /* range to search for peaks */
    bool of_level;    /* MV_MOMENT_RESERVED_PEAK: the trace has an origin.level */
} mv_moment_query;

/* Totals according to the events (mv_lives); their difference from the final heap is the residual
 * of analyze/totals/totals.h. */
typedef struct {
    uint32_t event;  /* the moment is after it; MV_BEFORE: before the first */
    int64_t time_us; /* of that event, or MV_NO_TIME */
    mv_levels bytes;
} mv_moment;

/* Whether `at` can name a moment in any file; and the message if not. */
bool mv_moment_is_valid(const char *at);
#define MV_MOMENT_USAGE                                                                     \
    "'%s' is not a valid --at: peak, reserved-peak, end, oom, oom#K, low, low#K, an event " \
    "number, time (1.5s) or annotation (@NAME)"

/* K for "oom#K", 1 for "oom", 0 for other texts. */
uint64_t mv_moment_oom_number(const char *at);

/* Whether the text is "low" (*number is then 0) or "low#K" (K). */
bool mv_moment_is_low(const char *at, uint64_t *number);

/* Reads the text of --at. False with a sentence in `why` when it names no moment. */
bool mv_moment_read(const mv_trace *trace, uint32_t device, const char *at, mv_window window,
                    mv_moment_query *out, char *why, uint32_t why_size);

/* O(events). Temporary memory comes from the budget of `arena`; the search fails only when it
 * runs out. */
mv_code mv_moment_find(mv_arena *arena, const mv_lives *lives, mv_moment_query ask, mv_moment *out,
                       mv_err *err);

/* In the trace of a level (analyze/levels) or of another tool, a call that gets memory is two
 * events: segment_alloc, and the alloc of the block that fills the segment. Between them the memory
 * has no owner. If `event` is the segment_alloc, returns the alloc, provided it is before `end`;
 * otherwise returns `event`. */
uint32_t mv_moment_filled(const mv_lives *lives, uint32_t event, uint32_t end);

/* The totals after one event; O(rows). */
mv_levels mv_moment_levels(const mv_lives *lives, uint32_t event);

#endif
