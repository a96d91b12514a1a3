/* Stacks of calls of CUDA that begin with the call itself: "cuMemCreate, libnccl.so.2", then who
 * called the library. */
#ifndef MV_CALL_STACKS_H
#define MV_CALL_STACKS_H

#include "parse/model/trace.h"

/* Adds a frame to the trace for each library and function, and a stack for each of these and each
 * stack of a call that gets memory. of_call: [api_calls.count] the new stack of such a call;
 * MV_NO_STACK for other calls. Rows that were there keep their numbers. O(n log n). */
mv_code mv_call_stacks_add(mv_arena *arena, mv_trace *trace, mv_stack_id **of_call, mv_err *err);

#endif
