#include "analyze/totals/host_totals.h"

#include "base/size.h"
#include "base/text.h"

/* Returns the largest request that is rounded. */
static uint64_t most_rounded(const mv_trace *trace)
{
    uint32_t row = mv_setting_find(trace, NULL, "max_round_threshold");

    if (row == MV_NO_ROW || trace->settings.kind[row] != MV_SETTING_INT ||
        trace->settings.integer[row] < 0)
        return UINT64_MAX;
    return (uint64_t)trace->settings.integer[row];
}

static void sum_rounding(const mv_trace *trace, uint32_t block, uint64_t most, mv_host_levels *out)
{
    uint64_t size = trace->blocks.size[block], request = trace->blocks.requested[block];
    bool is_power = size > 0 && (size & (size - 1)) == 0;

    if (request != MV_NO_BYTES && request < size)
        out->rounding += size - request;
    else if (is_power && size <= most)
        out->powers += size;
}

static void sum_heap(const mv_trace *trace, mv_host_totals *out)
{
    const mv_segments *s = &trace->host_segments;
    const mv_blocks *b = &trace->blocks;
    uint64_t most = most_rounded(trace);

    out->segments = s->count;
    for (uint32_t i = 0; i < s->count; i++) {
        out->now.reserved += s->total_size[i];
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++) {
            if (b->state[k] != MV_BLOCK_ALLOCATED)
                continue;
            out->now.allocated += b->size[k];
            sum_rounding(trace, k, most, &out->now);
            out->allocations++;
        }
    }
}

const char *mv_host_rounding_text(mv_arena *arena, const mv_host_totals *host)
{
    enum { WORTH_A_WORD = 64 << 20, SHARE = 10 };
    uint64_t most = host->now.rounding + host->now.powers / 2;
    char size[MV_SIZE_TEXT], all[MV_SIZE_TEXT];

    if (most < WORTH_A_WORD || most < host->now.reserved / SHARE)
        return "";
    return mv_arena_printf(arena, "%s%s of %s pinned is rounding to powers of two%s",
                           host->now.powers ? "up to " : "", mv_size_text(size, most),
                           mv_size_text(all, host->now.reserved),
                           host->now.powers ? " (the requests are not in the file)" : "");
}

mv_host_totals mv_host_totals_of(const mv_trace *trace)
{
    mv_host_totals out = {.events = trace->host_events.count};

    sum_heap(trace, &out);
    out.is_there = out.segments > 0 || out.events > 0;
    return out;
}
