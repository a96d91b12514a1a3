#include "viz/core/timescale.h"

#include <math.h>

#include "base/search.h"

/* The fraction of an event's width that shows the slide. For the rest of the width, the heap does
 * not move. */
#define EVENT_SLIDE 0.7
#define CUT_SHARE   0.05  /* pauses longer than this fraction of the trace are cut */
#define CUT_WIDTH   0.015 /* width of a cut, as a fraction of the time without cut pauses */
#define TICK_SLIDE  3.0   /* as in process_alloc_data.js of PyTorch's viewer */

/* ---- making ------------------------------------------------------------------------------- */

static bool has_times(const mv_events *events)
{
    if (events->count == 0 || !events->time_us)
        return false;
    for (uint32_t e = 0; e < events->count; e++)
        if (events->time_us[e] == MV_NO_TIME)
            return false;
    return true;
}

/* Returns the times if they never decrease, otherwise their running maximum. */
static const int64_t *ascending(mv_arena *arena, const mv_events *events)
{
    int64_t *times, most = events->time_us[0];
    uint32_t e = 1;

    while (e < events->count && events->time_us[e - 1] <= events->time_us[e])
        e++;
    if (e == events->count)
        return events->time_us;
    times = mv_push_array(arena, int64_t, events->count);
    for (uint32_t i = 0; times && i < events->count; i++) {
        most = events->time_us[i] > most ? events->time_us[i] : most;
        times[i] = most;
    }
    return times;
}

static double tick_of(const mv_timescale *s, uint32_t event)
{
    return (double)mv_bitmap_below(&s->index->changes, event) +
           TICK_SLIDE * (double)mv_bitmap_below(s->slides, event);
}

static double since_first(const mv_timescale *s, uint32_t event)
{
    return (double)((uint64_t)s->time_us[event] - (uint64_t)s->time_us[0]);
}

/* Finds the pauses that are longer than CUT_SHARE. */
static bool find_cuts(mv_arena *arena, mv_timescale *s)
{
    double all = since_first(s, s->events - 1), busy = all, width, removed = 0;
    mv_time_cut *cuts = mv_push_array(arena, mv_time_cut, MV_MOST_TIME_CUTS);

    if (!cuts)
        return false;
    for (uint32_t e = 1; e < s->events && s->cut_count < MV_MOST_TIME_CUTS; e++) {
        int64_t us = s->time_us[e] - s->time_us[e - 1];
        if (us > 1 && (double)us > CUT_SHARE * all) {
            cuts[s->cut_count++] = (mv_time_cut){.event = e, .us = us};
            busy -= (double)us;
        }
    }
    width = fmax(1, floor(CUT_WIDTH * busy)); /* positions are whole numbers, so they are exact */
    for (uint32_t i = 0; i < s->cut_count; i++) {
        mv_time_cut *cut = &cuts[i];
        double shown = fmin(width, (double)cut->us);
        cut->from = since_first(s, cut->event) - (double)cut->us - removed;
        cut->to = cut->from + shown;
        removed += (double)cut->us - shown;
        cut->removed = removed;
    }
    s->cuts = cuts;
    return true;
}

mv_code mv_timescale_make(mv_arena *arena, const mv_index *index, mv_clock clock,
                          const mv_bitmap *slides, mv_timescale *out, mv_err *err)
{
    const mv_events *events = &index->lives->events;
    double last;

    if ((clock == MV_CLOCK_TIME || clock == MV_CLOCK_BUSY) && !has_times(events))
        clock = MV_CLOCK_EVENTS;
    *out = (mv_timescale){.clock = clock,
                          .events = events->count,
                          .length = events->count,
                          .slide = EVENT_SLIDE,
                          .index = index,
                          .slides = slides};
    if (clock == MV_CLOCK_TICKS) {
        out->slide = TICK_SLIDE;
        out->length = tick_of(out, events->count);
    }
    if (mv_timescale_is_time(out)) {
        out->slide = 0;
        out->time_us = ascending(arena, events);
        if (!out->time_us || (clock == MV_CLOCK_BUSY && !find_cuts(arena, out)))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "times of %u events", events->count);
        /* Leaves room for the heap after the last event. */
        last = mv_timescale_at(out, events->count - 1);
        out->length = last + last / 2000;
    }
    if (out->length < 1)
        out->length = 1;
    return MV_OK;
}

uint64_t mv_timescale_height(const mv_timescale *s, const mv_levels *levels)
{
    if (s->of_segments)
        return levels->reserved;
    switch (s->index->measure) {
    case MV_INDEX_ACTIVE:
        return levels->active;
    case MV_INDEX_REQUESTED:
        return levels->requested;
    case MV_INDEX_ALLOCATED:
        break;
    }
    return levels->allocated;
}

