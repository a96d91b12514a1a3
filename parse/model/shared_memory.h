/* Devices that share the host's memory (NVIDIA GB10, Jetson). NVML has no figure for their use, and
 * CUDA's free memory excludes the host's page cache, which would be released: the owner of memory
 * in use beyond the process's own is unknown. A capture has a note about it. */
#ifndef MV_SHARED_MEMORY_H
#define MV_SHARED_MEMORY_H

#include "parse/model/trace.h"

#define MV_SHARED_MEMORY_NOTE \
    "no samples: the GPU shares the host's memory, and NVML does not report its use"

static inline bool mv_shares_memory(const mv_trace *trace)
{
    return strcmp(trace->notes[MV_NOTE_FILE_NOTE].first, MV_SHARED_MEMORY_NOTE) == 0;
}

#endif
