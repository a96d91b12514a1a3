/* Prints the whole model as text, with every row and column, for `memviz dump`.
 *
 * The text depends only on the model: stacks and calls are numbered by their first use in the text,
 * and strings are written where they are used. Equal models therefore result in equal lines,
 * regardless of the order of tables in the file. The columns and their names are in the model's
 * lists (parse/model/trace.h). */
#pragma once

#include "cli/report/out.h"
#include "parse/model/trace.h"

/* Writes the model, with or without the calls of events, segments and blocks. Returns false if
 * memory runs out. */
bool mv_model_text_write(mv_arena *scratch, const mv_trace *trace, bool with_calls, mv_out *out);
