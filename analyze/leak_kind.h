/* What the stacks of a leak show of its reason, and what its reader should do. Where they show
 * nothing the kind is UNKNOWN: a wrong reason costs more than none. */
#ifndef MV_LEAK_KIND_H
#define MV_LEAK_KIND_H

#include "analyze/leaks.h"

/* How a stack passes through torch.nn.Module.__call__. */
typedef enum {
    MV_MODULE_NONE,  /* not at all */
    MV_MODULE_PLAIN, /* its innermost module has no hooks */
    MV_MODULE_HOOKED /* its innermost module has: torch then goes through _call_impl.inner */
} mv_module_path;

mv_module_path mv_module_path_of(const mv_trace *trace, mv_stack_id stack);

/* `kept` is the number of blocks a step that plain modules leave behind in the whole report. */
mv_leak_kind mv_leak_kind_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             uint32_t kept);

/* One sentence in `arena`; NULL when memory is out. */
const char *mv_leak_advice(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                           mv_leak_kind kind, mv_stack_id stack);

#endif
