#include "analyze/replay/setting_trials.h"

#include "analyze/totals/moment.h"
#include "base/parallel_for.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

/* A replay counts as the same run if its peak is off by at most this fraction. */
#define SAME_PEAK 0.02
/* Maximum fraction of a peak that may have been reserved before the trace. Above it, the trace does
 * not show the cause of the peak. */
#define PEAK_BEFORE 0.9
#define FAIR_ERROR  0.03
/* Minimum fraction of the recorded peak that a setting must save to be worth advising. */
#define WORTH 0.01
/* Figures that may be off by more than this fraction of the peak are called rough. */
#define ROUGH 0.01

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "settings that are tried");
}

/* ---- the recorded run -------------------------------------------------------------------- */

/* Returns the string in the file, unless the settings in the file contradict it. */
static const char *recorded_text(mv_trials *t)
{
    const char *text = mv_alloc_conf_text(t->trace);
    mv_alloc_conf conf;
    char buffer[512];

    if (mv_alloc_conf_parse(text, &conf, NULL, 0) && mv_alloc_conf_same(&conf, &t->recorded))
        return text;
    mv_alloc_conf_print(&t->recorded, buffer, sizeof buffer);
    return mv_arena_printf(t->arena, "%s", buffer);
}

/* Finds the peaks. `arena` must not be the arena of the trials, which another thread uses. */
static mv_code find_peaks_in(mv_arena *arena, mv_trials *t, const mv_levels *peak, mv_err *err)
{
    mv_moment_query ask = {.kind = MV_MOMENT_RESERVED_PEAK, .window = {0, t->end}};
    mv_moment moment;
    mv_totals totals;

    if (t->end == t->lives->events.count) {
        if (!peak && mv_totals_find(arena, t->trace, t->lives, &totals, err) != MV_OK)
            return err->code;
        t->recorded_reserved = peak ? peak->reserved : totals.peak.bytes.reserved;
        t->recorded_allocated = peak ? peak->allocated : totals.peak.bytes.allocated;
        return MV_OK;
    }
    if (mv_moment_find(arena, t->lives, ask, &moment, err) != MV_OK)
        return err->code;
    t->recorded_reserved = moment.bytes.reserved;
    ask.kind = MV_MOMENT_PEAK;
    if (mv_moment_find(arena, t->lives, ask, &moment, err) != MV_OK)
        return err->code;
    t->recorded_allocated = moment.bytes.allocated;
    return MV_OK;
}

static void find_peaks(mv_trials *t, const mv_levels *peak, mv_err *err)
{
    mv_arena own;

    mv_arena_init(&own, t->arena->budget);
    find_peaks_in(&own, t, peak, err);
    mv_arena_release(&own);
}

typedef struct {
    mv_trials *trials;
    const mv_levels *peak;
    mv_err err[2];
} recorded_parts;

static void find_recorded_part(void *user, uint32_t part)
{
    recorded_parts *r = user;
    mv_trials *t = r->trials;

    if (part == 0)
        mv_replay_script_make(t->arena, t->trace, t->lives, &t->script, &r->err[0]);
    else
        find_peaks(t, r->peak, &r->err[1]);
}

static mv_code find_recorded(mv_trials *t, const mv_trials_opts *opts, mv_err *err)
{
    recorded_parts r = {.trials = t, .peak = opts->peak};

    mv_parallel_for(2, 0, find_recorded_part, &r);
    *err = r.err[r.err[0].code == MV_OK];
    if (err->code != MV_OK)
        return err->code;
    t->joined = t->script;
    t->joined.is_joined = true;
    t->recorded_conf = recorded_text(t);
    t->recorded_first_oom = MV_NEVER;
    for (uint32_t k = 0; k < t->script.rare_count && t->script.rare[k] < t->end; k++) {
        uint8_t action = t->lives->events.action[t->script.rare[k]];
        t->recorded_segment_allocs += mv_is_growth_action(action);
        t->recorded_segment_frees += mv_is_release_action(action);
        if (action == MV_ACTION_OOM && t->recorded_ooms++ == 0)
            t->recorded_first_oom = t->script.rare[k];
    }
    t->limit = opts->capacity ? opts->capacity : t->script.limit;
    t->limit_source = opts->capacity                  ? MV_LIMIT_GIVEN
                      : t->script.limit != UINT64_MAX ? MV_LIMIT_REFUSALS
                                                      : MV_LIMIT_NONE;
    return t->recorded_conf ? MV_OK : no_memory(err);
}

