/* What a captured file says about its process, and what the capture could not record: a part of
 * `info`. */
#ifndef MV_CAPTURED_H
#define MV_CAPTURED_H

#include "cli/report/report.h"

/* The report on a device without events and memory: "device 0: no events, no memory". In a capture
 * it also says where to look for memory that did not go through PyTorch's caching allocator. */
void mv_captured_put_idle(mv_out *out, const mv_trace *trace, uint32_t device);

void mv_captured_print(mv_out *out, mv_arena *scratch, const mv_trace *trace);
cJSON *mv_captured_json(mv_report *report, const mv_trace *trace);

#endif
