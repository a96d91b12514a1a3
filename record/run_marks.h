/* Marks that the user of a run sets from outside while it goes on. They become marks of the
 * recordings of all its processes when these are written. */
#ifndef MV_RUN_MARKS_H
#define MV_RUN_MARKS_H

#include "parse/model/trace.h"

enum { MV_RUN_MARKS = 4096 };

typedef struct {
    int64_t time_us; /* of CLOCK_MONOTONIC, like the shim's events */
    const char *text;
} mv_run_mark;

typedef struct {
    uint32_t count;
    mv_run_mark marks[MV_RUN_MARKS];
} mv_run_marks;

/* Adds a mark, now; the text is copied into `arena`. False: there are too many, or memory is out. */
bool mv_run_marks_add(mv_arena *arena, mv_run_marks *marks, const char *text);

/* Adds the marks, in order of time, to the annotations of a trace as it was read. Fails only when
 * out of memory. */
mv_code mv_run_marks_apply(mv_arena *arena, const mv_run_marks *marks, mv_trace *trace,
                           mv_err *err);

#endif
