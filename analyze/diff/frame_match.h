/* Finds the lines of code that two traces share, even if the code was edited or moved. The stacks
 * of different runs are then matched by these lines. docs/diff.md explains the rules with an
 * example.
 *
 *     files      by path, by the last components of the path, by base name, by content
 *     functions  by file and name; moved or renamed functions by their callees
 *     lines      within a function, where lines that belong together move together
 *
 * The result does not depend on the order of rows, and swapping the sides swaps the result. */
#pragma once

#include "analyze/code/culprit.h"

/* Side 0 is before, side 1 is after. */
typedef struct {
    const mv_trace *trace[2];
    const uint8_t *kinds[2]; /* frame kinds of each trace, from mv_frame_kinds */
} mv_frame_sides;

/* Numbers that both sides share: frames with the same number are the same line (or function) of
 * code. Frames that exist on only one side have numbers that the other side does not use. */
typedef struct {
    uint32_t lines;
    uint32_t functions;
    uint32_t *line[2];     /* [frames.count] */
    uint32_t *function[2]; /* [frames.count] */
} mv_frame_match;

/* Matches the frames of both sides. O(n log n) in the number of frames and strings, linear in the
 * number of stacks. Fails only when out of memory. */
mv_code mv_frames_match(mv_arena *arena, const mv_frame_sides *sides, mv_frame_match *out,
                        mv_err *err);
