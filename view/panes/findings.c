#include "view/panes/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/lives/alive.h"
#include "base/size.h"
#include "base/text.h"
#include "view/state/search_text.h"
#include "view/state/view.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_sites *sites;
    const mv_document_device *device;
    mv_findings *out;
    uint32_t capacity;
    bool failed;
} gathering;

const char *mv_finding_name(uint8_t kind)
{
    static const char *const names[] = {
#define MV_FINDING_NAME(name, text) text,
        MV_FINDING_LIST(MV_FINDING_NAME)
#undef MV_FINDING_NAME
    };

    return kind < MV_FINDING_COUNT ? names[kind] : "";
}

__attribute__((format(printf, 2, 3))) static const char *say(gathering *g, const char *format, ...)
{
    char text[768];
    const char *copy;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy = mv_arena_text(g->arena, text, strlen(text));
    g->failed = g->failed || !copy;
    return copy ? copy : "";
}

static const char *size_of(gathering *g, uint64_t bytes)
{
    char text[MV_SIZE_TEXT];

    return say(g, "%s", mv_size_text(text, bytes));
}

static mv_finding *add(gathering *g, mv_finding finding)
{
    if (g->out->count == g->capacity) {
        g->failed = true;
        return &g->out->rows[g->capacity - 1];
    }
    if (!finding.culprit)
        finding.culprit = "";
    if (!finding.advice)
        finding.advice = "";
    if (!finding.search)
        finding.search = "";
    if (!finding.has_place)
        finding.alloc = MV_NO_ROW;
    g->out->rows[g->out->count] = finding;
    return &g->out->rows[g->out->count++];
}

/* ---- places ------------------------------------------------------------------------------ */

static const char *label_of(gathering *g, mv_stack_id stack)
{
    char label[256];

    return say(g, "%s", mv_culprit_label(g->trace, g->sites->kinds, stack, label, sizeof label));
}

static const char *search_of(gathering *g, mv_frame_id frame, const char *more)
{
    char text[MV_SEARCH_TEXT - 16];

    mv_search_of_frame(g->trace, frame, text, sizeof text);
    return *text ? say(g, "%s%s", text, more) : "";
}

static const char *search_of_stack(gathering *g, mv_stack_id stack)
{
    return search_of(g, mv_culprit_frame(g->trace, g->sites->kinds, stack), "");
}

static uint32_t group_of(const gathering *g, mv_stack_id stack)
{
    return g->sites->group[mv_site_of(g->sites, stack)];
}

/* The largest block behind `event` that the line behind `stack` made, and of `category` unless it
 * is MV_NO_ROW. */
static uint32_t largest_of(const gathering *g, mv_stack_id stack, uint32_t event, uint32_t category)
{
    const mv_lives *lives = &g->device->lives;
    const mv_index *index = &g->device->index;
    const uint16_t *categories = g->device->attribution.categories.of_alloc;
    uint32_t limit = mv_index_born(index, event), best = MV_NO_ROW, group = group_of(g, stack);

    for (uint32_t r = mv_index_next(index, 0, limit, event); r < limit;
         r = mv_index_next(index, r + 1, limit, event)) {
        if (group_of(g, lives->allocs.stack[r]) != group ||
            (category != MV_NO_ROW && categories[r] != category) ||
            !mv_index_is_alive(index, r, event))
            continue;
        if (best == MV_NO_ROW || lives->allocs.block[r] > lives->allocs.block[best])
            best = r;
    }
    return best;
}

/* Shows `first` to `last`, with something around them. */
static void set_place(const gathering *g, mv_finding *f, uint32_t event, uint32_t first,
                      uint32_t last)
{
    uint32_t events = g->device->lives.events.count;
    uint32_t around;

    if (first == MV_BEFORE)
        first = 0;
    if (last == MV_BEFORE || last < first)
        last = first;
    around = (last - first) / 20 + 4;
    f->has_place = true;
    f->event = event;
    f->from = first > around ? first - around : 0;
    f->to = events - last > around ? last + around : events;
}

/* ---- out of memory ----------------------------------------------------------------------- */

