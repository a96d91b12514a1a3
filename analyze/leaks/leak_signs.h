/* Evidence for a leak's cause beyond its stacks: how long its blocks lived, and what else ran. */
#ifndef MV_LEAK_SIGNS_H
#define MV_LEAK_SIGNS_H

#include "analyze/code/sites.h"
#include "analyze/leaks/leak_kind.h"

/* Fills [found->count] rows of `signs`, except kept_by_modules and has_bulks. `leak_of` maps each
 * site to its row of `found`, or to MV_NO_ROW. The rows' events, the steps and is_leaked must be
 * set in `found`. O(n log n). False when out of memory. */
bool mv_leak_signs_find(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                        const mv_sites *sites, const mv_leaks *found, const uint32_t *leak_of,
                        mv_leak_signs *signs);

#endif
