/* The lines of code that two traces share, even if the code was edited or moved. Stacks of
 * different runs are matched by these lines. docs/diff.md explains the rules with an example.
 *
 *     files      by path, by the last components of the path, by base name, by content
 *     functions  by file and name; moved or renamed functions by their callees
 *     lines      within a function: lines that belong together move together
 *
 * The result does not depend on the order of rows; swapping the sides swaps the result. */
#ifndef MV_FRAME_MATCH_H
#define MV_FRAME_MATCH_H

#include "analyze/code/culprit.h"

/* Side 0 is before, side 1 after. */
typedef struct {
    const mv_trace *trace[2];
    const uint8_t *kinds[2]; /* frame kinds of each trace, from mv_frame_kinds */
} mv_frame_sides;

/* Numbers shared by both sides: frames with the same number are the same line (or function) of
 * code. Frames that exist only on one side have numbers that the other side does not use. */
typedef struct {
    uint32_t lines;
    uint32_t functions;
    uint32_t *line[2];     /* [frames.count] */
    uint32_t *function[2]; /* [frames.count] */
} mv_frame_match;

/* O(n log n) in the frames and texts, linear in the stacks. Fails only when out of memory. */
mv_code mv_frames_match(mv_arena *arena, const mv_frame_sides *sides, mv_frame_match *out,
                        mv_err *err);

#endif
