/* Prints stacks as lines of text, innermost frame first. */
#pragma once

#include "cli/report/out.h"
#include "parse/model/trace.h"

/* Prints one line for each frame, indented by `indent` spaces, with the culprit in bold. Unless
 * `all` is set, frames that --frames user hides are skipped, and runs of framework frames are only
 * counted. Very deep stacks are cut after MV_STACK_LINES lines. `kinds` comes from
 * mv_frame_kinds. */
void mv_stack_put(mv_out *out, const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                  bool all, uint32_t indent);

/* The maximum number of lines for a stack. It is bounded because a pickle stores a list once and
 * refers to it afterwards, so a file can have as many stacks as events, each as deep as the whole
 * file. mv_stack_put_more prints how many frames were left out, or nothing if there are none. */
enum { MV_STACK_LINES = 256 };
void mv_stack_put_more(mv_out *out, uint32_t frames, uint32_t indent);

/* Writes the label of a stack's culprit to `out` and returns it. If the culprit's line called into
 * another package, the label continues with the innermost line in that package: "train.py:96 main >
 * resnet.py:97 forward". */
const char *mv_stack_label(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                           char *out, uint32_t size);
