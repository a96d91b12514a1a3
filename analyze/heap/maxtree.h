/* The largest of many numbers, and of any range of them, while they change: a tournament tree. */
#ifndef MV_MAXTREE_H
#define MV_MAXTREE_H

#include "base/arena.h"

typedef struct {
    uint32_t count;  /* numbers 0 to count - 1, all 0 at first */
    uint32_t leaves; /* a power of two */
    uint64_t *node;  /* [2 * leaves] node i is the larger of 2i and 2i + 1; leaves at the end */
} mv_maxtree;

/* False when out of memory. */
bool mv_maxtree_init(mv_arena *arena, uint32_t count, mv_maxtree *tree);

/* O(log count), less if the maxima above stay the same. */
void mv_maxtree_set(mv_maxtree *tree, uint32_t at, uint64_t value);

/* The largest of numbers [first, end); 0 when there are none. */
uint64_t mv_maxtree_most(const mv_maxtree *tree, uint32_t first, uint32_t end);

static inline uint64_t mv_maxtree_get(const mv_maxtree *tree, uint32_t at)
{
    return tree->node[tree->leaves + at];
}

#endif
