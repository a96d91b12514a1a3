#include "analyze/advice/whatif.h"

#include "analyze/fragmentation/fragmentation.h"
#include "analyze/oom/last_failure.h"
#include "analyze/replay/segment_kinds.h"
#include "base/parallel_for.h"
#include "base/size.h"
#include "base/text.h"
#include "parse/model/digest.h"

#define WASTE 0.25

typedef struct {
    mv_arena *arena;
    mv_text_maker words;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_sites *sites;
    mv_whatif *out;
    mv_totals totals;
    bool lacks_line; /* there was not enough memory to look for the line during the trials */
    bool has_line;   /* a line that pins memory was found: */
    mv_pin pin;
    bool ran_out_of_memory; /* according to the out-of-memory report, the last failed request failed
                             * for lack of memory */
} whatif_state;

/* Returns the string, or "" if it could not be made. */
static const char *keep(whatif_state *s, const char *text)
{
    s->words.failed = s->words.failed || !text;
    return text ? text : "";
}

/* ---- runs -------------------------------------------------------------------------------- */

static mv_code run_built_in(whatif_state *s, mv_err *err)
{
    mv_trial_list list;

    s->out->ranked = true;
    if (mv_trials_try_set(&s->out->trials, MV_TRY_ALL, &list, err) != MV_OK)
        return err->code;
    s->out->runs = list.rows;
    s->out->run_count = list.count;
    s->out->untried = list.untried;
    return MV_OK;
}

static mv_code keep_run(whatif_state *s, mv_code code)
{
    mv_whatif *w = s->out;

    if (code == MV_OK && w->runs[w->run_count].result.gave_up)
        w->untried++;
    else if (code == MV_OK)
        w->run_count++;
    return code;
}

/* Replays the changes under the recorded settings and under each given setting. Each given setting
 * is also replayed without the changes. */
static mv_code run_changes(whatif_state *s, const mv_whatif_opts *opts, mv_err *err)
{
    mv_whatif *w = s->out;
    mv_code code = mv_code_changes_find(s->arena, s->trace, s->lives, NULL, opts->change,
                                        opts->change_count, &w->changes, err);

    w->runs = mv_push_array(s->arena, mv_trial, 2 * (uint64_t)opts->conf_count + 2);
    if (!w->runs)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i <= opts->conf_count && code == MV_OK; i++) {
        const char *conf = i ? opts->conf[i - 1] : w->trials.recorded_conf;
        code = keep_run(s, mv_trials_try_edits(&w->trials, conf, w->changes.edits, w->changes.count,
                                               &w->runs[w->run_count], err));
        if (code == MV_OK)
            code = keep_run(s, mv_trials_try(&w->trials, conf, &w->runs[w->run_count], err));
    }
    return code;
}

static mv_code run_all(whatif_state *s, const mv_whatif_opts *opts, mv_err *err)
{
    mv_code code = MV_OK;

    if (opts->change_count)
        return run_changes(s, opts, err);
    if (opts->conf_count == 0)
        return mv_trials_are_conclusive(&s->out->trials) ? run_built_in(s, err) : MV_OK;
    s->out->runs = mv_push_array(s->arena, mv_trial, opts->conf_count);
    if (!s->out->runs)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i < opts->conf_count && code == MV_OK; i++) {
        mv_trial *run = &s->out->runs[s->out->run_count];
        code = keep_run(s, mv_trials_try(&s->out->trials, opts->conf[i], run, err));
    }
    return code;
}

/* ---- the line that pins ------------------------------------------------------------------ */

/* Whether to look for a line that pins memory. */
static bool is_wasteful(const whatif_state *s)
{
    const mv_levels *peak = &s->totals.peak.bytes;

    return mv_events_have(&s->lives->events, MV_ACTION_OOM) ||
           (double)peak->allocated < (1 - WASTE) * (double)peak->reserved;
}

