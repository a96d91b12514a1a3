#include "analyze/whatif.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/culprit.h"
#include "analyze/fragmentation.h"
#include "analyze/replay_script.h"
#include "analyze/size.h"

const char *mv_trust_name(mv_trust trust)
{
    static const char *const names[] = {
#define MV_TRUST_NAME(name, text) text,
        MV_TRUST_LIST(MV_TRUST_NAME)
#undef MV_TRUST_NAME
    };

    return names[trust];
}

const char *mv_limit_source_name(mv_limit_source source)
{
    static const char *const names[] = {"none", "given", "refused_requests"};

    return names[source];
}

/* What is tried when nothing is asked for. Those that collect garbage need a limit. */
static const struct {
    const char *conf;
    bool needs_limit;
} built_in[] = {
    {"", false},
    {"expandable_segments:True", false},
    {"max_split_size_mb:64", false},
    {"max_split_size_mb:128", false},
    {"max_split_size_mb:256", false},
    {"max_split_size_mb:512", false},
    {"roundup_power2_divisions:4", false},
    {"roundup_power2_divisions:8", false},
    {"garbage_collection_threshold:0.6", true},
    {"garbage_collection_threshold:0.8", true},
    {"max_split_size_mb:128,garbage_collection_threshold:0.8", true},
};

#define BUILT_IN (sizeof built_in / sizeof *built_in)

/* A run that deviates from the recorded peak by more is not the same run. */
#define SAME_PEAK 0.02
/* A peak of which more was reserved before the trace was not made by the trace. */
#define PEAK_BEFORE 0.9
#define FAIR_ERROR  0.03
#define WASTE       0.25
/* Savings below this share of the recorded peak are not worth a setting. */
#define WORTH 0.01

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_whatif *out;
    mv_alloc_conf recorded;
    mv_replay_script script;
    mv_replay_result self; /* under the recorded settings */
    bool out_of_memory;
} asking;

__attribute__((format(printf, 2, 3))) static const char *say(asking *a, const char *format, ...)
{
    char text[512];
    const char *kept;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text)
        length = sizeof text - 1;
    kept = length < 0 ? NULL : mv_arena_text(a->arena, text, (uint64_t)length);
    a->out_of_memory = a->out_of_memory || !kept;
    return kept ? kept : "";
}

/* ---- runs -------------------------------------------------------------------------------- */

static uint64_t limit_under(const asking *a, const mv_alloc_conf *conf)
{
    uint64_t limit = a->out->limit;

    if (a->out->limit_source == MV_LIMIT_GIVEN && conf->fraction < 1)
        limit = (uint64_t)((double)limit * conf->fraction);
    return limit == UINT64_MAX ? 0 : limit;
}

static mv_code run_one(asking *a, const mv_alloc_conf *conf, const uint8_t *apart,
                       mv_replay_result *out, mv_err *err)
{
    mv_replay_opts opts = {
        .conf = *conf, .limit = limit_under(a, conf), .apart = apart, .script = &a->script};

    return mv_replay_run(a->arena, a->trace, a->lives, opts, out, err);
}

static bool fits(const mv_replay_result *result)
{
    return result->counts.ooms == 0 && result->avoided_ooms == result->recorded_ooms &&
           !result->gave_up;
}

static void judge(const asking *a, mv_whatif_run *run)
{
    run->saves = (int64_t)(a->out->recorded_reserved - run->result.peak.reserved);
    run->fits = fits(&run->result);
}

/* A max_split_size above every block changes nothing: then the run is that without it. */
static bool is_like(const mv_alloc_conf *conf, const mv_alloc_conf *other,
                    const mv_replay_result *result)
{
    mv_alloc_conf same = *conf;

    same.rules.max_split = other->rules.max_split;
    return mv_alloc_conf_same(&same, other) && !conf->rules.expandable &&
           conf->rules.max_split > result->largest && other->rules.max_split > result->largest;
}

