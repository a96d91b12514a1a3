/* Marks that the user of a run sets from outside while the run continues. When the recordings of
 * the run's processes are written, these marks are added to all of them. */
#pragma once

#include "parse/model/trace.h"

enum { MV_RUN_MARKS = 4096 };

typedef struct {
    int64_t time_us; /* time of CLOCK_MONOTONIC, which the shim's events use, too */
    const char *text;
} mv_run_mark;

typedef struct {
    uint32_t count;
    mv_run_mark marks[MV_RUN_MARKS];
} mv_run_marks;

/* Adds a mark at the present time. The string is copied into `arena`. Returns false if there are
 * too many marks or when out of memory. */
bool mv_run_marks_add(mv_arena *arena, mv_run_marks *marks, const char *text);

/* Adds the marks, in order of time, to the annotations of a trace, which must not have changed
 * since it was read. Fails only when out of memory. */
mv_code mv_run_marks_apply(mv_arena *arena, const mv_run_marks *marks, mv_trace *trace,
                           mv_err *err);
