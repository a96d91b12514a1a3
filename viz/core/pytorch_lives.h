/* The allocations of a device as PyTorch's viewer pairs and orders them, for pictures that must
 * equal its own. mv_lives_find finds more: the bytes that a block really occupied, requested frees,
 * addresses used again without a free. PyTorch's simpler reading:
 *
 *     a row     begins with an alloc event and ends with the next free_completed of its address;
 *               an alloc over an open row leaves that row open for ever
 *     before    a free_completed without an open row belongs to a row that existed from the start;
 *           then each allocated block of the final heap without an open row adds one
 *               (blocks that wait for a stream are not shown)
 *     order     rows from before the first event in reverse: the row freed first is on top
 *     bytes     as requested by the event
 *
 * Source: the layout of torch/utils/viz/MemoryViz.js, PyTorch 2.1 to 2.9. */
#ifndef MV_PYTORCH_LIVES_H
#define MV_PYTORCH_LIVES_H

#include "analyze/lives/lives.h"

typedef enum {
    MV_PYTORCH_ALLOCS,  /* "Active Memory Timeline" */
    MV_PYTORCH_SEGMENTS /* "Active Cached Segment Timeline": segment_alloc, segment_free and the
                         * final segments, without mapped ranges */
} mv_pytorch_view;

/* Fills events, allocs and alloc_of, for an index with the measure MV_INDEX_REQUESTED. `block` is
 * `requested`, `freed` is `completed`, `segment` is MV_NO_ROW; a row that was there from the start
 * and is freed has no stack. O(n log n). Fails when out of memory (MV_NOMEM) or out of row numbers
 * (MV_LIMIT). */
mv_code mv_pytorch_lives(mv_arena *arena, const mv_trace *trace, uint32_t device,
                         mv_pytorch_view view, mv_lives *out, mv_err *err);

#endif
