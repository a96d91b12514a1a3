/* Finds out who owns a frame's code, and which frame of a stack is to blame (the culprit).
 *
 *     nn/modules/linear.py:134 forward     framework   torch, Python's own library, generated code
 *     torchvision/models/resnet.py:92      package     some other installed package
 *     train.py:62 forward                  user        <- the culprit: innermost user frame
 *     train.py:71 forward                  user
 *     PyEval_EvalFrameDefault              noise       interpreter, dispatcher, unwinder
 *     at::native::empty_cuda               native      any other C or C++ frame
 *     AddmmBackward0::apply, Net::forward  informative a node of the backward pass; the program's
 *                                                      own C or C++ (analyze/code/native_frame.h)
 *
 * Paths are classified by their components, which either kind of slash separates ("site-packages",
 * "dist-packages", "lib/python3…", "torch" followed by one of torch's own folders). Therefore, a
 * project folder that happens to be named pytorch counts as the user's code. Noise frames are those
 * that PyTorch's viewers hide (_frame_filter, torch/cuda/_memory_viz.py) and those of the C++
 * dispatcher. */
#pragma once

#include "parse/model/trace.h"

typedef enum {
    MV_FRAME_USER,
    MV_FRAME_PACKAGE,
    MV_FRAME_FRAMEWORK,
    MV_FRAME_INFORMATIVE,
    MV_FRAME_NATIVE,
    MV_FRAME_NOISE
} mv_frame_kind;

#define MV_NO_FRAME ((mv_frame_id){MV_NO_ROW})

/* Returns the function's name without its class. PyTorch records "_apply", whereas captures record
 * "Module._apply" and "Module.cuda.<locals>.<lambda>". */
static inline const char *mv_own_name(const char *function)
{
    const char *dot = strrchr(function, '.');

    return dot ? dot + 1 : function;
}

mv_frame_kind mv_frame_kind_of(const mv_trace *trace, mv_frame_id frame);

/* Returns the kind of every frame, for callers that read many stacks: [frames.count] mv_frame_kind,
 * then one byte that is 1 if the trace shows training (mv_trace_shows_training). Returns NULL when
 * out of memory. */
uint8_t *mv_frame_kinds(mv_arena *arena, const mv_trace *trace);

/* Returns the innermost user frame. Without user frames, returns the innermost package frame or,
 * failing that, the innermost framework frame. In a stack without Python, returns the innermost of
 * the most specific native frames: first a node of the backward pass or the program's own code,
 * then the engine, and so on (mv_native_kind). MV_NO_FRAME for a stack without frames. `kinds`
 * comes from mv_frame_kinds, or is NULL. */
mv_frame_id mv_culprit_frame(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack);

/* Returns the innermost Python frame, or MV_NO_FRAME. */
mv_frame_id mv_python_leaf(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack);

/* Decide which frames of a stack `--frames user` shows. Python frames are always shown, native
 * frames only in stacks without Python, and noise only if the stack contains nothing else.
 * mv_stack_shows returns the least specific kind that is shown in the stack, and mv_frame_is_shown
 * compares one of the stack's frames with this kind. */
mv_frame_kind mv_stack_shows(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack);
bool mv_frame_is_shown(const mv_trace *trace, const uint8_t *kinds, mv_frame_kind shows,
                       mv_frame_id frame);

/* Writes a label such as "train.py:118 log_activations", which consists of the last component of
 * the file's path, the line and the function. For MV_NO_FRAME, the label is "(no stack)".
 * mv_native_label describes the labels of native frames. The label is cut to fit and always
 * NUL-terminated. Returns `out`. */
const char *mv_frame_label(const mv_trace *trace, mv_frame_id frame, char *out, size_t size);

/* Returns the label of a stack's culprit. A stack that was recorded as empty has the label
 * MV_BACKWARD_LABEL if the trace shows training, because autograd runs backward passes in its own
 * threads, without Python. In other traces its label is "(no Python: C++ thread)". */
const char *mv_culprit_label(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             char *out, size_t size);
