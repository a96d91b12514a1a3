/* Where all memory of a device went at a moment: PyTorch's and everybody else's.
 *
 *     used  =  Σ by  +  context_estimate  +  unexplained           exactly, always
 *
 *     used              what the device says (samples): of this process where NVML tells it; else
 *                       of the device, less what was in use ahead of the process's first call
 *     by                what calls of CUDA asked for and still hold, by calling library and API;
 *                       PyTorch's segments are rows of this table, like any other memory
 *     context_estimate  growth of (used less what calls hold) in the intervals between samples in
 *                       which the process's first allocation had not been made yet, a context was
 *                       made or code was loaded
 *     unexplained       the rest, which may be negative: the estimate's error, what the driver
 *                       takes for itself, rounding to its granularity, pools that keep freed memory
 *
 * framework_reserved is what PyTorch's allocator says it holds, from its own totals: a check of the
 * rows whose `is_framework` is set, and in no sum. docs/ledger.md explains the rest. */
#ifndef MV_LEDGER_H
#define MV_LEDGER_H

#include "analyze/ledger/holdings.h"
#include "analyze/lives/lives.h"

/* Why nothing is known of files that no capture wrote. */
#define MV_LEDGER_NO_CAPTURE \
    "this is a snapshot; record with `memviz run` to see non-PyTorch memory"

typedef enum {
    MV_LEDGER_MOST_USED, /* the sample with the highest use; without samples, most held by calls */
    MV_LEDGER_MOST_HELD, /* most held by calls */
    MV_LEDGER_BEHIND,    /* behind the first `calls` calls and `events` events of the device */
    MV_LEDGER_END        /* behind the last call */
} mv_ledger_when;

typedef struct {
    mv_ledger_when when;
    uint32_t calls, events; /* MV_LEDGER_BEHIND */
    int64_t time_us;        /* likewise */
} mv_ledger_ask;

typedef struct {
    mv_string_id library; /* MV_NO_STRING: not known */
    mv_string_id api;
    uint64_t bytes;
    uint64_t count;    /* allocations */
    mv_stack_id stack; /* who holds most of it; MV_NO_STACK: not recorded */
    bool is_framework; /* PyTorch's allocator */
} mv_ledger_row;

typedef struct {
    uint32_t device;
    int64_t time_us;   /* of the moment; MV_NO_TIME: the file has no calls, no samples */
    int64_t sample_us; /* of the sample that `used` is from; MV_NO_TIME: none */
    uint32_t event;    /* the last event of the device until then, or MV_BEFORE */

    uint64_t used;            /* MV_NO_BYTES: not known, see `why` */
    const char *why;          /* NULL when `used` is known */
    bool is_process;          /* `used` is the process's own figure */
    uint64_t total;           /* bytes of the device; MV_NO_BYTES: not known */
    uint64_t others;          /* in use on the device by others; MV_NO_BYTES: not known */
    uint64_t by_sum;          /* Σ by */
    int64_t context_estimate; /* 0 when `used` is not known */
    int64_t unexplained;      /* likewise */

    uint64_t framework_reserved;
    uint32_t count;
    mv_ledger_row *by; /* [count] most bytes first */

    mv_held host;    /* pinned memory of the host, of the whole process */
    mv_held foreign; /* other processes' memory that is open or imported here; in no sum */
} mv_ledger;

/* Bit i: there is something to say of device i; devices above 63 are left out. */
uint64_t mv_ledger_devices(const mv_trace *trace);

/* The ask that names the moment behind an event of the device, or at a time (event MV_BEFORE and
 * a time: all that was until then). */
mv_ledger_ask mv_ledger_behind_event(const mv_trace *trace, uint32_t device, uint32_t event);
mv_ledger_ask mv_ledger_at_time(const mv_trace *trace, uint32_t device, int64_t time_us);

/* O(n log n). `lives` is of the same device. Fails only for want of memory. */
mv_code mv_ledger_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_ledger_ask ask, mv_ledger *out, mv_err *err);

/* "NCCL" for "/…/libnccl.so.2"; else the path's last component. `text` is where it is put. */
const char *mv_library_name(const char *path, char *text, uint32_t size);

#endif
