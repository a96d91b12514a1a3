/* Makes stacks for CUDA calls that begin with the call itself: "cuMemCreate, libnccl.so.2",
 * followed by the functions that called the library. */
#pragma once

#include "parse/model/trace.h"

/* Adds a frame to the trace for each pair of library and function, and a stack for each combination
 * of such a frame with the stack of a call that allocates memory. of_call: [api_calls.count] the
 * new stack of each such call; MV_NO_STACK for other calls. Existing rows keep their numbers. O(n
 * log n). */
mv_code mv_call_stacks_add(mv_arena *arena, mv_trace *trace, mv_stack_id **of_call, mv_err *err);

/* ---- parts ------------------------------------------------------------------------------- */

/* Copies the trace's frames and stacks to make room for `frames` more frames and `stacks` more
 * stacks, which have `stack_frames` frames in total. Returns false, without a change, when out of
 * memory. */
bool mv_stacks_make_room(mv_arena *arena, mv_trace *trace, uint32_t frames, uint32_t stacks,
                         uint64_t stack_frames);

/* Adds the frame of a call, which consists of a function and, instead of a file, the library that
 * owns the function. There must be room for it. */
void mv_frames_add_call(mv_trace *trace, mv_string_id function, mv_string_id library);

/* Adds a stack that consists of the last frame of the trace and the frames of `rest` except for its
 * first `cut` frames. There must be room for it. */
void mv_stacks_add(mv_trace *trace, mv_stack_id rest, uint32_t cut);
