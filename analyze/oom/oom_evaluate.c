#include "analyze/oom/oom_evaluate.h"

#include "analyze/replay/replay_script.h"

#define GIB ((uint64_t)1 << 30)

/* ---- the request alone ------------------------------------------------------------------- */

/* Whether `free` bytes make up most of the request, and would have been enough together with the
 * memory left on the device. */
static bool would_suffice(const mv_oom *o, uint64_t free)
{
    return free >= o->requested / 2 &&
           free + mv_oom_unreserved(o, o->outlook.limit) >= o->requested;
}

/* Whether more memory is used outside PyTorch than on any normal device, where CUDA contexts,
 * libraries and small processes use less. */
static bool is_mostly_outside(const mv_oom *o)
{
    return o->refused_by != MV_REFUSED_LIMIT && o->outside > 2 * GIB + o->total / 20 &&
           o->outside + o->device_free >= o->segment;
}

/* Returns the free and the pending bytes for requests of the same kind, small or large, in all pools
 * and streams. Programs cannot choose between the kinds. */
static mv_heap_sums sums_of_kind(const mv_oom_case *c)
{
    const mv_domains *d = &c->heap->domains;
    mv_heap_sums sums = {0};

    if (c->domain == MV_NO_ROW)
        return mv_heap_total(c->heap);
    for (uint32_t i = 0; i < d->count; i++)
        if (d->kind[i] == d->kind[c->domain]) {
            sums.free += c->heap->now.free[i];
            sums.pending += c->heap->of[i].pending;
        }
    return sums;
}

/* ---- a hole that fits -------------------------------------------------------------------- */

/* Whether the request itself completed a free that had waited for a stream, which made a hole that
 * is large enough. The allocator does not search again after completing such frees. */
static bool came_late(const mv_oom_case *c, const mv_oom *o)
{
    const mv_lives *l = c->heap->lives;
    const uint8_t *action = l->events.action;

    for (uint32_t e = o->event; e-- > 0;) {
        uint32_t row = l->alloc_of[e], segment;
        if (mv_is_release_action(action[e]))
            continue;
        if (action[e] != MV_ACTION_FREE_COMPLETED || row == MV_NO_ROW ||
            (e > 0 && action[e - 1] == MV_ACTION_FREE_REQUESTED && l->alloc_of[e - 1] == row))
            return false;
        segment = l->allocs.segment[row];
        if (segment != MV_NO_ROW && c->heap->domains.of_segment[segment] == c->domain &&
            mv_holes_around(&c->heap->now, c->heap->ranks.of_event[e]) >= o->requested)
            return true;
    }
    return false;
}

/* Whether max_split_size_mb forbids every hole that fits. It is enough to check the smallest hole,
 * because get_free_block() (PyTorch CUDACachingAllocator.cpp) considers only this one. */
static bool is_uncut(const mv_oom_case *c, const mv_oom *o)
{
    uint64_t max_split = c->rules->max_split, least;

    if (max_split == UINT64_MAX)
        return false;
    least = mv_holes_least(&c->heap->now, c->domain, o->requested);
    if (least == 0) /* no hole fits, so none was left unsplit because of the setting */
        return false;
    if (o->requested < max_split)
        return least >= max_split;
    return least - o->requested >= mv_alloc_conf_of(c->trace).max_non_split_rounding;
}

static mv_oom_hole why_unused(const mv_oom_case *c, const mv_oom *o)
{
    const mv_events *ev = &c->heap->lives->events;

    if (c->domain == MV_NO_ROW || o->largest_hole < o->requested)
        return MV_HOLE_NONE;
    if (o->api_call != MV_NO_ROW)
        return MV_HOLE_UNEXPLAINED;
    if (came_late(c, o))
        return MV_HOLE_LATE;
    if (is_uncut(c, o))
        return MV_HOLE_UNCUT;
    return c->trace->tags.pool[ev->tag[o->event].row].row == MV_NO_ROW ? MV_HOLE_OTHER_POOL
                                                                       : MV_HOLE_UNEXPLAINED;
}