/* ---- runs -------------------------------------------------------------------------------- */

static uint64_t limit_under(const mv_trials *t, const mv_alloc_conf *conf)
{
    uint64_t limit = t->limit;

    if (t->limit_source == MV_LIMIT_GIVEN && conf->fraction < 1)
        limit = (uint64_t)((double)limit * conf->fraction);
    return limit == UINT64_MAX ? 0 : limit;
}

static mv_replay_opts opts_of(const mv_trials *t, const mv_alloc_conf *conf)
{
    return (mv_replay_opts){.conf = *conf,
                            .limit = limit_under(t, conf),
                            .end = t->end,
                            .script = &t->script,
                            .enough = t->enough,
                            .left = t->left};
}

static mv_code run(const mv_trials *t, const mv_alloc_conf *conf, mv_replay_start_rule start,
                   mv_replay_result *out, mv_err *err)
{
    mv_replay_opts opts = opts_of(t, conf);

    opts.start = start;
    return mv_replay_run(t->arena, t->trace, t->lives, opts, out, err);
}

/* Replays the recorded settings. If every event was as predicted, no request failed and there is no
 * limit, the verification already has the result. If the trace begins late, the settings are also
 * replayed within the same limit from a heap that is laid out anew. */
static mv_code find_self(mv_trials *t, mv_err *err)
{
    const mv_replay_fidelity *f = &t->fidelity;
    mv_replay_result anew;

    if (f->gave_up || t->end == 0)
        return MV_OK;
    if (f->first_difference == MV_NEVER && t->limit == UINT64_MAX &&
        t->end == t->lives->events.count && t->recorded_ooms == 0)
        t->self = (mv_replay_result){.peak = f->peak,
                                     .counts = f->counts,
                                     .largest = f->largest,
                                     .first_oom = MV_NEVER,
                                     .spare = MV_NO_BYTES};
    else if (run(t, &t->recorded, MV_START_BY_SETTINGS, &t->self, err) != MV_OK)
        return err->code;
    t->unexplained = t->self.avoided_ooms > 0;
    if (t->lives->allocs.preexisting == 0)
        return MV_OK;
    if (run(t, &t->recorded, MV_START_ANEW, &anew, err) != MV_OK)
        return err->code;
    t->start_error = anew.peak.reserved > t->self.peak.reserved
                         ? anew.peak.reserved - t->self.peak.reserved
                         : t->self.peak.reserved - anew.peak.reserved;
    return MV_OK;
}

/* ---- trust ------------------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Returns by how much the replay of the recorded settings misses the recorded peak. */
static uint64_t miss(const mv_trials *t)
{
    uint64_t was = t->recorded_reserved, is = t->self.peak.reserved;

    return is > was ? is - was : was - is;
}

/* Sets the trust in a trace that begins with a heap in use, and returns the reason. If memory was
 * reserved and cached before the trace began, no replay shows why. */
