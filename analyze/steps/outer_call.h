/* Finds the program's own code around an allocation, which is the outer end of the allocation's
 * stack.
 *
 * A loop over layers runs inside the call of a module, whereas the loop over the steps runs outside
 * of all such calls. Therefore, all allocations within an outermost call have the same place. For
 * an allocation outside such calls, the place is the whole stack.
 *
 *     stack    linear.py:134 | module.py:1790 | model.py:62 | module.py:1790 | train.py:20
 *     place                                                                  | train.py:20   a call
 *
 *     stack    train.py:19 | train.py:90
 *     place    train.py:19 | train.py:90                                                     a line
 *
 * Backward passes, optimizers, the creation and loading of parameters, and threads without Python
 * have no place, because only layers and parameters repeat in them. However, in a trace of CUDA
 * calls (analyze/levels) by a program without Python, each whole stack is a place. */
#pragma once

#include "analyze/code/culprit.h"

typedef enum {
    MV_OUTER_LINE,  /* code outside of modules */
    MV_OUTER_CALL,  /* code within the outermost call of a module, or of a library function that
                     * serves one request (generate() of transformers, a pipeline of diffusers) */
    MV_OUTER_OBJECT /* a line in the __init__ of exactly one user class */
} mv_outer_kind;

typedef struct {
    uint32_t count;
    uint32_t stacks;    /* number of stacks in the trace */
    uint32_t *of_stack; /* [stacks] place of each stack, or MV_NO_ROW */
    uint8_t *kind;      /* [count] mv_outer_kind */
    mv_stack_id *stack; /* [count] first stack of each place */
    uint32_t *depth;    /* [count] number of package and framework frames in each place */
} mv_outer;

/* Finds the places. `kinds` comes from mv_frame_kinds. The time is linear in the number of frames
 * in all stacks. Returns false when out of memory. */
bool mv_outer_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds, mv_outer *out);

/* Returns the place of a stack; MV_NO_ROW if the stack has no place, or is MV_NO_STACK. */
static inline uint32_t mv_outer_of(const mv_outer *outer, mv_stack_id stack)
{
    return stack.row < outer->stacks ? outer->of_stack[stack.row] : MV_NO_ROW;
}
