/* Positions in one device's trace as users name them: an event number, a time, an annotation; and
 * the windows between two positions. */
#ifndef MV_POSITION_H
#define MV_POSITION_H

#include "parse/model/trace.h"

/* Events [first, end) of one device. */
typedef struct {
    uint32_t first;
    uint32_t end;
} mv_window;

/* room for a sentence on an invalid name */
#define MV_WHY 600

#define MV_ALL_EVENTS ((mv_window){0, UINT32_MAX})

/* The part of a window within a device that has `events` events. */
static inline mv_window mv_window_cut(mv_window window, uint32_t events)
{
    window.end = window.end < events ? window.end : events;
    window.first = window.first < window.end ? window.first : window.end;
    return window;
}

/* Earliest time of any device's first event, and of a capture's first call that got memory: one
 * clock for all levels of a file. MV_NO_TIME when no event has a time. Times on the command line
 * and in text count from this time. */
int64_t mv_position_start_us(const mv_trace *trace);

/* The position that a name means:
 *
 *                    event                     after
 *     number N       N                         N + 1
 *     time           the first at or after it  the first after it
 *     annotation     both: the first at or after its start, since it begins between two events
 *
 * Both are events.count if there is no such event; see mv_position_is_beyond. */
typedef struct {
    uint32_t event; /* first event at or after the position: a window that starts here begins
                     * with it */
    uint32_t after; /* first event after the position */
} mv_position;

/* The position that `x` names: an event number ("1234"), a time since mv_position_start_us
 * ("1.5s", "20ms", "300us", "2min") or the K-th start of an annotation, from 1 ("@NAME#K"; an
 * annotation whose own name ends in #K is tried first). False with a sentence in `why` if `x` is
 * not a position. */
bool mv_position_find(const mv_trace *trace, uint32_t device, const char *x, mv_position *out,
                      char *why, uint32_t why_size);

/* The time that `x` names: an annotation's start, a time since mv_position_start_us, or the time of
 * one of the device's events. False with a sentence in `why` if `x` is not a time. */
bool mv_position_time(const mv_trace *trace, uint32_t device, const char *x, int64_t *time_us,
                      char *why, uint32_t why_size);

/* Whether `x` can name a position in any file. */
bool mv_position_is_valid(const char *x);

/* Whether a number or time is after the last event, of the device or of any device; if so, `why`
 * has the sentence, with the range of events. If events have no times, no time is beyond them:
 * mv_position_find reports the error. */
bool mv_position_is_beyond(const mv_trace *trace, uint32_t device, const char *x, char *why,
                           uint32_t why_size);

/* The window of a device from the first event at or after `from` up to the first event at or after
 * `to`, which is excluded. NULL: from the first event, or up to the last. The window may be empty.
 * False with a sentence in `why` if a name is invalid. */
bool mv_window_read(const mv_trace *trace, uint32_t device, const char *from, const char *to,
                    mv_window *out, char *why, uint32_t why_size);

/* Whether the window from `from` to `to` contains no event of the devices in [first, end); `to` may
 * be before `from`, and both may be after the end. If so, `why` has the sentence, with the range of
 * events. False without `from` and `to`. */
bool mv_window_is_empty(const mv_trace *trace, uint32_t first, uint32_t end, const char *from,
                        const char *to, char *why, uint32_t why_size);

#endif
