/* Finds the training steps (iterations, requests, batches) of one device's trace.
 *
 * A step mark is a position in the events. Marks cut the trace into bins:
 *
 *     events   |--- set-up ---|-- bin 1 --|-- bin 2 --| ... |-- bin count-1 --|-- rest --|
 *     marks                  at[0]       at[1]       at[2]                at[count-1]
 *     bin             0            1           2                               count
 *
 * It does not matter where in an iteration its mark lies, as long as each iteration has one mark.
 * For example, an optimizer's step ends near the end of the iteration, and a profiler's step begins
 * at the start of the iteration. docs/leaks.md explains how the marks are chosen. */
#pragma once

#include "analyze/lives/lives.h"

typedef enum {
    MV_STEPS_NONE,       /* nothing repeats */
    MV_STEPS_ANNOTATION, /* record_function and NVTX ranges; in `name`, numbers are replaced by N */
    MV_STEPS_MARK,       /* memviz_mark, nvtxMark, or changes of user metadata */
    MV_STEPS_INFERRED    /* an allocation stack that occurs once per step */
} mv_steps_source;

typedef struct {
    mv_steps_source source;
    uint32_t count;    /* number of marks, and therefore of steps; 0 or at least 2 */
    uint32_t *at;      /* [count] positions of the marks in the events, ascending */
    const char *name;  /* name of the annotation or mark, or "" */
    mv_stack_id stack; /* INFERRED: the stack that occurs once per step; otherwise MV_NO_STACK */
    bool is_of_lines;  /* INFERRED: most steps do not call any module */
    /* The first event of the unfinished step at the end. This is the position of the last mark,
     * even if there is only one mark. Without marks, it is the start of the last outermost module
     * call. Without such calls, it is the number of events. */
    uint32_t under_way;
    bool is_marked; /* the unfinished step begins with one of the program's ranges or marks, not
                     * with a call */
} mv_steps;

/* Finds the steps. O(n log n). Fails only when out of memory. */
mv_code mv_steps_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_steps *out,
                      mv_err *err);

/* Returns the bin of an event, from 0 to count. */
uint32_t mv_steps_bin(const mv_steps *steps, uint32_t event);

/* Returns the first allocation that was born at or after an event; allocs->count if there is none.
 * O(log n). */
uint32_t mv_first_born_from(const mv_alloc_lives *allocs, uint32_t event);

const char *mv_steps_source_name(mv_steps_source source); /* "annotation" */
