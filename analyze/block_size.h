/* How many bytes the caching allocator hands out for a request: the rounding, and the rule that
 * says whether the rest of a free block is split off.
 * Source: round_size(), get_alloc_size(), should_split() in PyTorch CUDACachingAllocator.cpp,
 * roundup_power2_next_division() in CUDAAllocatorConfig.cpp; the same from 2.0 to 2.14. */
#ifndef MV_BLOCK_SIZE_H
#define MV_BLOCK_SIZE_H

#include "parse/trace.h"

#define MV_MIN_BLOCK     512u                /* kMinBlockSize: unit and minimum of rounding */
#define MV_SMALL_REQUEST (1u << 20)          /* kSmallSize: most that the small pool serves */
#define MV_SMALL_SEGMENT (2u << 20)          /* kSmallBuffer: every segment of the small pool */
#define MV_MOST_REQUEST  ((uint64_t)1 << 60) /* allocate() refuses more */

#define MV_ROUNDUP_STEPS 16 /* kRoundUpPowerOfTwoIntervals: 1 MiB to 32 GiB and above */

/* The settings that decide block sizes. */
typedef struct {
    uint64_t max_split;                   /* max_split_size; UINT64_MAX: unlimited */
    uint64_t divisions[MV_ROUNDUP_STEPS]; /* roundup_power2_divisions; 0: off */
    bool expandable;                      /* expandable_segments */
} mv_block_rules;

/* From allocator_settings; what is absent there has PyTorch's default. */
mv_block_rules mv_block_rules_of(const mv_trace *trace);

/* The request rounded up. Never less than `bytes`, except for requests above MV_MOST_REQUEST,
 * which no allocator serves and which are cut to it. */
uint64_t mv_round_request(const mv_block_rules *rules, uint64_t bytes);

/* The same without roundup_power2_divisions: the least that a block can be. */
static inline uint64_t mv_round_least(uint64_t bytes)
{
    if (bytes > MV_MOST_REQUEST)
        return MV_MOST_REQUEST;
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
