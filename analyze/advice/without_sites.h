/* Finds out how far the peak of reserved memory would fall if a given site did not allocate. For
 * each site of the peak's attribution, the trace is replayed without the site's allocations, as in
 * `whatif --drop`. The results include holes and whole segments, so they differ from the marginal
 * bytes of allocated memory. A result is negative if the other allocations fit worse without the
 * site.
 *
 *     mv_without_sites(&arena, &trace, &lives, &attribution, 12, &found, &err);
 *     if (i < found.count)  found.fall[i]  for attribution.sites[i] */
#pragma once

#include "analyze/peak/peak.h"

/* All replays together take at most this many steps (mv_replay_most_work). Longer traces are not
 * replayed, because with 100,000 events the report would execute four times as many instructions
 * (bench/instructions). */
#define MV_WITHOUT_STEPS  ((uint64_t)1 << 21)
#define MV_WITHOUT_EVENTS ((uint32_t)1 << 16)

typedef struct {
    uint32_t count; /* number of sites in `fall`; also 0 if the replay differs from the recorded
                     * run or a request failed */
    int64_t *fall;  /* [count] how far the peak would fall without each of the first sites */
} mv_reserved_falls;

/* Replays the trace without each of the first `most` sites. O(n log n) for each site. All results
 * are in `arena`. Fails only when out of memory. */
mv_code mv_without_sites(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_attribution *found, uint64_t most, mv_reserved_falls *out,
                         mv_err *err);
