/* Pinned host memory at the end, which PyTorch 2.13 and later record
 * (record_pinned_host_memory=True): from the file's host segments. Its peaks are those of the level
 * `host` (analyze/levels), whose totals say how far they can be trusted.
 *
 * Sizes are block sizes: the host allocator rounds requests up to powers of two and does not keep
 * the requests. */
#ifndef MV_HOST_TOTALS_H
#define MV_HOST_TOTALS_H

#include "parse/model/trace.h"

typedef struct {
    uint64_t allocated; /* bytes of blocks in use */
    uint64_t reserved;  /* bytes that are pinned */
} mv_host_levels;

typedef struct {
    bool is_there;        /* the file has host segments or host events */
    uint32_t segments;    /* when the file was written */
    uint32_t allocations; /* blocks in use when the file was written */
    mv_host_levels now;   /* when the file was written */
    uint64_t events;
} mv_host_totals;

/* O(rows). */
mv_host_totals mv_host_totals_of(const mv_trace *trace);

#endif
