/* The methods of mv_placement_find. Each fills `offset` and returns the top; UINT64_MAX when it was
 * given up or memory is out (problem.out_of_memory). */
#ifndef MV_PLACEMENT_METHODS_H
#define MV_PLACEMENT_METHODS_H

#include "analyze/floor/placement.h"

typedef struct {
    mv_arena *arena;
    uint32_t count;
    const mv_placed_block *blocks;
    uint32_t *by_birth, *by_death; /* [count] rows, ascending */
    uint64_t enough;               /* a placement with this top is as good as needed: the load */
    uint64_t best; /* top of the best placement so far: a method stops once it is above */
    bool is_part;  /* of the blocks of another problem */
    bool out_of_memory;
} mv_placement_problem;

/* How the blocks that live at the anchor lie on each other, from address 0 on. */
typedef enum {
    MV_STACK_OLDEST,  /* first born at the bottom */
    MV_STACK_LASTING, /* last to die at the bottom */
    MV_STACK_LONGEST, /* longest life at the bottom */
    MV_STACK_LARGEST,
    MV_STACK_ORDERS
} mv_stack_order;

/* The blocks that live at `anchor` are stacked; those born later are placed in the order of their
 * births, each at the lowest address that is free then, and those that died before in the reverse
 * order of their deaths, in the same way. With the anchor at 0 this is first fit. O(n log n). */
uint64_t mv_place_from(mv_placement_problem *p, uint32_t anchor, mv_stack_order order,
                       uint64_t *offset);

/* Tries orders of all blocks, and then again and again that with the blocks first that did not fit
 * below the load. */
uint64_t mv_place_by_priority(mv_placement_problem *p, uint64_t steps, uint64_t *offset);

/* Moves blocks of a placement, which has the top p->best, until all are below a lower one: each
 * that is above takes the place from which it costs least to move others away, and these follow. */
uint64_t mv_place_by_repair(mv_placement_problem *p, uint64_t steps, uint64_t *offset);

/* Branch and bound over all placements: *is_best is set when no lower top exists. */
uint64_t mv_place_exactly(mv_placement_problem *p, uint64_t steps, uint64_t *offset, bool *is_best);

#endif
