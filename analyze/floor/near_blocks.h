/* The placed blocks that live at some time of another block's life: a tree over the blocks by birth
 * with the last death below each node, so the others are not looked at. */
#ifndef MV_NEAR_BLOCKS_H
#define MV_NEAR_BLOCKS_H

#include "analyze/floor/placement_methods.h"
#include "base/sort.h"

typedef struct {
    const mv_placement_problem *p;
    uint32_t leaves;  /* a power of two */
    uint32_t *last;   /* [2 * leaves] 0: none */
    uint32_t *rank;   /* [p->count] of a row in by_birth */
    uint64_t steps;   /* nodes and blocks that were looked at */
    uint32_t count;   /* of the last search */
    mv_key_row *rows; /* [count] by offset, which is their key */
    mv_key_row *spare;
} mv_near;

/* Takes memory from p->arena. False when that is out. */
bool mv_near_init(mv_near *near, const mv_placement_problem *p);

void mv_near_add(mv_near *near, uint32_t row);
void mv_near_drop(mv_near *near, uint32_t row);
void mv_near_find(mv_near *near, const mv_placed_block *block, const uint64_t *offset);

#endif
