/* The named tensors (mv_tensors) in each block.
 *
 *     block   |--------------------------------|......|
 *     flat    [--------------------------------]         named by the program
 *     weight  [---------]    bias [--]                   its views
 *     bytes   wwwwwwwwwwwfffffbbbbffffffffffff|  none
 *
 * Names are known for the moment when the file was written: the blocks alive at that moment
 * have them, from birth on. Bytes that several tensors share are attributed to the innermost
 * tensor: the one that begins last; among those the shortest; among equals the first in the
 * file. So the tensors of a block have at most the block's bytes; the rest is rounding, or is
 * used without a name. */
#ifndef MV_PEAK_TENSORS_H
#define MV_PEAK_TENSORS_H

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t count;   /* tensors of the device that lie in a block */
    uint32_t *row;    /* [count] row of trace.tensors: by block, then by address */
    uint64_t *bytes;  /* [count] bytes attributed to the tensor; 0: others have all its bytes */
    uint32_t *first;  /* [allocs.count + 1] the block's tensors: first[i] to first[i + 1] - 1 */
    uint32_t outside; /* tensors of the device outside all blocks: their memory is not from
                       * PyTorch's allocator, or was freed while the file was written */
} mv_tensor_blocks;

/* O(n log n). Without tensors nothing is allocated, and `first` is NULL: see mv_tensors_in. Fails
 * only when out of memory. */
mv_code mv_tensor_blocks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_tensor_blocks *out, mv_err *err);

/* The number of tensors in a block; *first is the first of them. */
static inline uint32_t mv_tensors_in(const mv_tensor_blocks *t, uint32_t alloc, uint32_t *first)
{
    *first = t->first ? t->first[alloc] : 0;
    return t->first ? t->first[alloc + 1] - t->first[alloc] : 0;
}

/* The tensor of a block with most attributed bytes, as a position in `row`, or MV_NO_ROW. */
uint32_t mv_tensor_largest(const mv_tensor_blocks *t, uint32_t alloc);

/* "layers.7.weight [4096,11008] bf16 · AdamW exp_avg", "layers.7.weight [4096,11008] bf16 ·
 * gradient". Cut to fit; returns `out`. */
#define MV_TENSOR_TEXT 512
const char *mv_tensor_text(const mv_trace *trace, uint32_t tensor, char out[MV_TENSOR_TEXT]);

#endif
