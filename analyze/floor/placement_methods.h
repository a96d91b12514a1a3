/* The methods of mv_placement_find. Each method fills `offset` and returns the top of its
 * placement, or UINT64_MAX if the method was abandoned or memory ran out
 * (problem.out_of_memory). */
#pragma once

#include "analyze/floor/placement.h"

typedef struct {
    mv_arena *arena; /* memory of one method, which is released after it */
    uint32_t count;
    const mv_placed_block *blocks;
    uint32_t *by_birth, *by_death; /* [count] rows sorted by birth and by death, ascending */
    uint64_t enough;               /* no lower top is needed: the load */
    uint64_t best; /* lowest top of any placement so far. A method stops when its placement exceeds
                    * this top */
    bool is_part;  /* the blocks are part of another problem */
    bool out_of_memory;
} mv_placement_problem;

/* The order in which the blocks that are alive at the anchor are stacked, starting at address 0. */
typedef enum {
    MV_STACK_OLDEST,  /* blocks that were born first are at the bottom */
    MV_STACK_LASTING, /* blocks that die last are at the bottom */
    MV_STACK_LONGEST, /* blocks with the longest life are at the bottom */
    MV_STACK_LARGEST,
    MV_STACK_ORDERS
} mv_stack_order;

/* Stacks the blocks that are alive at `anchor`. Later blocks are placed in order of birth, each at
 * the lowest free address. Earlier blocks are also placed at the lowest free address, but in
 * reverse order of death. If the anchor is 0, this method is first fit. O(n log n). */
uint64_t mv_place_from(mv_placement_problem *p, uint32_t anchor, mv_stack_order order,
                       uint64_t *offset);

/* Tries several orders of all blocks. Each order is then repeated with the blocks that did not fit
 * below the load placed first. */
uint64_t mv_place_by_priority(mv_placement_problem *p, uint64_t steps, uint64_t *offset);

/* Moves the blocks of a placement with top p->best until all blocks are below a lower top. Each
 * block above the new top is moved to the place where it costs the least to move other blocks out
 * of its way. Then those other blocks are moved. */
uint64_t mv_place_by_repair(mv_placement_problem *p, uint64_t steps, uint64_t *offset);

/* Searches all placements by branch and bound. *is_best is set if no lower top exists. */
uint64_t mv_place_exactly(mv_placement_problem *p, uint64_t steps, uint64_t *offset, bool *is_best);