static mv_code add_run(asking *a, const char *text, mv_err *err)
{
    mv_whatif_run *run = &a->out->runs[a->out->run_count];
    mv_alloc_conf conf, first;
    char why[128];

    *run = (mv_whatif_run){.conf = text};
    if (!mv_alloc_conf_parse(text, &conf, why, sizeof why))
        return MV_OK; /* the caller has parsed it before */
    run->is_recorded = mv_alloc_conf_same(&conf, &a->recorded);
    if (run->is_recorded && conf.fraction >= 1) {
        run->result = a->self;
    } else if (a->out->run_count > 0 && conf.fraction >= 1 &&
               mv_alloc_conf_parse(a->out->runs[0].conf, &first, why, sizeof why) &&
               first.fraction >= 1 && is_like(&conf, &first, &a->out->runs[0].result)) {
        run->result = a->out->runs[0].result;
    } else if (run_one(a, &conf, NULL, &run->result, err) != MV_OK) {
        return err->code;
    }
    judge(a, run);
    a->out->run_count++;
    return MV_OK;
}

static int better_first(const void *x, const void *y)
{
    const mv_whatif_run *a = x, *b = y;
    uint64_t of_a = a->result.peak.reserved, of_b = b->result.peak.reserved;

    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    if (!a->fits && a->result.counts.ooms != b->result.counts.ooms)
        return a->result.counts.ooms < b->result.counts.ooms ? -1 : 1;
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    if (a->result.counts.segment_allocs != b->result.counts.segment_allocs)
        return a->result.counts.segment_allocs < b->result.counts.segment_allocs ? -1 : 1;
    if (a->is_recorded != b->is_recorded)
        return a->is_recorded ? -1 : 1;
    return strcmp(a->conf, b->conf);
}

static mv_code run_built_in(asking *a, mv_err *err)
{
    bool has_recorded = false;
    mv_code code = MV_OK;

    a->out->ranked = true;
    for (uint32_t i = 0; i < BUILT_IN && code == MV_OK; i++)
        if (!built_in[i].needs_limit || a->out->limit != UINT64_MAX)
            code = add_run(a, built_in[i].conf, err);
    for (uint32_t i = 0; i < a->out->run_count; i++)
        has_recorded = has_recorded || a->out->runs[i].is_recorded;
    if (code == MV_OK && !has_recorded)
        code = add_run(a, a->out->recorded_conf, err);
    if (code == MV_OK)
        qsort(a->out->runs, a->out->run_count, sizeof *a->out->runs, better_first);
    return code;
}

static mv_code run_all(asking *a, const mv_whatif_opts *opts, mv_err *err)
{
    uint64_t count = opts->conf_count ? opts->conf_count : BUILT_IN + 1;
    mv_code code = MV_OK;

    a->out->runs = mv_push_array(a->arena, mv_whatif_run, count);
    if (!a->out->runs)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (opts->conf_count == 0)
        return a->out->trust == MV_TRUST_LOW ? MV_OK : run_built_in(a, err);
    for (uint32_t i = 0; i < opts->conf_count && code == MV_OK; i++)
        code = add_run(a, opts->conf[i], err);
    return code;
}

/* ---- trust ------------------------------------------------------------------------------- */

static uint64_t bytes_before(const mv_lives *lives)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < lives->allocs.preexisting; i++)
        bytes += lives->allocs.block[i];
    return bytes;
}

static double deviation(const asking *a)
{
    double was = (double)a->out->recorded_reserved, is = (double)a->self.peak.reserved;

    return was > 0 ? (is > was ? is - was : was - is) / was : 0;
}

static uint64_t reserved_before(const mv_lives *lives)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < lives->segments.count; i++)
        bytes += lives->segments.birth[i] == MV_BEFORE ? lives->segments.size[i] : 0;
    return bytes;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* A trace that begins on a heap in use. Memory that was reserved, and had been given back to the
 * cache, before the trace was reserved for reasons that no replay sees. */
static void trust_late(asking *a)
{
    char text[MV_SIZE_TEXT], more[MV_SIZE_TEXT];
    uint64_t used = bytes_before(a->lives), held = reserved_before(a->lives);
    uint64_t peak = a->out->recorded_reserved;

    if (share(held, peak) > PEAK_BEFORE && share(held - used, peak) > 1 - PEAK_BEFORE) {
        a->out->trust = MV_TRUST_LOW;
        a->out->trust_why = say(a,
                                "%s of the %s reserved at the peak were taken before the trace "
                                "begins, so what made the peak is not in it",
                                mv_size_text(text, held), mv_size_text(more, peak));
        return;
    }
    a->out->trust = share(a->out->start_error, peak) > FAIR_ERROR ? MV_TRUST_FAIR : MV_TRUST_HIGH;
    a->out->trust_why =
        say(a,
            "all is predicted, but %s were allocated before the trace begins: where "
            "expandable_segments changes they are laid out anew, which is off by some %s",
            mv_size_text(text, used), mv_size_text(more, a->out->start_error));
}

