/* Writes folded stacks as tools for flame graphs expect them: frames joined by ';', outermost
 * first. */
#pragma once

#include "analyze/code/culprit.h"
#include "parse/source/sink.h"

/* Writes a frame's text without characters that separate frames or lines. Writes ';' before it
 * unless the frame is the first. */
void mv_folded_put_frame(mv_sink *sink, const char *text, bool is_first);

/* Writes the frames of a stack. Without `all_frames`, writes only frames that users can act on; a
 * stack that has none becomes a single placeholder frame. `kinds` comes from mv_frame_kinds. */
void mv_folded_put_stack(mv_sink *sink, const mv_trace *trace, const uint8_t *kinds,
                         mv_stack_id stack, bool all_frames, bool is_first);