/* Looks for the line, using the arena only for its budget. */
static mv_code look_for_line(whatif_state *s, mv_err *err)
{
    mv_fragmentation_opts opts = {.window = MV_ALL_EVENTS, .no_advice = true};
    mv_fragmentation f;
    mv_arena own;

    if (!is_wasteful(s))
        return MV_OK;
    mv_arena_init(&own, s->arena->budget);
    if (mv_fragmentation_find(&own, s->trace, s->lives, s->sites, opts, &f, err) == MV_OK &&
        f.fragmented && f.pins.line_count > 0 && f.pins.stranded > 0 &&
        f.pins.lines[0].stranded >= f.pins.stranded / 2) {
        s->has_line = true;
        s->pin = f.pins.lines[0];
    }
    mv_arena_release(&own);
    return err->code;
}

static mv_code try_line(whatif_state *s, mv_err *err)
{
    mv_whatif_line *line = &s->out->line;

    if (!mv_trials_are_conclusive(&s->out->trials))
        return MV_OK;
    if (s->lacks_line && look_for_line(s, err) != MV_OK)
        return err->code;
    if (!s->has_line)
        return MV_OK;
    line->found = true;
    line->pin = s->pin;
    return mv_trials_try_line(&s->out->trials, s->sites, line->pin.group, &line->apart, err);
}

/* ---- advice ------------------------------------------------------------------------------ */

static void add_advice(whatif_state *s, const char *setting, const mv_trial *run, mv_stack_id stack,
                       const char *text)
{
    if (s->out->advice_count < MV_MOST_WHATIF_ADVICE)
        s->out->advice[s->out->advice_count++] = (mv_whatif_advice){
            setting, text, run->saves, mv_trials_gain(&s->out->trials, run), stack};
}

/* Whether the recorded settings fail to serve all requests within the given limit. */
static bool exceeds_limit(const mv_trials *t)
{
    return t->limit_source == MV_LIMIT_GIVEN && !mv_trials_self_fits(t);
}

/* Returns the best run other than the recorded run; NULL if no run is worthwhile. */
static const mv_trial *best_run(const whatif_state *s)
{
    const mv_trial *best = NULL;

    for (uint32_t i = 0; i < s->out->run_count; i++) {
        const mv_trial *run = &s->out->runs[i];
        if (!run->is_recorded && !run->is_changed && (!best || mv_trial_order(run, best) < 0))
            best = run;
    }
    return best && mv_trials_helps(&s->out->trials, best) ? best : NULL;
}

static const char *name_of(const char *conf)
{
    return *conf ? conf : "the default settings";
}

/* Returns the beginning of a sentence: "With X", or "Within 8.00 GiB, with X" if a limit is
 * given. */
static const char *with(whatif_state *s, const mv_trial *run)
{
    const mv_trials *t = &s->out->trials;
    char limit[MV_SIZE_TEXT];

    if (t->limit_source != MV_LIMIT_GIVEN)
        return mv_make_text(&s->words, "With %s", name_of(run->conf));
    return mv_make_text(&s->words, "Within %s, with %s", mv_size_text(limit, t->limit),
                        name_of(run->conf));
}

static const char *failed_requests(whatif_state *s)
{
    return keep(s, mv_trials_failures(&s->out->trials));
}

static const char *doubts(whatif_state *s, const char *conf)
{
    return keep(s, mv_trials_doubts(&s->out->trials, conf));
}

static void advise_setting(whatif_state *s, const mv_trial *run)
{
    const mv_trials *trials = &s->out->trials;
    uint64_t calls = trials->limit_source == MV_LIMIT_GIVEN ? trials->self.counts.segment_allocs
                                                            : trials->recorded_segment_allocs;
    char is[MV_SIZE_TEXT], was[MV_SIZE_TEXT], saves[MV_SIZE_TEXT];
    const char *text;

    mv_size_text(is, run->result.peak.reserved);
    if (mv_trials_record_failures(trials))
        text = mv_make_text(
            &s->words,
            "With %s %s would have been met, with %s reserved and %s of the limit to spare. The "
            "program's next requests are not in the trace: memviz oom shows how large they may be.",
            name_of(run->conf), failed_requests(s), is, mv_size_text(saves, run->result.spare));
    else if (exceeds_limit(trials))
        text = mv_make_text(
            &s->words,
            "%s every request is served, and the peak of reserved memory is %s; with the recorded "
            "settings %llu request%s.",
            with(s, run), is, (unsigned long long)trials->self.counts.ooms,
            trials->self.counts.ooms == 1 ? " fails" : "s fail");
    else
        text = mv_make_text(
            &s->words,
            "%s the peak of reserved memory falls from %s to %s%s (%s less)%s, with %llu calls for "
            "device memory instead of %llu.",
            with(s, run), mv_size_text(was, mv_trials_base(trials)),
            mv_trials_about(trials, run->conf), is,
            mv_size_text(saves, (uint64_t)mv_trials_gain(trials, run)), doubts(s, run->conf),
            (unsigned long long)run->result.counts.segment_allocs, (unsigned long long)calls);
    add_advice(s, run->conf, run, MV_NO_STACK, text);
}

