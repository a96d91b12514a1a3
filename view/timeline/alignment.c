#include "view/timeline/alignment.h"

#include <math.h>

#include "base/names.h"
#include "parse/model/event_times.h"

enum { SAMPLES = 64 };

MV_NAMES(mv_align_name, mv_align, MV_ALIGN_LIST, MV_SECOND, "")

/* ---- possible alignments ----------------------------------------------------------------- */

static bool has_times(const mv_events *e)
{
    return e->count > 0 && mv_event_time(e, 0) != MV_NO_TIME &&
           mv_event_time(e, e->count - 1) != MV_NO_TIME;
}

static double begin_of(const mv_events *e)
{
    return (double)mv_event_time(e, 0);
}

static double end_of(const mv_events *e)
{
    return (double)mv_event_time(e, e->count - 1);
}

static bool do_overlap(const mv_events *a, const mv_events *b)
{
    return begin_of(a) < end_of(b) && begin_of(b) < end_of(a);
}

static const mv_steps *steps_of(const mv_document_device *d)
{
    return atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DEVICE_REPORTED
               ? &d->leaks.steps
               : NULL;
}

static bool by_steps(mv_alignment *a, const mv_document_device *here,
                     const mv_document_device *there)
{
    const mv_steps *s = steps_of(here), *t = steps_of(there);

    if (!s || !t || s->count < 2 || t->count < 2)
        return false;
    a->steps[0] = s->at;
    a->steps[1] = t->at;
    a->step_count = s->count < t->count ? s->count : t->count;
    return true;
}

mv_alignment mv_alignment_make(const mv_document_device *here, const mv_document_device *there,
                               mv_align wanted)
{
    mv_alignment a = {.by = wanted, .here = &here->lives.events, .there = &there->lives.events};
    bool is_timed = has_times(a.here) && has_times(a.there);

    switch (wanted) {
    case MV_ALIGN_AUTO:
        return mv_alignment_make(here, there, mv_alignment_best(here, &there, 1));
    case MV_ALIGN_CLOCK:
        if (is_timed && do_overlap(a.here, a.there))
            return a;
        break;
    case MV_ALIGN_STEPS:
        if (by_steps(&a, here, there))
            return a;
        break;
    case MV_ALIGN_START:
        if (is_timed) {
            a.shift = begin_of(a.there) - begin_of(a.here);
            return a;
        }
        break;
    default:
        break;
    }
    a.by = MV_ALIGN_SHARE;
    return a;
}

bool mv_alignment_is_same(const mv_alignment *a, const mv_alignment *b)
{
    return a->by == b->by && a->here == b->here && a->there == b->there && a->shift == b->shift &&
           a->steps[0] == b->steps[0] && a->steps[1] == b->steps[1] &&
           a->step_count == b->step_count;
}

/* ---- positions --------------------------------------------------------------------------- */

static double time_at(const mv_events *e, double place)
{
    uint32_t last = e->count - 1, whole = place < last ? (uint32_t)place : last;
    double time = (double)mv_event_time(e, whole);

    if (whole == last)
        return time + (place - last);
    return time + (place - whole) * ((double)mv_event_time(e, whole + 1) - time);
}

/* Returns the event at a time. If there is none, returns a fraction between two events. */
static double event_at(const mv_events *e, double time)
{
    mv_bisect b = mv_bisect_over(0, e->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, (double)mv_event_time(e, (uint32_t)b.middle) < time);
    return b.low < e->count && (double)mv_event_time(e, (uint32_t)b.low) == time
               ? (double)b.low
               : (double)b.low - 0.5;
}

/* Converts a position by steps. Before the first step and after the last one, both recordings
 * advance by the same number of events. */
static double by_step(const mv_alignment *a, double place)
{
    mv_bisect b = mv_bisect_over(1, a->step_count);
    double from, length, share;
    uint64_t k;

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, a->steps[0][b.middle] <= place);
    k = b.low - 1;
    from = a->steps[0][k];
    if (place < from || k + 1 >= a->step_count)
        return a->steps[1][k] + (place - from);
    length = fmax(1, a->steps[0][k + 1] - from);
    share = (place - from) / length;
    return a->steps[1][k] + share * ((double)a->steps[1][k + 1] - a->steps[1][k]);
}

