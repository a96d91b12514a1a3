/* Makes the stacks of heap blocks. In these stacks, the function that registered the block becomes
 * a frame of the heap: "malloc_postprocess, cupy", followed by its callers. This function is part
 * of the allocator, and therefore never to blame:
 *
 *     memviz_alloc was called   that function is                when
 *     through ctypes or cffi    the innermost Python function   another Python function called it
 *     by native code            the innermost function          it is the same for all blocks of
 *                                                               the heap, and several functions
 *                                                               call it: it is not inlined
 *
 * Other stacks are unchanged. */
#pragma once

#include "parse/model/trace.h"

/* Adds these frames and stacks to the trace. of_call: [heap_calls.count] the new stack of each
 * call. Existing rows keep their numbers. O(n log n). */
mv_code mv_heap_stacks_add(mv_arena *arena, mv_trace *trace, mv_stack_id **of_call, mv_err *err);
