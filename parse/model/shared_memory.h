/* Devices without memory of their own but the host's (NVIDIA GB10, Jetson). NVML has no figure of
 * their use, and what CUDA calls free leaves out what the page cache of the host holds and would
 * give back: no one is known to hold what is in use beside the process's own memory. A capture says
 * so in a note. */
#ifndef MV_SHARED_MEMORY_H
#define MV_SHARED_MEMORY_H

#include <string.h>

#include "parse/model/trace.h"

#define MV_SHARED_MEMORY_NOTE \
    "no samples: the GPU shares the host's memory, and NVML does not tell its use"

static inline bool mv_shares_memory(const mv_trace *trace)
{
    return strcmp(trace->notes[MV_NOTE_FILE_NOTE].first, MV_SHARED_MEMORY_NOTE) == 0;
}

#endif
