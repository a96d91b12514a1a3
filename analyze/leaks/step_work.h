/* Finds whether the work of the steps grows along with the memory that a line holds, as in a run
 * whose batches or sequences become longer.
 *
 *     step            1     2      3       4
 *     batch         |--|  |---|  |----|  |-----|     one at any time, held until the next is loaded
 *     activations   ####  ######  ########  ##########   freed within the step, in proportion
 *
 * A tensor that is extended in each step looks like this batch, but then most activations keep their
 * size. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/steps/outer_call.h"
#include "analyze/steps/steps.h"

/* The work of a site in the late span. */
typedef struct {
    uint32_t group;
    double growth;   /* its relative growth since the early span; -1: there was none */
    uint64_t bytes;  /* at least 1 */
    uint64_t before; /* bytes of the rows before this one */
} mv_site_work;

/* The work of a site is the requested bytes of its blocks that were freed in the step in which they
 * were born. It is measured in two spans of equally many whole steps at the end of the recording.
 * Blocks of backward passes and optimizers do not count, nor do blocks allocated outside of modules
 * if modules are called. */
typedef struct {
    uint32_t early, late, end; /* bins [early, late) and [late, end) */
    uint32_t count;
    mv_site_work
        *by_growth; /* [count + 1] the fastest growing first; the last row has only `before` */
    mv_site_work
        *by_group; /* [count + 1] the same rows by group, in each the fastest growing first */
} mv_step_work;

/* Measures the steps after the warm-up; the last two thirds of them are the two spans. Returns false
 * when out of memory. O(n) for the blocks and O(n log n) for the sites. */
bool mv_step_work_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                       const mv_outer *outer, const mv_steps *steps, mv_step_work *out);

/* Whether the work grows along with the memory of a group, which held `early` and `late` bytes, each
 * summed over the bins of that span: whether most of the work is of other lines whose work grew in
 * proportion. O(log n). */
bool mv_step_work_grows(const mv_step_work *work, uint32_t group, double early, double late);
