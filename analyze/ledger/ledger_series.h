/* The ledger over time: the holders of a device's memory at each sample.
 *
 *     used  =  Σ by  +  context_estimate  +  unexplained           at each sample, exactly
 *
 *     mv_ledger_series s;
 *     mv_ledger_series_find(arena, trace, &lives, &s, err)
 *     for each point i, library k:  mv_ledger_series_by(&s, i)[k]
 *
 * `trace` must be the original trace, since the trace of a level has no calls (analyze/levels).
 * analyze/ledger/ledger.h explains the parts. */
#ifndef MV_LEDGER_SERIES_H
#define MV_LEDGER_SERIES_H

#include "analyze/ledger/ledger.h"

/* Maximum libraries shown separately; if there are more, the smallest are merged as "others". */
enum { MV_LEDGER_LIBRARIES = 24 };

typedef struct {
    const char *name;  /* "NCCL" (analyze/code/libraries.h); "others" */
    uint64_t most;     /* most bytes held at any moment; 0 for "others" */
    bool is_framework; /* PyTorch's allocator */
} mv_ledger_library;

typedef struct {
    int64_t time_us;
    uint64_t used;
    uint64_t others; /* in use by other processes; MV_NO_BYTES: unknown */
    uint64_t framework_reserved, framework_allocated; /* according to PyTorch; not part of
                                                       * the sums */
    int64_t context_estimate, unexplained;
} mv_ledger_point;

typedef struct {
    uint32_t device;
    bool is_process;         /* `used` is NVML's figure for the process */
    uint64_t total;          /* bytes of the device; MV_NO_BYTES: unknown */
    uint32_t count;          /* 0: no samples of this device */
    mv_ledger_point *points; /* [count] by time */
    uint32_t library_count;
    mv_ledger_library *libraries; /* [library_count] most bytes first, "others" last */
    uint64_t *by;                 /* [count * library_count] */
    /* Points of interest; 0 if there is none. */
    uint32_t first; /* the first point at which the process used memory */
    uint32_t peak;  /* the first point with the highest use */
    uint32_t end;   /* the last point at which the process used memory */
} mv_ledger_series;

/* The bytes of each library at a point: [library_count] */
static inline const uint64_t *mv_ledger_series_by(const mv_ledger_series *series, uint32_t point)
{
    return series->by + (uint64_t)point * series->library_count;
}

/* The index in `libraries` of the library with this path, or of the last entry, for all others. 0
 * if there are no libraries, because none ever held a byte. */
uint32_t mv_ledger_series_place(const mv_ledger_series *series, const char *path);

/* `lives` selects the device. Linear in calls, events and samples, except for sorting the
 * libraries. Fails only when out of memory. */
mv_code mv_ledger_series_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_ledger_series *out, mv_err *err);

#endif
