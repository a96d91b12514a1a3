/* Positions in one device's trace as people name them: an event number, a time, an annotation;
 * and the windows between two positions. */
#ifndef MV_POSITION_H
#define MV_POSITION_H

#include "parse/model/trace.h"

/* Events [first, end) of one device. */
typedef struct {
    uint32_t first;
    uint32_t end;
} mv_window;

/* Room for a sentence that says why a name means nothing. */
#define MV_WHY 600

#define MV_ALL_EVENTS ((mv_window){0, UINT32_MAX})

/* Earliest time of any device's first event; MV_NO_TIME when no event has a time. Times on the
 * command line and in text count from here. */
int64_t mv_position_start_us(const mv_trace *trace);

/* A name stands for a place in the order of events; at most one event, or several of one time, are
 * exactly there.
 *
 *                    event                     behind
 *     number N       N                         N + 1
 *     time           the first at or after it  the first after it
 *     annotation     the first at or after its start, both: it begins between two events
 *
 * Both are events.count where there is none: mv_position_is_beyond tells. */
typedef struct {
    uint32_t event;  /* first event at the place or behind it: where a window from here begins */
    uint32_t behind; /* first event behind the place */
} mv_position;

/* What `x` names: an event number ("1234"), a time since mv_position_start_us ("1.5s", "20ms",
 * "300us", "2min") or the K-th start of an annotation, from 1 ("@NAME#K"; a name that ends in #K
 * itself is tried first). False with a sentence in `why` when it names none. */
bool mv_position_find(const mv_trace *trace, uint32_t device, const char *x, mv_position *out,
                      char *why, uint32_t why_size);

/* Whether `x` can name a position at all, in some file. */
bool mv_position_is_valid(const char *x);

/* Whether a number or time lies beyond the last event, of the device or of any: then `why` says so,
 * and what there is. */
bool mv_position_is_beyond(const mv_trace *trace, uint32_t device, const char *x, char *why,
                           uint32_t why_size);

/* The window of a device that begins at the first event at or after `from` and ends before that of
 * `to`; NULL: at the first event, after the last one. It may be empty. False with a sentence in
 * `why` when a name means nothing. */
bool mv_window_read(const mv_trace *trace, uint32_t device, const char *from, const char *to,
                    mv_window *out, char *why, uint32_t why_size);

/* Whether these two leave no event of any device from `first` to before `end`, reversed and beyond
 * the end as they may be: then `why` says so, and what there is. False without `from` and `to`. */
bool mv_window_is_empty(const mv_trace *trace, uint32_t first, uint32_t end, const char *from,
                        const char *to, char *why, uint32_t why_size);

#endif
