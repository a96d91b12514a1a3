#include "analyze/floor/near_blocks.h"

bool mv_near_init(mv_near *near, const mv_placement_problem *p)
{
    *near = (mv_near){.p = p, .leaves = 1};
    while (near->leaves < p->count)
        near->leaves *= 2;
    near->last = mv_push_array(p->arena, uint32_t, 2 * (uint64_t)near->leaves);
    near->rank = mv_push_array(p->arena, uint32_t, p->count);
    near->rows = mv_push_array(p->arena, mv_key_row, p->count);
    near->spare = mv_push_array(p->arena, mv_key_row, p->count);
    if (!near->last || !near->rank || !near->rows || !near->spare)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        near->rank[p->by_birth[i]] = i;
    return true;
}

static void set(mv_near *near, uint32_t row, uint32_t death)
{
    uint32_t node = near->leaves + near->rank[row];

    near->last[node] = death;
    for (node /= 2; node > 0; node /= 2) {
        uint32_t left = near->last[2 * node], right = near->last[2 * node + 1];
        near->last[node] = left > right ? left : right;
    }
}

void mv_near_add(mv_near *near, uint32_t row)
{
    set(near, row, near->p->blocks[row].death);
}

void mv_near_drop(mv_near *near, uint32_t row)
{
    set(near, row, 0);
}

/* Adds the blocks below a node whose first leaf has the rank `first`. */
static void collect(mv_near *near, uint32_t node, uint32_t first, uint32_t width,
                    const mv_placed_block *b, const uint64_t *offset)
{
    const mv_placement_problem *p = near->p;

    near->steps++;
    if (near->last[node] <= b->birth || p->blocks[p->by_birth[first]].birth >= b->death)
        return;
    if (width == 1) {
        uint32_t row = p->by_birth[first];
        near->rows[near->count++] = (mv_key_row){offset[row], row};
        return;
    }
    collect(near, 2 * node, first, width / 2, b, offset);
    if (first + width / 2 < p->count)
        collect(near, 2 * node + 1, first + width / 2, width / 2, b, offset);
}

void mv_near_find(mv_near *near, const mv_placed_block *block, const uint64_t *offset)
{
    near->count = 0;
    collect(near, 1, 0, near->leaves, block, offset);
    near->steps += 4 * (uint64_t)near->count;
    mv_sort_key_rows(near->rows, near->spare, near->count);
}
