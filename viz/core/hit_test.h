/* Finds what is under the pointer. The result is exact to the byte, however small the row is on the
 * screen. */
#pragma once

#include "viz/core/column_stack.h"

enum { MV_HIT_LARGEST = 3 };

typedef struct {
    uint32_t rank;   /* the row that covers the byte; MV_NO_ROW: none */
    uint64_t offset; /* the row's bytes are [offset, offset + bytes) of the stack */
    uint64_t bytes;
    uint32_t sharing; /* number of rows with bytes in the pixel, including this row */
    uint32_t largest[MV_HIT_LARGEST]; /* the largest of these rows, sorted by size and then by rank;
                                         MV_NO_ROW: there are fewer */
} mv_hit;

/* Finds the row that covers `byte` of the stack at an instant, and the rows that share the bytes
 * [low, high) of the pixel. `stack` must belong to the caller, and not to a worker. The function
 * moves the stack to the instant, which is cheap if the stack was near it. */
mv_hit mv_hit_find(mv_column_stack *stack, mv_instant instant, uint64_t byte, uint64_t low,
                   uint64_t high);
