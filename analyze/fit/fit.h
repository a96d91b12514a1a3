/* Predicts a program's peaks for inputs of another size (batch, sequence length, or both), from
 * recordings with two or more sizes, or from one recording whose steps have several sizes.
 * docs/fit.md explains the method.
 *
 * Corresponding allocations of the recordings are matched (size_match.h), and the bytes of each
 * become a function of the size. The recording with the nearest size is then replayed with these
 * bytes, so rounding, splitting and the cache are those of the new size.
 *
 *     sizes      constant, in proportion to the size or to its square, or on a line that a third
 *                recording confirms: exact. Others, mostly workspaces that a library chose, have
 *                bounds.
 *     figures    the middle of the results of replays between these bounds, if none is more than
 *                1 % away from it; else only the lowest and the highest result, and the reason. */
#ifndef MV_FIT_H
#define MV_FIT_H

#include "analyze/fit/size_functions.h"
#include "analyze/replay/setting_trials.h"

typedef enum { MV_FIT_NO, MV_FIT_YES, MV_FIT_UNKNOWN } mv_fit_answer;

/* Peak bytes: the lowest, highest and middle result of the replays between the bounds. */
typedef struct {
    bool is_known; /* `least` and `most` are within 1 % of `bytes` */
    uint64_t bytes, least, most;
} mv_fit_peak;

typedef struct {
    mv_input at;
    mv_fit_peak allocated, reserved;
    mv_fit_answer fits; /* within the capacity; UNKNOWN if there is no capacity */
    const char *fails;  /* where a request fails: "at train.py:62 forward, in step 2"; or "" */
    bool is_recorded;   /* a recording has this size: these are its own peaks */
    mv_input base;      /* size of the replayed recording; batch 0: its steps have several sizes */
} mv_fit_point;

typedef struct {
    uint32_t point_count;
    mv_fit_point *points;   /* [point_count] in the order of `at` */
    uint32_t allocs, exact; /* allocations of the largest recording; those with exact functions of
                             * the size */
    uint32_t sites, exact_sites; /* distinct stacks; those with only exact allocations */
    const char *refused; /* why points have no figures: a sentence without a full stop; or NULL */
    const char *note;    /* assumptions behind the figures, or "" */
    mv_input largest;    /* the largest batch known to fit, with the length of all points; batch 0:
                          * none; MV_NO_BYTES: unknown, no capacity, or several lengths */
} mv_fit;

typedef struct {
    uint32_t at_count;
    const mv_input *at; /* [at_count] */
    uint64_t capacity;  /* 0: none */
} mv_fit_opts;

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    mv_input size;
} mv_fit_run;

/* `runs` are 2 to MV_MOST_FIT_RUNS recordings of different sizes; or one recording, repeated for up
 * to MV_MOST_STEP_SIZES sizes of its steps. O(n log n) for each pair of sizes and for each replay,
 * with at most 12 replays per point and 200 for `largest`. All results are in `arena`. Fails only
 * when out of memory. */
mv_code mv_fit_find(mv_arena *arena, const mv_fit_run *runs, uint32_t count, mv_fit_opts opts,
                    mv_fit *out, mv_err *err);

#endif
