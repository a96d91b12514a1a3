#include "analyze/fragmentation/fragmentation.h"

#include <stdio.h>

#include "analyze/events/recorder.h"
#include "analyze/fragmentation/fragmentation_advice.h"
#include "analyze/levels/levels.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

#define MIB ((uint64_t)1 << 20)

/* Memory beyond the need that an allocator usually takes without being fragmented. It consists of a
 * few partly filled large segments, which requests below 10 MiB share (docs/fragmentation.md). */
#define SLACK       (80 * MIB)
#define SLACK_SHARE 20 /* further slack as a fraction (1/20) of the need */
#define LEAST_WASTE (32 * MIB)

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_arena scratch;         /* temporary memory for `own`, which is as large as the trace */
    mv_growth_search *search; /* NULL: the growths were given */
    mv_heap own;
    mv_heap *heap; /* `own`, or the heap of the search if that has not passed the moment */
    mv_fragmentation *out;
} fragmentation_state;

/* ---- the moment -------------------------------------------------------------------------- */

/* Finds the moment at which the most memory was taken. If all of this memory was taken before the
 * first event, the trace does not show why. In that case, finds the moment at which the most memory
 * was in use, because holes at that moment are never filled. */
static mv_code find_moment(fragmentation_state *q, mv_fragmentation_opts opts, mv_err *err)
{
    const mv_demand *d = &q->out->growths.demand;
    bool is_old = q->lives->history != MV_HISTORY_COMPLETE && d->taken <= d->before;
    mv_moment_query ask = {.kind = is_old ? MV_MOMENT_PEAK : MV_MOMENT_AFTER,
                           .event = d->taken_event,
                           .window = opts.window};

    q->out->chosen = opts.at == NULL;
    if (!opts.at)
        return mv_moment_find(q->arena, q->lives, ask, &q->out->at, err);
    q->out->at = *opts.at;
    return MV_OK;
}

/* ---- domains ----------------------------------------------------------------------------- */

static bool list_domains(fragmentation_state *q)
{
    const mv_domains *d = &q->heap->domains;
    mv_fragmentation *out = q->out;
    uint64_t *whole = mv_push_array(q->arena, uint64_t, d->count);

    out->domains = mv_push_array(q->arena, mv_domain_report, d->count);
    if (!whole || !out->domains)
        return false;
    for (uint32_t i = 0; i < out->map.count; i++)
        whole[d->of_segment[out->map.segment[i]]] += out->map.whole[i];
    for (uint32_t i = 0; i < d->count; i++) {
        mv_heap_sums bytes = mv_heap_domain(q->heap, i);
        mv_domain_report *row = &out->domains[out->domain_count];
        out->whole += whole[i];
        if (bytes.reserved == 0)
            continue;
        *row = (mv_domain_report){d->kind[i], d->pool[i], d->stream[i], bytes, whole[i], 0};
        row->largest = mv_holes_largest(&q->heap->now, (mv_domain_span){i, i + 1});
        if (row->largest > out->largest)
            out->largest = row->largest;
        out->domain_count++;
    }
    out->stranded = out->bytes.free - out->whole;
    return true;
}

/* ---- the verdict ------------------------------------------------------------------------- */

/* Returns the bytes that the run needed. The past of a heap from before the first event is not in
 * the trace, so all memory of such a heap counts as needed. */
static uint64_t needed_by(const fragmentation_state *q)
{
    const mv_demand *d = &q->out->demand;

    if (q->lives->history != MV_HISTORY_COMPLETE && d->before > d->needed)
        return d->before;
    return d->needed;
}

/* Returns how much memory beyond `needed` still counts as normal. */
static uint64_t allowance(uint64_t needed)
{
    uint64_t usual = SLACK + needed / SLACK_SHARE;
    uint64_t small = needed / 2 > LEAST_WASTE ? needed / 2 : LEAST_WASTE;

    return small < usual ? small : usual;
}

/* Describes how the allowance is computed. */
static const char *allowance_text(uint64_t needed)
{
    if (allowance(needed) == SLACK + needed / SLACK_SHARE)
        return "80 MiB + 5 %";
    return needed / 2 > LEAST_WASTE ? "half of it" : "32 MiB";
}

static bool is_far_beyond(uint64_t beyond, uint64_t needed)
{
    return beyond > allowance(needed);
}

/* Whether segments in use consist mostly of holes. This is normal between the steps of a healthy
 * run, because the next step fills the holes, so it counts only if the trace does not show the
 * need. */