static void judge_trust(asking *a)
{
    const mv_replay_fidelity *f = &a->out->fidelity;
    double met = f->allocs ? (double)f->allocs_matched / f->allocs : 1;
    double segments = f->segment_events ? (double)f->segment_matched / f->segment_events : 1;

    a->out->trust = MV_TRUST_FAIR;
    if (a->lives->events.count == 0 || f->allocs == 0) {
        a->out->trust = MV_TRUST_NONE;
        a->out->trust_why = "the trace has no allocations to replay";
    } else if (f->gave_up || a->self.gave_up) {
        a->out->trust = MV_TRUST_LOW;
        a->out->trust_why = "the replay would take too long and was left";
    } else if (met < 0.95 || segments < 0.8) {
        a->out->trust = MV_TRUST_LOW;
        a->out->trust_why = say(a,
                                "the replay predicts only %.1f%% of the recorded addresses and "
                                "%.1f%% of the segment events: it is not this program's allocator",
                                100 * met, 100 * segments);
    } else if (deviation(a) > SAME_PEAK && a->recorded.gc_threshold > 0 &&
               a->out->limit == UINT64_MAX) {
        a->out->trust_why = "the recorded run collected garbage within a limit that the file does "
                            "not name; --capacity gives it";
    } else if (deviation(a) > SAME_PEAK && a->out->limit_source != MV_LIMIT_GIVEN) {
        a->out->trust = MV_TRUST_LOW;
        a->out->trust_why = "replayed under its own settings the run does not reach its recorded "
                            "peak";
    } else if (mv_trace_is_captured(a->trace)) {
        a->out->trust_why = "a capture has the sizes of blocks, not of requests: rounding is not "
                            "known, and every stream is taken for the default one";
    } else if (f->first_difference != MV_NEVER) {
        a->out->trust_why = say(a, "event %u is not predicted: %s", f->first_difference, f->why);
    } else if (a->lives->history != MV_HISTORY_COMPLETE) {
        trust_late(a);
    } else if (!f->exact) {
        a->out->trust_why = "the trace contradicts itself in places";
    } else {
        a->out->trust = MV_TRUST_EXACT;
        a->out->trust_why = "every recorded event is predicted";
    }
}

/* ---- the line that pins ------------------------------------------------------------------ */

/* Marks the allocations of a group of sites; those from before the trace stay where they are. */
static uint8_t *rows_of_group(asking *a, uint32_t group)
{
    const mv_alloc_lives *rows = &a->lives->allocs;
    uint8_t *apart = mv_push_array(a->arena, uint8_t, rows->count);

    for (uint32_t i = rows->preexisting; apart && i < rows->count; i++)
        apart[i] = a->sites->group[mv_site_of(a->sites, rows->stack[i])] == group;
    return apart;
}

/* Whether it is worth looking for somebody to blame. */
static bool is_wasteful(const mv_whatif *w)
{
    return w->recorded_ooms > 0 ||
           (double)w->recorded_allocated < (1 - WASTE) * (double)w->recorded_reserved;
}

static mv_code find_line(asking *a, mv_err *err)
{
    mv_whatif_line *line = &a->out->line;
    mv_fragmentation f;
    const uint8_t *apart;

    if (a->out->trust >= MV_TRUST_LOW || !is_wasteful(a->out))
        return MV_OK;
    if (mv_fragmentation_find(a->arena, a->trace, a->lives, a->sites,
                              (mv_fragmentation_opts){.window = {0, UINT32_MAX}}, &f, err) != MV_OK)
        return err->code;
    if (!f.fragmented || f.pins.line_count == 0 || f.pins.stranded == 0 ||
        f.pins.lines[0].stranded < f.pins.stranded / 2)
        return MV_OK;
    apart = rows_of_group(a, f.pins.lines[0].group);
    if (!apart)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    line->found = true;
    line->pin = f.pins.lines[0];
    line->stranded = f.pins.stranded;
    if (run_one(a, &a->recorded, apart, &line->apart, err) != MV_OK)
        return err->code;
    line->saves = (int64_t)(a->out->recorded_reserved - line->apart.peak.reserved);
    line->fits = fits(&line->apart);
    return MV_OK;
}

