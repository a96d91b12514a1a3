#include "analyze/leaks/leak_kind.h"

#include <stdio.h>
#include <strings.h>

#include "analyze/code/libraries.h"
#include "analyze/events/recorder.h"
#include "base/size.h"
#include "base/text.h"

/* A forward pass that keeps at least this many blocks keeps its whole graph, not only its
 * result. */
#define BLOCKS_OF_A_GRAPH 3

/* The minimum number of private pools for captured CUDA graphs. Captures that share a pool, or that
 * serve only two or three purposes, have fewer pools. */
#define POOLS_OF_CAPTURES 4

/* The size of the largest scalar in bytes. */
#define SCALAR_BYTES 8

typedef struct {
    const char *file, *function;
    const char *own_name; /* name of a Python function, without its class */
} place;

static place place_of(const mv_trace *trace, mv_frame_id frame)
{
    const char *function = mv_string_text(trace, trace->frames.function[frame.row]);

    return (place){mv_string_text(trace, trace->frames.file[frame.row]), function,
                   mv_own_name(function)};
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool is_module_call(place at)
{
    return ends_with(at.file, "nn/modules/module.py") &&
           (strcmp(at.own_name, "_call_impl") == 0 || strcmp(at.own_name, "inner") == 0 ||
            strcmp(at.own_name, "_wrapped_call_impl") == 0);
}

mv_module_path mv_module_path_of(const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++) {
        place at = place_of(trace, frames[i]);

        if (is_module_call(at))
            return strcmp(at.own_name, "inner") == 0 ? MV_MODULE_HOOKED : MV_MODULE_PLAIN;
    }
    return MV_MODULE_NONE;
}

bool mv_stack_is_backward(const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    if (stack.row == MV_EMPTY_STACK.row)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        place at = place_of(trace, frames[i]);

        if (strstr(at.file, "torch/autograd/") && strstr(at.function, "backward"))
            return true;
        if (strncmp(at.function, "torch::autograd::Engine::", 25) == 0 ||
            strncmp(at.function, "thread pt_autograd", 18) == 0)
            return true;
    }
    return false;
}

/* ---- signs in a stack -------------------------------------------------------------------- */

static bool is_loss_function(place at)
{
    if (ends_with(at.file, "nn/modules/loss.py"))
        return true;
    return ends_with(at.file, "nn/functional.py") &&
           (ends_with(at.function, "_loss") || strstr(at.function, "cross_entropy") ||
            strcmp(at.own_name, "kl_div") == 0);
}

static bool is_recurrent(place at)
{
    return ends_with(at.file, "nn/modules/rnn.py");
}

static bool is_optimizer(place at)
{
    return strstr(at.file, "torch/optim/") && strcmp(at.own_name, "_init_group") == 0;
}

static bool is_communication(place at)
{
    return strstr(at.file, "torch/distributed/") || strstr(at.function, "c10d::") ||
           strstr(at.file, "libnccl");
}

static bool passes(const mv_trace *trace, mv_stack_id stack, bool (*is)(place))
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++)
        if (is(place_of(trace, frames[i])))
            return true;
    return false;
}

static mv_leak_kind kind_of_graph(const mv_trace *trace, mv_stack_id stack,
                                  const mv_leak_signs *signs)
{
    if (passes(trace, stack, is_recurrent))
        return MV_LEAK_HIDDEN_STATE;
    return signs->has_backward ? MV_LEAK_GRAPH : MV_LEAK_NO_GRAD;
}

mv_leak_kind mv_leak_kind_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             const mv_leak_signs *signs)
{
    mv_module_path path = mv_module_path_of(trace, stack);
    mv_frame_id culprit = mv_culprit_frame(trace, kinds, stack);

    if (trace->origin.is_heap)
        return MV_LEAK_HEAP;
    if (mv_calling_library(trace, stack))
        return MV_LEAK_CUDA_CALLS;
    if (signs->has_bulks)
        return MV_LEAK_CYCLE;
    if (signs->private_pools >= POOLS_OF_CAPTURES)
        return MV_LEAK_PRIVATE_POOL;
    if (passes(trace, stack, is_optimizer))
        return MV_LEAK_OPTIMIZER;
    if (passes(trace, stack, is_communication))
        return MV_LEAK_COMMUNICATION;
    if (path != MV_MODULE_NONE && signs->kept_by_modules >= BLOCKS_OF_A_GRAPH)
        return kind_of_graph(trace, stack, signs);
    if (signs->largest_block <= SCALAR_BYTES && passes(trace, stack, is_loss_function))
        return MV_LEAK_LOSS;
    if (path == MV_MODULE_HOOKED)
        return MV_LEAK_HOOK;
    if (culprit.row != MV_NO_ROW && kinds[culprit.row] == MV_FRAME_USER &&
        strcmp(place_of(trace, culprit).own_name, "__init__") == 0)
        return MV_LEAK_OBJECT;
    return MV_LEAK_UNKNOWN;
}

