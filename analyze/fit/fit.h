/* The peaks of a program with inputs of another size (batch, sequence length, or both), from
 * recordings with two or more sizes, or one whose steps have several. docs/fit.md explains it.
 *
 * The same allocations of two recordings are matched (size_match.h), and the bytes of each become a
 * function of the size. The recording with the nearest size is then replayed with the bytes of
 * these functions, so rounding, splitting and the cache are those of the new size.
 *
 *     sizes      constant, in proportion to the size or to its square, or on a line that a third
 *                recording confirms: exact. Others, mostly workspaces that a library chose, have
 *                bounds.
 *     figures    the middle of what replays between these bounds give, if none is more than 1 %
 *                away from it; else only the least and the most of them, and the reason. */
#ifndef MV_FIT_H
#define MV_FIT_H

#include "analyze/fit/size_functions.h"
#include "analyze/replay/setting_trials.h"

typedef enum { MV_FIT_NO, MV_FIT_YES, MV_FIT_UNKNOWN } mv_fit_answer;

/* Peak bytes: the least, the most and the middle of the replays between the bounds. */
typedef struct {
    bool is_known; /* both are within 1 % of `bytes` */
    uint64_t bytes, least, most;
} mv_fit_peak;

typedef struct {
    mv_input at;
    mv_fit_peak allocated, reserved;
    mv_fit_answer fits; /* within the capacity; UNKNOWN without one, too */
    const char *fails;  /* where a request fails: "at train.py:62 forward, in step 2"; "" */
    bool is_recorded;   /* a recording has this size: its own peaks */
    mv_input base; /* size of the recording that is replayed; batch 0: its steps have several */
} mv_fit_point;

typedef struct {
    uint32_t point_count;
    mv_fit_point *points;   /* [point_count] in the order of `at` */
    uint32_t allocs, exact; /* of the largest recording; those whose bytes are exact functions */
    uint32_t sites, exact_sites; /* distinct stacks; those with exact allocations only */
    const char *refused; /* why points are without figures: a sentence without a full stop; NULL */
    const char *note;    /* what else the figures depend on; "" */
    mv_input largest;    /* the largest batch known to fit, with the length of all points; batch 0:
                          * none; MV_NO_BYTES: no capacity, several lengths, or it is not known */
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

/* `runs` have different sizes, and are 2 to MV_MOST_FIT_RUNS; or all are the same recording, whose
 * steps have these sizes, up to MV_MOST_STEP_SIZES. O(n log n) for each pair of sizes, and for each
 * replay: at most 12 for a point, and 200 for `largest`. Everything returned lives in `arena`. Fails
 * only when out of memory. */
mv_code mv_fit_find(mv_arena *arena, const mv_fit_run *runs, uint32_t count, mv_fit_opts opts,
                    mv_fit *out, mv_err *err);

#endif
