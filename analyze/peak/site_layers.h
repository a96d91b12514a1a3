/* Splits the bytes that each site holds at a moment by layer (layers.h). */
#pragma once

#include "analyze/peak/layers.h"
#include "analyze/peak/peak.h"

typedef struct {
    uint32_t index; /* number of the call, counted from 0 */
    uint32_t blocks;
    uint64_t bytes;
} mv_site_layer;

/* The bytes of a site by call, for the loop in which the site holds the most memory. */
typedef struct {
    uint32_t loop;         /* row of mv_layers.loops; MV_NO_ROW: the site is not in a loop */
    uint32_t count;        /* number of calls in which the site holds memory */
    mv_site_layer *layers; /* [count] in the order of the calls */
    uint64_t bytes; /* bytes in these layers; the site's other bytes do not belong to a call */
    uint64_t least, most; /* smallest and largest number of bytes in one layer */
    uint32_t fewest_blocks, most_blocks;
    uint32_t odd; /* the only one of three or more layers whose bytes differ from the others, or
                   * MV_NO_ROW */
} mv_site_layers;

/* Returns the layers of each site, [found->count], in the order of found->sites; NULL when out of
 * memory. O(n + b log b), where b is the number of blocks at the given moment. */
mv_site_layers *mv_site_layers_find(mv_arena *arena, const mv_lives *lives, const mv_layers *layers,
                                    const mv_attribution *found);
