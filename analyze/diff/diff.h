/* Finds the difference between two snapshots. The bytes that are allocated at one moment in each
 * snapshot are compared by the line of code that allocated them.
 *
 *     before                        after                          rows
 *     train.py:62 forward  200 MiB  train.py:64 forward  500 MiB   grown   +300 MiB
 *     train.py:71 loss       8 MiB                                 gone      -8 MiB
 *                                   train.py:80 ema       20 MiB   new      +20 MiB
 *
 * Every allocated byte of either side is in exactly one row, so
 *
 *     sum of delta over the rows = after.allocated - before.allocated
 *
 * Unchanged rows are counted, but not listed. Memory without a stack is a separate row. Swapping
 * the sides negates every delta. docs/diff.md explains how sites are matched. */
#pragma once

#include "analyze/diff/stack_match.h"
#include "analyze/heap/reserved_parts.h"

typedef enum { MV_DIFF_GROWN, MV_DIFF_SHRUNK, MV_DIFF_NEW, MV_DIFF_GONE } mv_diff_status;

/* Index 0 is before, index 1 is after. */
typedef struct {
    mv_diff_status status;
    uint64_t bytes[2];
    uint32_t blocks[2];
    int64_t delta;
    mv_stack_id stack[2]; /* stack with the most bytes; MV_NO_STACK if there are no bytes or no
                           * stack was recorded */
} mv_diff_row;

/* The code of both sides, computed once for any number of devices and moments. */
typedef struct {
    const mv_trace *trace[2];
    mv_sites sites[2];
    mv_stack_match match;
} mv_diff_code;

/* One device on each side. `lives` is NULL for a side that does not have the device. */
typedef struct {
    const mv_lives *lives[2];
    mv_moment moment[2];
    mv_moment_query reserved[2]; /* moments at which reserved memory is compared */
} mv_diff_sides;

typedef struct {
    mv_levels level[2]; /* levels at the moments */
    int64_t delta;      /* change in allocated bytes */
    mv_reserved reserved[2];
    uint32_t count;
    mv_diff_row *sites; /* [count] changed rows by site, largest change first */
    uint32_t lines;
    mv_diff_row *line; /* [lines] the same bytes, by line of user code */
    uint32_t same_lines;
    uint64_t same_bytes; /* bytes of unchanged lines */
} mv_diff;

/* Compare the code of two traces, and then the memory of one device. O(n log n). Fail only when out
 * of memory. */
mv_code mv_diff_code_find(mv_arena *arena, const mv_trace *before, const mv_trace *after,
                          mv_diff_code *out, mv_err *err);
mv_code mv_diff_find(mv_arena *arena, const mv_diff_code *code, const mv_diff_sides *sides,
                     mv_diff *out, mv_err *err);

const char *mv_diff_status_name(mv_diff_status status); /* "grown" */
