/* The cause of a leak as far as the trace shows it, and the advice to the reader. Without evidence
 * the kind is UNKNOWN: a wrong cause does more harm than no cause. */
#ifndef MV_LEAK_KIND_H
#define MV_LEAK_KIND_H

#include "analyze/leaks/leaks.h"

/* How a stack passes through torch.nn.Module.__call__. */
typedef enum {
    MV_MODULE_NONE,  /* not at all */
    MV_MODULE_PLAIN, /* its innermost module has no hooks */
    MV_MODULE_HOOKED /* its innermost module has hooks: torch then goes through _call_impl.inner */
} mv_module_path;

mv_module_path mv_module_path_of(const mv_trace *trace, mv_stack_id stack);

/* Whether a stack belongs to a backward pass: one of autograd's own threads, which run no Python,
 * or a call of backward(). */
bool mv_stack_is_backward(const mv_trace *trace, mv_stack_id stack);

/* Facts about a leak besides its stack. */
typedef struct {
    uint32_t kept_by_modules; /* blocks per step that modules without hooks leave, in all leaks */
    uint64_t largest_block;   /* bytes requested */
    bool has_backward;        /* a backward pass ran while it grew */
    bool has_bulks;           /* blocks of several steps were freed at one moment */
    uint32_t private_pools;   /* memory pools, other than the default one, that hold its blocks */
} mv_leak_signs;

mv_leak_kind mv_leak_kind_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             const mv_leak_signs *signs);

/* Whether leaks of this kind are autograd graphs: blocks of many lines, held by one result. */
bool mv_leak_is_graph(mv_leak_kind kind);

/* The index of the frame that called the outermost module: that caller got the result. The number
 * of frames when the stack passes through no module. */
uint32_t mv_graph_owner(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack);

/* The library that called CUDA, or the heap, in a trace of such calls (analyze/levels); NULL
 * elsewhere. This and the next two last as long as `arena`, and are NULL when memory is out. */
const char *mv_leak_library(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

/* Half a sentence. */
const char *mv_leak_evidence(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

/* One sentence. */
const char *mv_leak_advice(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

#endif
