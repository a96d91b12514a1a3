/* The difference between the peaks of two devices, which is computed once for each pair. */
#include "view/panes/panels.h"

static bool find_side(mv_arena *arena, const mv_document_device *d, int s, mv_diff_sides *sides)
{
    mv_window all = {0, d->lives.events.count};
    mv_err err;

    sides->lives[s] = &d->lives;
    sides->reserved[s] = (mv_moment_query){.kind = MV_MOMENT_RESERVED_PEAK, .window = all};
    return mv_moment_find(arena, &d->lives,
                          (mv_moment_query){.kind = MV_MOMENT_PEAK, .window = all},
                          &sides->moment[s], &err) == MV_OK;
}

static bool find(mv_arena *arena, const void *ask, void *out)
{
    const mv_flames_question *q = ask;
    mv_panel_change *change = out;
    mv_diff_sides sides = {0};
    mv_err err;

    return find_side(arena, q->other_device, 0, &sides) && find_side(arena, q->device, 1, &sides) &&
           mv_diff_code_find(arena, &q->other->trace, &q->document->trace, &change->code, &err) ==
               MV_OK &&
           mv_diff_find(arena, &change->code, &sides, &change->found, &err) == MV_OK;
}

const mv_panel_change *mv_panels_change(mv_panels *panels, const mv_flames_question *q)
{
    return mv_shared_get(panels, &panels->changes, q->other_device, q->device,
                         sizeof(mv_panel_change), find, q);
}
