/* Stores the free ranges of an address space, and finds the lowest or the highest range that is
 * large enough in O(log n). The ranges are a treap sorted by address, in which every node contains
 * the largest size of its subtree. Ranges must not overlap. Adjoining ranges are not joined
 * here. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

#define MV_NO_GAP UINT32_MAX

typedef struct {
    uint64_t addr;
    uint64_t size;
    uint64_t most;  /* largest size of this node and its descendants */
    uint32_t owner; /* free for use by the caller */
    uint32_t left, right;
} mv_gap;

typedef struct {
    mv_arena *arena;
    mv_gap *gaps; /* rows; valid until the next mv_gaps_add */
    uint32_t count, capacity;
    uint32_t root;
    uint32_t spare; /* list of removed rows, linked by `right` */
} mv_gaps;

/* Returns the priority of a row in a treap. It is a hash of the row's number, so that no file can
 * unbalance the tree. */
static inline uint32_t mv_treap_priority(uint32_t row)
{
    row ^= row >> 16;
    row *= 0x7feb352du;
    row ^= row >> 15;
    row *= 0x846ca68bu;
    return row ^ (row >> 16);
}

void mv_gaps_init(mv_gaps *gaps, mv_arena *arena);

/* Returns false when out of memory. */
bool mv_gaps_add(mv_gaps *gaps, uint64_t addr, uint64_t size, uint32_t owner);
void mv_gaps_drop(mv_gaps *gaps, uint32_t gap);

/* Drops the gaps of an owner that touch a range, and extends the range by them. */
void mv_gaps_join(mv_gaps *gaps, uint64_t *addr, uint64_t *size, uint32_t owner);

/* Return MV_NO_GAP if there is no such gap. */
uint32_t mv_gaps_lowest(const mv_gaps *gaps, uint64_t size);
uint32_t mv_gaps_highest(const mv_gaps *gaps, uint64_t size);
uint32_t mv_gaps_before(const mv_gaps *gaps, uint64_t addr); /* last gap that starts below addr */
uint32_t mv_gaps_at(const mv_gaps *gaps, uint64_t addr);     /* first gap that starts at or above
                                                              * addr */
