/* What a captured file says of its process, and what the capture could not record: a part of
 * `info`. */
#ifndef MV_CAPTURED_H
#define MV_CAPTURED_H

#include "cli/report.h"

void mv_captured_print(mv_out *out, mv_arena *scratch, const mv_trace *trace);
cJSON *mv_captured_json(mv_report *report, const mv_trace *trace);

#endif
