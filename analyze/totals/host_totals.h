/* Pinned memory of the host, as PyTorch 2.13 and later record it (record_pinned_host_memory=True):
 * what the file says of it when it was written, and what its events lead to.
 *
 * Sizes are those of blocks: the host allocator rounds requests up to powers of two, and does not
 * keep what was asked for. Several threads append events under a lock of their own, so their order
 * is as recorded, and peaks are those of that order. */
#ifndef MV_HOST_TOTALS_H
#define MV_HOST_TOTALS_H

#include "parse/model/trace.h"

typedef struct {
    uint64_t allocated; /* handed out */
    uint64_t reserved;  /* pinned */
} mv_host_levels;

typedef struct {
    bool is_there;        /* the file has host segments or host events */
    uint32_t segments;    /* when the file was written */
    uint32_t allocations; /* blocks handed out then */
    mv_host_levels now;   /* likewise */
    mv_host_levels peak;  /* at any event; as `now` when there are none */
    uint64_t events;
} mv_host_totals;

/* O(rows). */
mv_host_totals mv_host_totals_of(const mv_trace *trace);

#endif
