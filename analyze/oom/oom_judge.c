#include "analyze/oom/oom_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/code/culprit.h"
#include "base/size.h"

#define GIB ((uint64_t)1 << 30)

/* Sentences, one after the other. */
typedef struct {
    char text[1024];
    size_t length;
} speech;

__attribute__((format(printf, 2, 3))) static void say(speech *s, const char *format, ...)
{
    va_list args;
    int added;

    va_start(args, format);
    added = vsnprintf(s->text + s->length, sizeof s->text - s->length, format, args);
    va_end(args);
    s->length += added < 0 ? 0 : (size_t)added;
    if (s->length >= sizeof s->text)
        s->length = sizeof s->text - 1;
}

static const char *keep(mv_oom_case *c, const speech *s)
{
    const char *text = mv_arena_text(c->arena, s->text, s->length);

    c->failed = c->failed || !text;
    return text;
}

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
static bool is_above_limit(const mv_oom *o)
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

    if (f->forecast.peak && is_above_limit(o))
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

/* ---- why --------------------------------------------------------------------------------- */

/* Whether the request is larger than the whole device or, if its size is not known, than any GPU.
 * */
static bool is_beyond_device(const mv_oom *o)
{
    if (o->total_source == MV_TOTAL_SAMPLED)
        return o->requested > o->total;
    return mv_oom_likely_total(o->requested) == 0;
}

static void say_leak(const mv_oom_case *c, speech *s, const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT], label[256];

    say(s, "a leak filled the memory: %s kept %s a step, %s by then; ",
        mv_leak_label(c->trace, c->sites->kinds, &o->outlook.leak, label, sizeof label),
        mv_size_text(a, o->outlook.leak.bytes_per_step), mv_size_text(b, o->outlook.leaked));
}

static void say_forecast(speech *s, const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    uint64_t peak = f->forecast.peak;
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];

    say(s, "this step would have peaked at about %s%s", mv_size_text(a, peak),
        f->forecast.is_least ? " or more" : "");
    if (peak > f->limit)
        say(s, ", %s above the limit", mv_size_text(b, peak - f->limit));
    else if (is_above_limit(o))
        say(s, ", %s below the limit: less than even expandable segments leave unused",
            mv_size_text(b, f->limit - peak));
    else
        say(s, ", %s below the limit", mv_size_text(b, f->limit - peak));
    say(s, " (from %s)", f->basis);
}

static void say_margin(speech *s, const mv_oom *o)
{
    int64_t margin = o->outlook.margin;
    char a[MV_SIZE_TEXT];

    if (o->outlook.limit)
        say(s, "%.0f %% packed: ",
            100.0 * (double)(o->bytes.allocated + o->bytes.pending) / (double)o->outlook.limit);
    if (margin < 0)
        say(s, "with all holes joined, %s would still have been lacking",
            mv_size_text(a, (uint64_t)-margin));
    else
        say(s, "with all holes joined, %s would have been left", mv_size_text(a, (uint64_t)margin));
}

/* What refused the request: the device, or a limit of the process. */
static void say_refusal(speech *s, const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT], c[MV_SIZE_TEXT];

    if (o->limited)
        say(s,
            "the device has %s left: a memory limit of the process refused %s beyond the %s that "
            "PyTorch holds",
            mv_size_text(b, o->device_free), mv_size_text(a, o->segment),
            mv_size_text(c, o->bytes.reserved));
    else
        say(s, "%s are in use and the device has %s left", mv_size_text(b, o->bytes.allocated),
            o->device_free == MV_NO_BYTES ? "?" : mv_size_text(c, o->device_free));
}

static void say_capacity(speech *s, const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    char a[MV_SIZE_TEXT];

    if (is_beyond_device(o)) {
        if (o->total_source == MV_TOTAL_SAMPLED)
            say(s, "the request alone is more than the device's %s", mv_size_text(a, o->total));
        else
            say(s, "no GPU has %s", mv_size_text(a, o->requested));
        return;
    }
    if (f->forecast.peak && is_above_limit(o)) {
        say_forecast(s, o);
        return;
    }
    if (o->bytes.free == 0) {
        say_refusal(s, o);
        return;
    }
    say_margin(s, o);
    if (o->decided_by == MV_OOM_BY_GROWTH && f->most > f->limit)
        say(s, ", but the run had needed %s before", mv_size_text(a, f->most));
    else if (o->decided_by == MV_OOM_BY_REPLAY)
        say(s, "; replayed with expandable segments within %s, the request fails as well",
            mv_size_text(a, f->limit));
    else if (o->decided_by == MV_OOM_BY_GROWTH && f->rise)
        say(s, ", while the need had risen by %s over the second half of the events",
            mv_size_text(a, f->rise));
    if (o->decided_by == MV_OOM_BY_FIGURES) {
        say(s, "; ");
        say_refusal(s, o);
    }
}

