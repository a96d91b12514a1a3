/* The part of a trace that --from and --to leave. */
#ifndef MV_WINDOW_H
#define MV_WINDOW_H

#include "cli/commands.h"

/* Events [first, end) of one device. */
typedef struct {
    uint32_t first;
    uint32_t end;
} mv_window;

/* Earliest time of any device's first event; MV_NO_TIME when no event has a time. Times on the
 * command line and in text count from here. */
int64_t mv_window_start_us(const mv_trace *trace);

/* What an X of --from or --to means: an event number ("1234"), a time since the trace's start
 * ("1.5s", "20ms", "300us") or the K-th start of an annotation, from 1 ("@NAME#K"; a name that
 * ends in #K itself is tried first). The first event at or behind it is returned in *event. False
 * with a sentence in `why` otherwise. */
bool mv_window_place(const mv_trace *trace, uint32_t device, const char *x, uint32_t *event,
                     char *why, uint32_t why_size);

/* The window of one device. False, with a message, when an X means nothing. */
bool mv_window_find(const mv_cli *cli, const mv_trace *trace, uint32_t device, mv_window *window);

#endif
