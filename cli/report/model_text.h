/* The whole model as text: every row and column of it, for `memviz dump`.
 *
 * The text depends on the model alone: stacks and calls are numbered by their first use in the
 * text, and strings are written where they are used. So the same model gives the same lines,
 * however a file orders its tables. Which columns there are, and what they are called, is in the
 * model's lists (parse/model/trace.h). */
#ifndef MV_MODEL_TEXT_H
#define MV_MODEL_TEXT_H

#include "cli/report/out.h"
#include "parse/model/trace.h"

/* With the calls of events, segments and blocks, or without them. False when memory is out. */
bool mv_model_text_write(mv_arena *scratch, const mv_trace *trace, bool with_calls, mv_out *out);

#endif
