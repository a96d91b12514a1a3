/* Finds evidence for a leak's cause that does not come from its stacks: how long its blocks lived,
 * and what else ran at that time. */
#ifndef MV_LEAK_SIGNS_H
#define MV_LEAK_SIGNS_H

#include "analyze/code/sites.h"
#include "analyze/leaks/leak_kind.h"

/* Fills [found->count] rows of `signs`, except for the fields kept_by_modules and has_bulks.
 * `leak_of` maps each site to its row of `found`, or to MV_NO_ROW. In `found`, the rows' events,
 * the steps and is_leaked must be set. Returns false when out of memory. O(n log n). */
bool mv_leak_signs_find(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                        const mv_sites *sites, const mv_leaks *found, const uint32_t *leak_of,
                        mv_leak_signs *signs);

#endif
