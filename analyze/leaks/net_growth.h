/* Growth is net: what one line keeps, another line may give back.
 *
 *     bins                      2    3    4    5    6
 *     append(x)      kept      +1   +1
 *     replace(x)     kept                 +1   +1   +1     a full buffer: the new block is kept,
 *                    freed                -1   -1   -1     and an old one of the same size is freed
 */
#ifndef MV_NET_GROWTH_H
#define MV_NET_GROWTH_H

#include "analyze/steps/steps.h"

/* One block that a site seems to keep. */
typedef struct {
    uint64_t size; /* bytes occupied */
    uint32_t bin;  /* of its birth */
    uint32_t site; /* below `sites` */
} mv_kept_block;

/* Sets grows[site] to 0 if, in most of the bins in which the site kept blocks, old blocks of the
 * same sizes were freed, no matter who had allocated them. Bins before `first` and the last bin do
 * not count. Sorts `kept`. False when memory is out. O(n log n). */
bool mv_net_growth(mv_arena *scratch, const mv_lives *lives, const mv_steps *steps,
                   mv_kept_block *kept, uint32_t count, uint32_t first, uint8_t *grows,
                   uint32_t sites);

#endif