static void advise_line(whatif_state *s)
{
    const mv_whatif_line *line = &s->out->line;
    char label[256], pinned[MV_SIZE_TEXT], bytes[MV_SIZE_TEXT], is[MV_SIZE_TEXT];
    bool meets = mv_trials_record_failures(&s->out->trials) && line->apart.fits;
    bool is_one = line->pin.blocks == 1;

    add_advice(
        s, "", &line->apart, line->pin.stack,
        mv_make_text(
            &s->words,
            "%u block%s of %s (%s in all) keep%s %s of free memory from being released. Allocate "
            "%s before the large ones, or in a torch.cuda.MemPool of %s own: %s%sthe peak of "
            "reserved memory would be %s.",
            line->pin.blocks, mv_plural(line->pin.blocks),
            mv_culprit_label(s->trace, s->sites->kinds, line->pin.stack, label, sizeof label),
            mv_size_text(bytes, line->pin.bytes), is_one ? "s" : "",
            mv_size_text(pinned, line->pin.stranded), is_one ? "it" : "them",
            is_one ? "its" : "their", meets ? failed_requests(s) : "",
            meets ? " would be met, and " : "",
            mv_size_text(is, line->apart.result.peak.reserved)));
}

/* Whether a separate pool for the line's blocks would save enough to justify changing the
 * program. */
static bool line_is_worth(const whatif_state *s)
{
    const mv_whatif_line *line = &s->out->line;

    return line->found && mv_trials_helps(&s->out->trials, &line->apart);
}

/* Returns the reason if no limit is known. A limit in the file may differ from the limit at the
 * time of the failure. */
static const char *none_is_known(whatif_state *s)
{
    const mv_trials *t = &s->out->trials;
    char limit[MV_SIZE_TEXT];

    if (t->limit_source == MV_LIMIT_GIVEN)
        return mv_make_text(
            &s->words,
            "within %s the recorded settings meet %s, too, and no other setting saves 1%% or more",
            mv_size_text(limit, t->limit), failed_requests(s));
    return mv_make_text(&s->words,
                        "whether a setting meets %s is unknown: the limit that refused %s is not "
                        "in the file (pass it with --capacity)",
                        failed_requests(s), t->recorded_ooms == 1 ? "it" : "them");
}

static bool some_run_fits(const mv_whatif *w)
{
    for (uint32_t i = 0; i < w->run_count; i++)
        if (w->runs[i].fits)
            return true;
    return false;
}

/* Returns why there is no advice within a given limit. */
static const char *none_within(whatif_state *s)
{
    char limit[MV_SIZE_TEXT];

    mv_size_text(limit, s->out->trials.limit);
    return mv_make_text(&s->words,
                        some_run_fits(s->out)
                            ? "within %s, none of the settings tried saves 1%% or more"
                            : "none of the settings tried fits within %s",
                        limit);
}

