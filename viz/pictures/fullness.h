/* How full segments are: what tensors use of each, at any instant of a timeline of segments.
 * viz/scene/fullness_scale.h has the colours.
 *
 *     ┌────────────────────┐
 *     │▓▓▓▓▓▓▓▒▒▒▒░░░░░░░░░│   a segment that is being emptied; its colour follows
 *     └────────────────────┘
 *
 * Used are the bytes of blocks from birth to free, wherever they lie: a block that reaches over
 * several mapped ranges of an expandable segment (256 are looked at) counts in each with its part
 * there. */
#ifndef MV_FULLNESS_H
#define MV_FULLNESS_H

#include "viz/pictures/layout.h"
#include "viz/scene/fullness_scale.h"

/* Of `rows`, which has segments in the form of allocations (viz/core/segment_rows.h), or
 * some of them: the bytes in use of each after `event`. [rows.allocs.count]; NULL when memory is
 * out. */
uint64_t *mv_fullness_after(mv_arena *arena, const mv_lives *lives, const mv_lives *rows,
                            uint32_t event);

/* The bytes in use of each sample of a layout of `rows`. [sample_count]; NULL when memory is out.
 * O(n log n). */
uint64_t *mv_fullness_of_samples(mv_arena *arena, const mv_lives *lives, const mv_lives *rows,
                                 const mv_layout *layout);

#endif
