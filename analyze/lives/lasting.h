/* Finds the few allocations that are not temporary: those that outlive at least one of the given
 * moments. */
#pragma once

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t count;
    uint32_t *row; /* [count] rows of mv_alloc_lives, ascending */
} mv_lasting;

/* Lists all rows from before the first event, and the rows that were born before one of the moments
 * and freed at that event or later, or never. `moment` must be ascending. O(rows) on several
 * threads, which read only births and frees. Fails only when out of memory. */
bool mv_lasting_find(mv_arena *arena, const mv_alloc_lives *allocs, const uint32_t *moment,
                     uint32_t moments, mv_lasting *out);