static const char *trust_late(mv_trials *t)
{
    char text[MV_SIZE_TEXT], more[MV_SIZE_TEXT];
    mv_levels before = mv_moment_levels(t->lives, MV_BEFORE);
    uint64_t held = before.reserved, peak = t->recorded_reserved;

    if (share(held, peak) > PEAK_BEFORE && share(held - before.active, peak) > 1 - PEAK_BEFORE) {
        t->trust = MV_TRUST_LOW;
        return mv_arena_printf(t->arena,
                               "%s of the %s reserved at the peak were reserved before the trace "
                               "begins, so the cause of the peak is not in it",
                               mv_size_text(text, held), mv_size_text(more, peak));
    }
    t->trust = share(t->start_error, peak) > FAIR_ERROR ? MV_TRUST_FAIR : MV_TRUST_HIGH;
    return mv_arena_printf(
        t->arena,
        "every event is predicted, but %s were allocated before the trace begins: if "
        "expandable_segments changes, they are laid out again, with an error of %s%s",
        mv_size_text(text, before.active), t->start_error ? "some " : "",
        mv_size_text(more, t->start_error));
}

static const char *too_little_is_met(mv_trials *t, double met, double segments)
{
    t->trust = MV_TRUST_LOW;
    return mv_arena_printf(
        t->arena,
        "the replay does not match the recording: it predicts only %.1f%% of the "
        "addresses and %.1f%% of the segment events",
        100 * met, 100 * segments);
}

/* Sets the trust in a replay whose events were all predicted, and returns the reason. The time of a
 * free does not affect reserved bytes, but the time at which the block can be reused does. */
static const char *trust_events(mv_trials *t)
{
    const mv_lives *lives = t->lives;
    const char *late = lives->history == MV_HISTORY_COMPLETE ? "" : trust_late(t);

    if (!late || t->trust == MV_TRUST_LOW)
        return late;
    if (lives->doubts.residual || lives->doubts.lost_frees) {
        t->trust = MV_TRUST_FAIR;
        return mv_residual_text(t->arena, lives);
    }
    if (*late)
        return late;
    if (!t->fidelity.exact)
        return "the trace contradicts itself in places";
    t->trust = MV_TRUST_EXACT;
    return "every recorded event is predicted";
}

/* Sets the trust in a replay that predicts most of the trace, and returns the reason. */
static const char *trust_fully(mv_trials *t)
{
    const mv_replay_fidelity *f = &t->fidelity;
    bool strays = share(miss(t), t->recorded_reserved) > SAME_PEAK;

    t->trust = MV_TRUST_FAIR;
    if (strays && t->recorded.gc_threshold > 0 && t->limit == UINT64_MAX)
        return "the recorded run collected garbage within a limit that the file does not name; "
               "--capacity gives it";
    if (strays && t->limit_source != MV_LIMIT_GIVEN) {
        t->trust = MV_TRUST_LOW;
        return "replayed under its own settings the run does not reach its recorded peak";
    }
    if (mv_trace_is_captured(t->trace))
        return "a capture contains block sizes, not request sizes: rounding is unknown, and every "
               "stream counts as the default one";
    if (f->first_difference != MV_NEVER)
        return mv_arena_printf(t->arena, "event %u is not predicted: %s", f->first_difference,
                               f->why);
    return trust_events(t);
}

static void evaluate_trust(mv_trials *t)
{
    const mv_replay_fidelity *f = &t->fidelity;
    double met = f->allocs ? (double)f->allocs_matched / f->allocs : 1;
    double segments = f->segment_events ? (double)f->segment_matched / f->segment_events : 1;

    if (t->lives->events.count == 0 || f->allocs == 0) {
        t->trust = MV_TRUST_NONE;
        t->trust_why = "the trace has no allocations to replay";
    } else if (f->gave_up || t->self.gave_up) {
        t->trust = MV_TRUST_LOW;
        t->trust_why = "the replay would take too long and was abandoned";
    } else if (met < 0.95 || segments < 0.8) {
        t->trust_why = too_little_is_met(t, met, segments);
    } else {
        t->trust_why = trust_fully(t);
    }
}

mv_code mv_trials_until(const mv_trials *whole, uint32_t end, uint64_t limit, uint64_t reserved,
                        mv_trials *out, mv_err *err)
{
    *out = *whole;
    out->end = end;
    out->limit = limit;
    out->limit_source = MV_LIMIT_GIVEN;
    out->recorded_reserved = reserved;
    evaluate_trust(out);
    return out->trust_why ? MV_OK : no_memory(err);
}

