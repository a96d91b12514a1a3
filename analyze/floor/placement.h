/* Placement of blocks whose lives are known in advance: addresses such that no two blocks share a
 * byte while both live, and the highest address is as low as can be found. (In the literature:
 * dynamic storage allocation, offline.) docs/floor.md explains the methods.
 *
 *     mv_placement_find(arena, blocks, count, &found, err);
 *     found.load <= any placement's top;  found.top: that of found.offset, which was checked
 *
 * To find the lowest top is NP-hard, so methods are tried one after the other until one reaches the
 * load, below which no placement can be, or until the work that the number of blocks allows is
 * done. */
#ifndef MV_PLACEMENT_H
#define MV_PLACEMENT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* Lives in [birth, death), birth < death; size > 0. All sizes together are below 2^63. */
typedef struct {
    uint32_t birth, death;
    uint64_t size;
} mv_placed_block;

typedef struct {
    uint64_t load;    /* the most bytes that live at once */
    uint32_t load_at; /* the first time of that */
    uint64_t lower; /* no placement's top is lower: the load, or what an exhaustive search proved */
    uint64_t top;   /* lowest found; `lower` when it is the best possible */
    uint64_t *offset; /* [count] of the placement with that top; it has passed the check */
} mv_placement;

/* Blocks that the methods look at: for each block, and in all. A hundred million take about a
 * second. So the time is bounded by the size of the file, and whatever that is. */
#define MV_PLACEMENT_EACH   (1 << 18)
#define MV_PLACEMENT_EFFORT 450000000

/* The part of `effort` that `count` blocks are worth. */
static inline uint64_t mv_placement_effort(uint32_t count, uint64_t effort)
{
    uint64_t most = (uint64_t)count * MV_PLACEMENT_EACH;

    return effort < most ? effort : most;
}

/* O(n log n), and the effort that the blocks are worth, at most `effort`, which is
 * MV_PLACEMENT_EFFORT except in tests. Fails only when out of memory. */
mv_code mv_placement_find(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          uint64_t effort, mv_placement *out, mv_err *err);

/* The most bytes that live at once; `at` gets the first time of that. O(n log n). */
mv_code mv_placement_load(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          uint64_t *load, uint32_t *at, mv_err *err);

/* Checks a placement without any knowledge of how it was found: false if two blocks overlap while
 * both live, or `top` is not its highest end. O(n log n). */
mv_code mv_placement_check(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                           const uint64_t *offset, uint64_t top, bool *is_sound, mv_err *err);

#endif
