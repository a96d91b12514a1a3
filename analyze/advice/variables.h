/* When the program drops its allocations. Python frees a tensor with its last reference, which a
 * trace does not show; but the stacks of later allocations show which functions still run, and a
 * local variable or an argument lives as long as its function:
 *
 *     block.py:8   q = self.q(x)       q: until forward() of block.py returns
 *     block.py:9   h = act(up(x))      result of up: until the next operation, which reads it
 *     block.py:10  y = self.attn(q)    until attn's forward() returns; here, until this one does
 *     model.py:20  x = layer(x)        until the line is run once more
 *
 * A tensor stays on the GPU this long if autograd does not keep it there, because of a copy on the
 * host or checkpoints. Memory that no variable refers to is freed earlier (docs/whatif.md). */
#ifndef MV_VARIABLES_H
#define MV_VARIABLES_H

#include "analyze/lives/lives.h"

/* Fills `gone` [allocs.count]: the row of the first allocation by which all references to a row are
 * gone; MV_NO_ROW: they last to the end of the trace. Allocations without Python in their stacks,
 * such as those of a backward pass, show that the functions have returned. `kinds` comes from
 * mv_frame_kinds. O(frames of all allocations). False when out of memory. */
bool mv_variables_end(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const uint8_t *kinds, uint32_t **gone);

#endif
