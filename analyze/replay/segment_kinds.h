/* Conclusions from the kinds of segments in a trace about the settings of the recording. When
 * a segment is added, the setting expandable_segments decides its kind; but a
 * torch.cuda.MemPool with a custom allocator never has expandable segments
 * (CUDACachingAllocator.cpp, 2.12: active_user_pool). */
#ifndef MV_SEGMENT_KINDS_H
#define MV_SEGMENT_KINDS_H

#include "analyze/lives/lives.h"

/* A sentence without full stop about what a replay of other settings cannot know; may be "". In
 * `arena`; NULL when out of memory. O(segments). */
const char *mv_segment_kinds_note(mv_arena *arena, const mv_trace *trace, const mv_lives *lives);

#endif
