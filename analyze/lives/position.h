/* Finds positions in one device's trace, which users specify by an event number, a time or an
 * annotation, and the windows between two positions. */
#pragma once

#include "parse/model/trace.h"

/* The events [first, end) of one device. */
typedef struct {
    uint32_t first;
    uint32_t end;
} mv_window;

/* room for a sentence that explains why a name is invalid */
#define MV_WHY 600

#define MV_ALL_EVENTS ((mv_window){0, UINT32_MAX})

/* Returns the part of a window that lies within a device's `events` events. */
static inline mv_window mv_window_cut(mv_window window, uint32_t events)
{
    window.end = window.end < events ? window.end : events;
    window.first = window.first < window.end ? window.first : window.end;
    return window;
}

/* Returns the earliest time of any device's first event and, in a capture, of the first call that
 * allocated memory, so that all levels of a file use the same clock. Returns MV_NO_TIME if no event
 * has a time. Times on the command line and in the output count from this time. */
int64_t mv_position_start_us(const mv_trace *trace);

/* A position, as specified by a name:
 *
 *                    event                     after
 *     number N       N                         N + 1
 *     time           the first at or after it  the first after it
 *     annotation     both: the first at or after its start, since it begins between two events
 *
 * Both fields are events.count if there is no such event; see mv_position_is_beyond. */
typedef struct {
    uint32_t event; /* first event at or after the position: a window that starts at the position
                     * begins with this event */
    uint32_t after; /* first event after the position */
} mv_position;

/* Finds the position that `x` specifies: an event number ("1234"), a time since
 * mv_position_start_us ("1.5s", "20ms", "300us", "2min") or the K-th start of an annotation,
 * counted from 1 ("@NAME#K"). An annotation whose own name ends in #K is tried first. Returns
 * false, with a sentence in `why`, if `x` is not a position. */
bool mv_position_find(const mv_trace *trace, uint32_t device, const char *x, mv_position *out,
                      char *why, uint32_t why_size);

/* Finds the time that `x` specifies: the start of an annotation, a time since mv_position_start_us,
 * or the time of one of the device's events. Returns false, with a sentence in `why`, if `x` is not
 * a time. */
bool mv_position_time(const mv_trace *trace, uint32_t device, const char *x, int64_t *time_us,
                      char *why, uint32_t why_size);

/* Whether `x` could specify a position in some file. */
bool mv_position_is_valid(const char *x);

/* Whether a number or time is after the last event, either of the device or of any device. If so,
 * `why` receives a sentence with the range of events. If events have no times, no time is beyond
 * them, because mv_position_find reports that error. */
bool mv_position_is_beyond(const mv_trace *trace, uint32_t device, const char *x, char *why,
                           uint32_t why_size);

/* Finds the window of a device that begins with the first event at or after `from` and ends before
 * the first event at or after `to`. If `from` or `to` is NULL, the window begins with the first
 * event or ends after the last. The window may be empty. Returns false, with a sentence in `why`,
 * if a name is invalid. */
bool mv_window_read(const mv_trace *trace, uint32_t device, const char *from, const char *to,
                    mv_window *out, char *why, uint32_t why_size);

/* Whether the window from `from` to `to` contains no event of the devices in [first, end). `to` may
 * be before `from`, and both may be after the end of the trace. If the window is empty, `why`
 * receives a sentence with the range of events. Returns false if both `from` and `to` are NULL. */
bool mv_window_is_empty(const mv_trace *trace, uint32_t first, uint32_t end, const char *from,
                        const char *to, char *why, uint32_t why_size);
