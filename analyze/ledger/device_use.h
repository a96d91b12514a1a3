/* Finds, for each sample, the device memory that a process used, the bytes that its calls held, and
 * how much contexts and code had added by then. This is part of the ledger.
 *
 *     used              NVML's figure for the process or, without it, the device's use minus the
 *                       use before the process's first call
 *     held              bytes that calls held at the sample
 *     context           sum of the growth of (used - held) over the intervals before the process's
 *                       first allocation, and over those in which a context was created or code
 *                       was loaded
 *     unexplained       used - held - context
 *
 * A sample may be taken during a call that allocates memory, which is then numbered after the
 * sample, or during a call that frees memory, which is then numbered before the sample. If used -
 * held is larger than at the neighbouring samples, the memory of such a call may explain the
 * difference. The sample is then moved to a position after the allocating call, or before the
 * freeing call. Samples after the end of the process are dropped.
 *
 * If calls are lost in damaged parts of the file, the context is unknown and set to 0.
 *
 * Rows are sorted by time. */
#pragma once

#include "analyze/ledger/holdings.h"

typedef struct {
    uint32_t count;
    uint32_t *row;    /* [count] sample of the row, a row of trace->samples */
    uint32_t *calls;  /* [count] number of calls before the sample; ascending */
    uint64_t *used;   /* [count] bytes used, as defined above */
    uint64_t *held;   /* [count] bytes held by calls */
    int64_t *context; /* [count] bytes attributed to contexts and code */
    bool is_process;  /* `used` is NVML's figure for the process */
    uint32_t most;    /* number of calls after which the most bytes were held; 0: no bytes were ever
                       * held */
} mv_device_use;

/* Called for each sample, after the calls before the sample have been applied. */
typedef void mv_sample_watch(void *user, uint32_t sample);

/* Returns the set of devices that have calls or samples: bit i is set for device i. Devices above
 * 63 are ignored. */
uint64_t mv_ledger_devices(const mv_trace *trace);

/* Makes empty holdings of a device. If the trace has exactly one device, calls without a device
 * belong to it. */
void mv_device_holdings(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace,
                        uint32_t device);

/* Finds the use at each sample. Applies all calls to `h`, which must be empty. O(n). Fails only
 * when out of memory. */
mv_code mv_device_use_find(mv_arena *arena, mv_holdings *h, mv_device_use *out, mv_err *err);

/* Applies all calls to `h`, which must be empty, and calls `watch` for each sample after the calls
 * before it have been applied; `sample` is a row of `use`. Returns false when out of memory. */
bool mv_device_use_walk(mv_holdings *h, const mv_device_use *use, mv_sample_watch *watch,
                        void *user);

/* mv_device_use_at returns the sample for a time at which calls held `held` bytes. This is the last
 * sample at or before the time or, if there is none, the first sample after it; use->count if there
 * are no samples. The next sample is returned instead if it comes within MV_NEAR_US and calls held
 * an amount closer to `held` at that sample, which then includes the events since the last sample.
 * If both amounts are equally close, the sample that is nearer in time is returned. */
#define MV_NEAR_US 250000

/* A sample that is older than a call by up to this much may have been taken during the call. A call
 * is recorded when it returns, and calls that load code or create a context take a long time.
 * Samples are about 100 ms apart. */
#define MV_UNDER_WAY_US 110000
uint32_t mv_device_use_at(const mv_trace *trace, const mv_device_use *use, int64_t time_us,
                          uint64_t held);

/* The memory in use on a device near a given time, for comparison with the bytes in a report:
 *
 *     used  =  held  +  context  +  unexplained                    exactly
 *
 * A sample is near if it is within MV_NEAR_US of the time (or the next sample comes later), and if
 * the bytes that calls held at the sample differ by at most 2 MiB or a fiftieth. `held` is then the
 * report's figure; otherwise it is the number of bytes that calls held at the sample. */
typedef struct {
    uint64_t used; /* MV_NO_BYTES: no samples; the other fields are then 0 */
    uint64_t held;
    int64_t sample_us;
    int64_t context, unexplained;
    bool is_near;
} mv_device_rest;

/* Finds the memory in use. `trace` must be the original trace. Fails only when out of memory. */
mv_code mv_device_rest_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                            int64_t time_us, uint64_t held, mv_device_rest *out, mv_err *err);

/* Returns a sentence such as "the device shows 1.56 GiB in use (sample at 5.580 s): these 968 MiB,
 * context and code 630 MiB (estimate), unexplained 0 B"; times count from `start_us`. Returns NULL
 * when out of memory. */
const char *mv_device_rest_text(mv_arena *arena, const mv_device_rest *rest, int64_t start_us);

/* Returns the bytes that nothing explains. The subtraction wraps, like all arithmetic with values
 * from a file. */
int64_t mv_unexplained(uint64_t used, uint64_t held, int64_t context);
