/* The evidence for a leak's cause that is not in its stacks: how its blocks lived, and what else
 * ran. */
#ifndef MV_LEAK_SIGNS_H
#define MV_LEAK_SIGNS_H

#include "analyze/code/sites.h"
#include "analyze/leaks/leak_kind.h"

/* Fills [found->count] rows of `signs`, except kept_by_modules and has_bulks. `leak_of` has the row
 * of `found` for each site, MV_NO_ROW for sites that do not leak. `found` must have the events of
 * its rows, steps and is_leaked. O(n log n). False when memory is out. */
bool mv_leak_signs_find(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                        const mv_sites *sites, const mv_leaks *found, const uint32_t *leak_of,
                        mv_leak_signs *signs);

#endif