/* Returns why there is no advice; NULL if there may be some. */
static const char *find_advice_none(whatif_state *s, const mv_trial *best)
{
    if (s->out->trials.trust == MV_TRUST_NONE)
        return "no advice: there is nothing to replay";
    if (s->out->trials.trust >= MV_TRUST_LOW)
        return "no advice: the replay is inconclusive";
    if (s->out->advice_count == 0 && s->out->trials.limit_source == MV_LIMIT_GIVEN &&
        s->out->trials.recorded_ooms == 0)
        return none_within(s);
    if (s->out->advice_count == 0 && s->out->trials.unexplained && !exceeds_limit(&s->out->trials))
        return none_is_known(s);
    if (s->ran_out_of_memory && best)
        return mv_make_text(&s->words,
                            "%s would have met %s, but not the next requests: memviz oom shows why",
                            name_of(best->conf), failed_requests(s));
    if (s->ran_out_of_memory || (s->out->advice_count == 0 && s->out->trials.recorded_ooms > 0))
        return mv_make_text(&s->words, "none of the settings tried meets %s", failed_requests(s));
    return s->out->advice_count == 0 ? "none of the settings tried saves 1% or more" : NULL;
}

static void advise(whatif_state *s)
{
    const mv_trial *best = mv_trials_are_conclusive(&s->out->trials) ? best_run(s) : NULL;

    if (!s->ran_out_of_memory) {
        bool line_helps = line_is_worth(s);
        bool line_first = line_helps && (!best || s->out->line.apart.saves > best->saves);
        if (line_first)
            advise_line(s);
        if (best)
            advise_setting(s, best);
        if (line_helps && !line_first)
            advise_line(s);
    }
    s->out->advice_none = find_advice_none(s, best);
}

static const char *format_saving(whatif_state *s, const char *what)
{
    const mv_trials *t = &s->out->trials;
    const mv_whatif_advice *a = &s->out->advice[0];
    const char *conf = a->stack.row != MV_NO_STACK.row ? t->recorded_conf : a->setting;
    char limit[MV_SIZE_TEXT], saves[MV_SIZE_TEXT], of[MV_SIZE_TEXT], within[64] = "";

    if (t->limit_source == MV_LIMIT_GIVEN)
        mv_text_append(within, sizeof within, "within %s, ", mv_size_text(limit, t->limit));
    return mv_make_text(&s->words, "%s%s would save %s%s of %s reserved%s", within, what,
                        mv_trials_about(t, conf), mv_size_text(saves, (uint64_t)a->gain),
                        mv_size_text(of, mv_trials_base(t)), doubts(s, conf));
}

/* Returns the result of the changes under the recorded settings. */
static const char *describe_changes(whatif_state *s)
{
    const mv_trials *t = &s->out->trials;
    const mv_trial *run = s->out->run_count ? &s->out->runs[0] : NULL;
    char is[MV_SIZE_TEXT], was[MV_SIZE_TEXT], allocated[MV_SIZE_TEXT], before[MV_SIZE_TEXT];

    if (!run || !run->is_changed)
        return "the changes could not be replayed";
    return mv_make_text(
        &s->words, "with the changes %s reserved instead of %s, %s allocated instead of %s%s",
        mv_size_text(is, run->result.peak.reserved), mv_size_text(was, mv_trials_base(t)),
        mv_size_text(allocated, run->result.peak.allocated),
        mv_size_text(before, t->recorded_allocated),
        mv_trials_are_conclusive(t) ? "" : "; the replay is inconclusive");
}

/* Returns the result of the advice in a few words. */
static const char *find_verdict(whatif_state *s)
{
    const mv_whatif *w = s->out;
    const mv_whatif_advice *a = &w->advice[0];
    char limit[MV_SIZE_TEXT];
    const char *what;

    if (w->changes.count)
        return describe_changes(s);
    if (w->advice_count == 0)
        return w->advice_none;
    what = a->stack.row != MV_NO_STACK.row ? "a change of the program" : name_of(a->setting);
    if (mv_trials_record_failures(&w->trials))
        return mv_make_text(&s->words, "%s would have met %s", what, failed_requests(s));
    if (exceeds_limit(&w->trials))
        return mv_make_text(&s->words, "%s would fit within %s, the recorded settings would not",
                            what, mv_size_text(limit, w->trials.limit));
    if (a->gain <= 0)
        return mv_make_text(&s->words, "%s would avoid the failure", what);
    return format_saving(s, what);
}

