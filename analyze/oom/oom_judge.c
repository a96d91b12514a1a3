#include "analyze/oom/oom_judge.h"

#define GIB ((uint64_t)1 << 30)

/* ---- the request alone ------------------------------------------------------------------- */

/* Whether free bytes are most of the request, and would have been enough together with what the
 * device had. */
static bool would_do(const mv_oom *o, uint64_t free)
{
    return free >= o->requested / 2 &&
           free + (o->outlook.limit - o->bytes.reserved) >= o->requested;
}

/* Less than this is used on any device: by CUDA contexts, libraries and other small processes. */
static bool is_mostly_outside(const mv_oom *o)
{
    return !o->limited && o->outside > 2 * GIB + o->total / 20 &&
           o->outside + o->device_free >= o->segment;
}

/* Free bytes of the request's kind, small or large, in all pools and streams. A program cannot
 * choose between the two kinds. */
static uint64_t free_of_kind(const mv_oom_case *c)
{
    const mv_domains *d = &c->heap->domains;
    uint64_t free = 0;

    for (uint32_t i = 0; c->domain != MV_NO_ROW && i < d->count; i++)
        if (d->kind[i] == d->kind[c->domain])
            free += c->heap->now.free[i];
    return c->domain == MV_NO_ROW ? c->heap->now.free_all : free;
}

mv_oom_verdict mv_oom_suspect(const mv_oom_case *c, const mv_oom *o)
{
    uint64_t pending = 0;

    if (c->domain != MV_NO_ROW) {
        mv_domain_span own = {c->domain, c->domain + 1};
        pending = c->heap->of[c->domain].pending;
        if (o->largest_hole >= o->requested)
            return c->rules->max_split == UINT64_MAX ? MV_OOM_PENDING_FREE : MV_OOM_FRAGMENTATION;
        if (pending && mv_holes_largest(mv_heap_settled(c->heap), own) >= o->requested)
            return MV_OOM_PENDING_FREE;
    }
    if (would_do(o, o->usable))
        return MV_OOM_FRAGMENTATION;
    if (pending && would_do(o, o->usable + pending))
        return MV_OOM_PENDING_FREE;
    if (would_do(o, free_of_kind(c)))
        return MV_OOM_STREAM_OR_POOL;
    return is_mostly_outside(o) ? MV_OOM_OUTSIDE : MV_OOM_CAPACITY;
}

/* ---- what comes after it ----------------------------------------------------------------- */

/* Bytes that expandable segments reserve but cannot hand out: for each byte in use as many as in
 * the replay, and at least a fiftieth. (In 12 runs of a language model with random lengths it was 3
 * to 5.5 %.) */
static uint64_t unusable(const mv_oom *o)
{
    double part = o->outlook.overhead - 1;

    return (uint64_t)((part > 0.02 ? part : 0.02) * (double)(o->bytes.allocated + o->requested));
}

/* Whether the forecast peak of the step is more than could be reserved. If the replay served the
 * request, what the step asks for after it must fit into what the replay had left. The bytes that
 * blocks got beyond their requests are not needed. */
bool mv_oom_is_above_limit(const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    uint64_t asked = o->bytes.allocated + o->requested;
    uint64_t more = f->forecast.peak > asked ? f->forecast.peak - asked : 0;

    if (f->forecast.peak > f->limit + o->bytes.rounding)
        return true;
    return f->tried && f->serves && more && more + unusable(o) > f->spare;
}

/* A suspect is the cause if the run would have continued without it. An earlier step shows how far
 * this one would have gone. Without an earlier step, or with a leak, the bytes left beyond the most
 * that was ever needed must be at least as many as that rose lately. */
static mv_oom_decider decider_against(const mv_oom *o, mv_oom_verdict suspect)
{
    const mv_oom_outlook *f = &o->outlook;
    uint64_t room = f->limit + (suspect == MV_OOM_PENDING_FREE ? o->bytes.pending : 0);
    uint64_t asked = o->bytes.allocated + o->bytes.pending + o->requested;
    uint64_t need = f->most > asked ? f->most : asked;

    if (f->forecast.peak && mv_oom_is_above_limit(o))
        return MV_OOM_BY_FORECAST;
    if (suspect == MV_OOM_FRAGMENTATION && f->tried && !f->serves)
        return MV_OOM_BY_REPLAY;
    if (f->forecast.peak && !f->forecast.is_least && !f->has_leak)
        return MV_OOM_BY_FIGURES;
    if (f->forecast.peak > need)
        need = f->forecast.peak;
    return room < need + f->rise ? MV_OOM_BY_GROWTH : MV_OOM_BY_FIGURES;
}

/* Some hole is large enough, so the request was not refused because of its size. */
static bool is_beyond_doubt(const mv_oom *o)
{
    return o->largest_hole >= o->requested;
}

void mv_oom_judge(const mv_oom_case *c, mv_oom *o)
{
    mv_oom_verdict suspect = mv_oom_suspect(c, o);

    o->verdict = suspect;
    o->decided_by = MV_OOM_BY_FIGURES;
    if (suspect != MV_OOM_CAPACITY && suspect != MV_OOM_OUTSIDE && !is_beyond_doubt(o))
        o->decided_by = decider_against(o, suspect);
    if (o->decided_by != MV_OOM_BY_FIGURES)
        o->verdict = is_mostly_outside(o) ? MV_OOM_OUTSIDE : MV_OOM_CAPACITY;
    else if (suspect == MV_OOM_CAPACITY && o->outlook.forecast.peak > o->outlook.limit)
        o->decided_by = MV_OOM_BY_FORECAST;
}