/* ---- asking ------------------------------------------------------------------------------- */

/* Returns how many microseconds are cut before an event. */
static double removed_before(const mv_timescale *s, uint32_t event)
{
    uint32_t i = s->cut_count;

    while (i > 0 && s->cuts[i - 1].event > event)
        i--;
    return i > 0 ? s->cuts[i - 1].removed : 0;
}

double mv_timescale_place_of(const mv_timescale *s, double us)
{
    double removed = 0;

    for (uint32_t i = 0; i < s->cut_count; i++) {
        const mv_time_cut *cut = &s->cuts[i];
        double begin = cut->from + removed;
        if (us < begin)
            break;
        if (us < begin + (double)cut->us)
            return cut->from + (us - begin) / (double)cut->us * (cut->to - cut->from);
        removed = cut->removed;
    }
    return us - removed;
}

double mv_timescale_us_at(const mv_timescale *s, double place)
{
    double removed = 0;

    for (uint32_t i = 0; i < s->cut_count; i++) {
        const mv_time_cut *cut = &s->cuts[i];
        if (place < cut->from)
            break;
        if (place < cut->to)
            return cut->from + removed +
                   (place - cut->from) / (cut->to - cut->from) * (double)cut->us;
        removed = cut->removed;
    }
    return place + removed;
}

double mv_timescale_at(const mv_timescale *s, uint32_t event)
{
    if (event == MV_BEFORE)
        return 0;
    if (event >= s->events)
        return s->length;
    switch (s->clock) {
    case MV_CLOCK_TIME:
        return since_first(s, event);
    case MV_CLOCK_BUSY:
        return since_first(s, event) - removed_before(s, event);
    case MV_CLOCK_TICKS:
        return tick_of(s, event) + mv_bitmap_has(&s->index->ends, event);
    case MV_CLOCK_EVENTS:
    case MV_CLOCKS:
        break;
    }
    return event;
}

/* Returns the first event at or after `x`, or if `is_after` is set, the first event after `x`. */
static uint32_t search(const mv_timescale *s, double x, bool is_after)
{
    mv_bisect b = mv_bisect_over(0, s->events);

    while (mv_bisect_next(&b)) {
        double at = mv_timescale_at(s, (uint32_t)b.middle);
        mv_bisect_narrow(&b, at < x || (is_after && at <= x));
    }
    return (uint32_t)b.low;
}

uint32_t mv_timescale_from(const mv_timescale *s, double x)
{
    uint32_t whole;

    if (s->clock != MV_CLOCK_EVENTS)
        return search(s, x, false);
    if (!(x > 0))
        return 0;
    if (x >= s->events)
        return s->events;
    whole = (uint32_t)x;
    return whole + (whole < x);
}

uint32_t mv_timescale_moment(const mv_timescale *s, double x)
{
    if (s->clock != MV_CLOCK_EVENTS)
        return search(s, x, true) - 1; /* if there is none, this is MV_BEFORE */
    if (!(x >= 0))
        return MV_BEFORE;
    return x >= s->events ? s->events - 1 : (uint32_t)x;
}

static mv_instant middle_of(const mv_timescale *s, double x)
{
    mv_instant instant = {mv_timescale_moment(s, x), MV_SLID};
    double slid;

    if (instant.event == MV_BEFORE || s->slide <= 0)
        return instant;
    slid = (x - mv_timescale_at(s, instant.event)) / s->slide;
    if (slid < 1)
        instant.slid = slid > 0 ? (uint32_t)(slid * MV_SLID) : 0;
    return instant;
}

mv_instant mv_timescale_instant_of(const mv_timescale *s, mv_pyramid_reader *levels, double x0,
                                   double x1, uint32_t first, uint32_t end)
{
    bool is_dense = mv_timescale_is_time(s) || x1 - x0 > 1;
    mv_extent extent;

    if (first >= end || !is_dense)
        return middle_of(s, x0 + (x1 - x0) / 2);
    if (mv_timescale_at(s, first) > x0)
        first--; /* the moment at the start of the column; for event 0, this is MV_BEFORE */
    extent = mv_pyramid_range(levels, first, end);
    return (mv_instant){s->of_segments ? extent.reserved_event : extent.allocated_event, MV_SLID};
}

mv_instant mv_timescale_instant(const mv_timescale *s, mv_pyramid_reader *levels, double x0,
                                double x1)
{
    return mv_timescale_instant_of(s, levels, x0, x1, mv_timescale_from(s, x0),
                                   mv_timescale_from(s, x1));
}
