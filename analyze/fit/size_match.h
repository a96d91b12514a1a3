/* Matches corresponding allocations in two recordings of one program whose inputs have different
 * sizes. Allocations are matched in order, by their stacks, so that their bytes can be compared.
 *
 *     at 8    a 16   b 4   c 64           d 8
 *     at 16   a 32   b 4   c 66   e 1     d 16      e is made at 16 only
 *             |      |     |              |
 *             pairs; a, b and d are alike: as large, or larger by a power of 16/8
 *                    (of two numbers, such as 8x512 and 16x512: by powers of either)
 *
 * The buffer of a sum is skipped if only one recording has it (sum_rule.h). Backward passes often
 * have no stacks, so consecutive pairs that are alike show where two recordings agree again
 * after a difference. */
#pragma once

#include "analyze/lives/lives.h"

/* The size of a program's input. Both numbers are > 0. If the size is a single number, such as a
 * batch, the length is 1. */
typedef struct {
    uint64_t batch, length;
} mv_input;

#define MV_INPUT_TEXT 48

/* Writes "16", or "16x512". Returns `out`. */
const char *mv_input_text(char out[MV_INPUT_TEXT], mv_input size);

/* A recording, or one step of a recording. */
typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    mv_input size;
    const uint64_t *code; /* [allocs.count] from mv_size_codes */
    uint32_t first, end;  /* rows [first, end) of allocations, all of them born after the first
                           * event */
} mv_sized_run;

/* Returns a number for each allocation. Two numbers are equal if the stacks have the same
 * functions, files and lines and if both allocations, or neither of them, are on the default
 * stream. Returns NULL when out of memory. */
uint64_t *mv_size_codes(mv_arena *arena, const mv_trace *trace, const mv_lives *lives);

#define MV_MOST_SIZE_POWER 2

/* Whether bytes[0] / bytes[1] equals the ratio of the batches raised to the power `batch`,
 * multiplied by the ratio of the lengths raised to the power `length`. */
bool mv_sizes_have_power(const mv_input size[2], const uint64_t bytes[2], int batch, int length);

/* Whether mv_sizes_have_power is true for some powers from 0 to 2. */
bool mv_sizes_are_alike(mv_input size_a, uint64_t a, mv_input size_b, uint64_t b);

/* Fills partner[row of `from`] with the matching row of `to`, or with MV_NO_ROW. Returns the row of
 * `from` at which `to` ends, or after which the recordings differ too much. O(rows), with at most
 * 4160 comparisons per row and, in total, at most 2^24 plus 64 per row. */
uint32_t mv_sizes_match(const mv_sized_run *from, const mv_sized_run *to, uint32_t *partner);
