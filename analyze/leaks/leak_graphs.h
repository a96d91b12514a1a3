/* A kept autograd graph is one entry of the report. Its blocks come from many lines, whose stacks
 * share the frames from the caller of the outermost module outwards. That call, where the result
 * could be detached, is the culprit. */
#ifndef MV_LEAK_GRAPHS_H
#define MV_LEAK_GRAPHS_H

#include "analyze/leaks/leaks.h"

/* Joins the entries of `found` that are parts of one graph; the entries must have stacks and kinds.
 * They are not sorted afterwards. joined[leak.found] becomes the `found` number of the entry into
 * which the leak was merged. False when out of memory. */
bool mv_leak_graphs_join(mv_arena *scratch, const mv_trace *trace, const uint8_t *kinds,
                         uint32_t *joined, mv_leaks *found);

#endif
