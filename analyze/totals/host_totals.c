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

mv_host_totals mv_host_totals_of(const mv_trace *trace)
{
    mv_host_totals out = {.events = trace->host_events.count};

    sum_heap(trace, &out);
    out.is_there = out.segments > 0 || out.events > 0;
    return out;
}
