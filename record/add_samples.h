/* Adds the launcher's GPU samples to one process's trace. */
#pragma once

#include "record/nvml.h"

/* Replaces the samples of `trace`, which must not have changed since it was read. Includes the
 * devices that the trace shows as used, and the devices with a bit in `also`. If it is not known
 * which devices these are, no samples are added, and a note states the reason. `nvml` may be NULL.
 * Fails only when out of memory. */
mv_code mv_add_samples(mv_arena *arena, const mv_nvml_process *process, const mv_nvml *nvml,
                       uint64_t also, mv_trace *trace, mv_err *err);
