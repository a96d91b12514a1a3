/* Finds the lines that two versions of a function share. Used by mv_frames_match.
 *
 *     before   60 up    62 act           64 down
 *     after    60 up    62 act   63 up   65 down
 *                                added   moved by the added line
 *
 * As many lines as possible are joined, in order, with lines that have the same or similar callees.
 * Among all ways to join the lines, the one with the fewest jumps is chosen, so that lines that
 * belong together move together, and lines after an added line move down. If both sides have the
 * same number of lines between two joined pairs, these lines are considered edited and are also
 * joined in order. All other lines were added or removed. */
#pragma once

#include "analyze/diff/code_side.h"

typedef struct {
    uint32_t count;
    const int64_t *line;     /* [count] line numbers, ascending */
    const mv_callees *calls; /* [count] callees of each line */
    uint32_t *partner;       /* [count] result: index of the matching line on the other side, or
                              * MV_NO_PARTNER */
} mv_function_lines;

/* Pairs the lines of two functions. `expected` is the number of lines by which the code before the
 * function has moved; it is set to the shift of the last joined line. Swapping the sides (and the
 * sign) swaps the result. The cost is the product of the numbers of lines, or their sum if the
 * product exceeds 2^18. Returns false when out of memory. */
bool mv_lines_pair(mv_arena *scratch, mv_function_lines *before, mv_function_lines *after,
                   int64_t *expected);
