/* What a recording lacks, and how to make one that has it; what is in one without memory of
 * PyTorch. */
#ifndef MV_RECORDING_H
#define MV_RECORDING_H

#include "analyze/lives/lives.h"

/* One sentence without a full stop on how to record all events; "" when they are all there. */
const char *mv_recording_advice(const mv_trace *trace, const mv_lives *lives);

/* Likewise, on how to record stacks; "" when there are some. */
const char *mv_recording_stack_advice(const mv_trace *trace);

/* Whether there is no run of events to see, only the heap at one moment. */
bool mv_recording_is_state_only(const mv_lives *lives);

/* Lines for a trace that no device's events or segments are in: the calls of CUDA and the memory
 * that they hold, and which command shows them. `path` is the file's. In `arena`; O(n log n). Fails
 * only when memory is out. */
enum { MV_RECORDING_LINES = 8 };
typedef struct {
    uint32_t count;
    const char *lines[MV_RECORDING_LINES];
} mv_recording_contents;

mv_code mv_recording_describe(mv_arena *arena, const mv_trace *trace, const char *path,
                              mv_recording_contents *out, mv_err *err);

#endif
