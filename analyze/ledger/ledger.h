/* Finds out who holds all the memory of a device at a given moment: PyTorch and everything else.
 *
 *     used  =  Σ by  +  context_estimate  +  unexplained           exactly, always
 *
 *     used              from samples of the device (analyze/ledger/device_use.h)
 *     by                bytes that CUDA calls allocated and still hold, by library and API;
 *                       PyTorch's segments are rows of this table like any other memory
 *     context_estimate  growth of (used - bytes held by calls) around contexts and code
 *     unexplained       what is left, which may be negative: the error of the estimate, memory of
 *                       the driver itself, rounding to its unit, pools that keep freed memory
 *
 * For the ledger over time, see analyze/ledger/ledger_series.h.
 *
 * framework_reserved is the reserved memory according to PyTorch. It is not part of the sums, but
 * is compared with the rows that have `is_framework` set. docs/ledger.md explains the other
 * figures. */
#pragma once

#include "analyze/ledger/device_use.h"
#include "analyze/lives/lives.h"

/* Why a file other than a capture has no ledger. */
#define MV_LEDGER_NO_CAPTURE \
    "this is a snapshot; record with `memviz run` to see non-PyTorch memory"
#define MV_LEDGER_LOST_CAPTURE \
    "damaged parts of the file hide whether it is a capture or a snapshot"

typedef enum {
    MV_LEDGER_MOST_USED, /* the sample with the highest use; without samples, the moment at which
                          * calls held the most */
    MV_LEDGER_MOST_HELD, /* the moment at which calls held the most */
    MV_LEDGER_AFTER,     /* the moment after the first `calls` calls and the first `events` events
                          * of the device */
    MV_LEDGER_END        /* the moment after the last call */
} mv_ledger_when;

typedef struct {
    mv_ledger_when when;
    uint32_t calls, events; /* only for MV_LEDGER_AFTER */
    int64_t time_us;        /* only for MV_LEDGER_AFTER */
} mv_ledger_query;

typedef struct {
    mv_string_id library; /* path of the calling library; MV_NO_STRING: unknown */
    mv_string_id api;
    uint64_t bytes;
    uint64_t count;    /* number of allocations */
    mv_stack_id stack; /* stack that holds the largest part of these bytes; MV_NO_STACK: not
                        * recorded */
    bool is_framework; /* the memory belongs to PyTorch's allocator */
} mv_ledger_row;

/* Address ranges of the whole process that have no memory yet (cuMemAddressReserve). Expandable
 * segments reserve 9/8 of the device for each stream, out of the 2^47 bytes of addresses that a
 * process has. */
typedef struct {
    mv_held held;
    uint64_t peak;    /* largest number of bytes reserved at any time up to the moment */
    uint64_t refused; /* number of requests refused up to the moment */
} mv_ledger_addresses;

typedef struct {
    uint32_t device;
    int64_t time_us;   /* time of the moment; MV_NO_TIME: the file has neither calls nor samples */
    int64_t sample_us; /* time of the sample that gives `used`, or MV_NO_TIME */
    uint32_t event;    /* the device's last event before the moment, or MV_BEFORE */

    uint64_t used;            /* bytes in use by the process; MV_NO_BYTES: unknown, see `why` */
    const char *why;          /* why the use or its holders are unknown; NULL if they are known */
    bool is_missing_calls;    /* some calls are lost in damaged parts of the file, so the holders
                               * are unknown: `by` contains the other calls, and everything else is
                               * `unexplained` */
    bool is_process;          /* `used` is the figure that NVML reports for the process */
    uint64_t total;           /* total memory of the device in bytes; MV_NO_BYTES: unknown */
    uint64_t others;          /* bytes in use by other processes; MV_NO_BYTES: unknown */
    uint64_t by_sum;          /* sum of the bytes in `by` */
    uint64_t held_at_sample;  /* bytes held by calls at the sample, for comparison with `by_sum` */
    int64_t context_estimate; /* estimate for contexts and code; 0 if `used` is unknown */
    uint64_t context_pools;   /* upper bound of the bytes in the estimate that pools may keep
                               * without any call that shows it */
    int64_t unexplained;      /* bytes that nothing explains; 0 if `used` is unknown */

    uint64_t framework_reserved;
    uint32_t count;
    mv_ledger_row *by; /* [count] rows sorted by bytes, largest first */

    mv_held host;    /* pinned host memory of the whole process */
    mv_held foreign; /* memory of other processes that was opened or imported here; it is not part
                      * of the sums */
    mv_ledger_addresses addresses; /* reserved address ranges; not part of the sums */
    /* The following strings are one sentence each. */
    const char *verdict; /* "12.0 GiB used: PyTorch 10.1 GiB, NCCL 1.2 GiB, ..." */
    const char *basis;   /* what "used" means for this device, or why it is unknown; may be "" */
    const char *check;   /* whether the memory that PyTorch reserved equals the memory held by its
                          * calls */
    const char *residue; /* why `unexplained` is negative; "" if it is not */
    const char *pools;   /* note on `context_pools`; "" if this is 0 */
} mv_ledger;

/* Return the query for the moment after an event of the device, and for the moment at a time (with
 * event MV_BEFORE: after all calls up to that time). */
mv_ledger_query mv_ledger_after_event(const mv_trace *trace, uint32_t device, uint32_t event);
mv_ledger_query mv_ledger_at_time(const mv_trace *trace, uint32_t device, int64_t time_us);

/* Makes the ledger. `lives` must be those of the same device. O(n log n). Fails only when out of
 * memory. */
mv_code mv_ledger_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_ledger_query ask, mv_ledger *out, mv_err *err);
