/* The rows that the pane shows, which change with the device, the clock and the isolated rows, and
 * the device's marks. */

#include "view/timeline/plot.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- the rows ---------------------------------------------------------------------------- */

/* Returns a key for the isolated rows; 0: none are isolated. */
static uint64_t only_key_of(const mv_view *view, bool of_segments)
{
    if (view->now->show != MV_SHOW_ISOLATE ||
        !(of_segments ? view->segment_matches : view->matches))
        return 0;
    return XXH3_64bits(view->now->search, strlen(view->now->search)) | 1;
}

/* Copies the bits of the isolated rows. The bits of segments follow the rows of lives->segments,
 * while the index is sorted by birth. */
static void copy_bits(const mv_view *view, uint32_t k, uint64_t *out)
{
    const mv_alloc_lives *a = &mv_view_device(view)->segment_lives.allocs;

    if (k == 0) {
        memcpy(out, view->matches->words, ((uint64_t)view->matches->rows + 63) / 64 * sizeof *out);
        return;
    }
    memset(out, 0, ((uint64_t)a->count + 63) / 64 * sizeof *out);
    for (uint32_t i = 0; i < a->count; i++)
        if (mv_filter_has(view->segment_matches, a->segment[i]))
            out[i / 64] |= (uint64_t)1 << i % 64;
}

static const uint64_t *copy_isolated(mv_view *view, uint32_t k)
{
    mv_timeline_pane *pane = view->timeline;
    mv_isolated *isolated = &pane->isolated[k];
    uint32_t rows = k ? view->segment_matches->rows : view->matches->rows;
    uint64_t bytes = ((uint64_t)rows + 63) / 64 * sizeof *isolated->words;

    if (bytes > isolated->capacity) {
        uint64_t *grown = mv_arena_grow(&pane->arena, isolated->words, bytes);
        if (!grown)
            return NULL;
        isolated->words = grown;
        isolated->capacity = bytes;
    }
    if (bytes > 0)
        copy_bits(view, k, isolated->words);
    return isolated->words;
}

static bool is_asked(const mv_asked_rows *g, const mv_index *index, uint32_t clock,
                     uint64_t only_key)
{
    return g->ask.id && g->ask.index == index && g->ask.clock == clock && g->only_key == only_key;
}

/* Returns the best result available, which is the answer to the query if there is one. Otherwise it
 * is all rows on the event clock. They need no preparation, so they are also used when out of
 * memory. NULL: there is no result yet. */
static const mv_timeline_rows *answer(mv_asked_rows *g)
{
    const mv_timeline_rows *rows;

    if (g->is_plain)
        return &g->plain;
    rows = mv_slot_query(g->slot, &g->ask, &g->is_found);
    if (rows && g->is_found)
        return rows;
    return g->is_found || (g->ask.clock == MV_CLOCK_EVENTS && g->only_key == 0) ? &g->plain : NULL;
}

/* Drops all references to these rows. */
static void leave(mv_timeline_pane *pane, mv_asked_rows *g)
{
    if (g->ask.id)
        mv_tiles_forget(pane->tiles, g->ask.id);
    if (pane->hit_rows == g->ask.id)
        pane->hit_rows = 0;
}

static void ask_anew(mv_view *view, mv_asked_rows *g, uint32_t k, const mv_index *index,
                     uint64_t only_key)
{
    leave(view->timeline, g);
    g->ask = (mv_timeline_rows_query){.index = index,
                                      .device = &mv_view_device(view)->lives,
                                      .only = only_key ? copy_isolated(view, k) : NULL,
                                      .id = ++view->timeline->last_rows,
                                      .clock = view->now->clock,
                                      .of_segments = k};
    g->only_key = only_key;
    g->is_found = g->is_plain = view->sheet && only_key == 0 && view->now->clock == MV_CLOCK_EVENTS;
    mv_timeline_rows_make_plain(&g->ask, &g->plain);
}

/* Returns the rows to show. Old rows are shown until the new ones are ready. A worker reads the
 * isolated rows until it has finished, so a newer query must wait for the worker. */
const mv_timeline_rows *mv_timeline_rows_of(mv_view *view, bool of_segments)
{
    mv_timeline_pane *pane = view->timeline;
    const mv_document_device *d = mv_view_device(view);
    uint32_t k = of_segments ? 1 : 0;
    uint64_t only_key = only_key_of(view, of_segments);
    mv_asked_rows *shown = &pane->asked_rows[k][pane->shown_rows[k]];
    mv_asked_rows *next = &pane->asked_rows[k][!pane->shown_rows[k]];
    const mv_index *index = !d ? NULL : of_segments ? &d->segment_index : &d->index;
    const mv_timeline_rows *rows;

    if (!d)
        return NULL;
    if (is_asked(shown, index, view->now->clock, only_key))
        return answer(shown);
    if (!is_asked(next, index, view->now->clock, only_key) && (next->ask.id == 0 || next->is_found))
        ask_anew(view, next, k, index, only_key);
    rows = answer(next);
    if (rows && is_asked(next, index, view->now->clock, only_key)) {
        pane->shown_rows[k] = !pane->shown_rows[k];
        leave(pane, shown);
        return rows;
    }
    return shown->ask.index == index ? answer(shown) : NULL;
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
    mv_marks_query what;
    mv_err err;

    (void)context;
    memcpy(&what, ask, sizeof what);
    d = what.device;
    if (!out ||
        mv_mark_lanes_find(arena, &d->trace_marks, what.is_evaluated ? &d->leaks.steps : NULL,
                           d->lives.events.count, &out->lanes, &err) != MV_OK)
        return NULL;
    out->has_pending = has_pending(&d->lives.allocs);
    return out;
}

const mv_device_marks *mv_timeline_device_marks(mv_view *view)
{
    mv_marks_query ask = {mv_view_device(view), mv_view_is_evaluated(view)};
    const mv_device_marks *marks;
    bool is_current;

    if (!ask.device)
        return NULL;
    marks = mv_slot_query(view->timeline->marks_slot, &ask, &is_current);
    return is_current ? marks : NULL;
}

const mv_mark_lanes *mv_timeline_marks(mv_view *view)
{
    const mv_device_marks *marks = mv_timeline_device_marks(view);

    return marks ? &marks->lanes : NULL;
}
