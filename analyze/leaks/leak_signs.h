/* Finds evidence for a leak's cause that does not come from its stacks: how long its blocks lived,
 * and what else ran at that time. */
#pragma once

#include "analyze/leaks/leak_kind.h"
#include "analyze/leaks/leak_state.h"

/* Fills [w->out->count] rows of `signs`, except for the fields kept_by_modules and has_bulks.
 * `leak_of` maps each site to its row of w->out->leaks, or to MV_NO_ROW. In w->out, the rows'
 * events, the steps and is_leaked must be set. Returns false when out of memory. */
bool mv_leak_signs_find(const mv_leak_state *w, const uint32_t *leak_of, mv_leak_signs *signs);
