/* What a captured file says of its process, and what the capture could not record: a part of
 * `info`. */
#ifndef MV_CAPTURED_H
#define MV_CAPTURED_H

#include "cli/report/report.h"

/* The report on a device without events and memory: "device 0: no events, no memory". Of a capture
 * also where to look for what did not go through PyTorch's caching allocator. */
void mv_captured_put_idle(mv_out *out, const mv_trace *trace, uint32_t device);

/* What the shim recorded, each thing once. In the model a free stands twice, as asked for and as
 * completed, and a segment also as the call that made it. */
uint64_t mv_captured_records(const mv_trace *trace);

void mv_captured_print(mv_out *out, mv_arena *scratch, const mv_trace *trace);
cJSON *mv_captured_json(mv_report *report, const mv_trace *trace);

#endif