mv_code mv_trials_begin(const mv_trials *trials, const char *conf, bool joined, mv_replay **out,
                        mv_err *err)
{
    mv_replay_opts opts;
    mv_alloc_conf parsed;
    char why[128];

    *out = NULL;
    if (!mv_alloc_conf_parse(conf, &parsed, why, sizeof why))
        return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s", why);
    opts = opts_of(trials, &parsed);
    if (joined)
        opts.script = &trials->joined;
    return mv_replay_open(trials->arena, trials->trace, trials->lives, opts, out, err);
}

/* ---- trials ------------------------------------------------------------------------------ */

static bool fits(const mv_replay_result *result)
{
    return result->counts.ooms == 0 && result->avoided_ooms == result->recorded_ooms &&
           !result->gave_up && !result->over_enough;
}

static void evaluate(const mv_trials *t, mv_trial *trial)
{
    trial->saves = (int64_t)(t->recorded_reserved - trial->result.peak.reserved);
    trial->fits = fits(&trial->result);
}

/* Whether two settings differ only in a max_split_size that is too large to have an effect. */
static bool is_like(const mv_alloc_conf *conf, const mv_alloc_conf *other,
                    const mv_replay_result *result)
{
    mv_alloc_conf same = *conf;

    same.rules.max_split = other->rules.max_split;
    return mv_alloc_conf_same(&same, other) && !conf->rules.expandable && conf->fraction >= 1 &&
           conf->rules.max_split > result->largest && other->rules.max_split > result->largest;
}

/* Whether a trial was already run in advance; its result is copied to `out`. */
static bool was_tried(const mv_trials *t, const char *conf, mv_replay_result *out)
{
    for (uint32_t i = 0; i < t->ahead.count; i++) {
        if (strcmp(t->ahead.rows[i].conf, conf) != 0 || t->ahead_used[i] > *t->left)
            continue;
        *t->left -= t->ahead_used[i];
        *out = t->ahead.rows[i].result;
        return true;
    }
    return false;
}

mv_code mv_trials_try(const mv_trials *trials, const char *conf, mv_trial *out, mv_err *err)
{
    mv_alloc_conf parsed;
    char why[128];

    *out = (mv_trial){.conf = conf};
    if (!mv_alloc_conf_parse(conf, &parsed, why, sizeof why))
        return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s", why);
    out->is_recorded = mv_alloc_conf_same(&parsed, &trials->recorded);
    if ((out->is_recorded && parsed.fraction >= 1) ||
        is_like(&parsed, &trials->recorded, &trials->self))
        out->result = trials->self;
    else if (!was_tried(trials, conf, &out->result) &&
             run(trials, &parsed, MV_START_BY_SETTINGS, &out->result, err) != MV_OK)
        return err->code;
    evaluate(trials, out);
    return MV_OK;
}

mv_code mv_trials_try_edits(const mv_trials *trials, const char *conf, const mv_edit *edits,
                            uint32_t count, mv_trial *out, mv_err *err)
{
    mv_replay_script changed;
    mv_replay_opts opts;
    mv_alloc_conf parsed;
    char why[128];

    *out = (mv_trial){.conf = conf, .is_changed = true};
    if (!mv_alloc_conf_parse(conf, &parsed, why, sizeof why))
        return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s", why);
    if (mv_edit_apply(trials->arena, &trials->script, edits, count, &changed, err) != MV_OK)
        return err->code;
    out->is_recorded = mv_alloc_conf_same(&parsed, &trials->recorded);
    opts = opts_of(trials, &parsed);
    opts.script = &changed;
    opts.curve = trials->curve;
    if (mv_replay_run(trials->arena, trials->trace, trials->lives, opts, &out->result, err) !=
        MV_OK)
        return err->code;
    evaluate(trials, out);
    return MV_OK;
}

