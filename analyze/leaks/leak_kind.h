/* Finds the cause of a leak, if the trace shows it, and gives advice. Without evidence, the kind is
 * UNKNOWN, because a wrong cause does more harm than none. */
#pragma once

#include "analyze/leaks/leaks.h"

/* How a stack passes through torch.nn.Module.__call__. */
typedef enum {
    MV_MODULE_NONE,  /* not at all */
    MV_MODULE_PLAIN, /* through an innermost module without hooks */
    MV_MODULE_HOOKED /* through an innermost module with hooks, for which torch calls
                      * _call_impl.inner */
} mv_module_path;

mv_module_path mv_module_path_of(const mv_trace *trace, mv_stack_id stack);

/* Whether a stack belongs to a backward pass. This is the case if it contains a call of backward(),
 * or belongs to one of autograd's own threads, which run no Python. */
bool mv_stack_is_backward(const mv_trace *trace, mv_stack_id stack);

/* Facts about a leak that do not come from its stack. */
typedef struct {
    uint32_t kept_by_modules; /* number of blocks per step that modules without hooks leave behind,
                               * over all leaks */
    uint64_t largest_block;   /* requested bytes of the leak's largest block */
    bool has_backward;        /* a backward pass ran while the leak grew */
    bool has_bulks;           /* blocks from several steps were freed at the same time, perhaps by
                               * the garbage collector */
    uint32_t private_pools;   /* number of memory pools, other than the default pool, that contain
                               * the leak's blocks */
} mv_leak_signs;

mv_leak_kind mv_leak_kind_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             const mv_leak_signs *signs);

/* Whether leaks of this kind are autograd graphs, that is, blocks from many lines that are kept
 * alive by one result. */
bool mv_leak_is_graph(mv_leak_kind kind);

/* Returns the index of the frame that called the outermost module and therefore received the
 * result. If the stack contains no module, returns the number of frames. */
uint32_t mv_graph_owner(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack);

/* Returns the library that called CUDA, or that called the heap, in a trace of CUDA calls
 * (analyze/levels); otherwise NULL. This function and the next two allocate their results in
 * `arena` and return NULL when out of memory. */
const char *mv_leak_library(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

/* Returns the evidence for the leak's kind, as the end of a sentence. */
const char *mv_leak_evidence(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

/* Returns the advice on the leak, as one sentence. */
const char *mv_leak_advice(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);
