#include "analyze/totals/moment.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/totals/level_steps.h"

static uint32_t event_before(uint32_t next_event)
{
    return next_event == 0 ? MV_BEFORE : next_event - 1;
}

/* Returns K for "NAME#K", `alone` for "NAME", and 0 for any other string. */
static uint64_t number_of(const char *at, const char *name, uint64_t alone)
{
    size_t length = strlen(name);
    uint64_t k;
    char *end;

    if (strcmp(at, name) == 0)
        return alone;
    if (strncmp(at, name, length) != 0 || at[length] != '#' ||
        !isdigit((unsigned char)at[length + 1]))
        return 0;
    k = strtoull(at + length + 1, &end, 10);
    return *end ? 0 : k;
}

uint64_t mv_moment_oom_number(const char *at)
{
    return number_of(at, "oom", 1);
}

bool mv_moment_is_low(const char *at, uint64_t *number)
{
    *number = number_of(at, "low", 0);
    return *number > 0 || strcmp(at, "low") == 0;
}

static bool find_oom(const mv_events *events, mv_window window, uint64_t k, uint32_t *event)
{
    for (uint32_t i = window.first; i < window.end; i++)
        if (events->action[i] == MV_ACTION_OOM && --k == 0) {
            *event = i;
            return true;
        }
    return false;
}

bool mv_moment_is_valid(const char *at)
{
    uint64_t low;

    return mv_moment_is_low(at, &low) || strcmp(at, "end") == 0 || strcmp(at, "peak") == 0 ||
           strcmp(at, "reserved-peak") == 0 || mv_moment_oom_number(at) > 0 ||
           mv_position_is_valid(at);
}

bool mv_moment_read(const mv_trace *trace, uint32_t device, const char *at, mv_window window,
                    mv_moment_query *out, char *why, uint32_t why_size)
{
    mv_events events = mv_trace_events(trace, device);
    uint64_t k = mv_moment_oom_number(at);
    mv_position position;

    window = mv_window_cut(window, events.count);
    *out = (mv_moment_query){.event = event_before(window.end), .window = window};
    if (strcmp(at, "end") == 0)
        return true;
    if (strcmp(at, "peak") == 0 || strcmp(at, "reserved-peak") == 0) {
        out->kind = *at == 'p' ? MV_MOMENT_PEAK : MV_MOMENT_RESERVED_PEAK;
        out->of_level = trace->origin.level != NULL;
        return true;
    }
    if (k > 0) {
        if (find_oom(&events, window, k, &out->event))
            return true;
        snprintf(why, why_size,
                 "no such out-of-memory event on device %u: %s; memviz oom lists them", device, at);
        return false;
    }
    if (!mv_moment_is_valid(at)) {
        snprintf(why, why_size, MV_MOMENT_USAGE, at);
        return false;
    }
    if (mv_position_is_beyond(trace, device, at, why, why_size) ||
        !mv_position_find(trace, device, at, &position, why, why_size))
        return false;
    out->event = event_before(position.after);
    return true;
}

mv_levels mv_moment_levels(const mv_lives *lives, uint32_t event)
{
    const mv_alloc_lives *a = &lives->allocs;
    mv_levels sum = {0};

    for (uint32_t i = 0; i < a->count; i++) {
        if (mv_alloc_is_allocated(lives, i, event))
            sum.allocated += a->block[i];
        if (!mv_alloc_is_active(lives, i, event))
            continue;
        sum.active += a->block[i];
        sum.requested += a->requested[i];
    }
    for (uint32_t i = 0; i < lives->segments.count; i++)
        if (mv_segment_is_held(lives, i, event))
            sum.reserved += lives->segments.size[i];
    return sum;
}

uint32_t mv_moment_filled(const mv_lives *lives, uint32_t event, uint32_t end)
{
    const mv_events *e = &lives->events;
    uint32_t next = event + 1, segment, block;

    if (event == MV_BEFORE || next >= end || next >= e->count ||
        e->action[event] != MV_ACTION_SEGMENT_ALLOC || e->action[next] != MV_ACTION_ALLOC)
        return event;
    segment = lives->alloc_of[event];
    block = lives->alloc_of[next];
    return segment != MV_NO_ROW && block != MV_NO_ROW && lives->allocs.segment[block] == segment &&
                   lives->allocs.block[block] == lives->segments.size[segment]
               ? next
               : event;
}

static uint64_t height(const mv_levels *levels, mv_moment_kind kind)
{
    return kind == MV_MOMENT_RESERVED_PEAK ? levels->reserved : levels->allocated;
}

/* Goes through the events up to the end of the window, and keeps the moment with the highest
 * level. */
static bool find_peak(mv_arena *scratch, const mv_lives *lives, mv_moment_query ask, mv_moment *out)
{
    mv_window window = mv_window_cut(ask.window, lives->events.count);
    mv_levels now = mv_moment_levels(lives, MV_BEFORE);
    mv_level_steps steps;

    if (!mv_level_steps_init(scratch, lives, &steps))
        return false;
    *out = (mv_moment){.event = MV_BEFORE, .bytes = now};
    for (uint32_t i = 0; i < window.end; i++) {
        mv_levels_follow(&now, &steps, i);
        if (ask.of_level && i >= window.first && mv_moment_filled(lives, i, window.end) != i)
            continue;
        if (i + 1 == window.first ||
            (i >= window.first && height(&now, ask.kind) > height(&out->bytes, ask.kind)))
            *out = (mv_moment){.event = i, .bytes = now};
    }
    return true;
}

mv_code mv_moment_find(mv_arena *arena, const mv_lives *lives, mv_moment_query ask, mv_moment *out,
                       mv_err *err)
{
    mv_arena scratch;
    bool is_found = true;

    mv_arena_init(&scratch, arena->budget);
    if (ask.kind == MV_MOMENT_AFTER)
        *out = (mv_moment){.event = ask.event, .bytes = mv_moment_levels(lives, ask.event)};
    else
        is_found = find_peak(&scratch, lives, ask, out);
    mv_arena_release(&scratch);
    if (!is_found)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "moments of device %u", lives->device);
    out->time_us = out->event == MV_BEFORE ? MV_NO_TIME : lives->events.time_us[out->event];
    return MV_OK;
}
