/* Allocation sites: stacks that differ only in native frames are one site.
 *
 * One line of Python reaches the allocator through different C++ frames (another kernel for another
 * shape), so native frames would split one place in the program into several. Sites that pass
 * through the same lines of user and package code form a group: one entry in a report.
 *
 *     stack      native | linear.py:134 | module.py:1790 | train.py:62 | train.py:200
 *     site                linear.py:134 | module.py:1790 | train.py:62 | train.py:200
 *     group                                                train.py:62 | train.py:200
 *
 * In a stack without Python frames, all frames define the site, and the specific frames define the
 * group: the program's own frames, and nodes of the backward pass. A site that has none of these
 * frames, nor user or package frames, is a group by itself. MV_NO_STACK is a site, too. In a trace
 * of CUDA calls (analyze/levels) the call and its library also distinguish sites and groups. */
#ifndef MV_SITES_H
#define MV_SITES_H

#include "analyze/code/culprit.h"

typedef struct {
    uint32_t count;
    uint32_t groups;
    uint32_t stacks;    /* the trace's stacks */
    uint8_t *kinds;     /* [frames.count] mv_frame_kind of every frame */
    uint32_t *of_stack; /* [stacks + 1] the stack's site; the last entry is for MV_NO_STACK */
    mv_stack_id *stack; /* [count] the first stack of the site */
    uint32_t *group;    /* [count] */
    uint32_t *depth;    /* [count] number of package and framework frames; UINT32_MAX: no Python */
} mv_sites;

/* Linear in the frames of all stacks. Fails only when out of memory. */
mv_code mv_sites_find(mv_arena *arena, const mv_trace *trace, mv_sites *out, mv_err *err);

static inline uint32_t mv_site_of(const mv_sites *sites, mv_stack_id stack)
{
    return sites->of_stack[stack.row < sites->stacks ? stack.row : sites->stacks];
}

#endif
