/* The named tensors in the blocks of each site (analyze/peak/tensors.h). */
#ifndef MV_SITE_TENSORS_H
#define MV_SITE_TENSORS_H

#include "analyze/peak/peak.h"

typedef struct {
    uint32_t tensor; /* row of trace.tensors */
    uint32_t site;   /* of the attribution; its count: blocks without a stack */
    uint64_t bytes;  /* what it counts for */
} mv_site_tensor;

typedef struct {
    uint32_t count;
    mv_site_tensor *rows; /* [count] by site, then most bytes first */
    uint32_t *first;      /* [sites + 2] the site's: first[i] to first[i + 1] - 1 */
    uint64_t bytes;       /* of all of them: at most what is allocated */
} mv_site_tensors;

/* Of blocks that are allocated at the attribution's moment. O(n log n). Fails only when memory is
 * out. */
mv_code mv_site_tensors_find(mv_arena *arena, const mv_lives *lives, const mv_attribution *found,
                             mv_site_tensors *out, mv_err *err);

#endif
