#include "view/document/outline.h"

/* Sums of requested bytes and of segments' bytes. */
typedef struct {
    uint64_t allocated, reserved; /* computed modulo 2^64, so that damaged sizes do no harm */
} sums;

/* Whether a free is counted when it is requested. If the file has only completions, it is counted
 * when it is completed. */
static bool has_requests(const mv_events *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->action[i] == MV_ACTION_FREE_REQUESTED)
            return true;
    return false;
}

static void add_event(const mv_events *e, uint32_t event, uint8_t free_action, sums *to)
{
    uint64_t size = e->size[event];
    uint8_t action = e->action[event];

    if (action == MV_ACTION_ALLOC)
        to->allocated += size;
    else if (action == free_action)
        to->allocated -= size;
    else if (action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP)
        to->reserved += size;
    else if (action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP)
        to->reserved -= size;
}

/* Returns the sum, or zero if it is negative. */
static uint64_t at_least_0(uint64_t sum)
{
    return sum <= INT64_MAX ? sum : 0;
}

/* Returns the memory in use before the first event, which is the final heap minus the sum of the
 * events. */
static sums sums_before(uint32_t device, const mv_trace *trace, const mv_events *e,
                        uint8_t free_action)
{
    const mv_segments *s = &trace->segments;
    sums before = {0}, added = {0};

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] != (int32_t)device)
            continue;
        before.reserved += s->total_size[i];
        for (uint32_t b = s->first_block[i]; b < s->first_block[i] + s->blocks[i]; b++)
            if (trace->blocks.state[b] == MV_BLOCK_ALLOCATED)
                before.allocated += mv_block_requested(trace, b);
    }
    for (uint32_t i = 0; i < e->count; i++)
        add_event(e, i, free_action, &added);
    before.allocated = at_least_0(before.allocated - added.allocated);
    before.reserved = at_least_0(before.reserved - added.reserved);
    return before;
}

static void fill_column(const mv_events *e, uint32_t first, uint32_t end, uint8_t free_action,
                        sums *now, mv_outline *out, uint32_t column)
{
    bool is_first = first == 0; /* the first column also covers the memory before the first event */
    uint64_t least = is_first ? at_least_0(now->allocated) : UINT64_MAX;
    uint64_t most = is_first ? least : 0, most_reserved = is_first ? at_least_0(now->reserved) : 0;

    for (uint32_t i = first; i < end; i++) {
        add_event(e, i, free_action, now);
        uint64_t allocated = at_least_0(now->allocated), reserved = at_least_0(now->reserved);
        least = allocated < least ? allocated : least;
        most = allocated > most ? allocated : most;
        most_reserved = reserved > most_reserved ? reserved : most_reserved;
    }
    out->least[column] = least;
    out->most[column] = most;
    out->reserved[column] = most_reserved;
}

void mv_outline_make(uint32_t device, const mv_trace *trace, mv_outline *out)
{
    const mv_events e = mv_trace_events(trace, device);
    uint8_t free_action = has_requests(&e) ? MV_ACTION_FREE_REQUESTED : MV_ACTION_FREE_COMPLETED;
    sums now = sums_before(device, trace, &e, free_action);
    uint64_t events = e.count;

    *out = (mv_outline){.device = device, .events = e.count};
    out->columns = events < MV_OUTLINE_COLUMNS ? (uint32_t)events : MV_OUTLINE_COLUMNS;
    for (uint64_t i = 0; i < out->columns; i++) {
        fill_column(&e, (uint32_t)(i * events / out->columns),
                    (uint32_t)((i + 1) * events / out->columns), free_action, &now, out,
                    (uint32_t)i);
        if (out->peak < out->most[i])
            out->peak = out->most[i];
        if (out->most_reserved < out->reserved[i])
            out->most_reserved = out->reserved[i];
    }
}
