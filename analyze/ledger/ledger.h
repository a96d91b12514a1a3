/* The holders of all memory of a device at a moment: PyTorch and everything else.
 *
 *     used  =  Σ by  +  context_estimate  +  unexplained           exactly, always
 *
 *     used              from samples of the device (analyze/ledger/device_use.h)
 *     by                bytes that CUDA calls got and still hold, by calling library and API;
 *                       PyTorch's segments are rows of this table like any other memory
 *     context_estimate  growth of (used - bytes held by calls) around contexts and code
 *     unexplained       the rest, which may be negative: the estimate's error, the driver's own
 *                       memory, rounding to its granularity, pools that keep freed memory
 *
 * Over time: analyze/ledger/ledger_series.h.
 *
 * framework_reserved is the reserved memory according to PyTorch. It is not part of the sums; it
 * checks the rows with `is_framework`. docs/ledger.md explains the rest. */
#ifndef MV_LEDGER_H
#define MV_LEDGER_H

#include "analyze/ledger/device_use.h"
#include "analyze/lives/lives.h"

/* Why files other than captures have no ledger. */
#define MV_LEDGER_NO_CAPTURE \
    "this is a snapshot; record with `memviz run` to see non-PyTorch memory"
#define MV_LEDGER_LOST_CAPTURE \
    "damaged parts of the file hide whether it is a capture or a snapshot"

typedef enum {
    MV_LEDGER_MOST_USED, /* the sample with the highest use; without samples, the moment when calls
                          * held most */
    MV_LEDGER_MOST_HELD, /* the moment when calls held most */
    MV_LEDGER_AFTER,     /* after the first `calls` calls and `events` events of the device */
    MV_LEDGER_END        /* after the last call */
} mv_ledger_when;

typedef struct {
    mv_ledger_when when;
    uint32_t calls, events; /* MV_LEDGER_AFTER */
    int64_t time_us;        /* MV_LEDGER_AFTER */
} mv_ledger_query;

typedef struct {
    mv_string_id library; /* MV_NO_STRING: unknown */
    mv_string_id api;
    uint64_t bytes;
    uint64_t count;    /* allocations */
    mv_stack_id stack; /* stack with most of the bytes; MV_NO_STACK: not recorded */
    bool is_framework; /* PyTorch's allocator */
} mv_ledger_row;

/* Address ranges that have no memory yet (cuMemAddressReserve), for the whole process: expandable
 * segments reserve 9/8 of the device for each stream, out of the 2^47 bytes that a process has. */
typedef struct {
    mv_held held;
    uint64_t peak;    /* most bytes up to the moment */
    uint64_t refused; /* requests up to the moment */
} mv_ledger_addresses;

typedef struct {
    uint32_t device;
    int64_t time_us;   /* time of the moment; MV_NO_TIME: the file has neither calls nor samples */
    int64_t sample_us; /* time of the sample that gives `used`, or MV_NO_TIME */
    uint32_t event;    /* the device's last event up to the moment, or MV_BEFORE */

    uint64_t used;            /* MV_NO_BYTES: unknown, see `why` */
    const char *why;          /* NULL if `used` and its holders are known */
    bool is_missing_calls;    /* some calls are lost in damaged parts of the file: holders
                               * are unknown, `by` contains the other calls, and all else
                               * is `unexplained` */
    bool is_process;          /* `used` is NVML's figure for the process */
    uint64_t total;           /* bytes of the device; MV_NO_BYTES: unknown */
    uint64_t others;          /* in use by other processes; MV_NO_BYTES: unknown */
    uint64_t by_sum;          /* Σ by */
    uint64_t held_at_sample;  /* held by calls at the sample; compared with `by_sum` */
    int64_t context_estimate; /* 0 if `used` is unknown */
    uint64_t context_pools;   /* upper bound of the part that pools keep, which no call shows */
    int64_t unexplained;      /* 0 if `used` is unknown */

    uint64_t framework_reserved;
    uint32_t count;
    mv_ledger_row *by; /* [count] most bytes first */

    mv_held host;    /* pinned host memory of the whole process */
    mv_held foreign; /* memory of other processes that was opened or imported here; not part of
                      * the sums */
    mv_ledger_addresses addresses; /* not part of the sums */
    /* One sentence each. */
    const char *verdict; /* "12.0 GiB used: PyTorch 10.1 GiB, NCCL 1.2 GiB, ..." */
    const char *basis;   /* what "used" means for the device, or why it is unknown; may be "" */
    const char *check;   /* whether PyTorch's reserved memory equals the memory held by its calls */
    const char *residue; /* why `unexplained` is negative; "" if it is not */
    const char *pools;   /* note on `context_pools`; "" if that is 0 */
} mv_ledger;

/* The moment after an event of the device, or at a time (with event MV_BEFORE: after all calls up
 * to that time). */
mv_ledger_query mv_ledger_after_event(const mv_trace *trace, uint32_t device, uint32_t event);
mv_ledger_query mv_ledger_at_time(const mv_trace *trace, uint32_t device, int64_t time_us);

/* O(n log n). `lives` must be of the same device. Fails only when out of memory. */
mv_code mv_ledger_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_ledger_query ask, mv_ledger *out, mv_err *err);

#endif
