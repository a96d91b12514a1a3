#include "parse/model/digest.h"

#include "parse/model/event_times.h"

static void add_bytes(uint64_t *sum, uint64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = UINT64_MAX;
}

static void add_time(mv_digest *d, const mv_events *e, uint32_t event)
{
    int64_t at = e->time_us[event];

    if (event > 0 && at < e->time_us[event - 1] && d->unsorted++ == 0)
        d->first_unsorted = event;
    if (at == MV_NO_TIME)
        return;
    if (d->first_us == MV_NO_TIME || at < d->first_us)
        d->first_us = at;
    if (at > d->last_us)
        d->last_us = at;
}

bool mv_digest_events(mv_arena *scratch, const mv_trace *trace, const mv_events *events,
                      mv_digest *out)
{
    mv_arena_mark here = mv_arena_here(scratch);
    uint8_t *seen = mv_push_array(scratch, uint8_t, trace->stacks.count);

    *out = (mv_digest){.first_us = MV_NO_TIME, .last_us = MV_NO_TIME};
    for (uint32_t i = 0; seen && i < events->count; i++) {
        uint32_t row = events->stack[i].row;
        add_time(out, events, i);
        out->count[events->action[i]]++;
        add_bytes(&out->bytes[events->action[i]], events->size[i]);
        if (row >= trace->stacks.count)
            continue;
        out->events_with_stack++;
        out->stacks += !seen[row];
        seen[row] = 1;
    }
    mv_arena_rewind(scratch, here);
    return seen != NULL;
}

bool mv_trace_has_action(const mv_trace *trace, mv_action action)
{
    for (uint32_t d = 0; d < trace->device_count; d++) {
        const mv_events *e = &trace->devices[d].events;
        if (trace->digests && trace->digests[d].count[action] > 0)
            return true;
        if (!trace->digests && e->count > 0 && memchr(e->action, action, e->count))
            return true;
    }
    return false;
}

/* Packed times do not decrease, and MV_NO_TIME is the lowest of them. */
static bool has_times(const mv_events *e)
{
    uint32_t first = e->packed_times && e->count > 0 ? e->count - 1 : 0;

    for (uint32_t i = first; i < e->count; i++)
        if (mv_event_time(e, i) != MV_NO_TIME)
            return true;
    return false;
}

bool mv_trace_has_times(const mv_trace *trace)
{
    for (uint32_t d = 0; d < trace->device_count; d++) {
        const mv_events *e = &trace->devices[d].events;
        if (trace->digests && trace->digests[d].first_us != MV_NO_TIME)
            return true;
        if (!trace->digests && has_times(e))
            return true;
    }
    return false;
}
