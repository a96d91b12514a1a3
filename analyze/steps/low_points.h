/* Finds low points. A low point is the moment within a whole step at which the fewest bytes are
 * allocated. The bytes allocated then are the floor of the step (step_floor.h).
 *
 *     allocated    /\  /\  /\  /\
 *                 /  \/  \/  \/  \_
 *     bins      0 | 1 | 2 | 3 | 4 | rest
 *     low#K         1   2   3              `low` is the last one: low#3
 *
 * The bytes that a line holds at every low point are the fewest bytes that the line holds at any
 * low point, whether in the same blocks or in different blocks. The program holds this memory
 * although it offloads, sleeps or drops its activations between steps. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/steps/step_floor.h"

typedef struct {
    uint32_t count;
    uint32_t *event; /* [count] event before each low point; MV_BEFORE: the low point is before the
                      * first event */
    uint64_t *bytes; /* [count] bytes allocated at each low point */
} mv_low_points;

/* Finds the low points; there are none if the run has fewer than two step marks. Fails only when
 * out of memory. */
mv_code mv_low_points_find(mv_arena *arena, const mv_floor *floor, mv_low_points *out, mv_err *err);

/* Finds the event of `low` (number 0) or `low#K` on a device, among the low points of events
 * [first, end). Returns false, with a sentence in `why`, if there is no such low point. */
bool mv_low_point_read(mv_budget *budget, const mv_trace *trace, uint32_t device, uint64_t number,
                       uint32_t first, uint32_t end, uint32_t *event, char *why, uint32_t why_size);

/* A line of code that holds memory at every low point. */
typedef struct {
    uint64_t bytes;    /* smallest number of bytes that the line holds at any low point */
    uint64_t staying;  /* bytes of the blocks that exist at all low points; the line's other blocks
                        * are replaced */
    mv_stack_id stack; /* stack of the line's first block; MV_NO_STACK: not recorded */
} mv_low_line;

typedef struct {
    uint32_t points; /* number of low points; 0: the run has fewer than two low points, so nothing
                      * is known */
    uint64_t bytes;  /* sum over all lines, which is at most the number of bytes at the lowest low
                      * point */
    uint32_t count;
    mv_low_line *lines; /* [count] lines sorted by bytes, largest first; the bytes add up to
                         * `bytes` */
} mv_low_held;

/* Finds the lines that hold memory at every low point. Considers only the last `most` low points,
 * because the leak report skips the first steps, in which a program warms up. */
mv_code mv_low_held_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_floor *floor, uint32_t most, mv_low_held *out, mv_err *err);

/* Writes "2.05 GiB is held at every low point, 1.90 GiB of it by dispatcher.py:5 dispatch"; "" when
 * nothing is known. `kinds` comes from mv_frame_kinds. Returns `out`. */
#define MV_LOW_TEXT 640
const char *mv_low_held_text(const mv_trace *trace, const uint8_t *kinds, const mv_low_held *held,
                             char out[MV_LOW_TEXT]);
