/* Writes strings, numbers and stacks as JSON. */
#pragma once

#include "cli/report/out.h"
#include "parse/model/trace.h"

/* Writes a string so that every JSON parser accepts it, as described in base/escape.h. */
void mv_json_put_text(mv_out *out, mv_span text);

/* Writes a number, or null if it is not finite. */
void mv_json_put_real(mv_out *out, double real);

/* Returns a line number, or 0 if the code has no line numbers, because line numbers in JSON are
 * never negative. */
int64_t mv_json_line(const mv_trace *trace, mv_frame_id frame);

/* Writes a stack as [{"function":...,"file":...,"line":N}, ...], innermost frame first. */
void mv_json_put_frames(mv_out *out, const mv_trace *trace, mv_stack_id stack);
