#include "analyze/heap/maxtree.h"

bool mv_maxtree_init(mv_arena *arena, uint32_t count, mv_maxtree *tree)
{
    *tree = (mv_maxtree){.count = count, .leaves = 1};
    while (tree->leaves < count && tree->leaves <= UINT32_MAX / 4)
        tree->leaves *= 2;
    tree->node = mv_push_array(arena, uint64_t, 2 * (uint64_t)tree->leaves);
    return tree->node && tree->leaves >= count;
}

void mv_maxtree_set(mv_maxtree *tree, uint32_t at, uint64_t value)
{
    uint32_t i = tree->leaves + at;

    tree->node[i] = value;
    while (i > 1) {
        uint64_t beside = tree->node[i ^ 1], most = tree->node[i] > beside ? tree->node[i] : beside;
        i /= 2;
        if (tree->node[i] == most)
            return;
        tree->node[i] = most;
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t mv_maxtree_most(const mv_maxtree *tree, uint32_t first, uint32_t end)
{
    uint32_t low = tree->leaves + first, high = tree->leaves + end;
    uint64_t most = 0;

    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            most = larger(most, tree->node[low++]);
        if (high & 1)
            most = larger(most, tree->node[--high]);
    }
    return most;
}
