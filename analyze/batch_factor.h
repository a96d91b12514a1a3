/* Whether one process did the same work as another with a larger or smaller batch: the same sites,
 * each allocation larger by one factor (or by its square: attention over longer sequences), while
 * parameters and the like keep their sizes. Independent of when either peaked and of how many
 * steps either made. */
#ifndef MV_BATCH_FACTOR_H
#define MV_BATCH_FACTOR_H

#include "analyze/summary.h"

/* The factor from `reference` to `rank`; 0 when no one factor explains the change. `scratch` lends
 * memory, without which it is 0 too. O(n log n). */
double mv_batch_factor(mv_arena *scratch, const mv_summary *reference, const mv_summary *rank);

#endif
