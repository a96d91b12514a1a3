/* Segments over time: the timeline of what PyTorch holds on the device, in place of allocations.
 *
 *     bytes
 *       │        ▼ peak reserved
 *       │   ┌─────────┐╌╌╌╌╌╌╌╌╌  ← allocated: what tensors use of it
 *       │   │ segment └────────
 *       │ ┌─┴──────────────────      in order of birth: segment_alloc and segment_map put one on
 *       │ │ segment                  top, segment_free and segment_unmap take it (or a part) away
 *       └────────────────────── events */
#ifndef MV_SEGMENT_TIMELINE_H
#define MV_SEGMENT_TIMELINE_H

#include "viz/pictures/timeline.h"

/* Like mv_timeline_find; `only` is by row of lives->segments, `leaks` are not shown. `drawn` counts
 * segments, or parts that were mapped or unmapped by themselves. */
mv_code mv_segment_timeline_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                 const mv_timeline_opts *opts, mv_timeline *out, mv_err *err);

#endif
