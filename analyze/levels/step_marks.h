/* Finds the steps of a program, for levels that do not show steps.
 *
 * On the host level, a program that keeps a pinned buffer in each step shows nothing but these
 * buffers. Only allocations on other levels distinguish such steps from a list that is built at
 * set-up. So steps are found in a trace of all levels together, and are then marked.
 *
 * A program that allocates mostly from its own pool (CuPy, JAX) shows no steps on any level. Then
 * the number of launches of kernels and graphs, or of the program's waits for a device, serves as a
 * clock. A stack is assumed to occur once per step if it requests memory from CUDA at least six
 * times, at about equal intervals on this clock, until the end.
 *
 *     launches      0 .... 400 .... 800 .... 1200 .... 1600 .... 1900
 *     one stack     x       x       x         x         x         x        steps
 *     another       xxxxxx                                                 no steps */
#pragma once

#include "parse/model/trace.h"

#define MV_BEAT_NAME "inferred step"

/* The start times of all steps. Empty if the program marks its steps itself, or has no steps. */
typedef struct {
    uint32_t count;
    int64_t *time_us; /* [count] */
} mv_step_marks;

/* Finds the steps. `trace` must be the original trace, and `whole` the trace of all its levels
 * together. For a trace without calls, both are the same. Returns MV_NOMEM when out of memory. */
mv_code mv_step_marks_find(mv_arena *arena, const mv_trace *trace, const mv_trace *whole,
                           mv_step_marks *out, mv_err *err);

/* Adds a mark for each step to the annotations of `out`. Returns false when out of memory. */
bool mv_step_marks_apply(mv_arena *arena, const mv_step_marks *steps, mv_trace *out);
