/* When leaks will have filled the device. */
#include "analyze/leaks/leaks.h"
#include "analyze/totals/moment.h"

/* The capacity as an out-of-memory event shows it: what was reserved then, and the free bytes of
 * the device. If the request would have fitted into these, a limit of the process refused it, and
 * they do not count. */
static bool capacity_by_oom(const mv_lives *lives, uint64_t *out)
{
    const mv_events *e = &lives->events;

    for (uint32_t i = e->count; i-- > 0;)
        if (e->action[i] == MV_ACTION_OOM && e->addr[i] != MV_NO_BYTES) {
            *out = mv_moment_levels(lives, i).reserved + (e->addr[i] < e->size[i] ? e->addr[i] : 0);
            return true;
        }
    return false;
}

/* The capacity as the last sample of a capture shows it: the size of the device, less what is used
 * outside the allocator. */
static bool capacity_by_samples(const mv_trace *trace, const mv_lives *lives, uint64_t *out)
{
    const mv_samples *s = &trace->samples;
    uint64_t reserved = mv_moment_levels(lives, lives->events.count - 1).reserved;

    for (uint32_t i = s->count; i-- > 0;)
        if (s->device[i] == (int32_t)lives->device && s->used[i] >= reserved &&
            s->total[i] >= s->used[i]) {
            *out = s->total[i] - (s->used[i] - reserved);
            return true;
        }
    return false;
}

static void find_capacity(const mv_trace *trace, const mv_lives *lives, uint64_t given,
                          mv_leak_outlook *out)
{
    out->capacity = given;
    out->source = "option";
    if (given != MV_NO_BYTES)
        return;
    out->source = "oom";
    if (capacity_by_oom(lives, &out->capacity))
        return;
    out->source = "samples";
    if (lives->events.count > 0 && capacity_by_samples(trace, lives, &out->capacity))
        return;
    out->source = "";
}

/* The first out-of-memory event after all blocks of the leaks. */
static uint32_t oom_after(const mv_lives *lives, const mv_leaks *leaks)
{
    const mv_events *e = &lives->events;
    uint32_t last = 0;

    for (uint32_t i = 0; i < leaks->count; i++)
        if (leaks->leaks[i].last_event > last)
            last = leaks->leaks[i].last_event;
    for (uint32_t i = last; leaks->count > 0 && i < e->count; i++)
        if (e->action[i] == MV_ACTION_OOM)
            return i;
    return MV_NEVER;
}

/* Microseconds that one step takes: the mean of all complete steps. -1 when not known. */
static double time_of_step(const mv_lives *lives, const mv_steps *steps)
{
    const mv_events *e = &lives->events;
    uint32_t last = steps->count - 1;
    int64_t from, to;

    while (last > 0 && steps->at[last] >= e->count)
        last--;
    if (last == 0)
        return -1;
    from = e->time_us[steps->at[0]];
    to = e->time_us[steps->at[last]];
    if (from == MV_NO_TIME || to == MV_NO_TIME || to < from)
        return -1;
    return ((double)to - (double)from) / last;
}

mv_code mv_leaks_outlook(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, uint64_t capacity, mv_leak_outlook *out,
                         mv_err *err)
{
    const mv_steps *steps = &leaks->steps;
    mv_moment_ask ask = {.kind = MV_MOMENT_PEAK};
    uint64_t grows = 0;
    mv_moment peak;
    double each;

    *out = (mv_leak_outlook){.steps = MV_NO_BYTES, .time_us = MV_NO_TIME};
    out->oom_event = oom_after(lives, leaks);
    find_capacity(trace, lives, capacity, out);
    for (uint32_t i = 0; i < leaks->count; i++)
        grows += leaks->leaks[i].bytes_per_step;
    if (out->capacity == MV_NO_BYTES || grows == 0 || steps->count < 2)
        return MV_OK;
    ask.window = (mv_window){steps->at[steps->count - 2], steps->at[steps->count - 1]};
    if (mv_moment_find(arena, lives, ask, &peak, err) != MV_OK)
        return err->code;
    out->steps =
        peak.bytes.allocated < out->capacity ? (out->capacity - peak.bytes.allocated) / grows : 0;
    each = time_of_step(lives, steps);
    if (each >= 0 && each * (double)out->steps < 9e18)
        out->time_us = (int64_t)(each * (double)out->steps);
    return MV_OK;
}
