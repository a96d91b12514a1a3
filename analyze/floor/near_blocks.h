/* Finds the placed blocks whose lives overlap another block's life: a tree over blocks by birth, in
 * which each node has its last death, so that other blocks are skipped. */
#ifndef MV_NEAR_BLOCKS_H
#define MV_NEAR_BLOCKS_H

#include "analyze/floor/placement_methods.h"
#include "base/sort.h"

typedef struct {
    const mv_placement_problem *p;
    uint32_t leaves;  /* a power of two */
    uint32_t *last;   /* [2 * leaves] 0: none */
    uint32_t *rank;   /* [p->count] of a row in by_birth */
    uint64_t steps;   /* nodes and blocks visited */
    uint32_t count;   /* number of results of the last search */
    mv_key_row *rows; /* [count] by offset, which is the key */
    mv_key_row *spare;
} mv_near;

/* Takes memory from p->arena. False when out of memory. */
bool mv_near_init(mv_near *near, const mv_placement_problem *p);

void mv_near_add(mv_near *near, uint32_t row);
void mv_near_drop(mv_near *near, uint32_t row);
void mv_near_find(mv_near *near, const mv_placed_block *block, const uint64_t *offset);

#endif
