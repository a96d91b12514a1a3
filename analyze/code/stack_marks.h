/* Marks stacks with the purpose of their allocations: inside a module call, an optimizer, the
 * backward pass, and so on. A mark is set by known frames of PyTorch (1.13 to 2.14) and of a few
 * libraries that contain optimizers or load weights. */
#pragma once

#include "analyze/code/culprit.h"

enum {
    MV_MARK_MODULE_CALL = 1 << 0,   /* inside nn.Module.__call__ */
    MV_MARK_PARAMETER = 1 << 1,     /* creates, moves or loads a module's parameters */
    MV_MARK_OPTIMIZER = 1 << 2,     /* inside an optimizer */
    MV_MARK_STATE = 1 << 3,         /* inside the code of an optimizer that creates its state */
    MV_MARK_BACKWARD = 1 << 4,      /* inside the backward pass */
    MV_MARK_WORKSPACE = 1 << 5,     /* scratch memory of a library */
    MV_MARK_COMMUNICATION = 1 << 6, /* buffers of torch.distributed */
    MV_MARK_INPUT = 1 << 7,         /* moves a batch to a device */
    MV_MARK_PYTHON = 1 << 8,        /* the stack has Python frames */
    MV_MARK_DIRECT = 1 << 9,        /* the innermost Python frame is user code */
    MV_MARK_MATMUL = 1 << 10        /* multiplies matrices, which may allocate the workspace of
                                     * cuBLAS */
};

/* Whether `part` occurs in a path at the start of a component. A slash in `part` matches both kinds
 * of slash. */
bool mv_path_has(mv_span path, const char *part);

/* Whether a frame is torch's call of a module. `kinds` comes from mv_frame_kinds. */
bool mv_frame_calls_module(const mv_trace *trace, const uint8_t *kinds, mv_frame_id frame);

/* Returns the marks of every stack: [stacks.count] bit sets. Linear in the number of frames. An
 * empty stack, such as those of the backward pass's threads, has the mark BACKWARD if another stack
 * shows a backward pass. Returns NULL when out of memory. */
uint16_t *mv_stack_marks(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds);

/* Whether any frame belongs to a backward pass or an optimizer, in which case empty stacks belong
 * to threads of the backward pass. `kinds` may be NULL. O(frames). */
bool mv_trace_shows_training(const mv_trace *trace, const uint8_t *kinds);
