/* A lives table with only some of the allocations (matches of a filter, the largest N, blocks of a
 * pool), so that all functions for tables work on these. */
#ifndef MV_ISOLATE_H
#define MV_ISOLATE_H

#include "analyze/filter/filter.h"

/* The rows of lives->allocs that are in `kept`, in the same order; events and segments are shared
 * with `lives`. `alloc_of` has the new rows, and MV_NO_ROW for other allocations (NULL if
 * lives->alloc_of is). O(rows + events). Fails only when out of memory. */
mv_code mv_isolate_lives(mv_arena *arena, const mv_lives *lives, const mv_filter_bits *kept,
                         mv_lives *out, mv_err *err);

/* The `top` largest blocks alive in events [from, to); among equals, the earlier-born. All blocks
 * if there are fewer. O(rows). Fails only when out of memory. */
mv_code mv_isolate_largest(mv_arena *arena, const mv_lives *lives, uint32_t from, uint32_t to,
                           uint32_t top, mv_filter_bits *out, mv_err *err);

#endif
