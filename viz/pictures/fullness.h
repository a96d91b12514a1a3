/* How full segments are: the bytes that tensors use in each segment, at any instant of a segment
 * timeline. viz/scene/fullness_scale.h defines the colours.
 *
 *     ┌────────────────────┐
 *     │▓▓▓▓▓▓▓▒▒▒▒░░░░░░░░░│   a segment that is being emptied; its colour follows
 *     └────────────────────┘
 *
 * A block counts as used from its birth until it is freed. If it spans several mapped ranges of an
 * expandable segment, each range counts the part of the block that is inside the range; up to 256
 * ranges are examined. */
#pragma once

#include "viz/pictures/layout.h"
#include "viz/scene/fullness_scale.h"

/* Returns the bytes in use after `event` for each row of `rows`, which contains all or some
 * segments in the form of allocations (viz/core/segment_rows.h): [rows.allocs.count]; NULL when out
 * of memory. */
uint64_t *mv_fullness_after(mv_arena *arena, const mv_lives *lives, const mv_lives *rows,
                            uint32_t event);

/* Returns the bytes in use for each sample of a layout of `rows`: [sample_count]; NULL when out of
 * memory. O(n log n). */
uint64_t *mv_fullness_of_samples(mv_arena *arena, const mv_lives *lives, const mv_lives *rows,
                                 const mv_layout *layout);
