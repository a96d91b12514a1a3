/* Finds the steps of one recording whose inputs have different sizes, such as a smaller last batch.
 *
 *     sizes     8 and 16
 *     rows      set-up | step 16 | step 16 | step 8 | step 16
 *
 * Steps begin at their marks, or at the moment of lowest memory between two marks, whichever
 * explains more allocations. The size of a step is chosen such that as many of its allocations as
 * possible are as large as those in other steps, or in proportion to them (mv_sizes_are_alike). */
#pragma once

#include "analyze/fit/size_match.h"
#include "analyze/steps/steps.h"

#define MV_MOST_STEP_SIZES 4

typedef struct {
    uint32_t count;
    mv_sized_run *at;    /* [count] rows of each step, with the step's size */
    uint8_t *kind;       /* [count] index of the step's size */
    const char *refused; /* why no steps were found, as a sentence without a full stop; or NULL */
} mv_size_steps;

/* Finds the steps. `runs` are [count] copies of one recording, each with one of the sizes. O(n log
 * n) for each pair of sizes. Fails only when out of memory. */
mv_code mv_size_steps_find(mv_arena *arena, const mv_sized_run *runs, uint32_t count,
                           const mv_steps *marks, mv_size_steps *out, mv_err *err);