mv_code mv_trials_try_line(const mv_trials *trials, const mv_sites *sites, uint32_t group,
                           mv_trial *out, mv_err *err)
{
    const mv_alloc_lives *rows = &trials->lives->allocs;
    uint8_t *apart = mv_push_array(trials->arena, uint8_t, rows->count);
    mv_edit edit = {.kind = MV_EDIT_APART, .rows = apart};

    if (!apart)
        return no_memory(err);
    for (uint32_t i = rows->preexisting; i < rows->count; i++)
        apart[i] = sites->group[mv_site_of(sites, rows->stack[i])] == group;
    return mv_trials_try_edits(trials, trials->recorded_conf, &edit, 1, out, err);
}

const char *mv_trials_with(mv_trials *trials, const char *key, const char *value)
{
    return mv_alloc_conf_change(trials->arena, trials->recorded_conf, key, value);
}

/* ---- a set of settings ------------------------------------------------------------------- */

const mv_setting_choice mv_setting_choices[MV_SETTING_CHOICES] = {
    {MV_TRY_EXPANDABLE, "expandable_segments", "True", false},
    {MV_TRY_EXPANDABLE, "expandable_segments", NULL, false},
    {MV_TRY_SPLIT_LIMIT, "max_split_size_mb", "64", false},
    {MV_TRY_SPLIT_LIMIT, "max_split_size_mb", "128", false},
    {MV_TRY_SPLIT_LIMIT, "max_split_size_mb", "256", false},
    {MV_TRY_SPLIT_LIMIT, "max_split_size_mb", "512", false},
    {MV_TRY_NO_LIMIT, "max_split_size_mb", NULL, false},
    {MV_TRY_ROUNDUP, "roundup_power2_divisions", "4", false},
    {MV_TRY_ROUNDUP, "roundup_power2_divisions", "8", false},
    {MV_TRY_ROUNDUP, "roundup_power2_divisions", NULL, false},
    {MV_TRY_GARBAGE, "garbage_collection_threshold", "0.6", true},
    {MV_TRY_GARBAGE, "garbage_collection_threshold", "0.8", true},
    {MV_TRY_GARBAGE, "garbage_collection_threshold", NULL, false},
};

static bool is_listed(const mv_trial_list *list, const mv_alloc_conf *conf)
{
    mv_alloc_conf other;

    for (uint32_t i = 0; i < list->count; i++)
        if (mv_alloc_conf_parse(list->rows[i].conf, &other, NULL, 0) &&
            mv_alloc_conf_same(conf, &other))
            return true;
    return false;
}

/* Adds settings (NULL: out of memory), unless they are listed or equal the recorded settings. */
static mv_code add(const mv_trials *t, const char *conf, uint32_t change, mv_trial_list *list,
                   mv_err *err)
{
    mv_alloc_conf parsed;

    if (!conf)
        return no_memory(err);
    if (mv_alloc_conf_parse(conf, &parsed, NULL, 0) && !mv_alloc_conf_same(&parsed, &t->recorded) &&
        !is_listed(list, &parsed))
        list->rows[list->count++] = (mv_trial){.conf = conf, .change = change};
    return MV_OK;
}

enum { MOST_AT_ONCE = 4 }; /* parallel trials; each has a heap */

/* Trials that run in parallel. */
typedef struct {
    const mv_trials *trials;
    mv_trial *rows;
    uint64_t *used; /* [rows] steps that each trial took; MV_NO_BYTES: it did not finish */
    uint64_t left;  /* number of steps that were left after the latest trial */
} trial_set;

static void try_row(void *user, uint32_t i)
{
    trial_set *set = user;
    mv_trials trials = *set->trials;
    uint64_t before = __atomic_load_n(&set->left, __ATOMIC_RELAXED), left = before;
    mv_trial trial;
    mv_err err;

    trials.left = &left;
    if (mv_trials_try(&trials, set->rows[i].conf, &trial, &err) != MV_OK || trial.result.gave_up)
        return;
    trial.change = set->rows[i].change;
    set->rows[i] = trial;
    set->used[i] = before - left;
    __atomic_store_n(&set->left, left, __ATOMIC_RELAXED);
}

