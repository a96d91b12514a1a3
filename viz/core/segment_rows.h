/* Segments as rows of a stack, which shows PyTorch's memory on the device in place of allocations.
 *
 *     bytes
 *       │   ┌─────────┐
 *       │   │ segment └────────      in order of birth: segment_alloc and segment_map put one on
 *       │ ┌─┴──────────────────      top, segment_free and segment_unmap take it (or a part) away
 *       │ │ segment
 *       └────────────────────── events */
#pragma once

#include "analyze/lives/lives.h"

/* Returns the lives of segments in the form of allocations, in order of birth. `block` and
 * `requested` are sizes, and `segment` is the row of lives->segments. Events and segments are taken
 * from `lives`; alloc_of is NULL. O(n log n). Fails only when out of memory. */
mv_code mv_segment_lives_as_allocs(mv_arena *arena, const mv_lives *lives, mv_lives *out,
                                   mv_err *err);
