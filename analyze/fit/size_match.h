/* The same allocations in two recordings of one program with inputs of different sizes: matched in
 * order, by their stacks, so that their bytes can be compared.
 *
 *     at 8    a 16   b 4   c 64           d 8
 *     at 16   a 32   b 4   c 66   e 1     d 16      e is made at 16 only
 *             |      |     |              |
 *             pairs; a, b and d are alike: as large, or larger by a power of 16/8
 *
 * Backward passes often have no stacks, so pairs that are alike show where two recordings go on
 * together after a difference. */
#ifndef MV_SIZE_MATCH_H
#define MV_SIZE_MATCH_H

#include "analyze/lives/lives.h"

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    uint64_t size;        /* of the input: batch, sequence length; > 0 */
    const uint64_t *code; /* [allocs.count] of mv_size_codes */
} mv_sized_run;

/* A number for each allocation: equal where the stacks have the same functions, files and lines, and
 * both or neither are on the default stream. NULL when memory is out. */
uint64_t *mv_size_codes(mv_arena *arena, const mv_trace *trace, const mv_lives *lives);

/* Whether the bytes at two input sizes are equal, or in proportion to the size or to its square. */
bool mv_sizes_are_alike(uint64_t size_a, uint64_t a, uint64_t size_b, uint64_t b);

/* Fills partner[row of `from`]: the row of `to`, or MV_NO_ROW. Returns the row of `from` at which
 * `to` ends, or from which on the two differ too much. Rows from before the first event have no
 * partners. O(rows), with at most 64 comparisons for each, and 2^24 more. */
uint32_t mv_sizes_match(const mv_sized_run *from, const mv_sized_run *to, uint32_t *partner);

#endif
