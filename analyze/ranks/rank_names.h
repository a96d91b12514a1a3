/* Makes names that distinguish several ranks, devices or files in reports and in the viewer.
 *
 *     run1/rank0.pickle, run1/rank1.pickle   rank0.pickle, rank1.pickle
 *     run1/rank0.pickle, run2/rank0.pickle   run1/rank0.pickle, run2/rank0.pickle
 *     devices 0 and 1 of a.pickle            device 0, device 1
 *     the same, and b.pickle                 a.pickle device 0, a.pickle device 1, b.pickle */
#pragma once

#include "base/arena.h"

typedef struct {
    const char *path; /* path of the file */
    uint32_t device;  /* number of the device */
} mv_rank_place;

/* Returns [count] names in `arena`. A name is the last component of the path, preceded by as many
 * folders as are needed to tell files of the same name apart, and followed by the device if a file
 * has several devices. O(n log n). Returns NULL when out of memory. */
const char **mv_rank_names(mv_arena *arena, const mv_rank_place *places, uint32_t count);

/* Returns the [count] rows of the ranks in the order of their numbers. Rows are sorted by path, in
 * which numbers are compared as numbers (rank2 before rank10), then by device. O(n log n). Returns
 * NULL when out of memory. */
uint32_t *mv_rank_order(mv_arena *arena, const mv_rank_place *places, uint32_t count);