/* Returns the last of several events at the same time. */
static double last_of(const mv_events *e, double event)
{
    uint32_t last = event < e->count ? (uint32_t)event : e->count - 1;

    while (event == last && last + 1 < e->count &&
           mv_event_time(e, last + 1) == mv_event_time(e, last))
        event = ++last;
    return event;
}

/* Returns the width of a recording. Without events, it is as wide as one event. */
static double width_of(const mv_events *e)
{
    return e->count ? e->count : 1;
}

/* Returns the event of the other recording at a position, with a fraction between two events. It is
 * negative before the first event of that recording, and larger than the number of events after the
 * last one. */
static double event_there(const mv_alignment *a, double place)
{
    double time;

    switch (a->by) {
    case MV_ALIGN_STEPS:
        return by_step(a, place);
    case MV_ALIGN_CLOCK:
    case MV_ALIGN_START:
        time = time_at(a->here, place) + a->shift;
        if (time < begin_of(a->there))
            return -1;
        return time > end_of(a->there) ? a->there->count + 1.0 : event_at(a->there, time);
    default:
        return place * a->there->count / width_of(a->here);
    }
}

bool mv_alignment_column(const mv_alignment *a, double from, double to, mv_window *out)
{
    double first = event_there(a, from), end = event_there(a, to), count = a->there->count;

    if (a->there->count == 0) { /* a state without a history is the same at every position */
        *out = (mv_window){MV_BEFORE, 0};
        return true;
    }
    if (end < 0 || first > count || (first == count && a->by == MV_ALIGN_STEPS))
        return false;
    first = ceil(fmax(first, 0));
    end = ceil(fmin(end, count));
    if (first < end)
        *out = (mv_window){first > 0 ? (uint32_t)first : MV_BEFORE, (uint32_t)end};
    else
        *out = (mv_window){first > 0 ? (uint32_t)first - 1 : MV_BEFORE, (uint32_t)first};
    return true;
}

bool mv_alignment_moment(const mv_alignment *a, double place, uint32_t *out)
{
    double event = event_there(a, place), count = a->there->count;

    *out = MV_BEFORE;
    if (count == 0)
        return true;
    if (event < 0 || event > count || (event == count && a->by == MV_ALIGN_STEPS))
        return false;
    if (a->by == MV_ALIGN_CLOCK || a->by == MV_ALIGN_START)
        event = last_of(a->there, event);
    *out = (uint32_t)fmin(event, count - 1);
    return true;
}

bool mv_alignment_shows(const mv_alignment *a, uint32_t event)
{
    mv_window all;

    if (!mv_alignment_column(a, 0, width_of(a->here), &all))
        return false;
    return event == MV_BEFORE ? all.first == MV_BEFORE
                              : (all.first == MV_BEFORE || all.first <= event) && event < all.end;
}

/* ---- the best one ------------------------------------------------------------------------- */

/* Whether at least half of the other recording's events are visible, and at least half of the
 * positions show one of these events. */
static bool is_mostly_shown(const mv_alignment *a)
{
    uint32_t begin, seen = 0;
    mv_window all;

    if (a->there->count == 0 || !mv_alignment_column(a, 0, a->here->count, &all))
        return false;
    begin = all.first == MV_BEFORE ? 0 : all.first;
    for (uint32_t i = 0; i < SAMPLES; i++)
        seen += mv_alignment_moment(a, a->here->count * (i + 0.5) / SAMPLES, &(uint32_t){0});
    return all.end - begin >= a->there->count / 2 && seen >= SAMPLES / 2;
}

static bool fits(const mv_document_device *here, const mv_document_device *there, mv_align by)
{
    mv_alignment a = mv_alignment_make(here, there, by);

    return a.by == by && is_mostly_shown(&a) && mv_alignment_shows(&a, there->peak_event);
}

mv_align mv_alignment_best(const mv_document_device *here, const mv_document_device *const *others,
                           uint32_t count)
{
    for (mv_align by = MV_ALIGN_CLOCK; by < MV_ALIGN_SHARE; by++) {
        uint32_t fitting = 0;
        while (fitting < count && fits(here, others[fitting], by))
            fitting++;
        if (fitting == count)
            return by;
    }
    return MV_ALIGN_SHARE;
}