/* Tries all rows, with the same results as if they were tried one after the other. A trial is
 * repeated if it did not finish in parallel, or if it used steps that earlier trials had already
 * taken. Drops the rows for which no steps were left. */
static mv_code try_rows(const mv_trials *t, mv_trial_list *list, mv_err *err)
{
    bool lacked = __atomic_load_n(&t->arena->budget->lacked, __ATOMIC_RELAXED);
    trial_set set = {t, list->rows, mv_push_array(t->arena, uint64_t, list->count), *t->left};
    uint32_t count = list->count;

    if (!set.used)
        return no_memory(err);
    memset(set.used, 0xff, count * sizeof *set.used);
    mv_parallel_for(count, mv_parallel_for_threads(MOST_AT_ONCE, 0), try_row, &set);
    __atomic_store_n(&t->arena->budget->lacked, lacked, __ATOMIC_RELAXED);
    list->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        mv_trial trial = list->rows[i];
        if (set.used[i] <= *t->left)
            *t->left -= set.used[i];
        else if (mv_trials_try(t, list->rows[i].conf, &trial, err) != MV_OK)
            return err->code;
        trial.change = list->rows[i].change;
        if (trial.result.gave_up)
            list->untried++;
        else
            list->rows[list->count++] = trial;
    }
    return MV_OK;
}

static int by_order(const void *a, const void *b, const void *context)
{
    (void)context;
    return mv_trial_order(a, b);
}

/* Whether the device itself refused memory, rather than a limit of the process. */
static bool is_device_full(const mv_trials *t)
{
    const mv_events *ev = &t->lives->events;

    for (uint32_t k = 0; k < t->script.rare_count && t->script.rare[k] < t->end; k++) {
        uint32_t i = t->script.rare[k];
        if (ev->action[i] == MV_ACTION_OOM && ev->addr[i] != MV_NO_BYTES &&
            ev->size[i] < MV_MOST_REQUEST &&
            ev->addr[i] < mv_replay_segment_size(&t->recorded, ev->size[i]))
            return t->limit_source != MV_LIMIT_GIVEN;
    }
    return false;
}

bool mv_trials_collect_garbage(const mv_trials *trials)
{
    return trials->limit != UINT64_MAX && !is_device_full(trials);
}

static mv_code list_set(mv_trials *trials, uint32_t set, mv_trial_list *out, mv_err *err)
{
    const char *both = "max_split_size_mb:128,garbage_collection_threshold:0.8";
    bool is_limited = mv_trials_collect_garbage(trials);
    mv_code code = MV_OK;

    *out =
        (mv_trial_list){.rows = mv_push_array(trials->arena, mv_trial, 2 * MV_SETTING_CHOICES + 3)};
    if (!out->rows)
        return no_memory(err);
    for (uint32_t i = 0; i < MV_SETTING_CHOICES && code == MV_OK; i++)
        if ((set & mv_setting_choices[i].bit) && (is_limited || !mv_setting_choices[i].needs_limit))
            code =
                add(trials,
                    mv_trials_with(trials, mv_setting_choices[i].key, mv_setting_choices[i].value),
                    mv_setting_choices[i].bit, out, err);
    if (code == MV_OK && (set & MV_TRY_DEFAULTS))
        code = add(trials, "", 0, out, err);
    /* each change by itself, with all other settings at their defaults */
    for (uint32_t i = 0; i < MV_SETTING_CHOICES && code == MV_OK && set == MV_TRY_ALL; i++)
        if (mv_setting_choices[i].value && (is_limited || !mv_setting_choices[i].needs_limit))
            code = add(trials,
                       mv_alloc_conf_change(trials->arena, "", mv_setting_choices[i].key,
                                            mv_setting_choices[i].value),
                       0, out, err);
    if (code == MV_OK && set == MV_TRY_ALL && is_limited)
        code = add(trials, both, 0, out, err);
    return code;
}