/* ---- advice ------------------------------------------------------------------------------ */

static void add_advice(asking *a, const char *setting, int64_t saves, mv_stack_id stack,
                       const char *text)
{
    if (a->out->advice_count < MV_MOST_WHATIF_ADVICE)
        a->out->advice[a->out->advice_count++] = (mv_whatif_advice){setting, text, saves, stack};
}

/* More than the error of a heap that is laid out anew, and not too little. */
static bool is_worth(const asking *a, int64_t saves)
{
    double error = (double)a->out->start_error;

    return (double)saves >= WORTH * (double)a->out->recorded_reserved + error && saves > 0;
}

/* The best run that is not the recorded one; NULL when none is worth it. */
static const mv_whatif_run *best_run(const asking *a)
{
    const mv_whatif_run *best = NULL, *recorded = NULL;

    for (uint32_t i = 0; i < a->out->run_count; i++) {
        const mv_whatif_run *run = &a->out->runs[i];
        if (run->is_recorded)
            recorded = run;
        else if (!best || better_first(run, best) < 0)
            best = run;
    }
    if (!best)
        return NULL;
    if (best->fits && ((recorded && !recorded->fits) || a->out->recorded_ooms > 0))
        return best;
    return best->fits && is_worth(a, best->saves) ? best : NULL;
}

static void advise_setting(asking *a, const mv_whatif_run *run)
{
    char is[MV_SIZE_TEXT], was[MV_SIZE_TEXT], saves[MV_SIZE_TEXT];
    const char *conf = *run->conf ? run->conf : "the default settings";
    const char *text;

    if (a->out->recorded_ooms > 0)
        text = say(a, "With %s the request that failed would have been met, within %s reserved.",
                   conf, mv_size_text(is, run->result.peak.reserved));
    else
        text = say(a,
                   "With %s the peak of reserved memory falls from %s to %s (%s less), with %llu "
                   "calls for device memory instead of %llu.",
                   conf, mv_size_text(was, a->out->recorded_reserved),
                   mv_size_text(is, run->result.peak.reserved),
                   mv_size_text(saves, (uint64_t)run->saves),
                   (unsigned long long)run->result.counts.segment_allocs,
                   (unsigned long long)a->out->recorded_segment_allocs);
    add_advice(a, run->conf, run->saves, MV_NO_STACK, text);
}

static void advise_line(asking *a)
{
    const mv_whatif_line *line = &a->out->line;
    char label[256], pinned[MV_SIZE_TEXT], bytes[MV_SIZE_TEXT], is[MV_SIZE_TEXT];
    bool meets = a->out->recorded_ooms > 0 && line->fits;

    add_advice(
        a, "", line->saves, line->pin.stack,
        say(a,
            "%u blocks of %s (%s in all) keep %s of free memory from being given back. "
            "Allocate them before the large ones, or in a torch.cuda.MemPool of their own: "
            "%sthe peak of reserved memory would be %s.",
            line->pin.blocks,
            mv_culprit_label(a->trace, a->sites->kinds, line->pin.stack, label, sizeof label),
            mv_size_text(bytes, line->pin.bytes), mv_size_text(pinned, line->pin.stranded),
            meets ? "the request that failed would be met, and " : "",
            mv_size_text(is, line->apart.peak.reserved)));
}

/* Whether keeping the line's blocks apart is worth a change of the program. */
static bool line_is_worth(const asking *a)
{
    const mv_whatif_line *line = &a->out->line;

    if (!line->found || (a->out->recorded_ooms == 0 && !line->fits))
        return false;
    return a->out->recorded_ooms > 0 ? line->fits : is_worth(a, line->saves);
}

static void advise(asking *a)
{
    const mv_whatif_run *best;
    bool line_helps;

    if (a->out->trust >= MV_TRUST_LOW) {
        a->out->advice_none = a->out->trust == MV_TRUST_NONE
                                  ? "no advice: there is nothing to replay"
                                  : "no advice: the replay cannot tell";
        return;
    }
    best = best_run(a);
    line_helps = line_is_worth(a);
    if (line_helps && (!best || a->out->line.saves > best->saves))
        advise_line(a);
    if (best)
        advise_setting(a, best);
    if (line_helps && best && a->out->line.saves <= best->saves)
        advise_line(a);
    if (a->out->advice_count == 0)
        a->out->advice_none = a->out->recorded_ooms > 0
                                  ? "no setting that was tried avoids the failure"
                                  : "no setting that was tried saves 1% or more";
}

