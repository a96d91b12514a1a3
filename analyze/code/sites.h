/* Finds allocation sites. Stacks that differ only in native frames are one site.
 *
 * One line of Python may reach the allocator through different C++ frames (different kernels for
 * different shapes), so native frames would split one line of the program into several sites. Sites
 * whose stacks pass through the same lines of user and package code form a group, which is one
 * entry in a report.
 *
 *     stack      native | linear.py:134 | module.py:1790 | train.py:62 | train.py:200
 *     site                linear.py:134 | module.py:1790 | train.py:62 | train.py:200
 *     group                                                train.py:62 | train.py:200
 *
 * In a stack without Python frames, all frames define the site, and the specific frames (the
 * program's own frames, and nodes of the backward pass) define the group. A site that has none of
 * these frames, nor user or package frames, is a group by itself. MV_NO_STACK is a site, too. In a
 * trace of CUDA calls (analyze/levels), sites and groups also differ if the call or its library
 * differs. */
#pragma once

#include "analyze/code/culprit.h"

typedef struct {
    uint32_t count;
    uint32_t groups;
    uint32_t stacks;    /* number of stacks in the trace */
    uint8_t *kinds;     /* [frames.count] mv_frame_kind of every frame */
    uint32_t *of_stack; /* [stacks + 1] site of each stack; the last entry is for MV_NO_STACK */
    mv_stack_id *stack; /* [count] the first stack of the site */
    uint32_t *group;    /* [count] group of each site */
    uint32_t *depth;    /* [count] number of package and framework frames; UINT32_MAX: the stack
                         * has no Python frames */
} mv_sites;

/* Finds the sites of a trace. Linear in the number of frames of all stacks. Fails only when out of
 * memory. */
mv_code mv_sites_find(mv_arena *arena, const mv_trace *trace, mv_sites *out, mv_err *err);

static inline uint32_t mv_site_of(const mv_sites *sites, mv_stack_id stack)
{
    return sites->of_stack[stack.row < sites->stacks ? stack.row : sites->stacks];
}
