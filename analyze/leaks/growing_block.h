/* One block that grows is a leak, too: buf = torch.cat([buf, x]).
 *
 *     bins       1     2      3       4        5
 *     block    |--|
 *                 |---|
 *                      |----|
 *                            |-----|
 *                                   |------      one block at any time, each larger than the last
 *
 * Such a site keeps no block for long, so births do not show growth, but the bytes at the marks do.
 * A request that is being generated looks similar, because its input grows with each token; but
 * then the steps' temporary memory also grows, and by more. In training, batches that grow look
 * similar, too, if each lives until the next batch is loaded: `follows_work`. Three to eight steps
 * may be too few to show whether a block grows. */
#ifndef MV_GROWING_BLOCK_H
#define MV_GROWING_BLOCK_H

#include "analyze/code/sites.h"
#include "analyze/steps/step_floor.h"

/* A site whose block grows from mark to mark. */
typedef struct {
    uint32_t site;
    uint64_t bytes_per_step; /* mean over the judged steps, rounded to the nearest byte */
    uint32_t steps;          /* number of judged steps */
    bool follows_work; /* the steps' temporary memory grows by more: the block may be a batch */
} mv_growing_block;

typedef struct {
    uint32_t count;
    mv_growing_block *blocks; /* [count] by site */
    bool is_doubtful;         /* some site may grow, but the steps are too few to be sure */
} mv_growing_blocks;

/* Linear in the allocations, except for the few sites whose blocks grow. False when out
 * of memory. */
bool mv_growing_blocks_find(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                            const mv_sites *sites, const mv_outer *outer, const mv_steps *steps,
                            const mv_floor *floor, mv_growing_blocks *out);

#endif
