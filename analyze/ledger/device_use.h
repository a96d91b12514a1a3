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
 * A sample may be taken while a call is under way that gets memory, and is numbered after it, or
 * that gives memory back, and is numbered before it. Where used - held is more than at the samples
 * before and after, and the memory of such a call explains that, the sample lies after the one, or
 * before the other. A sample after the process has ended is left out.
 *
 * Where calls are lost in damaged parts of the file, nothing shows what is context: it is 0.
 *
 * Rows are in order of time. */
#ifndef MV_DEVICE_USE_H
#define MV_DEVICE_USE_H

#include "analyze/ledger/holdings.h"

typedef struct {
    uint32_t count;
    uint32_t *row;    /* [count] of samples */
    uint32_t *calls;  /* [count] the sample lies after so many; rises */
    uint64_t *used;   /* [count] */
    uint64_t *held;   /* [count] */
    int64_t *context; /* [count] */
    bool is_process;  /* `used` is NVML's figure for the process */
    uint32_t most;    /* calls after which most was held; 0: nothing was */
} mv_device_use;

/* Is told of each sample once the calls before it are applied. */
typedef void mv_sample_watch(void *user, uint32_t sample);

/* Bit i: device i has calls or samples; devices above 63 are left out. */
uint64_t mv_ledger_devices(const mv_trace *trace);

/* Holdings of a device, empty: calls without a device are those of the only one that there is. */
void mv_device_holdings(mv_holdings *holdings, mv_arena *arena, const mv_trace *trace,
                        uint32_t device);

/* Applies all calls to `h`, which must be empty. O(n). Fails only when memory is out. */
mv_code mv_device_use_find(mv_arena *arena, mv_holdings *h, mv_device_use *out, mv_err *err);

/* Applies all calls to `h`, which must be empty, and tells of each sample once the calls before it
 * are applied; `sample` counts rows of `use`. False when memory is out. */
bool mv_device_use_walk(mv_holdings *h, const mv_device_use *use, mv_sample_watch *watch,
                        void *user);

/* The sample that tells of a time at which calls held `held` bytes: the last one at or before it,
 * else the first after it; use->count: there is none. The next one is taken instead when it comes
 * within MV_NEAR_US and calls held more nearly the same then (what happened between the last
 * sample and this time is in it), or the same, and it is nearer in time. */
#define MV_NEAR_US 250000

/* A call is recorded when it has returned. One that loads code, or makes a context, takes long, so
 * a sample that is at most so much older may have been taken while it ran: two samples are about
 * 100 ms apart. */
#define MV_UNDER_WAY_US 110000
uint32_t mv_device_use_at(const mv_trace *trace, const mv_device_use *use, int64_t time_us,
                          uint64_t held);

/* What a device had in use near a time, beside the bytes that a report speaks of:
 *
 *     used  =  held  +  context  +  unexplained                    exactly
 *
 * A sample is near when it is within MV_NEAR_US, or the next one comes later, and calls held the
 * same at it but for 2 MiB or a fiftieth. Then `held` is what the report speaks of; else it is what
 * calls held at the sample. */
typedef struct {
    uint64_t used; /* MV_NO_BYTES: no sample at all; the rest is 0 then */
    uint64_t held;
    int64_t sample_us;
    int64_t context, unexplained;
    bool is_near;
} mv_device_rest;

/* `trace` is as it was read. Fails only when memory is out. */
mv_code mv_device_rest_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                            int64_t time_us, uint64_t held, mv_device_rest *out, mv_err *err);

/* "the device shows 1.56 GiB in use (sample at 5.580 s): these 968 MiB, context and code 630 MiB
 * (estimate), unexplained 0 B"; times count from `start_us`. NULL when memory is out. */
const char *mv_device_rest_text(mv_arena *arena, const mv_device_rest *rest, int64_t start_us);

/* The rest. Wraps, like all sums of values from a file. */
int64_t mv_unexplained(uint64_t used, uint64_t held, int64_t context);

#endif
