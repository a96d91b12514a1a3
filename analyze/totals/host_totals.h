/* Computes the pinned host memory at the end of a trace from the file's host segments, which
 * PyTorch 2.13 and later record (record_pinned_host_memory=True). Peaks and their bounds are in the
 * totals of the level `host` (analyze/levels).
 *
 * The host allocator rounds requests up to powers of two, except above max_round_threshold
 * (pinned_max_round_threshold_mb), and PyTorch writes the rounded size as the request. So the
 * rounding of a block is known only if the file contains a smaller request. Otherwise, if the size
 * of the block is a power of two, up to half of the block may be rounding. */
#pragma once

#include "parse/model/trace.h"

typedef struct {
    uint64_t allocated; /* number of bytes in blocks that are in use */
    uint64_t reserved;  /* pinned bytes */
    uint64_t rounding;  /* bytes of `allocated` beyond the requests that the file contains */
    uint64_t powers;    /* bytes of `allocated` in blocks whose size is a power of two and for
                         * which the file contains no smaller request */
} mv_host_levels;

typedef struct {
    bool is_there;        /* the file has host segments or host events */
    uint32_t segments;    /* number of segments when the file was written */
    uint32_t allocations; /* number of blocks in use when the file was written */
    mv_host_levels now;   /* bytes when the file was written */
    uint64_t events;
} mv_host_totals;

/* Returns "11.6 GiB of 32.0 GiB pinned is rounding to powers of two"; "up to ..." if the file does
 * not contain the requests. Returns "" if the rounding is less than a tenth of the pinned bytes or
 * less than 64 MiB, because so little is not worth a change to the program. Allocated in `arena`;
 * NULL when out of memory. */
const char *mv_host_rounding_text(mv_arena *arena, const mv_host_totals *host);

/* Computes the totals. O(rows). */
mv_host_totals mv_host_totals_of(const mv_trace *trace);