/* ---- the suspect ------------------------------------------------------------------------- */

static mv_oom_verdict suspect_of(const mv_oom_case *c, mv_oom *o)
{
    static const mv_oom_verdict of_hole[] = {
        [MV_HOLE_LATE] = MV_OOM_PENDING_FREE,
        [MV_HOLE_UNCUT] = MV_OOM_FRAGMENTATION,
        [MV_HOLE_OTHER_POOL] = MV_OOM_STREAM_OR_POOL,
        [MV_HOLE_UNEXPLAINED] = MV_OOM_UNKNOWN,
    };
    mv_heap_sums all = sums_of_kind(c);
    uint64_t pending = 0;

    if (o->hole != MV_HOLE_NONE)
        return of_hole[o->hole];
    if (c->domain != MV_NO_ROW) {
        mv_domain_span own = {c->domain, c->domain + 1};
        pending = c->heap->of[c->domain].pending;
        if (pending && mv_holes_largest(mv_heap_settled(c->heap), own) >= o->requested)
            return MV_OOM_PENDING_FREE;
    }
    if (would_suffice(o, o->usable))
        return MV_OOM_FRAGMENTATION;
    if (pending && would_suffice(o, o->usable + pending))
        return MV_OOM_PENDING_FREE;
    if (would_suffice(o, all.free))
        return MV_OOM_STREAM_OR_POOL;
    o->waits_elsewhere = all.pending > pending && would_suffice(o, all.free + all.pending);
    if (o->waits_elsewhere)
        return MV_OOM_PENDING_FREE;
    return is_mostly_outside(o) ? MV_OOM_OUTSIDE : MV_OOM_CAPACITY;
}

/* ---- later requests ----------------------------------------------------------------- */

/* Whether a peak is above the limit. The limit is raised by the rounding, because the peak does not
 * include the bytes by which blocks exceed their requests. */
static bool is_above(const mv_oom *o, uint64_t peak)
{
    return peak > o->outlook.limit + o->bytes.rounding;
}

bool mv_oom_is_unsure(const mv_oom *o)
{
    const mv_forecast *f = &o->outlook.forecast;

    return is_above(o, f->peak) && !is_above(o, f->least);
}

/* Whether the forecast peak of the step is higher than what could be reserved. A replay that served
 * the request is better evidence than an uncertain forecast, and a replay that continued shows
 * whether later requests fit. */
bool mv_oom_is_above_limit(const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    bool served = f->tried && f->serves;

    if (is_above(o, f->forecast.peak))
        return !((served || f->joined_serves) && mv_oom_is_unsure(o));
    return served && f->course == MV_COURSE_FAILS;
}

/* Returns the certain part of the recent rise in need. If the trace does not begin with the run,
 * and a step had ended before the failure, memory may rise like this within every step. In that
 * case, the rise is certain to continue only if there is a leak. A request that is most of the rise
 * is not a trend, and the need includes it already, so only the rise before it counts. */
static uint64_t known_rise(const mv_oom_case *c, const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    bool is_known =
        c->heap->lives->history == MV_HISTORY_COMPLETE || f->has_leak || !f->has_stepped;

    if (!is_known)
        return 0;
    return f->rise_before < f->rise / 2 ? f->rise_before : f->rise;
}

/* Whether the limit would hold the highest need of the whole run so far, and once more its recent
 * rise. Then a replay that fails does not show that the run needed too much: expandable segments
 * and a single pool are fragmented as well, because a page or segment with a block in use stays. */
static bool is_far_from_limit(const mv_oom_case *c, const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    uint64_t need = f->forecast.peak > f->most ? f->forecast.peak : f->most;

    return c->heap->lives->history == MV_HISTORY_COMPLETE && !f->forecast.is_least &&
           !f->has_leak && need + o->bytes.pending + f->rise <= f->limit_least;
}

