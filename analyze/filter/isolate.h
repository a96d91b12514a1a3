/* Some of the allocations of a lives table as a table of their own, so that whatever draws or adds
 * up a table does so with those alone: a filter's matches, the largest N, the blocks of a pool. */
#ifndef MV_ISOLATE_H
#define MV_ISOLATE_H

#include "analyze/filter/filter.h"

/* The rows of lives->allocs that are in `kept`, in the same order; events and segments are those of
 * `lives`. `alloc_of` names the new rows, and no row for what is left out (it stays NULL where
 * `lives` has none). O(rows + events). Fails only for want of memory. */
mv_code mv_isolate_lives(mv_arena *arena, const mv_lives *lives, const mv_filter_bits *kept,
                         mv_lives *out, mv_err *err);

/* A column with a value for each allocation, cut likewise; NULL when memory is out. */
uint8_t *mv_isolate_marks(mv_arena *arena, const mv_filter_bits *kept, const uint8_t *marks);

/* The `top` largest blocks of those that live in events [from, to), of equals the first born. All
 * when there are fewer. O(rows). Fails only for want of memory. */
mv_code mv_isolate_largest(mv_arena *arena, const mv_lives *lives, uint32_t from, uint32_t to,
                           uint32_t top, mv_filter_bits *out, mv_err *err);

#endif
