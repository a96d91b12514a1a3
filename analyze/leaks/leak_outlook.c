/* Predicts when the leaks will fill the device. */
#include "analyze/heap/segment_growth.h"
#include "analyze/leaks/leaks.h"
#include "analyze/totals/moment.h"
#include "parse/model/digest.h"
#include "parse/model/event_times.h"

static mv_code most_reserved(mv_arena *arena, const mv_lives *lives, uint32_t first, uint32_t end,
                             uint64_t *out, mv_err *err)
{
    mv_moment_query ask = {.kind = MV_MOMENT_RESERVED_PEAK, .window = {first, end}};
    mv_moment moment;
    mv_code code = mv_moment_find(arena, lives, ask, &moment, err);

    *out = code == MV_OK ? moment.bytes.reserved : 0;
    return code;
}

/* Finds the capacity from an out-of-memory event, like `limit_least` in analyze/oom/oom.h. It is
 * the bytes reserved at that event plus the device's free bytes. If the refused segment would have
 * fitted into the free bytes, it was refused because of a limit on the process. The capacity is
 * then at least the most that was reserved before the event, unless the refused level was not above
 * that, because the limit had been lowered. A higher level that was reserved later counts, too. */
static mv_code capacity_by_oom(mv_arena *arena, const mv_lives *lives, uint32_t oom,
                               mv_leak_outlook *out, mv_err *err)
{
    uint64_t device_free = lives->events.addr[oom], then, before, later;
    uint64_t segment = mv_segment_size_for(lives->events.size[oom]);

    if (most_reserved(arena, lives, 0, oom, &before, err) != MV_OK ||
        most_reserved(arena, lives, oom + 1, lives->events.count, &later, err) != MV_OK)
        return err->code;
    then = mv_moment_levels(lives, oom).reserved;
    out->is_least = device_free >= segment;
    if (!out->is_least)
        out->capacity = then + device_free;
    else
        out->capacity = before < then + segment ? before : then;
    out->is_least |= later > out->capacity;
    out->capacity = later > out->capacity ? later : out->capacity;
    return MV_OK;
}

/* Returns the last failure that shows how much memory the device had left, or MV_NEVER. */
static uint32_t informative_oom(const mv_events *e)
{
    uint32_t last = MV_NEVER;

    for (uint32_t i = 0; (i = mv_next_action(e, i, MV_ACTION_OOM)) < e->count; i++)
        last = e->addr[i] != MV_NO_BYTES ? i : last;
    return last;
}

/* Finds the capacity from the last sample of a capture: the size of the device minus the bytes used
 * outside the allocator. */
static bool capacity_by_samples(const mv_trace *trace, const mv_lives *lives, uint64_t *out)
{
    const mv_samples *s = &trace->samples;
    uint64_t reserved =
        s->count > 0 ? mv_moment_levels(lives, lives->events.count - 1).reserved : 0;

    for (uint32_t i = s->count; i-- > 0;)
        if (s->device[i] == (int32_t)lives->device && s->used[i] >= reserved &&
            s->total[i] >= s->used[i]) {
            *out = s->total[i] - (s->used[i] - reserved);
            return true;
        }
    return false;
}

/* Whether the trace describes host memory, for which there are no samples. */
static bool is_of_host(const mv_trace *trace)
{
    return trace->origin.level && strcmp(trace->origin.level, "host") == 0;
}

static mv_code find_capacity(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             uint64_t given, mv_leak_outlook *out, mv_err *err)
{
    uint32_t oom = informative_oom(&lives->events);

    out->capacity = given;
    out->source = "option";
    if (given != MV_NO_BYTES)
        return MV_OK;
    out->source = "oom";
    if (oom != MV_NEVER)
        return capacity_by_oom(arena, lives, oom, out, err);
    out->source = "samples";
    if (lives->events.count == 0 || is_of_host(trace) ||
        !capacity_by_samples(trace, lives, &out->capacity))
        out->source = "";
    return MV_OK;
}

/* Returns the first out-of-memory event after the last block of every leak. */
static uint32_t oom_after(const mv_lives *lives, const mv_leaks *leaks)
{
    uint32_t last = 0, oom;

    for (uint32_t i = 0; i < leaks->count; i++)
        if (leaks->leaks[i].last_event > last)
            last = leaks->leaks[i].last_event;
    oom = leaks->count > 0 ? mv_next_action(&lives->events, last, MV_ACTION_OOM) : MV_NEVER;
    return oom < lives->events.count ? oom : MV_NEVER;
}

/* Returns the mean duration of all complete steps in microseconds, or -1 if it is unknown. */
static double time_of_step(const mv_lives *lives, const mv_steps *steps)
{
    const mv_events *e = &lives->events;
    uint32_t last = steps->count - 1;
    int64_t from, to;

    while (last > 0 && steps->at[last] >= e->count)
        last--;
    if (last == 0)
        return -1;
    from = mv_event_time(e, steps->at[0]);
    to = mv_event_time(e, steps->at[last]);
    if (from == MV_NO_TIME || to == MV_NO_TIME || to < from)
        return -1;
    return ((double)to - (double)from) / last;
}

mv_code mv_leaks_outlook(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, uint64_t capacity, mv_leak_outlook *out,
                         mv_err *err)
{
    const mv_steps *steps = &leaks->steps;
    mv_moment_query ask = {.kind = MV_MOMENT_PEAK};
    uint64_t grows = 0;
    mv_moment peak;
    double each;

    *out = (mv_leak_outlook){.steps = MV_NO_BYTES, .time_us = MV_NO_TIME};
    out->oom_event = oom_after(lives, leaks);
    if (find_capacity(arena, trace, lives, capacity, out, err) != MV_OK)
        return err->code;
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
