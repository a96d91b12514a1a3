/* Implements mv_python_walk (stack.h) for any interpreter and thread state, so that tests can run
 * it on layouts other than that of their own process. */
#pragma once

#include "capture/record/stack.h"
#include "capture/stacks/python_interp.h"

typedef enum {
    MV_PYTHON_WALKED,
    MV_PYTHON_STRANGER,  /* the state belongs to another thread */
    MV_PYTHON_UNEXPECTED /* the state does not lead to a chain of frames */
} mv_python_outcome;

/* Finds the frames of the calling thread, whose state is at `thread`. A checked walk reads memory
 * with mv_peek, and checks that each frame has a code object. *count is 0 unless the result is
 * MV_PYTHON_WALKED. */
mv_python_outcome mv_python_walk_state(const mv_python_interp *python, uint64_t thread,
                                       bool is_checked, mv_python_frame *frames, uint32_t most,
                                       uint32_t *count);

bool mv_python_describe_with(const mv_python_interp *python, const mv_python_frame *frame,
                             mv_python_code *out);
