/* Whether one process did the same work as another with a larger or smaller batch: the same sites,
 * each allocation larger by one factor (or by its square, as with attention over longer sequences),
 * while parameters and similar blocks keep their sizes. The result does not depend on the time of
 * either peak or the number of steps. */
#ifndef MV_BATCH_FACTOR_H
#define MV_BATCH_FACTOR_H

#include "analyze/ranks/summary.h"

/* A changed size: its ratio and its bytes. */
typedef struct {
    double ratio;
    double weight;
} mv_scaled_size;

/* Appends the change of `times` allocations of one size, unless it is unchanged. */
void mv_scaled_size_add(mv_scaled_size *sizes, uint32_t *count, uint64_t before, uint64_t after,
                        uint32_t times);

/* The ratio with half of the bytes above it and half below; 0 without sizes. Sorts the sizes. */
double mv_scaled_sizes_median(mv_scaled_size *sizes, uint32_t count);

/* Bytes of sizes that changed by this factor or its square. */
double mv_scaled_sizes_agreeing(const mv_scaled_size *sizes, uint32_t count, double factor);

/* Sum of the bytes of all sizes. */
double mv_scaled_sizes_weight(const mv_scaled_size *sizes, uint32_t count);

/* This share of the changed bytes must agree on a factor. */
#define MV_FACTOR_AGREEING 0.7

/* The factor from `reference` to `rank`; 0 if no single factor explains the change, or when out of
 * memory. O(n log n). */
double mv_batch_factor(mv_arena *scratch, const mv_summary *reference, const mv_summary *rank);

#endif
