/* Computes block sizes: how the caching allocator rounds a request, and when it splits off the
 * remainder of a free block. Source: round_size(), get_alloc_size(), should_split() in PyTorch
 * CUDACachingAllocator.cpp, and roundup_power2_next_division() in CUDAAllocatorConfig.cpp, which
 * are unchanged from PyTorch 2.0 to 2.14. torch_npu has the same allocator, except that its
 * round_size() first adds 32 bytes to the request (NPUCachingAllocator.cpp). */
#pragma once

#include "parse/model/trace.h"

#define MV_MIN_BLOCK     512u                /* kMinBlockSize: unit and minimum of rounding */
#define MV_SMALL_REQUEST (1u << 20)          /* kSmallSize: largest request of the small pool */
#define MV_SMALL_SEGMENT (2u << 20)          /* kSmallBuffer: size of a segment of the small pool */
#define MV_MOST_REQUEST  ((uint64_t)1 << 60) /* allocate() refuses larger requests */

#define MV_ROUNDUP_STEPS 16 /* kRoundUpPowerOfTwoIntervals: 1 MiB to 32 GiB and above */

/* The settings that determine block sizes. */
typedef struct {
    uint64_t max_split;                   /* max_split_size; UINT64_MAX: unlimited */
    uint64_t divisions[MV_ROUNDUP_STEPS]; /* roundup_power2_divisions; 0: off */
    uint64_t pad;    /* bytes added to a request before it is rounded: 32 for torch_npu */
    bool expandable; /* expandable_segments */
} mv_block_rules;

#define MV_NPU_PAD 32u

/* Which allocator made the snapshot, as shown by its blocks. Only blocks whose size must be the
 * rounded request are compared: they are in use, have a known requested size, and lie in segments
 * where every remainder is split off. */
typedef struct {
    bool is_npu;
    bool is_named;      /* a file path in the trace contains "torch_npu" */
    uint32_t blocks;    /* number of blocks compared */
    uint32_t cuda_fits; /* number of blocks whose size follows CUDA's rule */
    uint32_t npu_fits;  /* number of blocks whose size follows torch_npu's rule */
} mv_rounding;

/* Finds the rule that the blocks follow. It is torch_npu's if this rule fits blocks that CUDA's
 * rule does not fit. O(blocks). */
mv_rounding mv_rounding_of(const mv_trace *trace);

/* Returns the rules according to allocator_settings. Missing settings have PyTorch's defaults,
 * except that segments show whether they are expandable, and blocks show which allocator rounded
 * them. */
mv_block_rules mv_block_rules_of(const mv_trace *trace);

/* Returns the rounded request, which is never less than `bytes`. Requests above MV_MOST_REQUEST,
 * which no allocator serves, are rounded to MV_MOST_REQUEST. */
uint64_t mv_round_request(const mv_block_rules *rules, uint64_t bytes);

/* Returns a request that rounds to `rounded` bytes, the size that oom events contain. */
static inline uint64_t mv_request_of(const mv_block_rules *rules, uint64_t rounded)
{
    return rounded > rules->pad ? rounded - rules->pad : rounded;
}

/* Does the same as mv_round_request, but without roundup_power2_divisions. The result is the
 * smallest size that the block can have. */
static inline uint64_t mv_round_least(const mv_block_rules *rules, uint64_t bytes)
{
    if (bytes >= MV_MOST_REQUEST)
        return MV_MOST_REQUEST;
    bytes += rules->pad;
    if (bytes < MV_MIN_BLOCK)
        return MV_MIN_BLOCK;
    return (bytes + MV_MIN_BLOCK - 1) / MV_MIN_BLOCK * MV_MIN_BLOCK;
}

/* Whether the allocator splits off the remaining `rest` bytes as a free block when it serves a
 * request of `rounded` bytes; otherwise they become part of the request's block. `splits_small`:
 * the block is in the small pool, or in an expandable segment. */
static inline bool mv_should_split(const mv_block_rules *rules, uint64_t rounded, uint64_t rest,
                                   bool splits_small)
{
    if (splits_small)
        return rest >= MV_MIN_BLOCK;
    return rounded < rules->max_split && rest > MV_SMALL_REQUEST;
}
