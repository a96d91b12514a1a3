/* Finds the allocation sites that two traces share, even if lines shift, paths differ or callers
 * change. docs/diff.md explains the rounds.
 *
 * Groups (analyze/code/sites.h) are matched first, then the sites within matched groups. Every
 * group and every site has at most one partner. Swapping the sides swaps the result. The order of
 * rows and the names of folders do not matter. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/diff/frame_match.h"

typedef struct {
    mv_frame_match frames;
    uint32_t *group[2]; /* [sites.groups] partner on the other side, or MV_NO_ROW */
    uint32_t *site[2];  /* [sites.count] partner on the other side, or MV_NO_ROW */
} mv_stack_match;

/* Matches the sites of two traces; side 0 is before, side 1 is after. O(n log n). Fails only when
 * out of memory. */
mv_code mv_stacks_match(mv_arena *arena, const mv_trace *const trace[2],
                        const mv_sites *const sites[2], mv_stack_match *out, mv_err *err);
