/* Predicts the requests that an unfinished step would still have made. These are the requests that
 * an earlier step made after the same point (analyze/steps/recurrence.h), with the sizes of the
 * unfinished step, called "this step" below.
 *
 *     earlier step   a 4   b 8   c 2   d 8   e 3   f 6          allocations and their MiB
 *     this step      a 6   b 12  c 2   ?                        ? would be 12, and then 4.5 and 9
 *
 * The size of a future allocation is predicted from the first of these rules that applies. First,
 * if some allocation of this step changed by the same factors in the earlier steps, both change by
 * the same factor in this step, too. Second, if some allocation of this step had the same size in
 * the earlier step, both have the same size in this step. Last, the future allocation changes by
 * the factor by which most sizes changed. If sizes differ between steps, and this step has not yet
 * shown how its own sizes differ, the forecast ends where such sizes begin. There is no forecast if
 * too little of this step has a counterpart in the earlier step. docs/oom.md explains the
 * method. */
#pragma once

#include "analyze/lives/block_size.h"
#include "analyze/replay/replay.h"
#include "analyze/steps/recurrence.h"

typedef struct {
    uint64_t peak;    /* largest number of bytes allocated between this point and the same point of
                       * the next step; 0: no earlier step of this kind reached this point */
    uint64_t least;   /* the peak without guesses, which is the certain part of the forecast: a size
                       * for which this step shows no evidence is copied from the earlier step
                       * without scaling */
    bool is_least;    /* the peak may be higher, because a size could not be predicted or because no
                       * marks show the steps */
    uint32_t step;    /* number of the earlier step, from 1 to `steps` */
    uint32_t steps;   /* number of earlier steps that contain this point */
    uint32_t matched; /* number of allocations in this step that have a counterpart in the earlier
                       * step */
    double factor;    /* ratio of this step's sizes to the earlier step's; 0: there is no single
                       * factor */
    /* The allocations and frees up to the peak; the request comes first. */
    uint32_t next_count;
    const mv_replay_next *next; /* [next_count] */
    uint32_t first, count;      /* rows of the new allocations: [first, first + count) */
} mv_forecast;

/* Makes the forecast. `allocated` is the number of bytes allocated now, without the request. The
 * list is allocated in `arena`. O(n). Fails only when out of memory. */
mv_code mv_forecast_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                         const mv_steps *steps, const mv_block_rules *rules,
                         mv_recurrence_query ask, uint64_t allocated, mv_forecast *out,
                         mv_err *err);
