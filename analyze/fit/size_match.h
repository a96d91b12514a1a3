/* Matches corresponding allocations in two recordings of one program with inputs of different
 * sizes, in order, by their stacks, so that their bytes can be compared.
 *
 *     at 8    a 16   b 4   c 64           d 8
 *     at 16   a 32   b 4   c 66   e 1     d 16      e is made at 16 only
 *             |      |     |              |
 *             pairs; a, b and d are alike: as large, or larger by a power of 16/8
 *                    (of two numbers, such as 8x512 and 16x512: by powers of either)
 *
 * Backward passes often have no stacks, so pairs that are alike show where two recordings agree
 * again after a difference. */
#ifndef MV_SIZE_MATCH_H
#define MV_SIZE_MATCH_H

#include "analyze/lives/lives.h"

/* The size of a program's input; both are > 0. A single number, such as a batch, has length 1. */
typedef struct {
    uint64_t batch, length;
} mv_input;

#define MV_INPUT_TEXT 48

/* "16", or "16x512"; returns `out`. */
const char *mv_input_text(char out[MV_INPUT_TEXT], mv_input size);

/* A recording, or a step of a recording. */
typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    mv_input size;
    const uint64_t *code; /* [allocs.count] from mv_size_codes */
    uint32_t first, end;  /* rows of allocations, none of them from before the first event */
} mv_sized_run;

/* A number for each allocation: equal if the stacks have the same functions, files and lines, and
 * both or neither are on the default stream. NULL when out of memory. */
uint64_t *mv_size_codes(mv_arena *arena, const mv_trace *trace, const mv_lives *lives);

#define MV_MOST_SIZE_POWER 2

/* Whether `bytes` are in proportion: bytes[0] / bytes[1] equals the ratio of the batches to the
 * power `batch`, times that of the lengths to the power `length`. */
bool mv_sizes_have_power(const mv_input size[2], const uint64_t bytes[2], int batch, int length);

/* Whether mv_sizes_have_power holds for some powers from 0 to 2. */
bool mv_sizes_are_alike(mv_input size_a, uint64_t a, mv_input size_b, uint64_t b);

/* Fills partner[row of `from`] with the row of `to`, or MV_NO_ROW. Returns the row of `from` at
 * which `to` ends, or after which they differ too much. O(rows), with at most 4160 comparisons per
 * row, and in total at most 2^24 plus 64 per row. */
uint32_t mv_sizes_match(const mv_sized_run *from, const mv_sized_run *to, uint32_t *partner);

#endif
