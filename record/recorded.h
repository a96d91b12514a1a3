/* The size of a capture. */
#pragma once

#include "parse/model/trace.h"

/* Returns the number of objects that the shim recorded (blocks, frees, failed requests, CUDA calls,
 * marks). Each of them is counted once, whereas in the trace, a free consists of two events
 * (requested and completed), and a segment is also the call that made it. */
uint64_t mv_recorded_count(const mv_trace *trace);