static bool is_hollow(const fragmentation_state *q)
{
    const mv_fragmentation *f = q->out;

    return q->lives->history != MV_HISTORY_COMPLETE && f->stranded > SLACK &&
           f->stranded > f->bytes.allocated + f->bytes.pending;
}

/* Returns the proportion of `more` bytes beyond `base`: "12 % more than", "3.4 times". */
static const char *proportion(char text[32], uint64_t more, uint64_t base)
{
    double part = base ? (double)more / (double)base : more ? 100 : 0;

    if (part < 0.005)
        snprintf(text, 32, "%s", "no more than");
    else if (part < 1)
        snprintf(text, 32, "%.0f %% more than", part * 100);
    else if (part < 100)
        snprintf(text, 32, "%.1f times", 1 + part);
    else
        snprintf(text, 32, "%s", "over 100 times");
    return text;
}

#define BASE_TEXT 96

/* Names the kind of need with which the allocator's memory is compared. */
static const char *base_text(char text[BASE_TEXT], const fragmentation_state *q)
{
    const mv_fragmentation *f = q->out;
    char size[MV_SIZE_TEXT];

    if (f->base != f->demand.needed)
        snprintf(text, BASE_TEXT, "the %s reserved before the trace", mv_size_text(size, f->base));
    else if (q->lives->history != MV_HISTORY_COMPLETE)
        snprintf(text, BASE_TEXT, "the most in use at once in the trace");
    else
        snprintf(text, BASE_TEXT, "the most in use at once in the run");
    return text;
}

/* On a level of calls, and in a file of another tool, each block fills a segment. */
#define WHY_UNSEEN                                                                                 \
    "on this level each block is a segment of its own, so no reserved memory can be free: unused " \
    "memory inside a pool is not visible"

/* Whether the reserved memory is unknown at some moments of the trace. */
static bool is_reserved_unknown(const mv_lives *lives)
{
    return lives->is_missing_segment_events ||
           (lives->has_no_heap && lives->history != MV_HISTORY_COMPLETE);
}

/* Whether the figure for taken memory may be too high, because segments that were held one after
 * another may look as if they were held at the same time. */
static bool is_too_high(const fragmentation_state *q)
{
    return q->lives->doubts.unproven_segments > 0 && q->out->at.event + 1 != q->lives->events.count;
}

/* Explains why no verdict is certain. Returns NULL when out of memory. */
static const char *why_unknown(const fragmentation_state *q)
{
    const mv_lives *lives = q->lives;
    const char *residual;

    if (lives->events.count == 0)
        return mv_arena_printf(q->arena,
                               "whether the free memory was needed at another moment is unknown: "
                               "the file has no history (%s)",
                               mv_recorder_of(q->trace)->events);
    if (lives->is_missing_allocs)
        return "memory in use is unknown: allocations were not recorded";
    if (lives->is_missing_segment_events)
        return "reserved memory at other moments is uncertain: the file contains no segment events";
    if (is_reserved_unknown(lives))
        return "memory reserved before the trace is unknown: the file has no final heap";
    if (is_too_high(q))
        return "memory reserved at once is uncertain: the file records released segments, but not "
               "added ones";
    if (lives->history != MV_HISTORY_COMPLETE)
        return "whether the free memory was needed before the trace is unknown: record from the "
               "start, with a large enough max_entries";
    residual = mv_residual_text(q->arena, lives);
    return residual ? mv_arena_printf(q->arena, "how much was needed at once is unknown: %s",
                                      *residual ? residual : "block sizes are uncertain")
                    : NULL;
}

/* Describes the waiting memory and, at the default moment, what the run would have needed without
 * waiting. */
static const char *why_waiting(const fragmentation_state *q)
{
    const mv_fragmentation *f = q->out;
    mv_bound bound = mv_bounds_of(q->lives).allocated;
    char waits[MV_SIZE_TEXT], need[MV_SIZE_TEXT], without[96] = "";

    if (f->chosen)
        snprintf(without, sizeof without, ": without the wait, %s%s would have been needed at once",
                 mv_bound_words(bound), mv_size_text(need, f->demand.allocated));
    return mv_arena_printf(
        q->arena, "%s in %u block%s %s freed, but another stream may still use %s%s",
        mv_size_text(waits, f->waiting.bytes), f->waiting.blocks, mv_plural(f->waiting.blocks),
        f->waiting.blocks == 1 ? "was" : "were", f->waiting.blocks == 1 ? "it" : "them", without);
}