/* Returns the evidence that decides against a suspect, or BY_FIGURES. A suspect is the cause if the
 * run would have continued without it. If there was an earlier step, it shows what this step needs.
 * Otherwise, the bytes left after the request must be at least the recent rise in need. They must
 * also be enough for the highest need so far if steps or a leak will reach this level again, or if
 * the level is above the limit. If a replay with one pool for everything served the request within
 * the reserved memory, the request needs no more memory. */
static mv_oom_decider decider_against(const mv_oom_case *c, const mv_oom *o, mv_oom_verdict suspect)
{
    const mv_oom_outlook *f = &o->outlook;
    uint64_t room = f->limit + (suspect == MV_OOM_PENDING_FREE ? o->bytes.pending : 0);
    uint64_t asked = o->bytes.allocated + o->bytes.pending + o->requested;
    bool recurs = f->forecast.peak || f->has_leak || f->most > f->limit;
    uint64_t need = recurs && f->most > asked ? f->most : asked, peak;

    if (f->forecast.peak && mv_oom_is_above_limit(o))
        return MV_OOM_BY_FORECAST;
    if (((suspect == MV_OOM_FRAGMENTATION && f->tried && !f->serves) ||
         (suspect == MV_OOM_STREAM_OR_POOL && f->joined && !f->joined_serves && !f->serves)) &&
        !is_far_from_limit(c, o))
        return MV_OOM_BY_REPLAY;
    if (suspect == MV_OOM_STREAM_OR_POOL && f->joined_surely)
        return MV_OOM_BY_FIGURES;
    if (f->forecast.peak && !f->forecast.is_least && !f->has_leak && !mv_oom_is_unsure(o))
        return MV_OOM_BY_FIGURES;
    peak = mv_oom_is_unsure(o) ? f->forecast.least : f->forecast.peak;
    if (peak > need)
        need = peak;
    return room < need + known_rise(c, o) ? MV_OOM_BY_GROWTH : MV_OOM_BY_FIGURES;
}

/* Whether the events show why a hole that was large enough was not used. In that case, the request
 * was not refused because of its size. */
static bool is_beyond_doubt(const mv_oom *o)
{
    return o->hole == MV_HOLE_LATE || o->hole == MV_HOLE_UNCUT;
}

/* Whether the trace shows the history of the run. If the trace begins later than the run, earlier
 * growth is not visible. If nothing leaks either, later needs can be known only from the forecast
 * of a whole step. */
static bool is_run_shown(const mv_oom_case *c, const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;

    return c->heap->lives->history == MV_HISTORY_COMPLETE ||
           (f->forecast.peak && !f->forecast.is_least && !mv_oom_is_unsure(o) && f->is_clean);
}

void mv_oom_suspect(const mv_oom_case *c, mv_oom *o)
{
    o->hole = why_unused(c, o);
    o->suspect = suspect_of(c, o);
}

void mv_oom_evaluate(const mv_oom_case *c, mv_oom *o)
{
    mv_oom_verdict suspect = o->suspect;
    bool is_open;

    o->verdict = suspect;
    o->decided_by = MV_OOM_BY_FIGURES;
    is_open = suspect != MV_OOM_CAPACITY && suspect != MV_OOM_OUTSIDE && !is_beyond_doubt(o);
    if (is_open)
        o->decided_by = decider_against(c, o, suspect);
    if (o->decided_by != MV_OOM_BY_FIGURES)
        o->verdict = is_mostly_outside(o) ? MV_OOM_OUTSIDE : MV_OOM_CAPACITY;
    else if (is_open && !is_run_shown(c, o))
        o->verdict = MV_OOM_UNKNOWN;
    else if (suspect == MV_OOM_CAPACITY && o->outlook.forecast.peak > o->outlook.limit)
        o->decided_by = MV_OOM_BY_FORECAST;
}
