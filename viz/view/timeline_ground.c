/* What the pane shows stands on: the ground, which changes with the device, the clock and what is
 * isolated, and the marks of the device. */
#include <string.h>

#include "viz/view/plot.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- the ground ---------------------------------------------------------------------------- */

/* What is isolated, as a number; 0: nothing is. */
static uint64_t rows_key(const mv_view *view, bool of_segments)
{
    if (of_segments || view->now.show != MV_SHOW_ISOLATE || !view->matches)
        return 0;
    return XXH3_64bits(view->now.search, strlen(view->now.search)) | 1;
}

static const uint64_t *copy_isolated(mv_view *view)
{
    mv_timeline_pane *pane = view->timeline;
    uint64_t bytes = ((uint64_t)view->matches->rows + 63) / 64 * sizeof *pane->isolated;

    if (bytes > pane->isolated_capacity) {
        uint64_t *grown = mv_arena_grow(&pane->arena, pane->isolated, bytes);
        if (!grown)
            return NULL;
        pane->isolated = grown;
        pane->isolated_capacity = bytes;
    }
    memcpy(pane->isolated, view->matches->words, bytes);
    return pane->isolated;
}

/* A new question, once the last one is answered: its rows are read by a worker until then. Tiles
 * of the old ground go, since the answer to it does. */
static void ask_anew(mv_view *view, uint32_t k, const mv_index *index, uint64_t rows)
{
    mv_timeline_pane *pane = view->timeline;

    if (pane->asked[k].id)
        mv_tiles_forget(pane->tiles, pane->asked[k].id);
    if (pane->hit_ground == pane->asked[k].id)
        pane->hit_ground = 0;
    pane->asked[k] = (mv_ground_ask){.index = index,
                                     .rows = rows ? copy_isolated(view) : NULL,
                                     .id = ++pane->last_ground,
                                     .clock = view->now.clock,
                                     .of_segments = k};
    pane->ground_rows[k] = rows;
    pane->is_found[k] = false;
    mv_ground_make_plain(&pane->asked[k], &pane->plain[k]);
}

const mv_ground *mv_timeline_ground(mv_view *view, bool of_segments)
{
    mv_timeline_pane *pane = view->timeline;
    const mv_document_device *d = mv_view_device(view);
    uint32_t k = of_segments ? 1 : 0;
    const mv_index *index = !d ? NULL : of_segments ? &d->segment_index : &d->index;
    uint64_t rows = rows_key(view, of_segments);
    mv_ground_ask *asked = &pane->asked[k];
    const mv_ground *ground;
    bool is_other;

    if (!d)
        return NULL;
    is_other =
        asked->index != index || asked->clock != view->now.clock || pane->ground_rows[k] != rows;
    if (is_other && (asked->id == 0 || pane->is_found[k]))
        ask_anew(view, k, index, rows);
    ground = mv_slot_ask(pane->grounds[k], asked, &pane->is_found[k]);
    if (asked->index != index)
        return NULL;
    if (ground && pane->is_found[k])
        return ground;
    /* On the clock of events all rows need no preparation; and when memory is out, it is that. */
    if (pane->is_found[k] || (asked->clock == MV_CLOCK_EVENTS && pane->ground_rows[k] == 0))
        return &pane->plain[k];
    return NULL;
}

/* ---- marks -------------------------------------------------------------------------------- */

static bool has_pending(const mv_alloc_lives *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->completed[i] != a->freed[i] && a->completed[i] - a->freed[i] > 1)
            return true;
    return false;
}

void *mv_device_marks_find(mv_arena *arena, void *context, const void *ask)
{
    mv_device_marks *out = mv_push_struct(arena, mv_device_marks);
    const mv_document_device *d;
    mv_marks_ask what;
    mv_err err;

    (void)context;
    memcpy(&what, ask, sizeof what);
    d = what.device;
    if (!out || mv_mark_lanes_find(arena, &d->landmarks, what.is_judged ? &d->leaks.steps : NULL,
                                   d->lives.events.count, &out->lanes, &err) != MV_OK)
        return NULL;
    out->has_pending = has_pending(&d->lives.allocs);
    return out;
}

const mv_device_marks *mv_timeline_device_marks(mv_view *view)
{
    mv_marks_ask ask = {mv_view_device(view), mv_view_is_judged(view)};
    const mv_device_marks *marks;
    bool is_current;

    if (!ask.device)
        return NULL;
    marks = mv_slot_ask(view->timeline->marks_slot, &ask, &is_current);
    return is_current ? marks : NULL;
}

const mv_mark_lanes *mv_timeline_marks(mv_view *view)
{
    const mv_device_marks *marks = mv_timeline_device_marks(view);

    return marks ? &marks->lanes : NULL;
}