mv_code mv_trials_try_set(mv_trials *trials, uint32_t set, mv_trial_list *out, mv_err *err)
{
    mv_code code = list_set(trials, set, out, err);

    if (code == MV_OK)
        code = try_rows(trials, out, err);
    if (code == MV_OK && set == MV_TRY_ALL)
        code = mv_trials_try(trials, trials->recorded_conf, &out->rows[out->count++], err);
    if (code == MV_OK)
        mv_sort_by(trials->arena, out->rows, out->count, sizeof *out->rows, by_order, NULL);
    return code;
}

/* ---- all trials -------------------------------------------------------------------------- */

/* Lists the trials to run in advance, except those that may equal the recorded settings. */
static mv_code list_ahead(mv_trials *t, const mv_trials_opts *opts, mv_trial_list *out, mv_err *err)
{
    uint32_t kept = 0;
    mv_alloc_conf conf;

    if (opts->conf_count) {
        out->rows = mv_push_array(t->arena, mv_trial, opts->conf_count);
        if (!out->rows)
            return no_memory(err);
        for (uint32_t i = 0; i < opts->conf_count; i++)
            out->rows[out->count++] = (mv_trial){.conf = opts->conf[i]};
    } else if (list_set(t, opts->ahead, out, err) != MV_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        if (!mv_alloc_conf_parse(out->rows[i].conf, &conf, NULL, 0))
            continue;
        conf.rules.max_split = t->recorded.rules.max_split;
        if (!mv_alloc_conf_same(&conf, &t->recorded))
            out->rows[kept++] = out->rows[i];
    }
    out->count = kept;
    return MV_OK;
}

/* Each trial may take this fraction of all steps: 16 steps per event. Most take fewer than 4. */
enum { AHEAD_SHARE = 16 };

typedef struct {
    trial_set ahead;
    mv_replay_fidelity *fidelity;
    mv_err err;
} verification;

/* Each trial has a fixed number of steps, because it is not yet known how many will be left. */
static void verify_or_try(void *user, uint32_t i)
{
    verification *v = user;
    const mv_trials *t = v->ahead.trials;
    trial_set set = v->ahead;

    if (i == 0)
        mv_replay_verify(t->arena, t->trace, t->lives, &t->script, v->fidelity, &v->err);
    else
        try_row(&set, i - 1);
}

/* Verifies the recorded settings and, with several CPUs, tries other settings in parallel. */
static mv_code verify(mv_trials *t, const mv_trials_opts *opts, uint64_t early, mv_err *err)
{
    mv_trials until = *t;
    bool lacked = __atomic_load_n(&t->arena->budget->lacked, __ATOMIC_RELAXED);
    uint64_t most = mv_replay_most_work(t->lives->events.count);
    verification v = {.fidelity = &t->fidelity};
    mv_trial_list list = {0};

    if ((opts->ahead || opts->conf_count) && mv_parallel_for_threads(2, 0) > 1 &&
        list_ahead(t, opts, &list, err) != MV_OK)
        return err->code;
    until.enough = early;
    v.ahead = (trial_set){&until, list.rows, mv_push_array(t->arena, uint64_t, list.count),
                          most / AHEAD_SHARE};
    if (!v.ahead.used)
        return no_memory(err);
    memset(v.ahead.used, 0xff, list.count * sizeof *v.ahead.used);
    mv_parallel_for(list.count + 1, MOST_AT_ONCE, verify_or_try, &v);
    if (v.err.code == MV_OK)
        __atomic_store_n(&t->arena->budget->lacked, lacked, __ATOMIC_RELAXED);
    t->ahead = list;
    t->ahead_used = v.ahead.used;
    *t->left = t->fidelity.work < most ? most - t->fidelity.work : 0;
    *err = v.err;
    return err->code;
}

