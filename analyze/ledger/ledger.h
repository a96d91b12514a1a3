/* Who holds all memory of a device at a moment: PyTorch and everything else.
 *
 *     used  =  Σ by  +  context_estimate  +  unexplained           exactly, always
 *
 *     used              from samples of the device (analyze/ledger/device_use.h)
 *     by                bytes that calls of CUDA got and still hold, by calling library and API;
 *                       PyTorch's segments are rows of this table, like any other memory
 *     context_estimate  growth of (used - bytes held by calls) around contexts and code
 *     unexplained       the rest, which may be negative: the estimate's error, the driver's own
 *                       memory, rounding to its granularity, pools that keep freed memory
 *
 * Over time: analyze/ledger/ledger_series.h.
 *
 * framework_reserved is the reserved memory by PyTorch's own totals. It is in no sum; it checks the
 * rows whose `is_framework` is set. docs/ledger.md explains the rest. */
#ifndef MV_LEDGER_H
#define MV_LEDGER_H

#include "analyze/ledger/device_use.h"
#include "analyze/lives/lives.h"

/* The reason why files that are not captures have no ledger. */
#define MV_LEDGER_NO_CAPTURE \
    "this is a snapshot; record with `memviz run` to see non-PyTorch memory"
#define MV_LEDGER_LOST_CAPTURE \
    "what would tell a capture from a snapshot is lost in damaged parts of the file"

typedef enum {
    MV_LEDGER_MOST_USED, /* the sample with the highest use; without samples, most held by calls */
    MV_LEDGER_MOST_HELD, /* most held by calls */
    MV_LEDGER_AFTER,     /* after the first `calls` calls and `events` events of the device */
    MV_LEDGER_END        /* after the last call */
} mv_ledger_when;

typedef struct {
    mv_ledger_when when;
    uint32_t calls, events; /* MV_LEDGER_AFTER */
    int64_t time_us;        /* likewise */
} mv_ledger_ask;

typedef struct {
    mv_string_id library; /* MV_NO_STRING: unknown */
    mv_string_id api;
    uint64_t bytes;
    uint64_t count;    /* allocations */
    mv_stack_id stack; /* the stack with most of the bytes; MV_NO_STACK: not recorded */
    bool is_framework; /* PyTorch's allocator */
} mv_ledger_row;

typedef struct {
    uint32_t device;
    int64_t time_us;   /* of the moment; MV_NO_TIME: the file has no calls, no samples */
    int64_t sample_us; /* of the sample that `used` is from; MV_NO_TIME: none */
    uint32_t event;    /* the last event of the device until then, or MV_BEFORE */

    uint64_t used;            /* MV_NO_BYTES: unknown, see `why` */
    const char *why;          /* NULL when `used` and who holds it are known */
    bool lacks_calls;         /* some are lost in damaged parts of the file: who holds how much is
                               * unknown, `by` is of the others, and the rest is `unexplained` */
    bool is_process;          /* `used` is NVML's figure for the process */
    uint64_t total;           /* bytes of the device; MV_NO_BYTES: unknown */
    uint64_t others;          /* in use on the device by others; MV_NO_BYTES: unknown */
    uint64_t by_sum;          /* Σ by */
    uint64_t held_at_sample;  /* what calls held then, which `by_sum` is compared with */
    int64_t context_estimate; /* 0 when `used` is unknown */
    uint64_t context_pools; /* so much of it at most is memory that pools keep and no call shows */
    int64_t unexplained;    /* likewise */

    uint64_t framework_reserved;
    uint32_t count;
    mv_ledger_row *by; /* [count] most bytes first */

    mv_held host;    /* pinned memory of the host, of the whole process */
    mv_held foreign; /* other processes' memory that is opened or imported here; in no sum */
    /* One sentence each. */
    const char *verdict; /* "12.0 GiB used: PyTorch 10.1 GiB, NCCL 1.2 GiB, ..." */
    const char *basis;   /* what the use of the device means, or why it is not known; "" */
    const char *check;   /* whether PyTorch's allocator reserved what its calls hold */
    const char *residue; /* why `unexplained` is negative; "" when it is not */
    const char *pools;   /* about `context_pools`; "" when it is 0 */
} mv_ledger;

/* The moment after an event of the device, or at a time (event MV_BEFORE and a time: all calls up
 * to then). */
mv_ledger_ask mv_ledger_after_event(const mv_trace *trace, uint32_t device, uint32_t event);
mv_ledger_ask mv_ledger_at_time(const mv_trace *trace, uint32_t device, int64_t time_us);

/* O(n log n). `lives` is of the same device. Fails only when memory is out. */
mv_code mv_ledger_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_ledger_ask ask, mv_ledger *out, mv_err *err);

#endif
