#include "analyze/leak_kind.h"

#include <stdio.h>
#include <string.h>

#include "analyze/culprit.h"

/* One forward pass that keeps so many blocks keeps more than its result: its graph. */
#define BLOCKS_OF_A_GRAPH 3

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

mv_module_path mv_module_path_of(const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++) {
        const char *file = mv_string_text(trace, trace->frames.file[frames[i].row]);
        const char *function = mv_string_text(trace, trace->frames.function[frames[i].row]);

        if (!ends_with(file, "nn/modules/module.py"))
            continue;
        if (strcmp(function, "inner") == 0)
            return MV_MODULE_HOOKED;
        if (strcmp(function, "_call_impl") == 0)
            return MV_MODULE_PLAIN;
    }
    return MV_MODULE_NONE;
}

mv_leak_kind mv_leak_kind_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             uint32_t kept)
{
    mv_module_path path = mv_module_path_of(trace, stack);
    mv_frame_id culprit = mv_culprit_frame(trace, kinds, stack);

    if (path != MV_MODULE_NONE && kept >= BLOCKS_OF_A_GRAPH)
        return MV_LEAK_GRAPH;
    if (path == MV_MODULE_HOOKED)
        return MV_LEAK_HOOK;
    if (culprit.row != MV_NO_ROW && kinds[culprit.row] == MV_FRAME_USER &&
        strcmp(mv_string_text(trace, trace->frames.function[culprit.row]), "__init__") == 0)
        return MV_LEAK_OBJECT;
    return MV_LEAK_UNKNOWN;
}

const char *mv_leak_advice(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                           mv_leak_kind kind, mv_stack_id stack)
{
    static const char *const sentences[MV_LEAK_KIND_COUNT] = {
        [MV_LEAK_UNKNOWN] = "find what still refers to the tensors made at %s after the step (a "
                            "list, dict, attribute or closure), and drop them or keep "
                            "x.detach().cpu() or x.item() instead",
        [MV_LEAK_GRAPH] = "results computed through %s are kept together with their autograd "
                          "graph: run under torch.no_grad() where no gradient is needed, or "
                          "detach() what is carried from step to step",
        [MV_LEAK_HOOK] = "a hook is registered on the module called at %s: let it not keep the "
                         "output it is given (or only a detached CPU copy), or remove it",
        [MV_LEAK_OBJECT] = "objects made in %s are never released: look for a container or a "
                           "reference cycle that holds them, and break it or call gc.collect()",
    };
    char label[160], text[480];

    mv_culprit_label(trace, kinds, stack, label, sizeof label);
    if (stack.row == MV_NO_ROW || mv_culprit_frame(trace, kinds, stack).row == MV_NO_ROW)
        snprintf(text, sizeof text,
                 "the trace has no stack for these allocations (autograd's own threads have "
                 "none): record again with stacks='all' to see who makes them");
    else
        snprintf(text, sizeof text, sentences[kind], label);
    return mv_arena_text(arena, text, strlen(text));
}
