/* How much of a device a process used at each sample, what its calls held then, and which growth
 * between samples is that of contexts and code. Part of the ledger.
 *
 *     used              NVML's figure for the process; else use of the device minus its use before
 *                       the process's first call
 *     held              bytes that calls held at the sample
 *     context           Σ growth of (used - held) over the intervals before the process's first
 *                       allocation, and those in which a context was created or code was loaded
 *     unexplained       used - held - context
 *
 * Rows are in order of time. */
#ifndef MV_DEVICE_USE_H
#define MV_DEVICE_USE_H

#include "analyze/ledger/holdings.h"

typedef struct {
    uint32_t count;
    uint32_t *row;    /* [count] of samples */
    uint64_t *used;   /* [count] */
    uint64_t *held;   /* [count] */
    int64_t *context; /* [count] */
    bool is_process;  /* `used` is NVML's figure for the process */
    uint32_t most;    /* calls after which most was held; 0: nothing was */
} mv_device_use;

/* Is told of each sample once the calls before it are applied. */
typedef void mv_sample_watch(void *user, uint32_t sample);

/* Applies all calls to `h`, which must be empty. `watch` may be NULL; `sample` counts rows of
 * `out`. O(n). Fails only when memory is out. */
mv_code mv_device_use_find(mv_arena *arena, mv_holdings *h, mv_sample_watch *watch, void *user,
                           mv_device_use *out, mv_err *err);

/* The last sample at or before a time, else the first after it; out->count: there is none. */
uint32_t mv_device_use_at(const mv_trace *trace, const mv_device_use *use, int64_t time_us);

/* The rest. Wraps, like all sums of values from a file. */
int64_t mv_unexplained(uint64_t used, uint64_t held, int64_t context);

#endif
