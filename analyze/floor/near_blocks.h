/* Finds the placed blocks whose lives overlap another block's life. The blocks are in a tree sorted
 * by birth, in which each node contains the last death below it, so that blocks that do not overlap
 * are skipped. */
#pragma once

#include "analyze/floor/placement_methods.h"
#include "base/sort.h"

typedef struct {
    const mv_placement_problem *p;
    uint32_t leaves;  /* a power of two */
    uint32_t *last;   /* [2 * leaves] last death below each node; 0: no blocks */
    uint32_t *rank;   /* [p->count] rank of each row in by_birth */
    uint64_t steps;   /* number of nodes and blocks visited */
    uint32_t count;   /* number of results of the last search */
    mv_key_row *rows; /* [count] results sorted by offset, which is the key */
    mv_key_row *spare;
} mv_near;

/* Prepares the search. Takes memory from p->arena. Returns false when out of memory. */
bool mv_near_init(mv_near *near, const mv_placement_problem *p);

void mv_near_add(mv_near *near, uint32_t row);
void mv_near_drop(mv_near *near, uint32_t row);
void mv_near_find(mv_near *near, const mv_placed_block *block, const uint64_t *offset);