/* ---- graphs ------------------------------------------------------------------------------ */

bool mv_leak_is_graph(mv_leak_kind kind)
{
    return kind == MV_LEAK_GRAPH || kind == MV_LEAK_NO_GRAD || kind == MV_LEAK_HIDDEN_STATE;
}

uint32_t mv_graph_owner(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack)
{
    uint32_t count, outermost;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (outermost = count; outermost > 0; outermost--)
        if (is_module_call(place_of(trace, frames[outermost - 1])))
            break;
    if (outermost == 0)
        return count;
    while (outermost < count && kinds[frames[outermost].row] != MV_FRAME_USER)
        outermost++;
    return outermost;
}

/* ---- words ------------------------------------------------------------------------------- */

static const struct {
    const char *evidence, *advice;
} words[MV_LEAK_KIND_COUNT] = {
    [MV_LEAK_UNKNOWN] = {"", NULL}, /* NULL: the recorder's advice is used */
    [MV_LEAK_GRAPH] = {"each step keeps three or more blocks of one forward pass",
                       "results of the modules called at %s are kept together with their autograd "
                       "graph: run under torch.no_grad() where no gradient is needed, or "
                       "detach() what is carried from step to step"},
    [MV_LEAK_NO_GRAD] = {"each step keeps three or more blocks of one forward pass, and no "
                         "backward pass runs",
                         "the modules called at %s build an autograd graph that nothing uses, and "
                         "their results keep it: run them under torch.no_grad(), or detach() "
                         "what is kept"},
    [MV_LEAK_HIDDEN_STATE] = {"each step keeps three or more blocks of a recurrent forward pass",
                              "the state or output of the recurrent module called at %s keeps the "
                              "graph of all steps before: detach() the state between steps, or "
                              "run under torch.no_grad() where no gradient is needed"},
    [MV_LEAK_LOSS] = {"the blocks are scalars that a loss function returned",
                      "the losses computed at %s are kept as tensors: keep loss.item() or "
                      "loss.detach() instead"},
    [MV_LEAK_HOOK] = {"the innermost module call goes through torch's path for modules with hooks",
                      "a hook is registered on the module called at %s: keep only a detached CPU "
                      "copy of the output in it, or remove the hook"},
    [MV_LEAK_OBJECT] = {"the blocks are allocated in an __init__",
                        "objects created in %s are never released: look for a container or a "
                        "reference cycle that holds them, and break it or call gc.collect()"},
    [MV_LEAK_CYCLE] = {"blocks of several steps were freed at one moment, as the garbage collector "
                       "or clearing a list does",
                       "objects created at %s may wait for Python's garbage collector: look for a "
                       "reference cycle (an object that refers to itself, a closure, a stored "
                       "exception) and break it, or call gc.collect() now and then; if a list "
                       "holds them, clear all of it"},
    [MV_LEAK_OPTIMIZER] = {"the blocks are the state that an optimizer creates in its first step",
                           "an optimizer is created again and again and the old ones are kept, or "
                           "it gets new parameters each step: create it once, before the loop at "
                           "%s"},
    [MV_LEAK_COMMUNICATION] = {"the blocks are allocated inside torch.distributed or NCCL",
                               "communication at %s keeps a buffer per step: wait for the work "
                               "handles and drop them, and reuse the process groups and buckets"},
    [MV_LEAK_GROWING_BLOCK] =
        {"its blocks are replaced by larger ones, step after step",
         "the tensor created at %s grows with each step (torch.cat or similar): "
         "keep the pieces as numbers or on the CPU, or create a tensor of the final size once and "
         "fill it"},
    [MV_LEAK_PRIVATE_POOL] = {"the blocks of each step lie in a private memory pool of their own, "
                              "as with captured CUDA graphs",
                              "graphs captured at %s are kept with a memory pool each: capture "
                              "once for each of a few padded shapes, let captures share a pool, "
                              "and drop graphs that are no longer replayed"},
    [MV_LEAK_CUDA_CALLS] = {"the memory comes from CUDA calls",
                            "free what is allocated at %s in each step, or keep one buffer and "
                            "use it again"},
    [MV_LEAK_HEAP] =
        {"the blocks belong to an allocator that the program registered, not to PyTorch's",
         "find what still holds the blocks allocated at %s after the step, and free "
         "them"},
};

