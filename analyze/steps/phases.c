#include "analyze/steps/phases.h"

#include "analyze/code/stack_marks.h"
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

/* Counts the runs. In a second call, when the arrays are allocated, it also fills the arrays. */
static void walk(const mv_lives *lives, const uint16_t *marks, mv_phases *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint8_t phase = MV_PHASE_NONE;

    out->count = 0;
    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint16_t m = a->stack[i].row == MV_NO_ROW ? 0 : marks[a->stack[i].row];
        uint8_t now = (uint8_t)phase_of_marks(m);
        if (now == MV_PHASE_NONE)
            continue;
        if (now != phase) {
            phase = now;
            if (out->start) {
                out->start[out->count] = a->birth[i];
                out->first_call[out->count] = MV_NEVER;
                out->phase[out->count] = now;
            }
            out->count++;
            out->has_backward = out->has_backward || now == MV_PHASE_BACKWARD;
        }
        if (out->start && m & MV_MARK_MODULE_CALL && out->first_call[out->count - 1] == MV_NEVER)
            out->first_call[out->count - 1] = a->birth[i];
    }
}

mv_code mv_phases_find(mv_arena *arena, const mv_lives *lives, const uint16_t *marks,
                       mv_phases *out, mv_err *err)
{
    *out = (mv_phases){0};
    walk(lives, marks, out);
    out->first_call = mv_push_array(arena, uint32_t, out->count);
    out->phase = mv_push_array(arena, uint8_t, out->count);
    out->start = mv_push_array(arena, uint32_t, out->count);
    if (!out->start || !out->first_call || !out->phase)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u phases", out->count);
    walk(lives, marks, out);
    return MV_OK;
}

uint32_t mv_phases_at(const mv_phases *phases, uint32_t event)
{
    uint32_t low = (uint32_t)mv_upper_bound_u32(phases->start, phases->count, event);

    return low == 0 ? MV_NO_ROW : low - 1;
}
