/* Finds out when the program drops its allocations. Python frees a tensor together with its last
 * reference, which a trace does not show. However, the stacks of later allocations show which
 * functions are still running, and a local variable or an argument stays alive until its function
 * returns:
 *
 *     block.py:8   q = self.q(x)       q: until forward() of block.py returns
 *     block.py:9   h = act(up(x))      result of up: until the next operation, which reads it
 *     block.py:10  y = self.attn(q)    until attn's forward() returns; here, until forward() does
 *     model.py:20  x = layer(x)        until this line runs again
 *
 * These times apply to tensors that autograd does not keep on the GPU, because the program copies
 * them to the host or uses checkpoints. Memory that no variable refers to is freed earlier
 * (docs/whatif.md). */
#pragma once

#include "analyze/lives/lives.h"

/* Fills `gone` [allocs.count]. For each row, `gone` is the row of the first allocation at which all
 * references to the row's tensor are gone; MV_NO_ROW: the references last until the end of the
 * trace. Allocations without Python in their stacks, such as those of a backward pass, show that
 * the functions have returned. `kinds` comes from mv_frame_kinds. O(frames of all allocations).
 * Returns false when out of memory. */
bool mv_variables_end(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const uint8_t *kinds, uint32_t **gone);
