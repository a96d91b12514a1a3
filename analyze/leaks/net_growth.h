/* Growth is net: blocks that a line keeps may replace blocks that it or another line frees.
 *
 *     bins                      2    3    4    5    6
 *     append(x)      kept      +1   +1
 *     replace(x)     kept                 +1   +1   +1     a full buffer: the new block is kept,
 *                    freed                -1   -1   -1     and an old one of the same size is freed
 *
 * A line that drops most of its blocks and keeps some frees a block of that size in almost every
 * bin, too, so bins alone show nothing. The bytes held at the floor of each bin do: they are
 * compared between the quarters of the time in which the line kept blocks. */
#ifndef MV_NET_GROWTH_H
#define MV_NET_GROWTH_H

#include "analyze/code/sites.h"
#include "analyze/steps/step_floor.h"

/* The result for a site that seems to grow. */
enum { MV_NET_NONE, MV_NET_GROWS, MV_NET_UNSURE };

/* One block that a site seems to keep. */
typedef struct {
    uint32_t row; /* of lives->allocs */
    uint32_t bin; /* of its birth */
    uint32_t site;
    uint64_t size; /* bytes occupied */
} mv_kept_block;

/* Sets grows[site], which is MV_NET_GROWS, to MV_NET_NONE if less than half of the site's growth
 * remains when all blocks of these sizes in the floor are counted, whoever allocated them, or all
 * blocks of the site. Blocks of the same sizes must show it in the second half of the time and in its last quarter, since other lines
 * allocate them, too; blocks of the site in the last quarter: a cache that is full holds as much as
 * before. If the site's other blocks fell by no more than they had changed from quarter to quarter
 * before, that may be chance: MV_NET_UNSURE. Bins before `first` and the last bin do not count.
 * Sorts `kept` by site. False when memory is out. O(n log n). */
bool mv_net_growth(mv_arena *scratch, const mv_lives *lives, const mv_sites *sites,
                   const mv_floor *floor, mv_kept_block *kept, uint32_t count, uint32_t first,
                   uint8_t *grows);

#endif
