/* The allocations of a device as PyTorch's viewer pairs and orders them, for pictures that must
 * equal its own. mv_lives_find knows more: what a block really occupied, frees that were requested,
 * addresses used again without a free. This is the simpler reading:
 *
 *     a row     begins with an alloc event and ends with the next free_completed of its address;
 *               an alloc over an open row leaves that row open for ever
 *     before    a free_completed without an open row belongs to a row that existed from the start;
 * so is, after those, each allocated block of the final heap without an open row (one that waits
 * for a stream is not shown) order     rows from before the first event in reverse: the one whose
 * free comes first is on top of the others bytes     those of the event: what was asked for
 *
 * Source: the layout of torch/utils/viz/MemoryViz.js, PyTorch 2.1 to 2.9. */
#ifndef MV_PYTORCH_LIVES_H
#define MV_PYTORCH_LIVES_H

#include "analyze/lives/lives.h"

typedef enum {
    MV_PYTORCH_ALLOCS,  /* "Active Memory Timeline" */
    MV_PYTORCH_SEGMENTS /* "Active Cached Segment Timeline": segment_alloc, segment_free and the
                         * final segments; what was mapped is not in it */
} mv_pytorch_view;

/* Fills the events, allocs and alloc_of; for an index of the measure MV_INDEX_REQUESTED. `block` is
 * `requested`, `freed` is `completed`, `segment` is MV_NO_ROW; a row that was there from the start
 * and is freed has no stack. O(n log n). Fails when memory (MV_NOMEM) or rows (MV_LIMIT) run out.
 */
mv_code mv_pytorch_lives(mv_arena *arena, const mv_trace *trace, uint32_t device,
                         mv_pytorch_view view, mv_lives *out, mv_err *err);

#endif