/* Returns a note on given settings that have no effect on the device. */
static const char *find_idle_note(whatif_state *s)
{
    const char *keys[MV_MOST_IDLE_KEYS];
    char text[1024] = "";

    for (uint32_t i = 0; i < s->out->run_count && !s->out->ranked; i++) {
        uint32_t count = mv_alloc_conf_idle(s->out->runs[i].conf, keys);
        for (uint32_t k = 0; k < count; k++)
            if (!strstr(text, keys[k]))
                mv_text_append(text, sizeof text, "%s%s", *text ? ", " : "", keys[k]);
    }
    if (s->out->untried)
        return mv_make_text(&s->words,
                            "%u setting%s skipped: replaying %s to the end would take too long",
                            s->out->untried, s->out->untried == 1 ? " is" : "s are",
                            s->out->untried == 1 ? "it" : "them");
    if (!*text)
        return "";
    return mv_make_text(
        &s->words, "%s: for pinned host memory, locks or captures; no effect on the device", text);
}

/* ---- all runs ---------------------------------------------------------------------------- */

static mv_code run_trials(whatif_state *s, const mv_whatif_opts *opts, mv_err *err)
{
    bool is_set = opts->conf_count == 0 && opts->change_count == 0;
    mv_trials_opts of = {.capacity = opts->capacity,
                         .ahead = is_set ? MV_TRY_ALL : 0,
                         .conf = opts->conf,
                         .conf_count = opts->conf_count,
                         .peak = &s->totals.peak.bytes};
    mv_code code = mv_trials_open(s->arena, s->trace, s->lives, of, &s->out->trials, err);

    if (code == MV_OK && s->out->trials.trust != MV_TRUST_NONE)
        code = run_all(s, opts, err);
    return code;
}

/* Runs the trials in parallel with the computation of the floor and the search for a line that pins
 * memory, which only need the arena's budget. */
enum { TRIALS, FLOOR, LINE, PARTS };

typedef struct {
    whatif_state *s;
    const mv_whatif_opts *opts;
    mv_err err[PARTS];
} whatif_parts;

static void find_part(void *user, uint32_t part)
{
    whatif_parts *p = user;
    whatif_state *s = p->s;

    p->err[part].code = MV_OK;
    if (part == TRIALS)
        run_trials(s, p->opts, &p->err[part]);
    else if (part == FLOOR)
        mv_minimum_find(s->arena, s->trace, s->lives, true, &s->out->floor, &p->err[part]);
    else
        s->lacks_line = look_for_line(s, &p->err[part]) != MV_OK;
}

mv_code mv_whatif_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_sites *sites, mv_whatif_opts opts, mv_whatif *out, mv_err *err)
{
    whatif_state s = {.arena = arena,
                      .words.arena = arena,
                      .trace = trace,
                      .lives = lives,
                      .sites = sites,
                      .out = out};
    whatif_parts parts = {.s = &s, .opts = &opts};
    bool lacked = __atomic_load_n(&arena->budget->lacked, __ATOMIC_RELAXED);
    mv_code code;

    *out = (mv_whatif){0};
    code = mv_totals_find(arena, trace, lives, &s.totals, err);
    if (code == MV_OK)
        mv_parallel_for(PARTS, 0, find_part, &parts);
    if (s.lacks_line)
        __atomic_store_n(&arena->budget->lacked, lacked, __ATOMIC_RELAXED);
    for (uint32_t i = TRIALS; i <= FLOOR && code == MV_OK; i++) {
        *err = parts.err[i];
        code = err->code;
    }
    if (code == MV_OK)
        code = try_line(&s, err);
    out->has_target = opts.has_target;
    if (code == MV_OK && out->has_target)
        code = mv_remedies_find(arena, trace, lives, sites,
                                (mv_remedies_opts){.target = opts.target}, &out->remedies, err);
    if (code == MV_OK)
        code = mv_last_failure_is_out_of_memory(&out->trials, sites, &s.ran_out_of_memory, err);
    if (code != MV_OK)
        return code;
    advise(&s);
    out->verdict = find_verdict(&s);
    out->idle_note = find_idle_note(&s);
    out->floor_line = keep(&s, mv_minimum_line(arena, &out->floor));
    out->kinds_note = keep(&s, mv_segment_kinds_note(arena, trace, lives));
    return s.words.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "") : MV_OK;
}

