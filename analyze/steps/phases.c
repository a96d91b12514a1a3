#include "analyze/steps/phases.h"

#include "analyze/code/stack_marks.h"
#include "base/grow.h"
#include "base/search.h"

static mv_phase phase_of_marks(uint16_t marks)
{
    if (marks & (MV_MARK_WORKSPACE | MV_MARK_COMMUNICATION))
        return MV_PHASE_NONE;
    if (marks & MV_MARK_OPTIMIZER)
        return MV_PHASE_OPTIMIZER;
    if (marks & MV_MARK_BACKWARD)
        return MV_PHASE_BACKWARD;
    if (marks & MV_MARK_PARAMETER)
        return MV_PHASE_SETUP;
    return marks & MV_MARK_PYTHON ? MV_PHASE_FORWARD : MV_PHASE_NONE;
}

/* The number of runs for which each array of mv_phases has room. */
typedef struct {
    uint32_t start, first_call, phase;
} capacities;

/* Appends a run. Returns false when out of memory. */
static bool add_run(mv_arena *arena, capacities *room, uint32_t start, uint8_t phase,
                    mv_phases *out)
{
    if (!mv_room(arena, out->start, out->count, room->start) ||
        !mv_room(arena, out->first_call, out->count, room->first_call) ||
        !mv_room(arena, out->phase, out->count, room->phase))
        return false;
    out->start[out->count] = start;
    out->first_call[out->count] = MV_NEVER;
    out->phase[out->count++] = phase;
    out->has_backward = out->has_backward || phase == MV_PHASE_BACKWARD;
    return true;
}

/* Finds the runs. Returns false when out of memory. */
static bool walk(mv_arena *arena, const mv_lives *lives, const uint16_t *marks,
                 const uint8_t *phases, mv_phases *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint8_t phase = MV_PHASE_NONE;
    capacities room = {0};

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint32_t stack = a->stack[i].row;
        uint8_t now = stack == MV_NO_ROW ? (uint8_t)MV_PHASE_NONE : phases[stack];
        if (now == MV_PHASE_NONE)
            continue;
        if (now != phase && !add_run(arena, &room, a->birth[i], now, out))
            return false;
        phase = now;
        if (marks[stack] & MV_MARK_MODULE_CALL && out->first_call[out->count - 1] == MV_NEVER)
            out->first_call[out->count - 1] = a->birth[i];
    }
    return true;
}

mv_code mv_phases_find(mv_arena *arena, mv_arena *scratch, const mv_lives *lives,
                       const uint16_t *marks, uint32_t stacks, mv_phases *out, mv_err *err)
{
    uint8_t *phases = mv_push_array(scratch, uint8_t, stacks);

    *out = (mv_phases){0};
    for (uint32_t i = 0; phases && i < stacks; i++)
        phases[i] = (uint8_t)phase_of_marks(marks[i]);
    return phases && walk(arena, lives, marks, phases, out)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u phases", out->count);
}

uint32_t mv_phases_at(const mv_phases *phases, uint32_t event)
{
    uint32_t low = (uint32_t)mv_upper_bound_u32(phases->start, phases->count, event);

    return low == 0 ? MV_NO_ROW : low - 1;
}
