/* Every change of the four measures of totals.h, in order of events. Totals and series are computed
 * from these. Most changes follow from the event alone; the others (segments, which may end in
 * pieces, and allocations whose free is not recorded) are prepared and sorted. */
#ifndef MV_LEVEL_STEPS_H
#define MV_LEVEL_STEPS_H

#include "analyze/totals/totals.h"

/* In the order in which an event applies them: ends before beginnings. */
typedef enum {
    MV_STEP_FREED,     /* an allocation's block is no longer allocated */
    MV_STEP_COMPLETED, /* ... and no longer active; its bytes are no longer requested */
    MV_STEP_UNHOLD,    /* a segment is no longer reserved */
    MV_STEP_HOLD,
    MV_STEP_ALLOC
} mv_step_kind;

/* `row` is of lives->segments for HOLD and UNHOLD, of lives->allocs otherwise. */
typedef struct {
    uint32_t event;
    uint32_t row;
    uint8_t kind; /* mv_step_kind */
} mv_level_step;

typedef struct {
    const mv_lives *lives;
    mv_level_step *prepared; /* by event */
    uint64_t prepared_count;
    uint64_t at;      /* next of `prepared` */
    uint32_t event;   /* the argument of the last call */
    uint8_t own_done; /* number of its own changes returned */
} mv_level_steps;

/* False when out of memory. */
bool mv_level_steps_init(mv_arena *arena, const mv_lives *lives, mv_level_steps *steps);

/* The next change by `event`; false after the last. Call it for the events in order, for each until
 * it returns false. */
bool mv_level_steps_next(mv_level_steps *steps, uint32_t event, mv_level_step *out);

/* Adds a change to levels. */
void mv_levels_apply(mv_levels *levels, const mv_lives *lives, const mv_level_step *step);

/* Adds a preexisting allocation to the levels before the first event. */
void mv_levels_add_before(mv_levels *levels, const mv_lives *lives, uint32_t alloc);

#endif
