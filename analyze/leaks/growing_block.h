/* Finds sites that hold a single block which keeps growing, for example with buf = torch.cat([buf,
 * x]). Such a block is a leak, too.
 *
 *     bins       1     2      3       4        5
 *     block    |--|
 *                 |---|
 *                      |----|
 *                            |-----|
 *                                   |------      one block at any time, each larger than the last
 *
 * Such a site keeps no block for long, so the births of its blocks do not show growth, but the
 * bytes that it holds at the step marks do. The input of a language model that generates tokens
 * looks similar, because it grows with each token. But then the temporary memory of the steps
 * grows, too, and grows faster. In training, batches of growing size look similar as well if each
 * batch lives until the next one is loaded (`follows_work`). Three to eight steps may be too few to
 * show whether a block grows. */
#pragma once

#include "analyze/leaks/leak_state.h"

/* A site whose block grows from one step mark to the next. */
typedef struct {
    uint32_t site;
    uint64_t bytes_per_step; /* mean growth per judged step, rounded to the nearest byte */
    uint32_t steps;          /* number of judged steps */
    bool follows_work; /* the steps' temporary memory grows by more than the block, so the block may
                        * be a batch */
} mv_growing_block;

typedef struct {
    uint32_t count;
    mv_growing_block *blocks; /* [count] growing blocks, sorted by site */
    bool is_doubtful;         /* some site may grow, but there are too few steps to be sure */
} mv_growing_blocks;

/* Finds the growing blocks. Takes time linear in the number of allocations, except for the few
 * sites whose blocks grow. Returns false when out of memory. */
bool mv_growing_blocks_find(const mv_leak_state *w, mv_growing_blocks *out);
