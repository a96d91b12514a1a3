/* The named tensors in the blocks of each site (analyze/peak/tensors.h). */
#ifndef MV_SITE_TENSORS_H
#define MV_SITE_TENSORS_H

#include "analyze/peak/peak.h"

typedef struct {
    uint32_t tensor; /* row of trace.tensors */
    uint32_t site;   /* row of the attribution's sites; their number: blocks without a stack */
    uint64_t bytes;  /* bytes attributed to the tensor */
} mv_site_tensor;

typedef struct {
    uint32_t count;
    mv_site_tensor *rows; /* [count] by site, then most bytes first */
    uint32_t *first;      /* [sites + 2] rows of a site: first[i] to first[i + 1] - 1 */
    uint64_t bytes;       /* sum of all rows: at most the allocated bytes */
} mv_site_tensors;

/* For blocks that are allocated at the attribution's moment. O(n log n). Fails only when out
 * of memory. */
mv_code mv_site_tensors_find(mv_arena *arena, const mv_lives *lives, const mv_attribution *found,
                             mv_site_tensors *out, mv_err *err);

#endif
