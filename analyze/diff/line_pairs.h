/* Which lines of a function are the same in two versions of it. Part of mv_frames_match.
 *
 *     before   60 up    62 act           64 down
 *     after    60 up    62 act   63 up   65 down
 *                                added   moved by one, as the added line says
 *
 * As many lines as possible are joined in order to lines with the same or similar callees; among
 * the ways to do so, the one with the fewest jumps: lines that belong together move together, and
 * what follows an added line moves down. What lies between two joined lines and is as many on both
 * sides is joined in order as well: lines that were edited. The rest was added or removed. */
#ifndef MV_LINE_PAIRS_H
#define MV_LINE_PAIRS_H

#include "analyze/diff/code_side.h"

typedef struct {
    uint32_t count;
    const int64_t *line;     /* [count] ascending */
    const mv_callees *calls; /* [count] */
    uint32_t *partner;       /* [count] out: index on the other side, or MV_NO_PARTNER */
} mv_function_lines;

/* `expected` is the shift of the code before the function, and becomes that of the last joined
 * line. Exchanging the sides (and the sign) exchanges the answer. The product of the lines bounds
 * the cost, or their sum where the product is above 2^18. False when memory is out. */
bool mv_lines_pair(mv_arena *scratch, mv_function_lines *before, mv_function_lines *after,
                   int64_t *expected);

#endif
