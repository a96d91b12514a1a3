/* Finds the named tensors in the blocks of each site (analyze/peak/tensors.h). */
#pragma once

#include "analyze/peak/peak.h"

typedef struct {
    uint32_t tensor; /* row of trace.tensors */
    uint32_t site;   /* row of the attribution's sites, or the number of sites for blocks without a
                      * stack */
    uint64_t bytes;  /* bytes attributed to the tensor */
} mv_site_tensor;

typedef struct {
    uint32_t count;
    mv_site_tensor *rows; /* [count] rows sorted by site, then by bytes, largest first */
    uint32_t *first;      /* [sites + 2] start of each site's rows, which are first[i] to first[i +
                           * 1] - 1 */
    uint64_t bytes;       /* sum over all rows, which is at most the number of allocated bytes */
} mv_site_tensors;

/* Finds the tensors in the blocks that are allocated at the moment of the attribution. O(n log n).
 * Fails only when out of memory. */
mv_code mv_site_tensors_find(mv_arena *arena, const mv_lives *lives, const mv_attribution *found,
                             mv_site_tensors *out, mv_err *err);
