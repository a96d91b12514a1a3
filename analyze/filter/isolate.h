/* A lives table with only some of the allocations (a filter's matches, the largest N, the blocks of
 * a pool), so that everything that reads a table can work on these. */
#ifndef MV_ISOLATE_H
#define MV_ISOLATE_H

#include "analyze/filter/filter.h"

/* The rows of lives->allocs that are in `kept`, in the same order; events and segments are those of
 * `lives`. `alloc_of` has the new rows, and MV_NO_ROW for allocations left out (it is NULL if that
 * of `lives` is). O(rows + events). Fails only when memory is out. */
mv_code mv_isolate_lives(mv_arena *arena, const mv_lives *lives, const mv_filter_bits *kept,
                         mv_lives *out, mv_err *err);

/* The `top` largest blocks of those alive in events [from, to); among equal ones the first born.
 * All if there are fewer. O(rows). Fails only when memory is out. */
mv_code mv_isolate_largest(mv_arena *arena, const mv_lives *lives, uint32_t from, uint32_t to,
                           uint32_t top, mv_filter_bits *out, mv_err *err);

#endif
