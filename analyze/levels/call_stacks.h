/* Stacks of calls of CUDA that begin with the call itself: "cuMemCreate, libnccl.so.2", then who
 * called the library. */
#ifndef MV_CALL_STACKS_H
#define MV_CALL_STACKS_H

#include "parse/model/trace.h"

/* Adds a frame to the trace for each library and function, and a stack for each of these and each
 * stack of a call that gets memory. of_call: [api_calls.count] the new stack of such a call;
 * MV_NO_STACK for other calls. Rows that were there keep their numbers. O(n log n). */
mv_code mv_call_stacks_add(mv_arena *arena, mv_trace *trace, mv_stack_id **of_call, mv_err *err);

/* ---- what it is made of ---- */

/* A copy with room for so many stacks more, of so many frames in all. False when memory is out. */
bool mv_stacks_push(mv_arena *arena, const mv_stacks *from, uint32_t stacks, uint64_t stack_frames,
                    mv_stacks *out);

/* Adds a stack of `innermost` and the frames of `rest` without the first `cut`; there is room. */
void mv_stacks_add(const mv_trace *trace, mv_stacks *stacks, mv_frame_id innermost,
                   mv_stack_id rest, uint32_t cut);

/* Adds the frame of a call: a function, and in place of a file who it belongs to. There is room. */
void mv_frames_add_call(mv_frames *frames, mv_string_id function, mv_string_id library);

#endif
