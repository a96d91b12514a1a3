#include "analyze/totals/moment.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/totals/level_steps.h"
#include "base/parallel_for.h"
#include "base/search.h"
#include "parse/model/event_times.h"

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

/* ---- the levels at a moment -------------------------------------------------------------- */

/* Work is divided into at most PARTS parts. If they are smaller than this, a thread costs more than
 * it saves. */
enum { PARTS = 16, PART_ROWS = 1 << 16 };

static uint32_t parts_of(uint32_t rows)
{
    return rows / PART_ROWS < PARTS ? 1 + rows / PART_ROWS : PARTS;
}

typedef struct {
    const mv_lives *lives;
    uint32_t event, rows, parts;
    mv_levels sum[PARTS];
} adding;

static void add_part(void *user, uint32_t part)
{
    adding *all = user;
    const mv_lives *lives = all->lives;
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t end = (uint32_t)((uint64_t)all->rows * (part + 1) / all->parts);
    mv_levels sum = {0};

    for (uint32_t i = (uint32_t)((uint64_t)all->rows * part / all->parts); i < end; i++) {
        if (mv_alloc_is_allocated(lives, i, all->event))
            sum.allocated += a->block[i];
        if (!mv_alloc_is_active(lives, i, all->event))
            continue;
        sum.active += a->block[i];
        sum.requested += a->requested[i];
    }
    all->sum[part] = sum;
}

static void add_levels(mv_levels *to, const mv_levels *from)
{
    to->allocated += from->allocated;
    to->active += from->active;
    to->requested += from->requested;
    to->reserved += from->reserved;
}

mv_levels mv_moment_levels(const mv_lives *lives, uint32_t event)
{
    const mv_alloc_lives *a = &lives->allocs;
    adding all = {.lives = lives, .event = event, .rows = a->preexisting};
    mv_levels sum = {0};

    if (event != MV_BEFORE) /* later rows were born after the event */
        all.rows += (uint32_t)mv_upper_bound_u32(a->birth + a->preexisting,
                                                 a->count - a->preexisting, event);
    all.parts = parts_of(all.rows);
    mv_parallel_for(all.parts, 0, add_part, &all);
    for (uint32_t i = 0; i < all.parts; i++)
        add_levels(&sum, &all.sum[i]);
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

/* The peak of one part of the window. Its bytes, and the change over the whole part, are counted
 * from the beginning of the part. */
typedef struct {
    mv_moment peak; /* the event is MV_BEFORE if no event of the part counts */
    mv_levels change;
} part_peak;

typedef struct {
    const mv_lives *lives;
    const mv_level_steps *steps;
    mv_moment_query ask; /* with the window cut to the events */
    uint32_t parts;
    part_peak found[PARTS];
} peak_search;

static inline void raise(mv_moment *peak, const mv_levels *levels, uint32_t event,
                         mv_moment_kind kind)
{
    if (peak->event == MV_BEFORE ||
        (int64_t)height(levels, kind) > (int64_t)height(&peak->bytes, kind))
        *peak = (mv_moment){.event = event, .bytes = *levels};
}

static void find_part(void *user, uint32_t part)
{
    peak_search *s = user;
    mv_window window = s->ask.window;
    uint64_t events = window.end - window.first;
    uint32_t first = window.first + (uint32_t)(events * part / s->parts);
    uint32_t end = window.first + (uint32_t)(events * (part + 1) / s->parts);
    part_peak p = {.peak.event = MV_BEFORE};
    mv_level_steps steps = *s->steps;

    mv_level_steps_seek(&steps, first);
    for (uint32_t i = first; i < end; i++) {
        if (mv_level_steps_are_brief(&steps, i, end)) { /* later, the levels are as before */
            mv_levels with = p.change;
            mv_levels_apply(&with, s->lives,
                            &(mv_level_step){i, s->lives->alloc_of[i], MV_STEP_ALLOC});
            raise(&p.peak, &with, i, s->ask.kind);
            i += 2;
            continue;
        }
        mv_levels_follow(&p.change, &steps, i);
        if (!s->ask.of_level || mv_moment_filled(s->lives, i, window.end) == i)
            raise(&p.peak, &p.change, i, s->ask.kind);
    }
    s->found[part] = p;
}

/* Finds the first moment in the window that has the highest level. */
static bool find_peak(mv_arena *scratch, const mv_lives *lives, mv_moment_query ask, mv_moment *out)
{
    mv_level_steps steps;
    peak_search s = {.lives = lives, .steps = &steps, .ask = ask};
    mv_levels now;

    s.ask.window = mv_window_cut(ask.window, lives->events.count);
    out->event = event_before(s.ask.window.first);
    out->bytes = now = mv_moment_levels(lives, out->event);
    s.parts = parts_of(s.ask.window.end - s.ask.window.first);
    if (!mv_level_steps_init(scratch, lives, &steps))
        return false;
    mv_parallel_for(s.parts, 0, find_part, &s);
    for (uint32_t i = 0; i < s.parts; i++) {
        mv_moment *peak = &s.found[i].peak;
        add_levels(&peak->bytes, &now);
        if (peak->event != MV_BEFORE &&
            height(&peak->bytes, ask.kind) > height(&out->bytes, ask.kind))
            *out = *peak;
        add_levels(&now, &s.found[i].change);
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
    out->time_us = out->event == MV_BEFORE ? MV_NO_TIME : mv_event_time(&lives->events, out->event);
    return MV_OK;
}
