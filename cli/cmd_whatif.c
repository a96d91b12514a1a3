/* memviz whatif: shows what other allocator settings would have done to this run. */

#include "analyze/advice/whatif.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"
#include "cli/report/table.h"

#define TEXT_ROWS 12

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    mv_sites sites;
    uint32_t first, end; /* range of the reported devices */
    mv_whatif *found;    /* [end - first] */
    mv_whatif sum;       /* of all devices */
    uint64_t limit;
    mv_code_change changes[MV_MOST_CHANGES_GIVEN];
} whatif_report;

/* ---- fields ------------------------------------------------------------------------------ */

/* Whether the replay can show that a run serves the requests that failed: a limit was given, or the
 * recorded settings, replayed within the limit, refuse these requests too. */
static bool records_failures(const mv_trials *t, const mv_trial *run)
{
    return run->result.recorded_ooms > 0 &&
           (t->limit_source == MV_LIMIT_GIVEN || mv_trials_record_failures(t));
}

/* Describes a run's settings for the table. */
static const char *settings_text(const mv_trials *t, const mv_trial *run, char text[600])
{
    char met[64] = "";

    if (run->fits && records_failures(t, run) && t->recorded_ooms == 1)
        snprintf(met, sizeof met, ": the failed request succeeds");
    else if (run->fits && records_failures(t, run))
        snprintf(met, sizeof met, ": all %u failed requests succeed", t->recorded_ooms);
    snprintf(text, 600, "%s%s%s%s", *run->conf ? run->conf : "''",
             run->is_recorded ? " (as recorded)" : "", run->is_changed ? ", with the changes" : "",
             met);
    return text;
}

#define RUN_FIELDS(COLUMN, MEMBER, LIST)                                                           \
    COLUMN("conf", "settings", 8, MV_UNIT_TEXT | MV_UNIT_END, 0,                                   \
           mv_value_shown(mv_value_text(run->conf), settings_text(&w->trials, run, settings)))     \
    COLUMN("peak_reserved", "reserved", 1, MV_UNIT_BYTES, 9, s->peak.reserved)                     \
    COLUMN("peak_allocated", "allocated", 3, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, s->peak.allocated)  \
    COLUMN("segment_allocs", "calls", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 0,                         \
           s->counts.segment_allocs)                                                               \
    COLUMN("segment_frees", "freed", 5, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, s->counts.segment_frees) \
    COLUMN("oom_events", "failed", 7, MV_UNIT_COUNT, 0,                                            \
           is_known ? mv_value_shown(mv_value_u64(s->counts.ooms), NULL)                           \
                    : mv_value_shown(mv_value_of(MV_VALUE_NULL), "?"))                             \
    COLUMN("saves", "saves", 2, MV_UNIT_BYTES, 9,                                                  \
           mv_value_shown(mv_value_if(s->counts.ooms == 0 || mv_rows_are_text(rows),               \
                                      mv_value_i64(run->saves)),                                   \
                          s->counts.ooms ? "-" : NULL))                                            \
    COLUMN("retries", "retries", 6, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, s->counts.retries)           \
    MEMBER("first_oom_event", mv_value_event(s->first_oom))                                        \
    MEMBER("avoids_recorded_oom",                                                                  \
           mv_value_or_null(records_failures(&w->trials, run), mv_value_bool(run->fits)))          \
    MEMBER("recorded", run->is_recorded)                                                           \
    MEMBER("without_effect", mv_value_texts(keys, mv_alloc_conf_idle(run->conf, keys)))            \
    MEMBER("changes", mv_value_texts(w->changes.changes, run->is_changed ? w->changes.count : 0))  \
    MEMBER("assumed", mv_value_texts(w->changes.assumed, run->is_changed ? w->changes.count : 0))

static void list_runs(mv_rows *rows)
{
    const whatif_report *r = mv_rows_all(rows);
    const mv_whatif *w = mv_rows_one(rows);
    uint32_t count = mv_rows_take(rows, w->run_count, r->limit);
    const char *keys[MV_MOST_IDLE_KEYS];
    char settings[600];

    for (uint32_t i = 0; i < count; i++) {
        const mv_trial *run = &w->runs[i];
        const mv_replay_result figures = mv_trials_figures(&w->trials, run), *s = &figures;
        bool is_known = mv_trials_know_failures(&w->trials, run);
        MV_ROWS_ADD(rows, RUN_FIELDS);
    }
}

