/* CUDA objects that a line creates in each step and never destroys: executable graphs, streams. The
 * driver allocates memory for them without a recorded call, so no level shows it; the device's
 * samples show it as unexplained memory (analyze/ledger).
 *
 *     steps                1      2      3      4      5      6
 *     graphs alive         1      2      3      4      5      6      by the calls
 *     unexplained          2  4   6  8  10     12     14             by the samples
 *
 * Both must grow up to the end for a leak. If the objects grow and the samples are too few or show
 * no growth, the verdict is unknown. */
#ifndef MV_DRIVER_GROWTH_H
#define MV_DRIVER_GROWTH_H

#include "analyze/leaks/leaks.h"

typedef struct mv_driver_growth {
    mv_leak_verdict verdict;   /* CLEAN: nothing found; all other fields are 0 */
    const char *what;          /* "executable graphs", "streams" */
    uint64_t objects;          /* objects of the line that are alive at the end */
    mv_stack_id stack;         /* stack of the line's last object, in the trace as it was read */
    mv_frame_id culprit;       /* MV_NO_ROW: none */
    double confidence;         /* that the objects grow, as in mv_leak */
    uint32_t steps;            /* from the first judged step to the last */
    uint32_t samples;          /* samples of the device in these steps */
    int64_t first_us, last_us; /* of the first and the last sample; MV_NO_TIME: none */
    int64_t first, last;       /* lowest unexplained bytes with the first objects, and with all */
    const char *label;         /* label of the culprit: "train.py:12 step" */
    const char *why;           /* one sentence: the evidence; "" when nothing is found */
    const char *advice;        /* one sentence; "" when nothing is found */
} mv_driver_growth;

/* The growth of driver memory up to the last sample. */
static inline uint64_t mv_driver_growth_bytes(const mv_driver_growth *grown)
{
    return grown->last > grown->first ? (uint64_t)(grown->last - grown->first) : 0;
}

/* `trace` is the trace as it was read. `step_us`: times at which the steps begin. `end_us`: time at
 * which the program's exit begins; INT64_MAX: not seen. Fails only when out of memory. */
mv_code mv_driver_growth_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              const int64_t *step_us, uint32_t steps, int64_t end_us,
                              mv_driver_growth *out, mv_err *err);

/* Sets leaks->driver and updates the verdict if something is found. `trace` and `lives` must be
 * those of `leaks`. Fails only when out of memory. */
mv_code mv_driver_growth_join(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_leaks *leaks, mv_err *err);

#endif