/* ---- several devices --------------------------------------------------------------------- */

static bool is_idle(const mv_whatif *w)
{
    return w->trials.trust == MV_TRUST_NONE;
}

static void add_run(mv_trial *sum, const mv_trial *run)
{
    sum->result.peak.reserved += run->result.peak.reserved;
    sum->result.peak.allocated += run->result.peak.allocated;
    sum->result.counts.segment_allocs += run->result.counts.segment_allocs;
    sum->result.counts.segment_frees += run->result.counts.segment_frees;
    sum->result.counts.retries += run->result.counts.retries;
    sum->result.counts.ooms += run->result.counts.ooms;
    sum->result.recorded_ooms += run->result.recorded_ooms;
    sum->saves += run->saves;
    sum->fits = sum->fits && run->fits;
}

static const mv_trial *run_of(const mv_whatif *w, const mv_trial *other)
{
    for (uint32_t i = 0; i < w->run_count; i++)
        if (strcmp(w->runs[i].conf, other->conf) == 0 && w->runs[i].is_changed == other->is_changed)
            return &w->runs[i];
    return NULL;
}

/* Adds the runs of a device to the sum, and drops the runs that the device does not have. */
static void add_runs(mv_whatif *sum, const mv_whatif *w)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < sum->run_count; i++) {
        const mv_trial *run = run_of(w, &sum->runs[i]);
        if (!run)
            continue;
        sum->runs[kept] = sum->runs[i];
        add_run(&sum->runs[kept++], run);
    }
    sum->run_count = kept;
}

static void add_device(mv_whatif *sum, const mv_whatif *w)
{
    mv_trials *to = &sum->trials;
    const mv_trials *from = &w->trials;

    to->fidelity.segment_events += from->fidelity.segment_events;
    to->fidelity.segment_matched += from->fidelity.segment_matched;
    to->fidelity.allocs += from->fidelity.allocs;
    to->fidelity.allocs_matched += from->fidelity.allocs_matched;
    to->fidelity.exact = to->fidelity.exact && from->fidelity.exact;
    if (from->trust > to->trust) {
        to->trust = from->trust;
        to->trust_why = from->trust_why;
    }
    to->recorded_reserved += from->recorded_reserved;
    to->recorded_allocated += from->recorded_allocated;
    to->recorded_segment_allocs += from->recorded_segment_allocs;
    to->recorded_segment_frees += from->recorded_segment_frees;
    to->recorded_ooms += from->recorded_ooms;
    to->unexplained = to->unexplained || from->unexplained;
    if (to->limit != from->limit)
        to->limit = UINT64_MAX;
    if (to->limit_source < from->limit_source)
        to->limit_source = from->limit_source;
    add_runs(sum, w);
}

mv_code mv_whatif_sum(mv_arena *arena, const mv_whatif *found, uint32_t count, mv_whatif *out,
                      mv_err *err)
{
    uint32_t base = 0;

    *out = (mv_whatif){.trials = {.fidelity = {.first_difference = MV_NEVER},
                                  .trust = MV_TRUST_NONE,
                                  .trust_why = "the file has no device",
                                  .recorded_conf = "",
                                  .limit = UINT64_MAX}};
    if (count == 0)
        return MV_OK;
    while (base + 1 < count && is_idle(&found[base]))
        base++;
    *out = found[base];
    out->runs = mv_push_array(arena, mv_trial, out->run_count);
    if (!out->runs)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i < out->run_count; i++) {
        out->runs[i] = found[base].runs[i];
        if (count > 1)
            out->runs[i].result.first_oom = MV_NEVER;
    }
    if (count > 1)
        out->trials.recorded_first_oom = MV_NEVER;
    for (uint32_t i = base + 1; i < count; i++)
        if (!is_idle(&found[i]))
            add_device(out, &found[i]);
    return MV_OK;
}
