/* The methods of mv_placement_find. Each method fills `offset` and returns the top; UINT64_MAX if
 * it gave up or memory ran out (problem.out_of_memory). */
#ifndef MV_PLACEMENT_METHODS_H
#define MV_PLACEMENT_METHODS_H

#include "analyze/floor/placement.h"

typedef struct {
    mv_arena *arena;
    uint32_t count;
    const mv_placed_block *blocks;
    uint32_t *by_birth, *by_death; /* [count] rows, ascending */
    uint64_t enough;               /* a placement with this top is as good as needed: the load */
    uint64_t best; /* top of the best placement so far: a method stops once it exceeds this */
    bool is_part;  /* the blocks are part of another problem */
    bool out_of_memory;
} mv_placement_problem;

/* The order in which the blocks that live at the anchor are stacked, from address 0 up. */
typedef enum {
    MV_STACK_OLDEST,  /* first born at the bottom */
    MV_STACK_LASTING, /* last to die at the bottom */
    MV_STACK_LONGEST, /* longest life at the bottom */
    MV_STACK_LARGEST,
    MV_STACK_ORDERS
} mv_stack_order;

/* Stacks the blocks that live at `anchor`. Later blocks are placed in order of birth, each at the
 * lowest free address; earlier blocks in the same way, in reverse order of death. With the anchor
 * at 0 this is first fit. O(n log n). */
uint64_t mv_place_from(mv_placement_problem *p, uint32_t anchor, mv_stack_order order,
                       uint64_t *offset);

/* Tries several orders of all blocks. Each order is repeated with the blocks first that did not fit
 * below the load. */
uint64_t mv_place_by_priority(mv_placement_problem *p, uint64_t steps, uint64_t *offset);

/* Moves blocks of a placement with top p->best until all are below a lower top: each block above it
 * takes the place from which moving other blocks away costs least, and these blocks follow. */
uint64_t mv_place_by_repair(mv_placement_problem *p, uint64_t steps, uint64_t *offset);

/* Branch and bound over all placements; *is_best is set if no lower top exists. */
uint64_t mv_place_exactly(mv_placement_problem *p, uint64_t steps, uint64_t *offset, bool *is_best);

#endif
