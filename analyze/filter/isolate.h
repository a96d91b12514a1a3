/* Makes lives tables that contain only some of the allocations (matches of a filter, the largest N,
 * blocks of a pool). All functions on lives tables then work with these allocations. */
#pragma once

#include "analyze/filter/filter.h"

/* Makes a table of the rows of lives->allocs that are in `kept`, in the same order. Events and
 * segments are shared with `lives`. `alloc_of` contains the new rows, and MV_NO_ROW for other
 * allocations (NULL if lives->alloc_of is NULL). O(rows + events). Fails only when out of
 * memory. */
mv_code mv_isolate_lives(mv_arena *arena, const mv_lives *lives, const mv_filter_bits *kept,
                         mv_lives *out, mv_err *err);

/* Finds the `top` largest blocks that are alive in events [from, to). Of equally large blocks, the
 * one born earlier is taken. If there are fewer than `top` blocks, finds all of them. O(rows).
 * Fails only when out of memory. */
mv_code mv_isolate_largest(mv_arena *arena, const mv_lives *lives, uint32_t from, uint32_t to,
                           uint32_t top, mv_filter_bits *out, mv_err *err);
