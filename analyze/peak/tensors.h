/* Which named tensors (mv_tensors) lie in which block.
 *
 *     block   |--------------------------------|......|
 *     flat    [--------------------------------]         named by the program
 *     weight  [---------]    bias [--]                   its views
 *     bytes   wwwwwwwwwwwfffffbbbbffffffffffff|  none
 *
 * Names are known for the moment when the file was written: blocks that are alive then have them,
 * from their birth on. Of tensors that share bytes the innermost one counts for them: the one that
 * begins last, of such the shortest, of equal ones the first of the file. So the bytes of all
 * tensors of a block are at most the block's; the rest is what the allocator rounded up, or what
 * nothing named uses. */
#ifndef MV_PEAK_TENSORS_H
#define MV_PEAK_TENSORS_H

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t count;   /* tensors of the device that lie in a block */
    uint32_t *row;    /* [count] of trace.tensors: by block, then by address */
    uint64_t *bytes;  /* [count] what it counts for; 0: others have all of its bytes */
    uint32_t *first;  /* [allocs.count + 1] the block's: first[i] to first[i + 1] - 1 */
    uint32_t outside; /* tensors of the device that lie in no block: their memory is not of
                       * PyTorch's allocator, or was freed while the file was written */
} mv_tensor_blocks;

/* O(n log n). Without any tensors nothing is allocated, and `first` is NULL: see mv_tensors_in.
 * Fails only when memory is out. */
mv_code mv_tensor_blocks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_tensor_blocks *out, mv_err *err);

/* How many tensors a block has; the first of them in *first. */
static inline uint32_t mv_tensors_in(const mv_tensor_blocks *t, uint32_t alloc, uint32_t *first)
{
    *first = t->first ? t->first[alloc] : 0;
    return t->first ? t->first[alloc + 1] - t->first[alloc] : 0;
}

/* The tensor of a block that counts for most bytes: a position in `row`. MV_NO_ROW: none. */
uint32_t mv_tensor_largest(const mv_tensor_blocks *t, uint32_t alloc);

/* "layers.7.weight [4096,11008] bf16 · AdamW exp_avg", "layers.7.weight [4096,11008] bf16 ·
 * gradient". Cut to fit; returns `out`. */
#define MV_TENSOR_TEXT 512
const char *mv_tensor_text(const mv_trace *trace, uint32_t tensor, char out[MV_TENSOR_TEXT]);

/* The text after a tensor's name and type: "AdamW exp_avg", "gradient"; "" for other roles. */
const char *mv_tensor_slot(const mv_trace *trace, uint32_t tensor);

#endif
