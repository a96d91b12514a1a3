/* Finds the phases of a training loop. They are runs of allocations whose stacks belong to the
 * forward pass, the backward pass or the optimizer. A run lasts until the first allocation of the
 * next run.
 *
 *     allocs   p p p   f f f f f   b b b b   o o   f f f f f   b b b
 *     runs     |      |           |         |     |           |
 *
 * Allocations without a phase (no stack, workspaces, communication) do not start a run. */
#pragma once

#include "analyze/lives/lives.h"

typedef enum {
    MV_PHASE_NONE,    /* unknown */
    MV_PHASE_SETUP,   /* code that creates or moves parameters */
    MV_PHASE_FORWARD, /* any other Python code */
    MV_PHASE_BACKWARD,
    MV_PHASE_OPTIMIZER
} mv_phase;

typedef struct {
    uint32_t count;
    uint32_t *start;      /* [count] event of each run's first allocation, ascending */
    uint32_t *first_call; /* [count] event of each run's first allocation inside a module call, or
                           * MV_NEVER */
    uint8_t *phase;       /* [count] mv_phase of each run, never MV_PHASE_NONE */
    bool has_backward;
} mv_phases;

/* Finds the phases. `marks` comes from mv_stack_marks, and has a value for each of the `stacks`. O(n).
 * Fails only when out of memory. */
mv_code mv_phases_find(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                       const uint16_t *marks, uint32_t stacks, mv_phases *out, mv_err *err);

/* Returns the run that contains an event; MV_NO_ROW for an event before the first run. O(log
 * runs). */
uint32_t mv_phases_at(const mv_phases *phases, uint32_t event);

/* Returns the end of a run, which is the start of the next run, or MV_NEVER. */
static inline uint32_t mv_phases_end(const mv_phases *phases, uint32_t run)
{
    return run + 1 < phases->count ? phases->start[run + 1] : MV_NEVER;
}
