/* Stores the code of a summary, which is a trace that contains only strings, frames and stacks, in
 * arrays of exactly the right size. Thousands of summaries are kept, and each list of a builder
 * would need its own memory mapping. */
#pragma once

#include "parse/model/trace.h"

/* Allocate arrays with room for this number of rows. The table's count stays 0. Returns false when
 * out of memory. */
bool mv_code_push_strings(mv_arena *arena, mv_trace *code, uint64_t count, uint64_t bytes);
bool mv_code_push_frames(mv_arena *arena, mv_trace *code, uint64_t count);
bool mv_code_push_stacks(mv_arena *arena, mv_trace *code, uint64_t count, uint64_t frames);

/* Returns a copy of a trace's strings, frames (without torch.fx's data) and stacks, with the same
 * rows. Returns NULL when out of memory. */
mv_trace *mv_code_copy(mv_arena *arena, const mv_trace *trace);