static void add_oom(gathering *g, const mv_oom *oom)
{
    bool has_pins = oom->verdict != MV_OOM_CAPACITY && oom->pins.line_count > 0;
    const mv_pin *line = has_pins ? oom->pins.lines : oom->holder_count > 0 ? oom->holders : NULL;
    mv_finding f = {.kind = MV_FINDING_OOM, .bytes = oom->requested};
    const char *verb = has_pins ? "pinned" : "held";

    f.title = say(g, "%s asked for at %s: %s", size_of(g, oom->requested), label_of(g, oom->stack),
                  mv_oom_verdict_name(oom->verdict));
    f.what = say(g, "%s; largest hole %s, free in all %s", oom->why, size_of(g, oom->largest_hole),
                 size_of(g, oom->bytes.free));
    f.advice = oom->advice;
    set_place(g, &f, oom->event, line ? line->oldest : 0, oom->event);
    f.shows_state = has_pins;
    f.alloc = MV_NO_ROW;
    if (line) {
        f.culprit = label_of(g, line->stack);
        f.what = say(g, "%s; %s in %u blocks %s by %s", f.what, size_of(g, line->bytes),
                     line->blocks, verb, f.culprit);
        f.alloc = largest_of(g, line->stack, oom->event, MV_NO_ROW);
        f.search = search_of_stack(g, line->stack);
    }
    add(g, f);
}

static void add_ooms(gathering *g)
{
    const mv_ooms *found = &g->device->ooms;

    for (uint32_t i = 0; i < found->count && i < MV_MOST_FINDINGS; i++)
        add_oom(g, &found->ooms[i]);
    if (found->count > MV_MOST_FINDINGS)
        add(g, (mv_finding){.kind = MV_FINDING_NOTE,
                            .title =
                                say(g, "%u more request%s failed", found->count - MV_MOST_FINDINGS,
                                    mv_plural(found->count - MV_MOST_FINDINGS)),
                            .what = "memviz oom lists them all"});
    if (found->retries)
        add(g, (mv_finding){.kind = MV_FINDING_NOTE,
                            .bytes = found->released,
                            .title = say(g, "%u request%s served only at the second try",
                                         found->retries, found->retries == 1 ? " was" : "s were"),
                            .what = say(g, "%s of cached memory went back to the device for them",
                                        size_of(g, found->released))});
}

/* ---- leaks ------------------------------------------------------------------------------- */

static void add_leak(gathering *g, const mv_leak *leak)
{
    const mv_leaks *found = &g->device->leaks;
    const mv_lives *lives = &g->device->lives;
    uint32_t events = lives->events.count;
    uint32_t end = found->exit_event < events ? found->exit_event : events;
    mv_finding f = {.kind = MV_FINDING_LEAK, .bytes = leak->bytes, .advice = leak->advice};
    char label[256];

    mv_leak_label(g->trace, g->sites->kinds, leak, label, sizeof label);
    f.culprit = say(g, "%s", label);
    f.title = say(g, "%s a step, %s at the end", size_of(g, leak->bytes_per_step),
                  size_of(g, leak->bytes));
    f.what = say(g, "%u blocks from event %u to %u are alive at the end, confidence %.2f%s%s%s",
                 leak->blocks, leak->first_event, leak->last_event, leak->confidence,
                 leak->kind == MV_LEAK_UNKNOWN ? "" : "; ",
                 leak->kind == MV_LEAK_UNKNOWN ? "" : mv_leak_kind_name(leak->kind),
                 leak->kind == MV_LEAK_UNKNOWN ? "" : say(g, ": %s", leak->evidence));
    set_place(g, &f, end - 1, leak->first_event, events);
    f.alloc = leak->first_event < events ? lives->alloc_of[leak->first_event] : MV_NO_ROW;
    f.search = search_of(g, leak->culprit, " leak");
    if (!*f.search)
        f.search = "leak";
    add(g, f);
}

static void add_leaks(gathering *g)
{
    const mv_leaks *found = &g->device->leaks;

    for (uint32_t i = 0; i < found->count && i < MV_MOST_FINDINGS; i++)
        add_leak(g, &found->leaks[i]);
    if (found->count > MV_MOST_FINDINGS)
        add(g, (mv_finding){.kind = MV_FINDING_NOTE,
                            .title = say(g, "%u more leaks", found->count - MV_MOST_FINDINGS),
                            .what = "memviz leaks lists them all"});
}

/* ---- fragmentation ----------------------------------------------------------------------- */

