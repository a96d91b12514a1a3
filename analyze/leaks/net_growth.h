/* Checks whether sites that seem to grow really do. Only net growth counts, because the blocks that
 * a line keeps may replace blocks that this line or another one frees.
 *
 *     bins                      2    3    4    5    6
 *     append(x)      kept      +1   +1
 *     replace(x)     kept                 +1   +1   +1     a full buffer: the new block is kept,
 *                    freed                -1   -1   -1     and an old one of the same size is freed
 *
 * A line that drops most of its blocks and keeps only some also frees a block of the same size in
 * almost every bin, so the bins of births and frees do not show whether the line grows. The bytes
 * that it holds at the floor of each bin do show this. They are compared between quarters of the
 * time in which the line kept blocks. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/steps/step_floor.h"

/* The result for a site that seems to grow. */
enum { MV_NET_NONE, MV_NET_GROWS, MV_NET_UNSURE };

/* One block that a site seems to keep. */
typedef struct {
    uint32_t row; /* row of lives->allocs */
    uint32_t bin; /* bin of its birth */
    uint32_t site;
    uint64_t size; /* bytes that the block occupies */
} mv_kept_block;

/* Checks sites that seem to grow. On entry, grows[site] is MV_NET_GROWS. The function sets it to
 * MV_NET_NONE if less than half of the site's growth remains when more blocks are counted in the
 * floor: either the blocks of the same sizes from any line, or all blocks of the site. When blocks
 * of the same sizes are counted, both the second half of the time and its last quarter must show
 * this, because other lines allocate these sizes, too. When the blocks of the site are counted, the
 * last quarter is enough, because a full cache holds as much as before. The function sets
 * grows[site] to MV_NET_UNSURE if the result may be due to chance, that is, if the bytes of the
 * site's other blocks fell by no more than they had changed from quarter to quarter before. Bins
 * before `first` and the last bin are ignored. Sorts `kept` by site. Returns false when out of
 * memory. O(n log n). */
bool mv_net_growth(mv_arena *scratch, const mv_lives *lives, const mv_sites *sites,
                   const mv_floor *floor, mv_kept_block *kept, uint32_t count, uint32_t first,
                   uint8_t *grows);
