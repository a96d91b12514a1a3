/* Makes the ledger over time: who holds a device's memory at each sample.
 *
 *     used  =  Σ by  +  context_estimate  +  unexplained           at each sample, exactly
 *
 *     mv_ledger_series s;
 *     mv_ledger_series_find(arena, trace, &lives, &s, err)
 *     for each point i, library k:  mv_ledger_series_by(&s, i)[k]
 *
 * `trace` must be the original trace, because the trace of a level contains no calls
 * (analyze/levels). analyze/ledger/ledger.h explains the terms of the sum. */
#pragma once

#include "analyze/ledger/ledger.h"

/* Maximum number of libraries shown separately. If there are more, the smallest are combined into
 * "others". */
enum { MV_LEDGER_LIBRARIES = 24 };

typedef struct {
    const char *name;  /* name of the library, such as "NCCL" (analyze/code/libraries.h), or
                        * "others" */
    uint64_t most;     /* largest number of bytes held at any time; 0 for "others" */
    bool is_framework; /* the library is PyTorch's allocator */
} mv_ledger_library;

typedef struct {
    int64_t time_us;
    uint64_t used;
    uint64_t others; /* bytes in use by other processes; MV_NO_BYTES: unknown */
    uint64_t framework_reserved, framework_allocated; /* bytes reserved and allocated according to
                                                       * PyTorch; not part of the sums */
    int64_t context_estimate, unexplained;
} mv_ledger_point;

typedef struct {
    uint32_t count;          /* number of points; 0: the device has no samples */
    mv_ledger_point *points; /* [count] points sorted by time */
    uint32_t library_count;
    mv_ledger_library *libraries; /* [library_count] sorted by bytes, largest first, with "others"
                                   * last */
    uint64_t *by;                 /* [count * library_count] bytes of each library at each point */
    /* Indices of special points; 0 if there is none. */
    uint32_t first; /* the first point at which the process used memory */
    uint32_t peak;  /* the first point with the highest use */
    uint32_t end;   /* the last point at which the process used memory */
} mv_ledger_series;

/* Returns the bytes of each library at a point, [library_count]. */
static inline const uint64_t *mv_ledger_series_by(const mv_ledger_series *series, uint32_t point)
{
    return series->by + (uint64_t)point * series->library_count;
}

/* Returns the index in `libraries` of the library with this path; if the library is not shown
 * separately, the index of the last entry. Returns 0 if there are no libraries, because none ever
 * held a byte. */
uint32_t mv_ledger_series_place(const mv_ledger_series *series, const char *path);

/* Makes the series. `lives` selects the device. The time is linear in the number of calls, events
 * and samples, except for sorting the libraries. Fails only when out of memory. */
mv_code mv_ledger_series_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_ledger_series *out, mv_err *err);