static const mv_table run_table = {MV_TABLE(RUN_FIELDS, list_runs)};

#define ADVICE_FIELDS(COLUMN, MEMBER, LIST)                                                   \
    MEMBER("setting", a->setting)                                                             \
    MEMBER("text", a->text)                                                                   \
    MEMBER("saves", a->saves)                                                                 \
    MEMBER("saves_within_limit",                                                              \
           mv_value_or_null(w->trials.limit_source == MV_LIMIT_GIVEN, mv_value_i64(a->gain))) \
    MEMBER("culprit",                                                                         \
           mv_value_if(has_stack, mv_value_culprit(r->trace, r->sites.kinds, a->stack)))      \
    MEMBER("frames", mv_value_if(has_stack, mv_value_frames(r->trace, a->stack)))

static void list_advice(mv_rows *rows)
{
    const whatif_report *r = mv_rows_all(rows);
    const mv_whatif *w = mv_rows_one(rows);

    for (uint32_t i = 0; i < w->advice_count; i++) {
        const mv_whatif_advice *a = &w->advice[i];
        bool has_stack = a->stack.row != MV_NO_STACK.row;
        MV_ROWS_ADD(rows, ADVICE_FIELDS);
    }
}

static const mv_table advice_table = {MV_TABLE(ADVICE_FIELDS, list_advice)};

static const char *remedy_cost(const mv_remedy *row, char text[MV_SIZE_TEXT + 24])
{
    char bytes[MV_SIZE_TEXT];

    if (row->recomputed || row->copied)
        snprintf(text, MV_SIZE_TEXT + 24, "%s %s",
                 mv_size_text(bytes, row->recomputed ? row->recomputed : row->copied),
                 row->recomputed ? "recomputed" : "copied");
    else
        snprintf(text, MV_SIZE_TEXT + 24, "%llu calls",
                 (unsigned long long)row->trial.result.counts.segment_allocs);
    return text;
}

#define REMEDY_FIELDS(COLUMN, MEMBER, LIST)                                                       \
    COLUMN("name", "change", 5, MV_UNIT_TEXT | MV_UNIT_END, 0, mv_remedy_name(row))               \
    COLUMN("peak_reserved", "reserved", 1, MV_UNIT_BYTES, 9, row->trial.result.peak.reserved)     \
    COLUMN("peak_allocated", "allocated", 2, MV_UNIT_BYTES | MV_UNIT_SPARE, 9,                    \
           row->trial.result.peak.allocated)                                                      \
    COLUMN("reaches", "reaches", 3, MV_UNIT_TEXT, 0,                                              \
           mv_value_shown(mv_value_bool(row->reaches), row->reaches ? "yes" : "no"))              \
    COLUMN("cost", "cost", 4, MV_UNIT_TEXT, 0, remedy_cost(row, cost))                            \
    MEMBER("change", row->change)                                                                 \
    MEMBER("setting", *row->change ? mv_value_of(MV_VALUE_NULL) : mv_value_text(row->trial.conf)) \
    MEMBER("serves", mv_value_bool(row->serves))                                                  \
    MEMBER("spare", mv_value_bytes(row->spare))                                                   \
    MEMBER("saves", mv_value_i64(row->saves))                                                     \
    MEMBER("segment_allocs", row->trial.result.counts.segment_allocs)                             \
    MEMBER("retries", row->trial.result.counts.retries)                                           \
    MEMBER("recomputed_bytes", row->recomputed)                                                   \
    MEMBER("copied_bytes", row->copied)

static void list_remedies(mv_rows *rows)
{
    const whatif_report *r = mv_rows_all(rows);
    const mv_whatif *w = mv_rows_one(rows);
    uint32_t count = mv_rows_take(rows, w->remedies.count, r->limit);
    char cost[MV_SIZE_TEXT + 24];

    for (uint32_t i = 0; i < count; i++) {
        const mv_remedy *row = &w->remedies.rows[i];
        MV_ROWS_ADD(rows, REMEDY_FIELDS);
    }
}

static const mv_table remedy_table = {MV_TABLE(REMEDY_FIELDS, list_remedies)};