/* Advice on memory of certain libraries, which replaces the general advice on CUDA calls. A heap
 * may also have the name of a library. */
static const struct {
    const char *library, *advice;
} library_words[] = {
    {"NCCL", "%s creates a communicator in each step and keeps it: create it once, or destroy it "
             "(dist.destroy_process_group(group), ncclCommDestroy)"},
    {"cuBLAS", "%s creates a cuBLAS handle in each step and keeps it with its workspace: create it "
               "once for each thread, or destroy it (cublasDestroy)"},
    {"cuBLASLt", "%s creates a cuBLASLt handle in each step and keeps it: create it once, or "
                 "destroy it (cublasLtDestroy)"},
    {"cuDNN",
     "%s creates a cuDNN handle in each step and keeps it: create it once for each thread, "
     "or destroy it (cudnnDestroy)"},
    {"cuFFT",
     "%s creates a cuFFT plan in each step and keeps it: create it once for each shape, or "
     "destroy it (cufftDestroy)"},
    {"cuSOLVER",
     "%s creates a cuSOLVER handle in each step and keeps it: create it once, or destroy "
     "it (cusolverDnDestroy)"},
    {"cuSPARSE",
     "%s creates a cuSPARSE handle in each step and keeps it: create it once, or destroy "
     "it (cusparseDestroy)"},
    {"CuPy", "find what still refers to the arrays created at %s after the step (a list, dict, "
             "attribute or closure), and drop them"},
    {"PyTorch",
     "find what still refers to the pinned tensors or graphs created at %s after the step, "
     "and drop them"},
};

static const char *advice_for(const mv_trace *trace, const mv_leak *leak)
{
    const char *library = mv_calling_library(trace, leak->stack);
    char name[MV_LIBRARY_NAME];

    if (leak->kind == MV_LEAK_UNKNOWN || mv_trace_allocator(trace))
        return mv_recorder_of(trace)->drop;
    if (leak->kind == MV_LEAK_HEAP)
        library = trace->origin.level;
    else if (leak->kind != MV_LEAK_CUDA_CALLS || !library)
        return words[leak->kind].advice;
    mv_library_name(library, name);
    for (size_t i = 0; i < sizeof library_words / sizeof *library_words; i++)
        if (strcasecmp(name, library_words[i].library) == 0)
            return library_words[i].advice;
    return words[leak->kind].advice;
}

const char *mv_leak_library(mv_arena *arena, const mv_trace *trace, const mv_leak *leak)
{
    const char *path = mv_calling_library(trace, leak->stack);
    char name[MV_LIBRARY_NAME];

    return path ? mv_arena_printf(arena, "%s", mv_library_name(path, name)) : NULL;
}

const char *mv_leak_evidence(mv_arena *arena, const mv_trace *trace, const mv_leak *leak)
{
    const char *library = mv_calling_library(trace, leak->stack);
    char name[MV_LIBRARY_NAME], size[MV_SIZE_TEXT], threads[MV_LIBRARY_NAME + 96] = "";

    if (leak->kind != MV_LEAK_CUDA_CALLS || !library)
        return words[leak->kind].evidence;
    mv_library_name(library, name);
    if (leak->own_threads)
        snprintf(threads, sizeof threads,
                 "; %s of it by %s's own threads, right after allocations of this line",
                 mv_size_text(size, leak->own_threads), name);
    return mv_arena_printf(
        arena, "%s requested the memory from CUDA%s%s", name,
        mv_library_is_framework(library) ? ", outside of its caching allocator" : "", threads);
}

const char *mv_leak_advice(mv_arena *arena, const mv_trace *trace, const mv_leak *leak)
{
    char label[160];

    if (leak->culprit.row == MV_NO_ROW && mv_trace_allocator(trace))
        return mv_recorder_of(trace)->no_stacks;
    if (leak->culprit.row == MV_NO_ROW)
        return "the trace has no stack for these allocations (autograd's own threads have none): "
               "record again with stacks='all' to see who makes them";
    mv_frame_label(trace, leak->culprit, label, sizeof label);
    return mv_arena_printf(arena, advice_for(trace, leak), label);
}