static void say_holes(speech *s, const mv_oom *o)
{
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];

    if (o->verdict == MV_OOM_STREAM_OR_POOL)
        say(s, "%s are free, but only %s of it in the pool and stream of the request",
            mv_size_text(a, o->bytes.free), mv_size_text(b, o->usable));
    else if (o->verdict == MV_OOM_PENDING_FREE && o->largest_hole >= o->requested)
        say(s, "a hole of %s became free while the request waited, too late for it",
            mv_size_text(a, o->largest_hole));
    else if (o->verdict == MV_OOM_PENDING_FREE)
        say(s, "%s were freed, but other streams may still use them",
            mv_size_text(a, o->bytes.pending));
    else if (o->largest_hole >= o->requested)
        say(s, "a hole of %s is free, but max_split_size_mb keeps it from being cut",
            mv_size_text(a, o->largest_hole));
    else
        say(s, "%s are free in the right pool and stream, but the largest hole is %s",
            mv_size_text(a, o->usable), mv_size_text(b, o->largest_hole));
    if (o->outlook.forecast.peak) {
        say(s, "; ");
        say_forecast(s, o);
    } else if (o->outlook.margin >= 0 && o->verdict != MV_OOM_PENDING_FREE) {
        say(s, "; joined, they would have left about %s of the %s that could be had",
            mv_size_text(a, (uint64_t)o->outlook.margin), mv_size_text(b, o->outlook.limit));
    }
}

static const char *why(mv_oom_case *c, const mv_oom *o)
{
    speech s = {.length = 0};
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT], d[MV_SIZE_TEXT];

    if (o->outlook.has_leak)
        say_leak(c, &s, o);
    if (o->verdict == MV_OOM_CAPACITY)
        say_capacity(&s, o);
    else if (o->verdict == MV_OOM_OUTSIDE)
        say(&s, "PyTorch holds %s and the device has %s left: others hold the rest, %s%s",
            mv_size_text(a, o->bytes.reserved), mv_size_text(b, o->device_free),
            mv_size_text(d, o->outside), o->total_source == MV_TOTAL_GUESSED ? " or more" : "");
    else
        say_holes(&s, o);
    return keep(c, &s);
}

/* ---- advice ------------------------------------------------------------------------------ */

static void advise_joining(mv_oom_case *c, speech *s, const mv_oom *o)
{
    const mv_oom_outlook *f = &o->outlook;
    char a[MV_SIZE_TEXT], b[MV_SIZE_TEXT];

    if (o->largest_hole >= o->requested)
        say(s, "raise max_split_size_mb, or leave it out");
    else if (c->rules->expandable)
        say(s, "free or move the blocks that pin the holes before the large request");
    else if (f->serves)
        say(s,
            "set PYTORCH_CUDA_ALLOC_CONF=%s: replayed within %s%s, it serves the request and "
            "leaves "
            "%s; or free the blocks that pin the holes first",
            f->conf, mv_size_text(a, f->surely ? f->limit_least : f->limit),
            f->surely && f->limit_least < f->limit ? ", the most that was reserved" : "",
            mv_size_text(b, f->surely ? f->sure_spare : f->spare));
    else
        say(s, "free or move the blocks that pin the holes before the large request; whether "
               "expandable_segments:True would help cannot be replayed from this file");
}

static const char *advice(mv_oom_case *c, const mv_oom *o)
{
    speech s = {.length = 0};

    if (o->outlook.has_leak && !is_beyond_device(o))
        say(&s, "end the leak first (memviz leaks shows it)");
    else if (o->verdict == MV_OOM_FRAGMENTATION)
        advise_joining(c, &s, o);
    else if (o->verdict == MV_OOM_STREAM_OR_POOL)
        say(&s, "let one stream and one pool do the large allocations; delete CUDA graphs and "
                "MemPools that are done, then torch.cuda.empty_cache()");
    else if (o->verdict == MV_OOM_PENDING_FREE)
        say(&s, "synchronise the streams that use the tensors (record_stream) before asking for "
                "more, or try the request again");
    else if (o->verdict == MV_OOM_OUTSIDE)
        say(&s, "look for other processes (nvidia-smi) and for libraries that allocate by "
                "themselves (memviz run, then memviz ledger)");
    else if (is_beyond_device(o))
        say(&s, "look at the shape that is asked for there: nothing that could be freed makes "
                "room for it");
    else
        say(&s,
            "use less: a smaller batch, activation checkpointing, sharded or offloaded state; "
            "memviz peak --at oom shows who holds the memory%s",
            o->outlook.serves ? ". Expandable segments alone would serve this request, not what "
                                "follows it"
                              : "");
    return keep(c, &s);
}

void mv_oom_judge(mv_oom_case *c, mv_oom *o)
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
    o->why = why(c, o);
    o->advice = advice(c, o);
}
