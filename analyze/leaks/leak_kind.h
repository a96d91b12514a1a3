/* The cause of a leak, if the trace shows it, and advice. Without evidence the kind is UNKNOWN: a
 * wrong cause does more harm than none. */
#ifndef MV_LEAK_KIND_H
#define MV_LEAK_KIND_H

#include "analyze/leaks/leaks.h"

/* How a stack passes through torch.nn.Module.__call__. */
typedef enum {
    MV_MODULE_NONE,  /* not at all */
    MV_MODULE_PLAIN, /* through an innermost module without hooks */
    MV_MODULE_HOOKED /* through an innermost module with hooks: torch then calls _call_impl.inner */
} mv_module_path;

mv_module_path mv_module_path_of(const mv_trace *trace, mv_stack_id stack);

/* Whether a stack belongs to a backward pass: one of autograd's own threads, which run no Python,
 * or a call of backward(). */
bool mv_stack_is_backward(const mv_trace *trace, mv_stack_id stack);

/* Facts about a leak that do not come from its stack. */
typedef struct {
    uint32_t kept_by_modules; /* blocks per step left by modules without hooks, over all leaks */
    uint64_t largest_block;   /* bytes requested */
    bool has_backward;        /* a backward pass ran while the leak grew */
    bool has_bulks;           /* blocks from several steps were freed at one moment */
    uint32_t private_pools;   /* number of memory pools other than the default pool that contain
                               * its blocks */
} mv_leak_signs;

mv_leak_kind mv_leak_kind_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             const mv_leak_signs *signs);

/* Whether leaks of this kind are autograd graphs: blocks from many lines, held by one result. */
bool mv_leak_is_graph(mv_leak_kind kind);

/* The index of the frame that called the outermost module: this caller received the result. The
 * number of frames if the stack contains no module. */
uint32_t mv_graph_owner(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack);

/* The library that called CUDA, or the heap, in a trace of CUDA calls (analyze/levels);
 * otherwise NULL. The results of this and the next two functions are in `arena`, and are NULL
 * when out of memory. */
const char *mv_leak_library(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

/* The end of a sentence. */
const char *mv_leak_evidence(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

/* One sentence. */
const char *mv_leak_advice(mv_arena *arena, const mv_trace *trace, const mv_leak *leak);

#endif
