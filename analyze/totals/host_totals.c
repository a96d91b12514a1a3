#include "analyze/totals/host_totals.h"

static void sum_heap(const mv_trace *trace, mv_host_totals *out)
{
    const mv_segments *s = &trace->host_segments;
    const mv_blocks *b = &trace->blocks;

    out->segments = s->count;
    for (uint32_t i = 0; i < s->count; i++) {
        out->now.reserved += s->total_size[i];
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++) {
            if (b->state[k] != MV_BLOCK_ALLOCATED)
                continue;
            out->now.allocated += b->size[k];
            out->allocations++;
        }
    }
}

/* Undoes an event: computes the levels before it. A level that would fall below 0 stays at 0. */
static void undo(const mv_events *ev, uint32_t event, mv_host_levels *level)
{
    uint64_t size = ev->size[event];

    switch (ev->action[event]) {
    case MV_ACTION_ALLOC:
        level->allocated -= size < level->allocated ? size : level->allocated;
        break;
    case MV_ACTION_FREE_REQUESTED:
        level->allocated += size;
        break;
    case MV_ACTION_SEGMENT_ALLOC:
        level->reserved -= size < level->reserved ? size : level->reserved;
        break;
    case MV_ACTION_SEGMENT_FREE:
        level->reserved += size;
        break;
    default:
        break;
    }
}

mv_host_totals mv_host_totals_of(const mv_trace *trace)
{
    const mv_events *ev = &trace->host_events;
    mv_host_totals out = {.events = ev->count};
    mv_host_levels level;

    sum_heap(trace, &out);
    out.is_there = out.segments > 0 || out.events > 0;
    out.peak = level = out.now;
    for (uint32_t i = ev->count; i-- > 0;) {
        undo(ev, i, &level);
        if (level.allocated > out.peak.allocated)
            out.peak.allocated = level.allocated;
        if (level.reserved > out.peak.reserved)
            out.peak.reserved = level.reserved;
    }
    return out;
}
