/* The device memory that a process used at each sample, the bytes that its calls held, and the
 * growth between samples caused by contexts and code. Part of the ledger.
 *
 *     used              NVML's figure for the process; else the device's use minus its use before
 *                       the process's first call
 *     held              bytes that calls held at the sample
 *     context           Σ growth of (used - held) over the intervals before the process's first
 *                       allocation, and those in which a context was created or code was loaded
 *     unexplained       used - held - context
 *
 * A sample may be taken during a call that gets memory, which is numbered after it, or during a
 * call that frees memory, which is numbered before it. If used - held is more than at the
 * neighbouring samples, and the memory of such a call explains that, the sample is placed after the
 * first kind of call, or before the second. Samples after the end of the process are dropped.
 *
 * If calls are lost in damaged parts of the file, the context is unknown and is set to 0.
 *
 * Rows are in order of time. */
#ifndef MV_DEVICE_USE_H
#define MV_DEVICE_USE_H

#include "analyze/ledger/holdings.h"

typedef struct {
    uint32_t count;
    uint32_t *row;    /* [count] row of trace->samples */
    uint32_t *calls;  /* [count] number of calls before the sample; ascending */
    uint64_t *used;   /* [count] */
    uint64_t *held;   /* [count] */
    int64_t *context; /* [count] */
    bool is_process;  /* `used` is NVML's figure for the process */
    uint32_t most;    /* number of calls after which most bytes were held; 0: no bytes were held */
} mv_device_use;

/* Called for each sample, once the calls before it are applied. */
typedef void mv_sample_watch(void *user, uint32_t sample);

/* Bit i is set if device i has calls or samples; devices above 63 are ignored. */
uint64_t mv_ledger_devices(const mv_trace *trace);

/* Empty holdings of a device. Calls without a device belong to the only device, if there is
 * exactly one. */
void mv_device_holdings(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace,
                        uint32_t device);

/* Applies all calls to `h`, which must be empty. O(n). Fails only when out of memory. */
mv_code mv_device_use_find(mv_arena *arena, mv_holdings *h, mv_device_use *out, mv_err *err);

/* Applies all calls to `h`, which must be empty, and calls back for each sample once the calls
 * before it are applied; `sample` is a row of `use`. False when out of memory. */
bool mv_device_use_walk(mv_holdings *h, const mv_device_use *use, mv_sample_watch *watch,
                        void *user);

/* The sample for a time at which calls held `held` bytes: the last sample at or before this time,
 * else the first after it; use->count if there is none. The next sample is used instead if it comes
 * within MV_NEAR_US and the bytes held by calls at that sample are closer (it includes the events
 * since the last sample), or equally close and it is nearer in time. */
#define MV_NEAR_US 250000

/* A call is recorded when it returns. Calls that load code or create a context take long, so a
 * sample older than the call by up to this much may have been taken during the call: samples are
 * about 100 ms apart. */
#define MV_UNDER_WAY_US 110000
uint32_t mv_device_use_at(const mv_trace *trace, const mv_device_use *use, int64_t time_us,
                          uint64_t held);

/* The memory in use on a device near a time, next to the bytes of a report:
 *
 *     used  =  held  +  context  +  unexplained                    exactly
 *
 * A sample is near if it is within MV_NEAR_US (or the next sample comes later), and calls held the
 * same bytes at the sample, within 2 MiB or a fiftieth. `held` is then the report's figure;
 * otherwise it is the bytes that calls held at the sample. */
typedef struct {
    uint64_t used; /* MV_NO_BYTES: no samples; the other fields are then 0 */
    uint64_t held;
    int64_t sample_us;
    int64_t context, unexplained;
    bool is_near;
} mv_device_rest;

/* `trace` must be the original trace. Fails only when out of memory. */
mv_code mv_device_rest_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                            int64_t time_us, uint64_t held, mv_device_rest *out, mv_err *err);

/* "the device shows 1.56 GiB in use (sample at 5.580 s): these 968 MiB, context and code 630 MiB
 * (estimate), unexplained 0 B"; times count from `start_us`. NULL when out of memory. */
const char *mv_device_rest_text(mv_arena *arena, const mv_device_rest *rest, int64_t start_us);

/* The unexplained rest. Wraps, like all sums of values from a file. */
int64_t mv_unexplained(uint64_t used, uint64_t held, int64_t context);

#endif