static void add_fragmentation(gathering *g)
{
    const mv_fragmentation *found = &g->device->fragmentation;
    const mv_pin *line = found->pins.line_count ? &found->pins.lines[0] : NULL;
    mv_finding f = {.kind = MV_FINDING_FRAGMENTED, .bytes = found->beyond};

    if (!found->fragmented)
        return;
    f.title = say(g, "%s reserved, %s needed", size_of(g, found->bytes.reserved),
                  size_of(g, found->demand.needed));
    f.what = say(g, "%s; %s is stranded beside blocks in use, %s lies in unused segments",
                 found->why, size_of(g, found->stranded), size_of(g, found->whole));
    f.advice = found->advice_count ? found->advice[0].text : "";
    set_place(g, &f, found->at.event, 0, found->at.event);
    f.alloc = MV_NO_ROW;
    f.shows_state = true;
    if (line) {
        f.culprit = label_of(g, line->stack);
        f.what = say(g, "%s; %u blocks of %s strand %s in %u segments", f.what, line->blocks,
                     f.culprit, size_of(g, line->stranded), line->segments);
        f.alloc = largest_of(g, line->stack, found->at.event, MV_NO_ROW);
        f.search = search_of_stack(g, line->stack);
    } else if (found->growths.count) {
        f.culprit = label_of(g, found->growths.rows[0].stack);
        f.search = search_of_stack(g, found->growths.rows[0].stack);
    }
    add(g, f);
}

/* ---- the peak ---------------------------------------------------------------------------- */

/* What one can do about memory of a kind. */
static const char *peak_advice(uint16_t category)
{
    switch ((mv_category)category) {
    case MV_CATEGORY_PARAMETER:
        return "parameters in a narrower type, or sharded over more devices, take less";
    case MV_CATEGORY_GRADIENT:
        return "gradients can be sharded, or freed by zero_grad(set_to_none=True) before the peak";
    case MV_CATEGORY_OPTIMIZER_STATE:
        return "the optimizer's state can be sharded, offloaded, or kept in a narrower type";
    case MV_CATEGORY_ACTIVATION:
        return "activation checkpointing, a smaller batch or a narrower type make it less";
    case MV_CATEGORY_TEMPORARY:
        return "work in pieces, in place or fused needs smaller temporaries";
    case MV_CATEGORY_INPUT:
        return "a smaller batch, or fewer batches fetched ahead, make it less";
    case MV_CATEGORY_WORKSPACE:
        return "smaller workspaces can be set for the library that asks for them";
    case MV_CATEGORY_COMMUNICATION:
        return "smaller buckets of communication make it less";
    default:
        return "see its stack and its life in the picture";
    }
}

static void add_site(gathering *g, const mv_peak_site *site)
{
    const mv_attribution *peak = &g->device->attribution;
    uint64_t all = peak->at.bytes.allocated;
    mv_finding f = {.kind = MV_FINDING_PEAK, .bytes = site->bytes};

    f.culprit = label_of(g, site->stack);
    f.title =
        say(g, "%s of %s, %.0f %%%s%s", size_of(g, site->bytes), size_of(g, all),
            all ? 100.0 * (double)site->bytes / (double)all : 0,
            site->category == MV_CATEGORY_UNKNOWN ? "" : ", ",
            site->category == MV_CATEGORY_UNKNOWN ? "" : peak->categories.name[site->category]);
    f.what = say(g, "%u blocks at the peak; without them the peak would be %s lower", site->blocks,
                 size_of(g, site->marginal));
    f.advice = peak_advice(site->category);
    set_place(g, &f, peak->at.event, 0, g->device->lives.events.count);
    f.alloc = largest_of(g, site->stack, peak->at.event, site->category);
    f.search = search_of_stack(g, site->stack);
    add(g, f);
}

static void add_peak(gathering *g)
{
    const mv_attribution *peak = &g->device->attribution;

    for (uint32_t i = 0; i < peak->count && i < MV_PEAK_FINDINGS; i++)
        add_site(g, &peak->sites[i]);
    if (peak->unattributed && peak->unattributed >= peak->at.bytes.allocated / 4)
        add(g, (mv_finding){
                   .kind = MV_FINDING_NOTE,
                   .bytes = peak->unattributed,
                   .title = say(g, "%s of the peak have no stack", size_of(g, peak->unattributed)),
                   .what = "they were allocated before recording began, or their stacks "
                           "were not recorded"});
}

/* ---- what is missing, what is fine ------------------------------------------------------- */

