/* Walking and describing with an interpreter and a thread state that are given, whatever the
 * process runs: what mv_python_walk and mv_python_describe (stack.h) do with those that they find.
 */
#ifndef MV_PYTHON_FRAMES_H
#define MV_PYTHON_FRAMES_H

#include "capture/record/stack.h"
#include "capture/stacks/python_interp.h"

typedef enum {
    MV_PYTHON_WALKED,
    MV_PYTHON_STRANGER,  /* not the state of this thread */
    MV_PYTHON_UNEXPECTED /* what is met is no chain of frames */
} mv_python_outcome;

/* The frames of the calling thread, whose state is at `thread`. A checked walk reads what it reads
 * by mv_peek and looks closer at what it finds. `count` is 0 unless the result is
 * MV_PYTHON_WALKED. */
mv_python_outcome mv_python_walk_state(const mv_python_interp *python, uint64_t thread,
                                       bool is_checked, mv_python_frame *frames, uint32_t most,
                                       uint32_t *count);

bool mv_python_describe_with(const mv_python_interp *python, const mv_python_frame *frame,
                             mv_python_code *out);

#endif
