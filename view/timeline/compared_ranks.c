/* The comparison that `memviz ranks` makes, for the lanes. A worker summarizes all devices. */

#include "view/timeline/pane_ranks.h"

static bool is_shown(const mv_document_device *d)
{
    int stage = atomic_load_explicit(&d->stage, memory_order_acquire);

    return stage == MV_DEVICE_SHOWN || stage == MV_DEVICE_REPORTED;
}

/* Lists the shown devices of all files, up to `most`. */
static uint32_t list(const mv_ranks_query *ask, mv_compared_ranks *out)
{
    uint32_t count = 0;

    for (uint32_t f = 0; f < ask->document_count; f++) {
        const mv_document *d = ask->documents[f];
        if (atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DOCUMENT_OPENED)
            continue;
        for (uint32_t i = 0; i < d->device_count && count < ask->shown_count; i++)
            if (is_shown(&d->devices[i])) {
                out->file[count] = f;
                out->device[count++] = i;
            }
    }
    return count;
}

void *mv_ranks_find(mv_arena *arena, void *context, const void *ask)
{
    mv_compared_ranks *out = mv_push_struct(arena, mv_compared_ranks);
    const mv_summary **ranks;
    mv_summary *summaries;
    mv_ranks_query what;
    mv_err err;

    (void)context;
    memcpy(&what, ask, sizeof what);
    summaries = mv_push_array(arena, mv_summary, what.shown_count);
    ranks = mv_push_array(arena, const mv_summary *, what.shown_count);
    if (!out || !summaries || !ranks)
        return NULL;
    out->file = mv_push_array(arena, uint32_t, what.shown_count);
    out->device = mv_push_array(arena, uint32_t, what.shown_count);
    out->count = out->file && out->device ? list(&what, out) : 0;
    for (uint32_t i = 0; i < out->count; i++) {
        const mv_document *d = what.documents[out->file[i]];
        ranks[i] = &summaries[i];
        if (mv_summary_make(arena, &d->trace, d->devices[out->device[i]].device, MV_ALL_EVENTS,
                            MV_SUMMARY_POINTS, d->path, &summaries[i], &err) != MV_OK)
            return NULL;
    }
    if (out->count < 2 ||
        mv_ranks_compare(arena, ranks, out->count, (mv_rank_grid){0}, &out->found, &err) != MV_OK)
        return NULL;
    return out;
}