/* The report on one device, or on all devices together. */
#define TRIAL_FIELDS(COLUMN, MEMBER, LIST)                                                   \
    MEMBER("fidelity.recorded_segment_events", w->trials.fidelity.segment_events)            \
    MEMBER("fidelity.matched", w->trials.fidelity.segment_matched)                           \
    MEMBER("fidelity.exact", w->trials.fidelity.exact)                                       \
    MEMBER("fidelity.allocs", w->trials.fidelity.allocs)                                     \
    MEMBER("fidelity.allocs_matched", w->trials.fidelity.allocs_matched)                     \
    MEMBER("fidelity.first_difference", mv_value_event(w->trials.fidelity.first_difference)) \
    MEMBER("fidelity.why", w->trials.fidelity.why)                                           \
    MEMBER("fidelity.trust", mv_trust_name(w->trials.trust))                                 \
    MEMBER("fidelity.trust_why", w->trials.trust_why)                                        \
    MEMBER("fidelity.kinds", w->kinds_note ? w->kinds_note : "")                             \
    MEMBER("recorded.conf", w->trials.recorded_conf)                                         \
    MEMBER("recorded.peak_reserved", w->trials.recorded_reserved)                            \
    MEMBER("recorded.peak_allocated", w->trials.recorded_allocated)                          \
    MEMBER("recorded.segment_allocs", w->trials.recorded_segment_allocs)                     \
    MEMBER("recorded.oom_events", w->trials.recorded_ooms)                                   \
    MEMBER("limit.bytes", mv_value_bytes(w->trials.limit))                                   \
    MEMBER("limit.source", mv_limit_source_name(w->trials.limit_source))                     \
    LIST("runs", &run_table, mv_value_rows(w))                                               \
    LIST("advice", &advice_table, mv_value_rows(w))

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                                       \
    MEMBER("device", mv_value_u64(r->first + i))                                                  \
    TRIAL_FIELDS(COLUMN, MEMBER, LIST)                                                            \
    MEMBER("no_advice", w->advice_none)                                                           \
    MEMBER("target.bytes", !w->has_target ? mv_value_of(MV_VALUE_NO_OBJECT)                       \
                                          : mv_value_or_null(w->remedies.target,                  \
                                                             mv_value_bytes(w->remedies.target))) \
    MEMBER("target.source", w->remedies.is_of_failure ? "oom" : "given")                          \
    MEMBER("target.rest",                                                                         \
           mv_value_or_null(w->remedies.is_of_failure, mv_value_u64(w->remedies.rest)))           \
    MEMBER("target.met", mv_value_bool(w->remedies.is_met))                                       \
    MEMBER("target.verdict", w->has_target ? w->remedies.verdict : "")                            \
    LIST("target.remedies", &remedy_table, mv_value_rows(w))                                      \
    MEMBER("floor", mv_value_or_null(w->floor.is_known, mv_value_u64(w->floor.lower)))

MV_LIST_ROWS(list_devices, whatif_report, r, r->end - r->first, const mv_whatif *w = &r->found[i],
             DEVICE_FIELDS)

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST) \
    TRIAL_FIELDS(COLUMN, MEMBER, LIST)      \
    LIST("devices", &device_table, mv_value_rows(NULL))

