/* Data missing from a recording, and how to record it; contents of a recording without
 * PyTorch memory. */
#ifndef MV_RECORDING_H
#define MV_RECORDING_H

#include "analyze/lives/lives.h"

/* One sentence without a full stop on how to record all events; "" if no events are missing. */
const char *mv_recording_advice(const mv_trace *trace, const mv_lives *lives);

/* One sentence on how to record stacks; "" if there are stacks. */
const char *mv_recording_stack_advice(const mv_trace *trace);

/* Whether the file contains only the heap at one moment, and no events. */
bool mv_recording_is_state_only(const mv_lives *lives);

/* Lines for a trace without events or segments of a device: its CUDA calls, the memory that they
 * hold, and the command that shows it. `path` is the path of the file. In `arena`; O(n log n).
 * Fails only when out of memory. */
enum { MV_RECORDING_LINES = 8 };
typedef struct {
    uint32_t count;
    const char *lines[MV_RECORDING_LINES];
} mv_recording_contents;

mv_code mv_recording_describe(mv_arena *arena, const mv_trace *trace, const char *path,
                              mv_recording_contents *out, mv_err *err);

#endif
