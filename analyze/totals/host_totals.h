/* Pinned host memory at the end, which PyTorch 2.13 and later record
 * (record_pinned_host_memory=True): from the file's host segments. Its peaks are those of the level
 * `host` (analyze/levels), whose totals say how far they can be trusted.
 *
 * The host allocator rounds requests up to powers of two, but for those above max_round_threshold
 * (pinned_max_round_threshold_mb), and PyTorch writes the rounded size as the request. So how much
 * of a block is rounding is known only where a file has a smaller request; else it may be up to
 * half of a block whose size is a power of two. */
#ifndef MV_HOST_TOTALS_H
#define MV_HOST_TOTALS_H

#include "parse/model/trace.h"

typedef struct {
    uint64_t allocated; /* bytes of blocks in use */
    uint64_t reserved;  /* bytes that are pinned */
    uint64_t rounding;  /* of the allocated ones: beyond the requests that the file has */
    uint64_t powers;    /* likewise: in blocks of a power of two that have no other request */
} mv_host_levels;

typedef struct {
    bool is_there;        /* the file has host segments or host events */
    uint32_t segments;    /* when the file was written */
    uint32_t allocations; /* blocks in use when the file was written */
    mv_host_levels now;   /* when the file was written */
    uint64_t events;
} mv_host_totals;

/* "11.6 GiB of 32.0 GiB pinned is rounding to powers of two"; "up to ..." where requests are not in
 * the file. "" where that is less than a tenth of what is pinned, or than 64 MiB: no change of a
 * program is worth that. In `arena`; NULL when memory is out. */
const char *mv_host_rounding_text(mv_arena *arena, const mv_host_totals *host);

/* O(rows). */
mv_host_totals mv_host_totals_of(const mv_trace *trace);

#endif
