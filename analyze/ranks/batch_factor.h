/* Tests whether one process did the same work as another process with a larger or smaller batch. If
 * so, both have the same sites, and each allocation is larger by one factor (or by its square, as
 * with attention over longer sequences), while parameters and similar blocks keep their sizes. The
 * result does not depend on when either process peaks or on the number of steps. */
#pragma once

#include "analyze/ranks/summary.h"

/* A size that changed: the ratio of the new size to the old size, and the bytes that it stands
 * for. */
typedef struct {
    double ratio;
    double weight;
} mv_scaled_size;

/* Appends the change from `before` to `after` of `times` allocations, unless the size is
 * unchanged. */
void mv_scaled_size_add(mv_scaled_size *sizes, uint32_t *count, uint64_t before, uint64_t after,
                        uint32_t times);

/* Returns the median of the ratios, weighted by bytes, so that half of the bytes have a higher
 * ratio and half have a lower one. Returns 0 if there are no sizes. Sorts the sizes. */
double mv_scaled_sizes_median(mv_scaled_size *sizes, uint32_t count);

/* Returns the total weight of the sizes that changed by this factor or by its square. */
double mv_scaled_sizes_agreeing(const mv_scaled_size *sizes, uint32_t count, double factor);

/* Returns the total weight of all sizes. */
double mv_scaled_sizes_weight(const mv_scaled_size *sizes, uint32_t count);

/* Fraction of the changed bytes that must agree on a factor. */
#define MV_FACTOR_AGREEING 0.7

/* Returns the factor by which `rank` differs from `reference`; 0 if no single factor explains the
 * change, or when out of memory. O(n log n). */
double mv_batch_factor(mv_arena *scratch, const mv_summary *reference, const mv_summary *rank);
