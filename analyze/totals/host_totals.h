/* Pinned host memory at the end, which PyTorch 2.13 and later record
 * (record_pinned_host_memory=True): from the file's host segments. Peaks are in the totals of the
 * level `host` (analyze/levels), with their bounds.
 *
 * The host allocator rounds requests up to powers of two, except above max_round_threshold
 * (pinned_max_round_threshold_mb), and PyTorch writes the rounded size as the request. So a block's
 * rounding is only known if the file has a smaller request; otherwise it may be up to half of a
 * block whose size is a power of two. */
#ifndef MV_HOST_TOTALS_H
#define MV_HOST_TOTALS_H

#include "parse/model/trace.h"

typedef struct {
    uint64_t allocated; /* bytes of blocks in use */
    uint64_t reserved;  /* pinned bytes */
    uint64_t rounding;  /* bytes of `allocated` beyond the requests in the file */
    uint64_t powers;    /* bytes of `allocated` in blocks of a power of two without a
                         * smaller request */
} mv_host_levels;

typedef struct {
    bool is_there;        /* the file has host segments or host events */
    uint32_t segments;    /* when the file was written */
    uint32_t allocations; /* blocks in use when the file was written */
    mv_host_levels now;   /* when the file was written */
    uint64_t events;
} mv_host_totals;

/* "11.6 GiB of 32.0 GiB pinned is rounding to powers of two"; "up to ..." if requests are not in
 * the file. "" for less than a tenth of the pinned bytes, or less than 64 MiB: too little to change
 * a program for. In `arena`; NULL when out of memory. */
const char *mv_host_rounding_text(mv_arena *arena, const mv_host_totals *host);

/* O(rows). */
mv_host_totals mv_host_totals_of(const mv_trace *trace);

#endif
