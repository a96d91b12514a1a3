/* Stacks as lines of text, innermost frame first. */
#ifndef MV_STACK_TEXT_H
#define MV_STACK_TEXT_H

#include "cli/report/out.h"
#include "parse/model/trace.h"

/* Prints one line for each frame, indented by `indent` spaces, with the culprit in bold. Unless
 * `all` is set, frames that --frames user hides are skipped, and runs of the framework's own frames
 * are only counted. Only the first MV_STACK_LINES of very deep stacks are printed. `kinds` is from
 * mv_frame_kinds. */
void mv_stack_put(mv_out *out, const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                  bool all, uint32_t indent);

/* The most lines of a stack: a file can have as many stacks as events, each as deep as the whole
 * file, because a pickle stores a list once and refers to it afterwards. The second function prints
 * the number of further frames, or nothing. */
enum { MV_STACK_LINES = 256 };
void mv_stack_put_more(mv_out *out, uint32_t frames, uint32_t indent);

/* The label of a stack's culprit. If that line called into another package, the innermost line
 * there follows: "train.py:96 main > resnet.py:97 forward". Returns `out`. */
const char *mv_stack_label(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                           char *out, uint32_t size);

#endif
