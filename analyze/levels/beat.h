/* The steps of a program, for levels on which they do not show.
 *
 * On the level of the host a program that keeps a pinned buffer in each step does nothing else:
 * only what it allocates on other levels meanwhile tells a step from a list that is built at
 * set-up. So the steps are found where all levels are one trace, and marked.
 *
 * A program whose own pool serves most of its allocations (CuPy, JAX) shows no beat on any level.
 * Then launches of kernels and graphs are the clock, or how often the program waited for a device
 * or read from it: one stack that asks CUDA for memory six times or more, each time after about as
 * many, up to the last one, is called in each step.
 *
 *     launches      0 .... 400 .... 800 .... 1200 .... 1600 .... 1900
 *     one stack     x       x       x         x         x         x        steps
 *     another       xxxxxx                                                 no steps  */
#ifndef MV_BEAT_H
#define MV_BEAT_H

#include "parse/model/trace.h"

#define MV_BEAT_NAME "inferred step"

/* When each step begins. None: the program marks its steps, or has none. */
typedef struct {
    uint32_t count;
    int64_t *time_us; /* [count] */
} mv_beat;

/* `trace` is as it was read, `whole` is all of its levels as one. MV_NOMEM when memory is out. */
mv_code mv_beat_find(mv_arena *arena, const mv_trace *trace, const mv_trace *whole, mv_beat *out,
                     mv_err *err);

/* Adds a mark of that name to the annotations of `out` for each step. False when memory is out. */
bool mv_beat_mark(mv_arena *arena, const mv_beat *beat, mv_trace *out);

#endif
