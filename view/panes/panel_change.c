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

static bool find(mv_arena *arena, const mv_flames_question *q, mv_panel_change *out)
{
    mv_diff_sides sides = {0};
    mv_err err;

    return find_side(arena, q->other_device, 0, &sides) && find_side(arena, q->device, 1, &sides) &&
           mv_diff_code_find(arena, &q->other->trace, &q->document->trace, &out->code, &err) ==
               MV_OK &&
           mv_diff_find(arena, &out->code, &sides, &out->found, &err) == MV_OK;
}

const mv_panel_change *mv_panels_change(mv_panels *panels, const mv_flames_question *q)
{
    mv_panel_change *change;

    pthread_mutex_lock(&panels->lock);
    for (change = panels->changes;
         change && (change->before != q->other_device || change->after != q->device);
         change = change->next)
        continue;
    if (!change) {
        mv_arena arena;
        mv_arena_init(&arena, panels->view->budget);
        change = mv_push_struct(&arena, mv_panel_change);
        if (change) {
            change->before = q->other_device;
            change->after = q->device;
            change->is_made = find(&arena, q, change);
            change->arena = arena;
            change->next = panels->changes;
            panels->changes = change;
        }
    }
    pthread_mutex_unlock(&panels->lock);
    return change && change->is_made ? change : NULL;
}