mv_code mv_trials_open(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_trials_opts opts, mv_trials *out, mv_err *err)
{
    uint32_t count = lives->events.count;
    uint64_t early = 0;
    mv_code code;

    *out = (mv_trials){.arena = arena,
                       .trace = trace,
                       .lives = lives,
                       .end = opts.end && opts.end < count ? opts.end : count,
                       .recorded = mv_alloc_conf_of(trace),
                       .left = mv_push_struct(arena, uint64_t),
                       .trust_why = ""};
    if (!out->left)
        return no_memory(err);
    code = find_recorded(out, &opts, err);
    if (code == MV_OK && opts.ends_early && out->recorded_ooms == 0)
        early = out->recorded_reserved - (uint64_t)(WORTH * (double)out->recorded_reserved) + 1;
    if (code == MV_OK)
        code = verify(out, &opts, early, err);
    if (code == MV_OK && !opts.no_self)
        code = find_self(out, err);
    if (code != MV_OK)
        return code;
    evaluate_trust(out);
    out->enough = early;
    return out->trust_why ? MV_OK : no_memory(err);
}

/* ---- order and value of trials ----------------------------------------------------------- */

int mv_trial_order(const mv_trial *a, const mv_trial *b)
{
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
    if ((a->change != 0) != (b->change != 0))
        return a->change != 0 ? -1 : 1;
    return strcmp(a->conf, b->conf);
}

/* Returns the possible error of the peak under `conf` that is caused by laying out the heap from
 * before the trace anew; 0 if this heap was kept. */
static uint64_t error_of(const mv_trials *trials, const char *conf)
{
    mv_alloc_conf parsed;

    return mv_alloc_conf_parse(conf, &parsed, NULL, 0) &&
                   parsed.rules.expandable != trials->recorded.rules.expandable
               ? trials->start_error
               : 0;
}

static bool is_rough(const mv_trials *t, const char *conf)
{
    return (double)error_of(t, conf) > ROUGH * (double)mv_trials_base(t);
}

const char *mv_trials_about(const mv_trials *trials, const char *conf)
{
    return is_rough(trials, conf) ? "about " : "";
}

const char *mv_trials_doubts(const mv_trials *trials, const char *conf)
{
    char error[MV_SIZE_TEXT];

    if (trials->lives->allocs.preexisting == 0)
        return "";
    if (!is_rough(trials, conf))
        return " within the trace";
    return mv_arena_printf(trials->arena, " within the trace, give or take %s",
                           mv_size_text(error, error_of(trials, conf)));
}

const char *mv_trials_failures(const mv_trials *trials)
{
    return trials->recorded_ooms == 1
               ? "the request that failed"
               : mv_arena_printf(trials->arena, "all %u requests that failed",
                                 trials->recorded_ooms);
}

bool mv_trials_is_worth(const mv_trials *trials, const char *conf, int64_t saves)
{
    uint64_t error = trials->limit_source == MV_LIMIT_GIVEN ? 0 : miss(trials);

    if (conf)
        error += error_of(trials, conf);
    return saves > 0 && (double)saves >= WORTH * (double)mv_trials_base(trials) + (double)error;
}

bool mv_trials_self_fits(const mv_trials *trials)
{
    return fits(&trials->self);
}

/* Whether requests fail under the recorded settings at which a fitting trial does not fail. */
static bool fails_itself(const mv_trials *trials)
{
    if (mv_trials_self_fits(trials))
        return false;
    return !trials->unexplained || trials->limit_source == MV_LIMIT_GIVEN;
}

bool mv_trials_helps(const mv_trials *trials, const mv_trial *trial)
{
    if (!trial->fits)
        return false;
    return fails_itself(trials) ||
           mv_trials_is_worth(trials, trial->is_recorded ? NULL : trial->conf,
                              mv_trials_gain(trials, trial));
}
