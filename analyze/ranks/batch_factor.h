/* Whether one process did the same work as another with a larger or smaller batch: the same sites,
 * each allocation larger by one factor (or by its square, as with attention over longer sequences),
 * while parameters and the like keep their sizes. The result does not depend on when either process
 * peaked or how many steps it made. */
#ifndef MV_BATCH_FACTOR_H
#define MV_BATCH_FACTOR_H

#include "analyze/ranks/summary.h"

/* A size that changed: the ratio, and its bytes. */
typedef struct {
    double ratio;
    double weight;
} mv_scaled_size;

/* Appends what became of `times` allocations of one size, unless it stayed the same. */
void mv_scaled_size_add(mv_scaled_size *sizes, uint32_t *count, uint64_t before, uint64_t after,
                        uint32_t times);

/* The ratio with half of the bytes above it and half below; 0 when there is none. Sorts. */
double mv_scaled_sizes_median(mv_scaled_size *sizes, uint32_t count);

/* Bytes of the sizes that changed by this factor or by its square. */
double mv_scaled_sizes_agreeing(const mv_scaled_size *sizes, uint32_t count, double factor);

/* Bytes of all. */
double mv_scaled_sizes_weight(const mv_scaled_size *sizes, uint32_t count);

/* This part of the bytes that changed must agree on a factor. */
#define MV_FACTOR_AGREEING 0.7

/* The factor from `reference` to `rank`; 0 when no single factor explains the change, or when
 * `scratch` has no memory left. O(n log n). */
double mv_batch_factor(mv_arena *scratch, const mv_summary *reference, const mv_summary *rank);

#endif
