/* What an unfinished step would still have asked for: an earlier step goes on from the same point
 * (analyze/steps/recurrence.h), with this step's sizes.
 *
 *     earlier step   a 4   b 8   c 2   d 8   e 3   f 6          allocations and their MiB
 *     this step      a 6   b 12  c 2   ?                        ? would be 12, and then 4.5 and 9
 *
 * An allocation still to come is as large, relative to the earlier step, as one of this step that
 * went along with it in the earlier steps (twice the size where that had twice the size); else as
 * one of its size there; else it takes the factor that most sizes changed by. As long as this step
 * has shown nothing of what differs between steps, the forecast ends where that begins.
 * docs/oom.md explains it. */
#ifndef MV_FORECAST_H
#define MV_FORECAST_H

#include "analyze/lives/block_size.h"
#include "analyze/steps/recurrence.h"

typedef struct {
    uint64_t peak;    /* most allocated bytes from here to the same point of the next step; 0: no
                       * earlier step shows what would have followed */
    bool is_least;    /* a size on the way could not be told, or no mark shows the steps */
    uint32_t step;    /* the earlier step, the how manieth of `steps` */
    uint32_t steps;   /* earlier steps with this point */
    uint32_t matched; /* allocations of this step that have their like in that one */
    double factor;    /* of this step's sizes to those of that step; 0: not by one factor */
} mv_forecast;

/* `allocated` are the bytes at the moment, without what is asked for. O(n). Fails only when
 * memory is out. */
mv_code mv_forecast_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                         const mv_steps *steps, const mv_block_rules *rules, mv_recurrence_ask ask,
                         uint64_t allocated, mv_forecast *out, mv_err *err);

#endif
