/* Recognizes devices that share the host's memory (NVIDIA GB10, Jetson). NVML does not report the
 * memory in use on these devices, and CUDA does not count the host's page cache as free, although
 * the cache can be released. Therefore it is unknown which programs use the memory that does not
 * belong to the process. Captures on such a device contain a note. */
#pragma once

#include "parse/model/trace.h"

#define MV_SHARED_MEMORY_NOTE \
    "no samples: the GPU shares the host's memory, and NVML does not report its use"

static inline bool mv_shares_memory(const mv_trace *trace)
{
    return strcmp(trace->notes[MV_NOTE_FILE_NOTE].first, MV_SHARED_MEMORY_NOTE) == 0;
}
