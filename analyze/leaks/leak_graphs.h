/* Combines the blocks of a kept autograd graph into one entry of the report. These blocks are
 * allocated on many lines, but their stacks all share the frames outwards from the caller of the
 * outermost module. This caller is the culprit, because it could detach the result. */
#pragma once

#include "analyze/leaks/leaks.h"

/* Joins the entries of `found` that are parts of the same graph. The stack and kind of each entry
 * must be set. The entries are not sorted afterwards. Sets joined[leak.found] to the `found` number
 * of the entry into which the leak was merged. Returns false when out of memory. */
bool mv_leak_graphs_join(mv_arena *scratch, const mv_trace *trace, const uint8_t *kinds,
                         uint32_t *joined, mv_leaks *found);
