/* How many bytes the caching allocator hands out for a request: the rounding, and the rule that
 * says whether the rest of a free block is split off.
 * Source: round_size(), get_alloc_size(), should_split() in PyTorch CUDACachingAllocator.cpp,
 * roundup_power2_next_division() in CUDAAllocatorConfig.cpp; the same from 2.0 to 2.14.
 * torch_npu has the same allocator but for round_size(), which adds 32 bytes first
 * (NPUCachingAllocator.cpp). */
#ifndef MV_BLOCK_SIZE_H
#define MV_BLOCK_SIZE_H

#include "parse/model/trace.h"

#define MV_MIN_BLOCK     512u                /* kMinBlockSize: unit and minimum of rounding */
#define MV_SMALL_REQUEST (1u << 20)          /* kSmallSize: most that the small pool serves */
#define MV_SMALL_SEGMENT (2u << 20)          /* kSmallBuffer: every segment of the small pool */
#define MV_MOST_REQUEST  ((uint64_t)1 << 60) /* allocate() refuses more */

#define MV_ROUNDUP_STEPS 16 /* kRoundUpPowerOfTwoIntervals: 1 MiB to 32 GiB and above */

/* The settings that decide block sizes. */
typedef struct {
    uint64_t max_split;                   /* max_split_size; UINT64_MAX: unlimited */
    uint64_t divisions[MV_ROUNDUP_STEPS]; /* roundup_power2_divisions; 0: off */
    uint64_t pad;    /* bytes that a request gets besides before it is rounded: torch_npu's 32 */
    bool expandable; /* expandable_segments */
} mv_block_rules;

#define MV_NPU_PAD 32u

/* Which allocator rounded, as the blocks in use say whose requested size is known, and from whose
 * segments every rest is split off, so that their size is the request rounded. */
typedef struct {
    bool is_npu;
    bool is_named;      /* a path has "torch_npu" in it */
    uint32_t blocks;    /* such blocks */
    uint32_t cuda_fits; /* of those: as CUDA's rule has them */
    uint32_t npu_fits;  /* of those: as torch_npu's rule has them */
} mv_rounding;

/* O(blocks). The rule is torch_npu's when that fits what CUDA's does not. */
mv_rounding mv_rounding_of(const mv_trace *trace);

/* From allocator_settings; what is absent there has PyTorch's default, except that segments show
 * whether they are expandable, and blocks whose rule rounded them. */
mv_block_rules mv_block_rules_of(const mv_trace *trace);

/* The request rounded up. Never less than `bytes`, except for requests above MV_MOST_REQUEST,
 * which no allocator serves and which are cut to it. */
uint64_t mv_round_request(const mv_block_rules *rules, uint64_t bytes);

/* A request that rounds to `rounded` bytes: oom events name these. */
static inline uint64_t mv_request_of(const mv_block_rules *rules, uint64_t rounded)
{
    return rounded > rules->pad ? rounded - rules->pad : rounded;
}

/* The same without roundup_power2_divisions: the least that a block can be. */
static inline uint64_t mv_round_least(const mv_block_rules *rules, uint64_t bytes)
{
    if (bytes >= MV_MOST_REQUEST)
        return MV_MOST_REQUEST;
    bytes += rules->pad;
    if (bytes < MV_MIN_BLOCK)
        return MV_MIN_BLOCK;
    return (bytes + MV_MIN_BLOCK - 1) / MV_MIN_BLOCK * MV_MIN_BLOCK;
}

/* Whether a request of `rounded` bytes leaves `rest` bytes behind as a free block, rather than
 * getting them too. `splits_small`: in the small pool, or in an expandable segment. */
static inline bool mv_should_split(const mv_block_rules *rules, uint64_t rounded, uint64_t rest,
                                   bool splits_small)
{
    if (splits_small)
        return rest >= MV_MIN_BLOCK;
    return rounded < rules->max_split && rest > MV_SMALL_REQUEST;
}

#endif
