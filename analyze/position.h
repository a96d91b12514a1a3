/* Positions in one device's trace as people name them: an event number, a time, an annotation;
 * and the windows between two positions. */
#ifndef MV_POSITION_H
#define MV_POSITION_H

#include "parse/trace.h"

/* Events [first, end) of one device. */
typedef struct {
    uint32_t first;
    uint32_t end;
} mv_window;

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
 * Both are events.count where there is none. */
typedef struct {
    uint32_t event;  /* first event at the place or behind it: where a window from here begins */
    uint32_t behind; /* first event behind the place */
} mv_position;

/* What `x` names: an event number ("1234"), a time since mv_position_start_us ("1.5s", "20ms",
 * "300us", "2min") or the K-th start of an annotation, from 1 ("@NAME#K"; a name that ends in #K
 * itself is tried first). False with a sentence in `why` when it names none. */
bool mv_position_find(const mv_trace *trace, uint32_t device, const char *x, mv_position *out,
                      char *why, uint32_t why_size);

#endif
