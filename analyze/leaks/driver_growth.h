/* Finds CUDA objects, such as executable graphs and streams, that a line creates in each step and
 * never destroys. The driver allocates memory for these objects without a recorded call, so no
 * level contains that memory, but the device's samples show it as unexplained memory
 * (analyze/ledger).
 *
 *     steps                1      2      3      4      5      6
 *     graphs alive         1      2      3      4      5      6      according to the calls
 *     unexplained          2  4   6  8  10     12     14             according to the samples
 *
 * It is a leak only if both the number of objects and the unexplained memory grow until the end. If
 * the number of objects grows, but there are too few samples or they show no growth, the verdict is
 * unknown. */
#pragma once

#include "analyze/leaks/leaks.h"

typedef struct mv_driver_growth {
    mv_leak_verdict verdict;   /* CLEAN if nothing was found; all other fields are then 0 */
    const char *what;          /* kind of object: "executable graphs", "streams" */
    uint64_t objects;          /* number of the line's objects that are alive at the end */
    mv_stack_id stack;         /* stack of the call that created the line's last object, in the
                                * original trace */
    mv_frame_id culprit;       /* frame to look at: the line's code; MV_NO_ROW: none */
    double confidence;         /* confidence that the number of objects grows, as in mv_leak */
    uint32_t samples;          /* number of the device's samples in these steps */
    int64_t first_us, last_us; /* times of the first and the last sample; MV_NO_TIME: none */
    int64_t first, last;       /* lowest unexplained bytes at the first number of objects, and at
                                * the last */
    const char *label;         /* label of the culprit: "train.py:12 step" */
    const char *why;           /* one sentence with the evidence; "" when nothing is found */
    const char *advice;        /* one sentence with advice; "" when nothing is found */
} mv_driver_growth;

/* Returns the growth of driver memory if it is a leak, or NULL. */
static inline const mv_driver_growth *mv_driver_leak(const mv_leaks *leaks)
{
    return leaks->driver && leaks->driver->verdict == MV_VERDICT_LEAK ? leaks->driver : NULL;
}

/* Returns the bytes by which driver memory grew between the first and the last floor of the
 * samples. */
static inline uint64_t mv_driver_growth_bytes(const mv_driver_growth *grown)
{
    return grown->last > grown->first ? (uint64_t)(grown->last - grown->first) : 0;
}

/* Looks for a line whose objects make driver memory grow. `trace` is the original trace. `step_us`:
 * times at which the steps begin. `end_us`: time at which the program begins to exit, or INT64_MAX
 * if the trace shows no exit. Fails only when out of memory. */
mv_code mv_driver_growth_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              const int64_t *step_us, uint32_t steps, int64_t end_us,
                              mv_driver_growth *out, mv_err *err);

/* Looks for driver growth. If driver memory grows, sets leaks->driver and updates the verdict.
 * `leaks` must have been made from `trace` and `lives`. Fails only when out of memory. */
mv_code mv_driver_growth_join(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_leaks *leaks, mv_err *err);
