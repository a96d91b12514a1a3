/* Describes which data is missing from a recording, how to record it, and what a recording without
 * PyTorch memory contains. */
#pragma once

#include "analyze/lives/lives.h"

/* Returns one sentence, without a full stop, that explains how to record all events; "" if no
 * events are missing. */
const char *mv_recording_advice(const mv_trace *trace, const mv_lives *lives);

/* Returns one sentence that explains how to record stacks; "" if the trace has stacks. */
const char *mv_recording_stack_advice(const mv_trace *trace);

/* Whether the file contains only the heap at one moment, without events. */
bool mv_recording_is_state_only(const mv_lives *lives);

/* Lines that describe a trace in which a device has no events and no segments: the device's CUDA
 * calls, the memory that they hold, and the command that shows this memory. `path` is the file's
 * path. The lines are in `arena`. O(n log n). Fails only when out of memory. */
enum { MV_RECORDING_LINES = 8 };
typedef struct {
    uint32_t count;
    const char *lines[MV_RECORDING_LINES];
} mv_recording_contents;

mv_code mv_recording_describe(mv_arena *arena, const mv_trace *trace, const char *path,
                              mv_recording_contents *out, mv_err *err);
