/* JSON output: texts, numbers and stacks. */
#ifndef MV_JSON_H
#define MV_JSON_H

#include "cli/report/out.h"
#include "parse/model/trace.h"

/* Writes a text as a JSON string that every parser accepts, as described in base/escape.h. */
void mv_json_put_text(mv_out *out, mv_span text);

/* Writes a number, or null if it is not finite. */
void mv_json_put_real(mv_out *out, double real);

/* Returns a line number, or 0 if the code has no lines, because line numbers in JSON are never
 * negative. */
int64_t mv_json_line(const mv_trace *trace, mv_frame_id frame);

/* [{"function":...,"file":...,"line":N}, ...], innermost first. */
void mv_json_put_frames(mv_out *out, const mv_trace *trace, mv_stack_id stack);

#endif
