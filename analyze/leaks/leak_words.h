/* Writes the sentences about one device's leaks that are composed only when they are displayed. The
 * sentences that explain the verdict, and the advice on each leak, are in mv_leaks itself. All
 * sentences are truncated to fit and have no full stop; all functions return `out`. */
#pragma once

#include "analyze/leaks/leaks.h"

/* Writes the reason for the verdict and, if the verdict is unknown, what would settle it. */
const char *mv_leaks_why(const mv_leaks *leaks, char *out, size_t size);

/* Writes "the driver's memory for 12 executable graphs, in no block of this level" for a leak that
 * no line of `leaks` contains; otherwise "". */
const char *mv_leaks_of_driver(const mv_leaks *leaks, char *out, size_t size);

/* Writes "in the unfinished step: 64.0 MiB in 12 blocks"; "" if the unfinished step holds
 * nothing. */
const char *mv_leaks_under_way(const mv_leaks *leaks, char *out, size_t size);

/* Writes "at this rate 80.0 GiB is full after 12 more steps (3 h), or sooner", or the event at
 * which memory ran out; "" if neither is known. Events are numbered within `device` in the whole
 * trace. */
const char *mv_leak_outlook_text(const mv_trace *trace, uint32_t device,
                                 const mv_leak_outlook *outlook, char *out, size_t size);

/* Writes one line for the title of a picture: "leak: train.py:62 forward keeps 2.00 MiB a step,
 * 48.0 MiB at the end", or another verdict with its reason; also the memory of the unfinished step.
 * `kinds` comes from mv_frame_kinds, or is NULL. */
const char *mv_verdict_line(const mv_trace *trace, const uint8_t *kinds, const mv_leaks *leaks,
                            char *out, size_t size);