static void list_report(mv_rows *rows)
{
    const whatif_report *r = mv_rows_all(rows);
    const mv_whatif *w = &r->sum;

    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_whatif = {MV_TABLE(REPORT_FIELDS, list_report), .main = "runs"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_verdict(const whatif_report *r, uint32_t device, const mv_whatif *w)
{
    mv_out *out = r->out;

    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_format(out, "device %u: ", device);
    mv_out_style(out, w->advice_count ? MV_STYLE_GREEN : MV_STYLE_YELLOW);
    mv_prose_put(out, 10 + (device > 9), 2, "%s", w->has_target ? w->remedies.verdict : w->verdict);
    mv_out_style(out, MV_STYLE_NONE);
}

static void put_trust(const whatif_report *r, const mv_whatif *w)
{
    const mv_replay_fidelity *f = &w->trials.fidelity;

    mv_prose_put_item(
        r->out,
        "replay of the recorded run: %u of %u segment events, %u of %u addresses; trust "
        "%s: %s",
        f->segment_matched, f->segment_events, f->allocs_matched, f->allocs,
        mv_trust_name(w->trials.trust), w->trials.trust_why);
}

static void put_recorded(const whatif_report *r, const mv_whatif *w)
{
    char reserved[MV_SIZE_TEXT], allocated[MV_SIZE_TEXT], limit[MV_SIZE_TEXT], failed[48] = "";
    const mv_trials *t = &w->trials;

    if (t->recorded_ooms)
        snprintf(failed, sizeof failed, ", %u request%s failed", t->recorded_ooms,
                 t->recorded_ooms == 1 ? "" : "s");
    mv_prose_put_item(
        r->out, "recorded with %s: %s reserved, %s allocated at their peaks, %llu device call%s%s",
        *t->recorded_conf ? t->recorded_conf : "the default settings",
        mv_size_text(reserved, t->recorded_reserved),
        mv_size_text(allocated, t->recorded_allocated),
        (unsigned long long)t->recorded_segment_allocs, t->recorded_segment_allocs == 1 ? "" : "s",
        failed);
    if (t->limit_source == MV_LIMIT_NONE)
        return;
    mv_out_text(r->out, "  ");
    mv_size_text(limit, t->limit);
    if (t->limit_source == MV_LIMIT_REFUSALS)
        mv_prose_put(
            r->out, 2, 4,
            "within %s, the most that the recorded run got (--capacity sets another limit)", limit);
    else if (t->self.counts.ooms)
        mv_prose_put(r->out, 2, 4, "within %s, %llu request%s", limit,
                     (unsigned long long)t->self.counts.ooms,
                     t->self.counts.ooms == 1 ? " fails" : "s fail");
    else
        mv_prose_put(r->out, 2, 4, "within %s it reserves %s", limit,
                     mv_size_text(reserved, t->self.peak.reserved));
}

static void put_changes(const whatif_report *r, const mv_whatif *w)
{
    for (uint32_t i = 0; i < w->changes.count; i++) {
        mv_out_text(r->out, i == 0 ? "\n  " : "  ");
        mv_prose_put(r->out, 2, 4, "%s. Assumed: %s.", w->changes.changes[i],
                     w->changes.assumed[i]);
    }
}

static void put_apart(const whatif_report *r, const char *text)
{
    mv_out_char(r->out, '\n');
    mv_prose_put_item(r->out, "%s", text);
}

static void put_advice(const whatif_report *r, const mv_whatif *w)
{
    for (uint32_t i = 0; i < w->advice_count; i++) {
        const mv_whatif_advice *a = &w->advice[i];
        mv_out_text(r->out, i == 0 ? "\n  " : "  ");
        mv_prose_put(r->out, 2, 2, "%s", a->text);
        if (a->stack.row != MV_NO_STACK.row)
            mv_stack_put(r->out, r->trace, r->sites.kinds, a->stack, r->cli->options.all_frames, 6);
    }
}

/* With a target, the settings are among the remedies. */
static void put_device(const void *all, uint32_t device)
{
    const whatif_report *r = all;
    const mv_whatif *w = &r->found[device - r->first];
    bool is_plain = !w->has_target && w->changes.count == 0;

    put_verdict(r, device, w);
    if (w->trials.trust == MV_TRUST_NONE)
        return;
    put_recorded(r, w);
    put_trust(r, w);
    if (*w->kinds_note && !w->has_target)
        mv_prose_put_item(r->out, "%s", w->kinds_note);
    mv_table_print(r->cli, w->has_target ? &remedy_table : &run_table, r, w, "\n");
    if (*w->idle_note && !w->has_target)
        put_apart(r, w->idle_note);
    if (!w->has_target)
        put_changes(r, w);
    if (is_plain)
        put_advice(r, w);
    if (*w->floor_line && (is_plain || w->has_target)) /* with changes, the floor would be
                                                        * different */
        put_apart(r, w->floor_line);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Checks the settings. Returns false, with a message, if PyTorch would refuse one of them. */
static bool confs_are_fine(mv_cli *cli)
{
    char why[256];
    mv_alloc_conf conf;

    for (uint32_t i = 0; i < cli->options.confs; i++)
        if (!mv_alloc_conf_parse(cli->options.conf[i], &conf, why, sizeof why)) {
            mv_complain_usage("whatif", "--conf '%s': %s", cli->options.conf[i], why);
            return false;
        }
    return true;
}

/* Reads the changes on the command line. Returns false, with a message, if one of them is wrong. */
static bool read_changes(whatif_report *r)
{
    static const mv_code_change_kind kinds[MV_OPTION_COUNT] = {
        [MV_OPTION_DROP] = MV_CODE_CHANGE_DROP,
        [MV_OPTION_CHANGE_SCALE] = MV_CODE_CHANGE_SCALE,
        [MV_OPTION_HALF] = MV_CODE_CHANGE_HALF,
        [MV_OPTION_PREALLOC] = MV_CODE_CHANGE_PREALLOC,
        [MV_OPTION_ONE_STREAM] = MV_CODE_CHANGE_ONE_STREAM,
        [MV_OPTION_EMPTY_CACHE] = MV_CODE_CHANGE_EMPTY_CACHE,
        [MV_OPTION_CHANGE_CPU] = MV_CODE_CHANGE_OFFLOAD,
        [MV_OPTION_FREE_EARLY] = MV_CODE_CHANGE_FREE_EARLY,
        [MV_OPTION_RECOMPUTE] = MV_CODE_CHANGE_RECOMPUTE,
        [MV_OPTION_ZERO] = MV_CODE_CHANGE_ZERO,
    };
    const mv_options *o = &r->cli->options;
    bool needs_zero = mv_option_given(o, MV_HAS(RANKS));
    char why[MV_FILTER_WHY];

    for (uint32_t i = 0; i < o->changes; i++) {
        needs_zero &= o->change[i].option != MV_OPTION_ZERO;
        r->changes[i] = (mv_code_change){kinds[o->change[i].option], o->change[i].text, o->ranks};
        if (!mv_code_change_is_fine(&r->cli->arena, &r->changes[i], why)) {
            mv_complain_usage("whatif", "--%s %s: %s", mv_option_table[o->change[i].option].name,
                              o->change[i].text, why);
            return false;
        }
    }
    if (needs_zero)
        mv_complain_usage("whatif", "--ranks needs --zero");
    return !needs_zero;
}

static mv_code find_all(whatif_report *r, mv_err *err)
{
    const mv_options *o = &r->cli->options;
    mv_whatif_opts opts = {
        .conf_count = o->confs,
        .conf = o->conf,
        .change_count = o->changes,
        .change = r->changes,
        .capacity = mv_option_given(o, MV_HAS(CAPACITY)) ? o->capacity : 0,
        .has_target = mv_option_given(o, MV_HAS(TARGET)),
        .target = o->target,
    };
    mv_code code = mv_sites_find(&r->cli->arena, r->trace, &r->sites, err);

    r->found = mv_push_array(&r->cli->arena, mv_whatif, (uint64_t)r->end - r->first);
    if (!r->found)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; code == MV_OK && i < r->end - r->first; i++) {
        mv_lives lives;
        code = mv_input_lives(r->cli, &r->cli->arena, r->trace, r->first + i, &lives, err);
        if (code == MV_OK)
            code = mv_whatif_find(&r->cli->arena, r->trace, &lives, &r->sites, opts, &r->found[i],
                                  err);
    }
    if (code == MV_OK)
        code = mv_whatif_sum(&r->cli->arena, r->found, r->end - r->first, &r->sum, err);
    return code;
}

/* Whether --target requires a failed request, but there is none. */
static bool is_missing_failure(const whatif_report *r)
{
    const mv_options *o = &r->cli->options;

    if (!mv_option_given(o, MV_HAS(TARGET)) || o->target)
        return false;
    for (uint32_t i = 0; i < r->end - r->first; i++)
        if (r->found[i].trials.recorded_ooms)
            return false;
    return true;
}

int mv_cmd_whatif(mv_cli *cli)
{
    mv_trace trace;
    whatif_report r = {.cli = cli,
                       .out = &cli->out,
                       .trace = &trace,
                       .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, 8)};
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!confs_are_fine(cli) || !read_changes(&r))
        return MV_EXIT_USAGE;
    if (cli->options.changes == 0 && !mv_option_given(&cli->options, MV_HAS(TARGET)))
        mv_input_follows_heap(cli); /* changes to the program depend on all columns */
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &r.first, &r.end))
        return MV_EXIT_FAILED;
    if (find_all(&r, &err) != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    if (is_missing_failure(&r))
        return mv_complain_of(mv_input_name(cli), "no request failed: pass --target SIZE");
    return mv_devices_report(cli, &trace, r.first, r.end, put_device, &r);
}
