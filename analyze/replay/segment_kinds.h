/* Draws conclusions about a recording's settings from the kinds of segments in its trace. When a
 * segment is added, the setting expandable_segments decides the segment's kind, except that a
 * torch.cuda.MemPool with a custom allocator never has expandable segments
 * (CUDACachingAllocator.cpp, 2.12: active_user_pool). */
#pragma once

#include "analyze/lives/lives.h"

/* Whether the program made the pool: MemPool and graph_pool_handle() make (0, N), whereas captures
 * of CUDA graphs make (N, 0). */
bool mv_pool_is_of_user(const mv_trace *trace, mv_pool_id pool);
bool mv_has_pools_of_user(const mv_trace *trace);

/* Returns a sentence, without a full stop, about what a replay under other settings cannot predict;
 * may be "". Allocated in `arena`; NULL when out of memory. O(segments). */
const char *mv_segment_kinds_note(mv_arena *arena, const mv_trace *trace, const mv_lives *lives);