/* Explains the verdict "ok" with the figures that rule out "fragmented": the bytes beyond the need,
 * and the amount that is normal. Memory that was reserved before the trace counts as beyond the
 * need here, because the verdict does not depend on it. */
static const char *why_ok(const fragmentation_state *q)
{
    const mv_fragmentation *f = q->out;
    uint64_t taken = f->bytes.reserved + f->failed, need = f->demand.needed;
    char beyond[MV_SIZE_TEXT], allowed[MV_SIZE_TEXT];

    if (taken <= need)
        return f->over_plain ? "the free memory was needed at another moment of the run"
                             : "all of it was needed at once";
    return mv_arena_printf(q->arena, "%s%s beyond the need; up to %s (%s) are usual",
                           q->lives->history == MV_HISTORY_COMPLETE ? "" : "at most ",
                           mv_size_text(beyond, taken - need),
                           mv_size_text(allowed, allowance(need)), allowance_text(need));
}

/* Explains the verdict. Returns NULL when out of memory. */
static const char *why(const fragmentation_state *q, bool is_far)
{
    const mv_fragmentation *f = q->out;
    char more[32], base[BASE_TEXT];

    if (f->is_unseen)
        return WHY_UNSEEN;
    if (f->waits)
        return why_waiting(q);
    if (!f->is_known)
        return why_unknown(q);
    if (f->fragmented)
        return is_far ? mv_arena_printf(q->arena, "%s %s %s",
                                        f->failed ? "reserved memory and the refused segment are"
                                                  : "the allocator holds",
                                        proportion(more, f->beyond, f->base), base_text(base, q))
                      : "segments in use are mostly holes";
    return why_ok(q);
}

static bool find_words(fragmentation_state *q, bool is_far)
{
    mv_fragmentation *f = q->out;
    mv_bound bound = mv_bounds_of(q->lives).active;
    char reserved[MV_SIZE_TEXT], failed[MV_SIZE_TEXT], needed[MV_SIZE_TEXT];

    f->answer = f->fragmented  ? "fragmented"
                : f->waits     ? "waiting"
                : f->is_unseen ? "unknown on this level"
                : f->is_known  ? "ok"
                               : "ok (history incomplete)";
    f->why = why(q, is_far);
    f->trials_note = f->trust_note = "";
    mv_size_text(failed, f->failed);
    mv_size_text(reserved, f->bytes.reserved);
    if (f->is_unseen)
        f->figures = mv_arena_printf(q->arena, "%s reserved", reserved);
    else
        f->figures =
            mv_arena_printf(q->arena, "%s reserved%s%s, %s%s needed", reserved,
                            f->failed ? " + a refused segment of " : "", f->failed ? failed : "",
                            bound & MV_BOUND_MOST                      ? mv_bound_words(bound)
                            : q->lives->history == MV_HISTORY_COMPLETE ? ""
                                                                       : "at least ",
                            mv_size_text(needed, f->demand.needed));
    return f->why && f->figures;
}

/* Whether most unallocated memory waits for a stream, and is far more than a heap usually has
 * beyond its need. At the default moment, waiting must also have raised the need by that much. */
static bool is_waiting(const mv_fragmentation *f)
{
    const mv_demand *d = &f->demand;

    if (f->bytes.pending <= f->bytes.free || !is_far_beyond(f->bytes.pending, f->bytes.allocated))
        return false;
    return !f->chosen || is_far_beyond(d->needed - d->allocated, d->allocated);
}

/* Whether the taken memory is close to the memory that was certainly in use at once. If only frees
 * show blocks, only the blocks of the final heap are certain. */
static bool is_surely_near(const fragmentation_state *q, uint64_t taken)
{
    const mv_lives *lives = q->lives;
    uint64_t need = q->out->demand.needed;

    if (lives->doubts.unproven_ends > 0) {
        need = 0;
        for (uint32_t i = 0; i < lives->allocs.count; i++)
            need += lives->allocs.completed[i] == MV_NEVER ? lives->allocs.block[i] : 0;
    } else if (mv_bounds_of(lives).active & MV_BOUND_MOST) {
        return false;
    }
    return taken <= need || !is_far_beyond(taken - need, need);
}