static void add_doubts(gathering *g)
{
    const mv_lives *lives = &g->device->lives;
    int64_t residual = lives->doubts.residual;

    if (lives->history != MV_HISTORY_COMPLETE)
        add(g, (mv_finding){.kind = MV_FINDING_NOTE,
                            .title = say(g, "history: %s", mv_history_name(lives->history)),
                            .what = lives->history_why});
    if (residual != 0)
        add(g, (mv_finding){.kind = MV_FINDING_NOTE,
                            .bytes = residual < 0 ? 0 - (uint64_t)residual : (uint64_t)residual,
                            .title = "the file contradicts itself",
                            .what = say(g,
                                        "its final heap holds %lld bytes %s than the events "
                                        "lead to",
                                        residual < 0 ? -(long long)residual : (long long)residual,
                                        residual < 0 ? "less" : "more")});
}

static const char *why_no_leak(gathering *g)
{
    const mv_leaks *leaks = &g->device->leaks;
    const char *why = *leaks->settle ? say(g, "%s: %s", leaks->why, leaks->settle) : leaks->why;

    return leaks->in_progress.bytes == 0 ? why
                                         : say(g, "%s; in the step that was under way: %s", why,
                                               size_of(g, leaks->in_progress.bytes));
}

static void add_fine(gathering *g)
{
    const mv_document_device *d = g->device;

    if (d->leaks.verdict != MV_VERDICT_LEAK)
        add(g, (mv_finding){
                   .kind = d->leaks.verdict == MV_VERDICT_CLEAN ? MV_FINDING_FINE : MV_FINDING_NOTE,
                   .title =
                       d->leaks.verdict == MV_VERDICT_CLEAN ? "no leak" : "leaks cannot be judged",
                   .what = why_no_leak(g)});
    if (!d->fragmentation.fragmented)
        add(g, (mv_finding){.kind = MV_FINDING_FINE,
                            .title = say(g, "not fragmented: %s reserved, %s needed",
                                         size_of(g, d->fragmentation.bytes.reserved),
                                         size_of(g, d->fragmentation.demand.needed)),
                            .what = d->fragmentation.why});
    if (d->ooms.count == 0 && d->lives.history == MV_HISTORY_COMPLETE)
        add(g, (mv_finding){.kind = MV_FINDING_FINE,
                            .title = "no request failed",
                            .what = "every request for memory was served"});
    else if (d->ooms.count == 0)
        add(g, (mv_finding){.kind = MV_FINDING_NOTE,
                            .title = "failed requests: none in what was recorded",
                            .what = d->lives.history_why});
}

/* ---- all --------------------------------------------------------------------------------- */

/* Leaks and fragmentation are equally bad: bytes decide. */
static int rank_of(const mv_finding *f)
{
    return f->kind == MV_FINDING_LEAK ? MV_FINDING_FRAGMENTED : f->kind;
}

/* Those that were found first stay first: their event, or their rank in the report. */
static void sort(mv_findings *found)
{
    for (uint32_t i = 1; i < found->count; i++) {
        mv_finding f = found->rows[i];
        uint32_t at = i;
        while (at > 0) {
            const mv_finding *before = &found->rows[at - 1];
            bool is_worse = rank_of(&f) < rank_of(before) ||
                            (rank_of(&f) == MV_FINDING_FRAGMENTED &&
                             rank_of(before) == MV_FINDING_FRAGMENTED && f.bytes > before->bytes);
            if (!is_worse)
                break;
            found->rows[at] = *before;
            at--;
        }
        found->rows[at] = f;
    }
}

mv_code mv_findings_find(mv_arena *arena, const mv_trace *trace, const mv_sites *sites,
                         const mv_document_device *device, mv_findings *out, mv_err *err)
{
    gathering g = {.arena = arena,
                   .trace = trace,
                   .sites = sites,
                   .device = device,
                   .out = out,
                   .capacity = 2 * MV_MOST_FINDINGS + MV_PEAK_FINDINGS + 12};

    *out = (mv_findings){.rows = mv_push_array(arena, mv_finding, g.capacity)};
    if (!out->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "findings");
    add_ooms(&g);
    add_leaks(&g);
    add_fragmentation(&g);
    add_peak(&g);
    add_doubts(&g);
    add_fine(&g);
    sort(out);
    return g.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "findings") : MV_OK;
}
