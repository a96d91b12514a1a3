/* The sites of a moment, split by layer (layers.h). */
#ifndef MV_SITE_LAYERS_H
#define MV_SITE_LAYERS_H

#include "analyze/peak/layers.h"
#include "analyze/peak/peak.h"

typedef struct {
    uint32_t index; /* number of the call, from 0 */
    uint32_t blocks;
    uint64_t bytes;
} mv_site_layer;

/* The bytes of a site by call, for the loop in which the site holds most. */
typedef struct {
    uint32_t loop;         /* MV_NO_ROW: the site is not in a loop */
    uint32_t count;        /* number of calls in which the site holds memory */
    mv_site_layer *layers; /* [count] in call order */
    uint64_t bytes;        /* in these layers; the site's other bytes are not in a call */
    uint64_t least, most;  /* fewest and most bytes in one layer */
    uint32_t fewest_blocks, most_blocks;
    uint32_t odd; /* the only layer of three or more with different bytes, or MV_NO_ROW */
} mv_site_layers;

/* [found->count], in the order of found->sites; NULL when out of memory. O(n + b log b) for the b
 * blocks at the moment. */
mv_site_layers *mv_site_layers_find(mv_arena *arena, const mv_lives *lives, const mv_layers *layers,
                                    const mv_attribution *found);

#endif