/* ---- all --------------------------------------------------------------------------------- */

/* The text that the file has, unless the settings that it has too say otherwise. */
static const char *recorded_text(asking *a)
{
    const char *text = mv_alloc_conf_text(a->trace);
    mv_alloc_conf conf;
    char buffer[512];

    if (mv_alloc_conf_parse(text, &conf, buffer, sizeof buffer) &&
        mv_alloc_conf_same(&conf, &a->recorded))
        return text;
    mv_alloc_conf_print(&a->recorded, buffer, sizeof buffer);
    return say(a, "%s", buffer);
}

static mv_code find_recorded(asking *a, const mv_whatif_opts *opts, mv_err *err)
{
    mv_whatif *out = a->out;
    mv_totals totals;
    mv_code code = mv_totals_find(a->arena, a->trace, a->lives, &totals, err);

    if (code == MV_OK)
        code = mv_replay_script_make(a->arena, a->trace, a->lives, &a->script, err);
    if (code != MV_OK)
        return code;
    out->recorded_conf = recorded_text(a);
    out->recorded_reserved = totals.peak.bytes.reserved;
    out->recorded_allocated = totals.peak.bytes.allocated;
    for (uint32_t i = 0; i < a->lives->events.count; i++) {
        uint8_t action = a->lives->events.action[i];
        out->recorded_segment_allocs +=
            action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP;
        out->recorded_ooms += action == MV_ACTION_OOM;
    }
    out->limit = opts->capacity ? opts->capacity : a->script.limit;
    out->limit_source = opts->capacity                  ? MV_LIMIT_GIVEN
                        : a->script.limit != UINT64_MAX ? MV_LIMIT_REFUSALS
                                                        : MV_LIMIT_NONE;
    return MV_OK;
}

/* The recorded settings once more: known from the verification when it met every event and nothing
 * limits it. Then, where the trace begins late, from a heap that is laid out anew. */
static mv_code find_self(asking *a, mv_err *err)
{
    const mv_replay_fidelity *f = &a->out->fidelity;
    mv_replay_opts opts = {.conf = a->recorded, .start = MV_START_ANEW, .script = &a->script};
    mv_replay_result anew;

    if (f->gave_up)
        return MV_OK;
    if (f->first_difference == MV_NEVER && a->out->limit == UINT64_MAX)
        a->self = (mv_replay_result){
            .peak = f->peak, .counts = f->counts, .largest = f->largest, .first_oom = MV_NEVER};
    else if (run_one(a, &a->recorded, NULL, &a->self, err) != MV_OK)
        return err->code;
    if (a->lives->allocs.preexisting == 0)
        return MV_OK;
    if (mv_replay_run(a->arena, a->trace, a->lives, opts, &anew, err) != MV_OK)
        return err->code;
    a->out->start_error = anew.peak.reserved > a->self.peak.reserved
                              ? anew.peak.reserved - a->self.peak.reserved
                              : a->self.peak.reserved - anew.peak.reserved;
    return MV_OK;
}

mv_code mv_whatif_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_sites *sites, mv_whatif_opts opts, mv_whatif *out, mv_err *err)
{
    asking a = {.arena = arena,
                .trace = trace,
                .lives = lives,
                .sites = sites,
                .out = out,
                .recorded = mv_alloc_conf_of(trace)};
    mv_code code;

    *out = (mv_whatif){.trust_why = ""};
    code = find_recorded(&a, &opts, err);
    if (code == MV_OK)
        code = mv_replay_verify(arena, trace, lives, &out->fidelity, err);
    if (code == MV_OK)
        code = find_self(&a, err);
    if (code != MV_OK)
        return code;
    judge_trust(&a);
    if (out->trust == MV_TRUST_NONE) {
        advise(&a);
        return MV_OK;
    }
    code = run_all(&a, &opts, err);
    if (code == MV_OK)
        code = find_line(&a, err);
    if (code != MV_OK)
        return code;
    advise(&a);
    return a.out_of_memory ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "") : MV_OK;
}
