/* Conclusions from the kinds of segments in a trace about the settings that it was recorded with. A
 * pool has expandable segments or others by the setting expandable_segments at the moment when one
 * is added; but a torch.cuda.MemPool with an allocator of its own never has expandable ones
 * (CUDACachingAllocator.cpp, 2.12: active_user_pool). */
#ifndef MV_SEGMENT_KINDS_H
#define MV_SEGMENT_KINDS_H

#include "analyze/lives/lives.h"

/* One sentence without a full stop on what a replay of other settings cannot know; "". In
 * `arena`; NULL when out of memory. O(segments). */
const char *mv_segment_kinds_note(mv_arena *arena, const mv_trace *trace, const mv_lives *lives);

#endif
