/* Places blocks whose lives are known in advance, at addresses such that no two blocks share a byte
 * while both are alive. The highest address is made as low as possible. (In the literature: dynamic
 * storage allocation, offline.) docs/floor.md explains the methods.
 *
 *     mv_placement_find(arena, blocks, count, &found, err);
 *     found.load <= the top of any placement;  found.top is the top of found.offset, checked
 *
 * Finding the lowest top is NP-hard, so several methods are tried one after the other. The search
 * ends when a method reaches the load, which is a lower bound, or when the work allowed for this
 * number of blocks is used up. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* A block that is alive in [birth, death), with birth < death and size > 0. The sum of all sizes is
 * less than 2^63. */
typedef struct {
    uint32_t birth, death;
    uint64_t size;
} mv_placed_block;

typedef struct {
    uint64_t load;    /* largest number of bytes alive at the same time */
    uint32_t load_at; /* first time of this load */
    uint64_t lower;   /* lower bound for the top of any placement: the load, or a higher bound
                       * that exhaustive search proved */
    uint64_t top;     /* lowest top found, which equals `lower` if the placement is the best
                       * possible */
    uint64_t *offset; /* [count] offsets of the placement with this top, which has been checked */
} mv_placement;

/* Limits on the number of blocks that the methods visit, per block and in total. A hundred million
 * visits take about a second. So the time is at most linear in the number of blocks, and has a
 * fixed maximum. */
#define MV_PLACEMENT_EACH   (1 << 18)
#define MV_PLACEMENT_EFFORT 450000000

/* Returns the part of `effort` that may be spent on `count` blocks. */
static inline uint64_t mv_placement_effort(uint32_t count, uint64_t effort)
{
    uint64_t most = (uint64_t)count * MV_PLACEMENT_EACH;

    return effort < most ? effort : most;
}

/* Finds a placement. O(n log n) plus the effort for this number of blocks. The effort is at most
 * `effort`, which is MV_PLACEMENT_EFFORT except in tests. Fails only when out of memory. */
mv_code mv_placement_find(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          uint64_t effort, mv_placement *out, mv_err *err);

/* Finds the largest number of bytes alive at once, and sets *at to the first time of this load. O(n
 * log n). */
mv_code mv_placement_load(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                          uint64_t *load, uint32_t *at, mv_err *err);

/* Checks a placement independently of the methods. *is_sound is false if two blocks overlap while
 * both are alive, or if `top` is not the highest end of a block. O(n log n). */
mv_code mv_placement_check(mv_arena *arena, const mv_placed_block *blocks, uint32_t count,
                           const uint64_t *offset, uint64_t top, bool *is_sound, mv_err *err);
