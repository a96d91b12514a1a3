/* Devices that share the host's memory (NVIDIA GB10, Jetson). NVML does not report the memory in
 * use on such devices, and CUDA does not count the host's page cache as free, although it can be
 * released. So it is unknown who uses memory beyond the process's own. Captures contain a note
 * about this. */
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