/* Decides the verdict. Returns false when out of memory. */
static bool decide(fragmentation_state *q)
{
    mv_fragmentation *f = q->out;
    uint64_t taken;
    bool is_far;

    f->failed = f->at.event == f->demand.taken_event ? f->demand.failed : 0;
    taken = f->bytes.reserved + f->failed;
    f->base = needed_by(q);
    f->beyond = taken > f->base ? taken - f->base : 0;
    f->over_plain = f->bytes.reserved > f->bytes.allocated &&
                    f->bytes.reserved - f->bytes.allocated > f->bytes.allocated / 2;
    is_far = is_far_beyond(f->beyond, f->base);
    f->fragmented = (is_far || is_hollow(q)) && !q->lives->is_missing_allocs && !is_too_high(q);
    f->is_unseen = !mv_level_reserves(q->trace) || mv_trace_allocator(q->trace);
    f->is_known = f->fragmented || (!f->is_unseen && !q->lives->is_missing_allocs &&
                                    !is_reserved_unknown(q->lives) && is_surely_near(q, taken));
    f->waits = !f->fragmented && !f->is_unseen && is_waiting(f);
    f->allowed = allowance(f->base);
    f->is_idle = f->chosen && f->at.event + 1 < q->lives->events.count && !f->is_unseen &&
                 f->demand.end_reserved / 2 > f->demand.end_active &&
                 is_far_beyond(f->demand.end_reserved - f->demand.end_active, f->demand.end_active);
    return find_words(q, is_far);
}

const char *mv_fragmentation_verdict_name(const mv_fragmentation *f)
{
    return f->fragmented ? "fragmented" : f->waits ? "waiting" : "ok";
}

/* ---- the whole report -------------------------------------------------------------------- */

static mv_code find_growths(fragmentation_state *q, mv_fragmentation_opts opts, mv_err *err)
{
    if (opts.growths) {
        q->out->growths = *opts.growths;
        return MV_OK;
    }
    q->search =
        mv_growth_search_begin(q->arena, q->trace, q->lives, opts.window, &q->out->growths, err);
    if (q->search)
        mv_growth_search_some(q->search, UINT32_MAX);
    return q->search ? MV_OK : err->code;
}

static mv_code find_heap(fragmentation_state *q, mv_err *err)
{
    uint32_t event = q->out->at.event;

    q->heap = q->search ? mv_growth_search_heap(q->search, event) : NULL;
    if (q->heap)
        return MV_OK;
    mv_growth_search_end(q->search);
    q->search = NULL;
    q->heap = &q->own;
    if (mv_heap_init(&q->scratch, q->trace, q->lives, q->heap, err) != MV_OK)
        return err->code;
    mv_heap_advance(q->heap, event);
    return MV_OK;
}

static mv_code look(fragmentation_state *q, mv_fragmentation_opts opts, mv_err *err)
{
    mv_fragmentation *out = q->out;
    mv_code code = find_growths(q, opts, err);

    if (code == MV_OK)
        code = find_moment(q, opts, err);
    if (code == MV_OK)
        code = find_heap(q, err);
    if (code != MV_OK)
        return code;
    out->bytes = mv_heap_total(q->heap);
    out->demand = out->growths.demand;
    code = mv_heap_map_make(q->arena, q->heap, &out->map, err);
    if (code == MV_OK)
        code = mv_pins_find(q->arena, q->heap, &out->map, q->sites, MV_NO_ROW, &out->pins, err);
    if (code == MV_OK)
        code = mv_waiting_find(q->arena, q->lives, q->sites, out->at.event, &out->waiting, err);
    return code;
}

mv_code mv_fragmentation_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_sites *sites, mv_fragmentation_opts opts,
                              mv_fragmentation *out, mv_err *err)
{
    fragmentation_state q = {
        .arena = arena, .trace = trace, .lives = lives, .sites = sites, .out = out};
    mv_code code;

    *out = (mv_fragmentation){0};
    opts.window = mv_window_cut(opts.window, lives->events.count);
    mv_arena_init(&q.scratch, arena->budget);
    code = look(&q, opts, err);
    if (code == MV_OK && !list_domains(&q))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "fragmentation");
    mv_growth_search_end(q.search);
    mv_arena_release(&q.scratch);
    if (code != MV_OK)
        return code;
    if (!decide(&q))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "fragmentation");
    mv_sort_rows(arena, out->growths.rows, out->growths.count,
                 MV_FALLING(mv_segment_growth, segment_bytes), MV_RISING(mv_segment_growth, event));
    if (opts.no_advice)
        return MV_OK;
    return mv_fragmentation_advise(arena, trace, lives, sites, opts, out, err);
}
