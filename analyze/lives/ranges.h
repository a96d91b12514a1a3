/* Stores address ranges that do not overlap, such as the segments held at some moment. Addresses
 * are ranks in mv_address_ranks. */
#pragma once

#include "base/rankset.h"

typedef struct {
    mv_rankset starts;
    uint32_t *end; /* [ranks] end of the range that starts at this rank */
    uint32_t *row; /* [ranks] row that the owner assigned to the range that starts at this rank */
} mv_ranges;

/* Makes an empty set of ranges; all ranks must be below `count`. Returns false when out of
 * memory. */
bool mv_ranges_init(mv_arena *arena, uint32_t count, mv_ranges *ranges);

/* Returns the start of the range that contains `rank`, or MV_NO_RANK. */
static inline uint32_t mv_ranges_at(const mv_ranges *ranges, uint32_t rank)
{
    uint32_t start = mv_rankset_prev(&ranges->starts, rank);
    return start != MV_NO_RANK && rank < ranges->end[start] ? start : MV_NO_RANK;
}

/* Returns the start of the range that ends at `rank`, or MV_NO_RANK. */
static inline uint32_t mv_ranges_below(const mv_ranges *ranges, uint32_t rank)
{
    uint32_t start = rank ? mv_rankset_prev(&ranges->starts, rank - 1) : MV_NO_RANK;
    return start != MV_NO_RANK && ranges->end[start] == rank ? start : MV_NO_RANK;
}

/* Adds [low, high), which must not overlap any range. Does nothing if it is empty. */
void mv_ranges_add(mv_ranges *ranges, uint32_t low, uint32_t high, uint32_t row);

/* Cuts the range that contains `rank` into two at `rank`; both pieces keep the range's row. Returns
 * the start of the lower piece, or MV_NO_RANK if no range contains `rank`. */
uint32_t mv_ranges_cut(mv_ranges *ranges, uint32_t rank);
