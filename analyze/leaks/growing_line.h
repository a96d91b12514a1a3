/* Finds lines that hold more and more memory although none of their blocks is old, such as
 * conversation caches, each of which is copied into a larger block at the next turn.
 *
 *     bins        1    2    3    4    5    6
 *     user a    |----|---------|-----------
 *     user b         |----|---------|------     each block is replaced after a while; together they
 *     user c              |---------|------     hold more at each floor
 *
 * The cache of a single request looks similar, but there each step replaces all blocks of the line.
 * A line that frees hardly any blocks is judged only by its births (growth.h). It may be a cache
 * with an entry for each key, or may hold the outputs of CUDA graphs, one for each batch size. */
#pragma once

#include "analyze/leaks/leak_state.h"

typedef struct {
    uint32_t group; /* group in w->sites */
    uint64_t bytes_per_step;
    bool follows_work; /* the steps' temporary memory grows along, so the blocks may be batches */
} mv_growing_line;

/* Sets *lines to an array of *count growing lines. Requires that steps and floor of `w` are set.
 * Returns false when out of memory. O(n log n). */
bool mv_growing_lines_find(mv_leak_state *w, mv_growing_line **lines, uint32_t *count);
