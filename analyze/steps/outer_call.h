/* The program's own code around an allocation: the outer end of each stack.
 *
 * A loop over layers runs inside a module's call; the loop over the steps runs outside. So all
 * allocations within one outermost call are one place. For an allocation outside such calls, the
 * whole stack is the place.
 *
 *     stack    linear.py:134 | module.py:1790 | model.py:62 | module.py:1790 | train.py:20
 *     place                                                                  | train.py:20   a call
 *
 *     stack    train.py:19 | train.py:90
 *     place    train.py:19 | train.py:90                                                     a line
 *
 * Backward passes, optimizers, the creation and loading of parameters, and threads without Python
 * have no place: only layers and parameters repeat there. In a trace of CUDA calls (analyze/levels)
 * by a program without Python, however, each whole stack is a place. */
#ifndef MV_OUTER_CALL_H
#define MV_OUTER_CALL_H

#include "analyze/code/culprit.h"

typedef enum {
    MV_OUTER_LINE,  /* code outside of modules */
    MV_OUTER_CALL,  /* within the outermost call of a module, or of a library function that serves
                     * one request (transformers' generate(), a pipeline of diffusers) */
    MV_OUTER_OBJECT /* a line in the __init__ of exactly one user class */
} mv_outer_kind;

typedef struct {
    uint32_t count;
    uint32_t stacks;    /* the trace's stacks */
    uint32_t *of_stack; /* [stacks] place, or MV_NO_ROW */
    uint8_t *kind;      /* [count] mv_outer_kind */
    mv_stack_id *stack; /* [count] the place's first stack */
    uint32_t *depth;    /* [count] number of package and framework frames in the place */
} mv_outer;

/* `kinds` comes from mv_frame_kinds. Linear in the frames of all stacks. False when out
 * of memory. */
bool mv_outer_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds, mv_outer *out);

/* The place of a stack; MV_NO_ROW if it has none, and for MV_NO_STACK. */
static inline uint32_t mv_outer_of(const mv_outer *outer, mv_stack_id stack)
{
    return stack.row < outer->stacks ? outer->of_stack[stack.row] : MV_NO_ROW;
}

#endif
