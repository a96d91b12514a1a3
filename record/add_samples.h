/* The launcher's samples of the GPUs, as samples of the trace of one process. */
#ifndef MV_ADD_SAMPLES_H
#define MV_ADD_SAMPLES_H

#include "record/nvml.h"

/* Replaces the samples of `trace`, which is as it was read: of the devices that it shows as used, and
 * of those with a bit in `also`. Without known devices there are none,
 * and a note has the reason. `nvml` may be NULL. Fails only when memory is out. */
mv_code mv_add_samples(mv_arena *arena, const mv_nvml_process *process, const mv_nvml *nvml,
                       uint64_t also, mv_trace *trace, mv_err *err);

#endif
