/* Finds the named tensors (mv_tensors) in each block.
 *
 *     block   |--------------------------------|......|
 *     flat    [--------------------------------]         named by the program
 *     weight  [---------]    bias [--]                   its views
 *     bytes   wwwwwwwwwwwfffffbbbbffffffffffff|  none
 *
 * Names are known for the time when the file was written. The blocks alive at that time have these
 * names throughout their lives. Bytes that several tensors share are attributed to the innermost
 * tensor. This is the tensor that begins last; if several do, the shortest of them; if these are
 * equally short, the first one in the file. Therefore, the tensors of a block have at most the
 * block's bytes; the other bytes are rounding, or are used without a name. */
#pragma once

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t count;   /* number of the device's tensors that lie in a block */
    uint32_t *row;    /* [count] row of trace.tensors, sorted by block, then by address */
    uint64_t *bytes;  /* [count] bytes attributed to the tensor; 0: all its bytes are attributed to
                       * other tensors */
    uint32_t *first;  /* [allocs.count + 1] start of each block's tensors, which are first[i] to
                       * first[i + 1] - 1 */
    uint32_t outside; /* number of the device's tensors outside all blocks, whose memory does not
                       * come from PyTorch's allocator, or was freed while the file was written */
} mv_tensor_blocks;

/* Finds the tensors of all blocks. If there are no tensors, nothing is allocated, and `first` is
 * NULL; see mv_tensors_in. O(n log n). Fails only when out of memory. */
mv_code mv_tensor_blocks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_tensor_blocks *out, mv_err *err);

/* Returns the number of tensors in a block, and sets *first to the first of them. */
static inline uint32_t mv_tensors_in(const mv_tensor_blocks *t, uint32_t alloc, uint32_t *first)
{
    *first = t->first ? t->first[alloc] : 0;
    return t->first ? t->first[alloc + 1] - t->first[alloc] : 0;
}

/* Returns the tensor of a block with the most attributed bytes, as an index into `row`, or
 * MV_NO_ROW. */
uint32_t mv_tensor_largest(const mv_tensor_blocks *t, uint32_t alloc);

/* Writes the description of a tensor: "layers.7.weight [4096,11008] bf16 · AdamW exp_avg",
 * "layers.7.weight [4096,11008] bf16 · gradient". The description is truncated to fit. Returns
 * `out`. */
#define MV_TENSOR_TEXT 512
const char *mv_tensor_text(const mv_trace *trace, uint32_t tensor, char out[MV_TENSOR_TEXT]);
