/* Predicts a program's peaks for inputs of a different size (batch, sequence length, or both). The
 * prediction is made from recordings of two or more sizes, or from one recording whose steps have
 * several sizes. docs/fit.md explains the method.
 *
 * Corresponding allocations of the recordings are matched (size_match.h), and the bytes of each
 * allocation are expressed as a function of the size. The recording with the nearest size is then
 * replayed with the predicted bytes, so that rounding, splitting and caching are as they would be
 * at the new size. Between two recordings with different allocations, both are replayed. If sums
 * may need buffers that the recording does not show, or need none of those that it shows, replays
 * cover both (sum_buffers.h).
 *
 *     sizes      exact if constant, in proportion to the size or to its square, or on a line that a
 *                third recording confirms. Other sizes, mostly of workspaces that a library chose,
 *                have bounds.
 *     figures    the middle of the results of replays between these bounds, if no result is more
 *                than 1 % away from it; otherwise the lowest and the highest result, and why. */
#pragma once

#include "analyze/fit/size_functions.h"
#include "analyze/replay/setting_trials.h"

typedef enum { MV_FIT_NO, MV_FIT_YES, MV_FIT_UNKNOWN } mv_fit_answer;

/* Peak bytes: the lowest, highest and middle result of the replays between the bounds of the
 * sizes. */
typedef struct {
    bool is_known; /* `least` and `most` differ from `bytes` by at most 1 % */
    uint64_t bytes, least, most;
} mv_fit_peak;

typedef struct {
    mv_input at;
    mv_fit_peak allocated, reserved;
    mv_fit_answer fits; /* whether the peak fits into the capacity; UNKNOWN if no capacity is
                         * given */
    const char *fails;  /* where a request fails, such as "at train.py:62 forward, in step 2", or
                         * "" */
    bool is_recorded;   /* a recording has this size, and the peaks are those of the recording */
    mv_input base;      /* size of the replayed recording; batch 0: a recording whose steps have
                         * several sizes */
} mv_fit_point;

typedef struct {
    uint32_t point_count;
    mv_fit_point *points;        /* [point_count] results, in the order of `at` */
    uint32_t allocs, exact;      /* number of allocations in the largest recording, and how many of
                                  * them are exact functions of the size */
    uint32_t sites, exact_sites; /* number of different stacks, and how many of them have only
                                  * exact allocations */
    const char *refused; /* why there are no figures, as a sentence without a full stop; or NULL */
    const char *note;    /* assumptions on which the figures are based, or "" */
    mv_input largest;    /* largest batch known to fit, with the length that all points share;
                          * batch 0: no batch fits; MV_NO_BYTES: unknown, because there is no
                          * capacity or there are several lengths */
} mv_fit;

typedef struct {
    uint32_t at_count;
    const mv_input *at; /* [at_count] sizes to predict */
    uint64_t capacity;  /* memory that is available in bytes; 0: not given */
} mv_fit_opts;

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    mv_input size;
} mv_fit_run;

/* Predicts the peaks. `runs` are 2 to MV_MOST_FIT_RUNS recordings of different sizes, or one
 * recording, repeated for up to MV_MOST_STEP_SIZES sizes of its steps. O(n log n) for each pair of
 * sizes and for each replay, with at most 48 replays per point and 800 for `largest`. All results
 * are in `arena`. Fails only when out of memory. */
mv_code mv_fit_find(mv_arena *arena, const mv_fit_run *runs, uint32_t count, mv_fit_opts opts,
                    mv_fit *out, mv_err *err);
