/* Folded stacks: frames, outermost first, joined by ';', as tools for flame graphs read them. */
#ifndef MV_FOLDED_H
#define MV_FOLDED_H

#include "analyze/code/culprit.h"
#include "parse/source/sink.h"

/* Writes ';', unless the frame is the first, and the text without characters that separate frames
 * or lines. */
void mv_folded_put_frame(mv_sink *sink, const char *text, bool is_first);

/* Writes the frames of a stack; without `all_frames`, only frames that users can act on. A stack
 * without such frames becomes one placeholder frame. `kinds` from mv_frame_kinds. */
void mv_folded_put_stack(mv_sink *sink, const mv_trace *trace, const uint8_t *kinds,
                         mv_stack_id stack, bool all_frames, bool is_first);

#endif
