/* memviz whatif: what other allocator settings would have done to this run. */
#include <stdio.h>
#include <string.h>

#include "analyze/advice/whatif.h"
#include "analyze/code/culprit.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"
#include "cli/report/stack_text.h"

#define TEXT_ROWS 12

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    mv_sites sites;
    uint32_t first, end; /* devices */
    mv_whatif *found;    /* [end - first] */
    uint64_t limit;
} inquiry;

/* ---- JSON -------------------------------------------------------------------------------- */

static cJSON *text_json(mv_report *r, const char *text)
{
    return mv_json_span(r, (mv_span){(const uint8_t *)text, strlen(text)});
}

static cJSON *fidelity_json(mv_report *r, const mv_whatif *w)
{
    const mv_replay_fidelity *f = &w->trials.fidelity;
    cJSON *o = mv_json_object(r, NULL, NULL);
    bool differs = f->first_difference != MV_NEVER;

    mv_json_add_u64(r, o, "recorded_segment_events", f->segment_events);
    mv_json_add_u64(r, o, "matched", f->segment_matched);
    mv_json_add_bool(r, o, "exact", f->exact);
    mv_json_add_u64(r, o, "allocs", f->allocs);
    mv_json_add_u64(r, o, "allocs_matched", f->allocs_matched);
    mv_json_add(r, o, "first_difference",
                differs ? mv_json_u64(f->first_difference) : cJSON_CreateNull());
    mv_json_add_text(r, o, "why", f->why);
    mv_json_add_text(r, o, "trust", mv_trust_name(w->trials.trust));
    mv_json_add_text(r, o, "trust_why", w->trials.trust_why);
    return o;
}

static cJSON *recorded_json(mv_report *r, const mv_whatif *w)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add_text(r, o, "conf", w->trials.recorded_conf);
    mv_json_add_u64(r, o, "peak_reserved", w->trials.recorded_reserved);
    mv_json_add_u64(r, o, "peak_allocated", w->trials.recorded_allocated);
    mv_json_add_u64(r, o, "segment_allocs", w->trials.recorded_segment_allocs);
    mv_json_add_u64(r, o, "oom_events", w->trials.recorded_ooms);
    return o;
}

static void add_run(mv_report *r, cJSON *array, const mv_trial *run)
{
    const mv_replay_result *s = &run->result;
    cJSON *o = mv_json_object(r, array, NULL);
    const char *keys[MV_MOST_IDLE_KEYS];
    uint32_t count;

    mv_json_add_text(r, o, "conf", run->conf);
    mv_json_add_u64(r, o, "peak_reserved", s->peak.reserved);
    mv_json_add_u64(r, o, "peak_allocated", s->peak.allocated);
    mv_json_add_u64(r, o, "segment_allocs", s->counts.segment_allocs);
    mv_json_add_u64(r, o, "segment_frees", s->counts.segment_frees);
    mv_json_add_u64(r, o, "oom_events", s->counts.ooms);
    mv_json_add_i64(r, o, "saves", run->saves);
    mv_json_add_u64(r, o, "retries", s->counts.retries);
    mv_json_add(r, o, "first_oom_event",
                s->first_oom == MV_NEVER ? cJSON_CreateNull() : mv_json_u64(s->first_oom));
    mv_json_add(r, o, "avoids_recorded_oom",
                s->recorded_ooms ? cJSON_CreateBool(run->fits) : cJSON_CreateNull());
    mv_json_add_bool(r, o, "recorded", run->is_recorded);
    array = mv_json_array(r, o, "without_effect");
    count = mv_alloc_conf_idle(run->conf, keys);
    for (uint32_t i = 0; i < count; i++)
        mv_json_add(r, array, NULL, text_json(r, keys[i]));
}

static cJSON *runs_json(mv_report *r, const inquiry *q, const mv_whatif *w)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < w->run_count && i < q->limit; i++)
        add_run(r, array, &w->runs[i]);
    return array;
}

static cJSON *advice_json(mv_report *r, const inquiry *q, const mv_whatif *w)
{
    cJSON *array = mv_json_array(r, NULL, NULL);
    char label[512];

    for (uint32_t i = 0; i < w->advice_count; i++) {
        const mv_whatif_advice *a = &w->advice[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_text(r, o, "setting", a->setting);
        mv_json_add_text(r, o, "text", a->text);
        mv_json_add_i64(r, o, "saves", a->saves);
        if (a->stack.row == MV_NO_STACK.row)
            continue;
        mv_culprit_label(q->trace, q->sites.kinds, a->stack, label, sizeof label);
        mv_json_add_text(r, o, "culprit", label);
        mv_json_add(r, o, "frames", mv_json_frames(r, q->trace, a->stack));
    }
    return array;
}

static cJSON *limit_json(mv_report *r, const mv_whatif *w)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add(r, o, "bytes", mv_json_bytes(w->trials.limit));
    mv_json_add_text(r, o, "source", mv_limit_source_name(w->trials.limit_source));
    return o;
}

static cJSON *devices_json(mv_report *r, const inquiry *q)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < q->end - q->first; i++) {
        const mv_whatif *w = &q->found[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "device", q->first + i);
        mv_json_add(r, o, "fidelity", fidelity_json(r, w));
        mv_json_add(r, o, "recorded", recorded_json(r, w));
        mv_json_add(r, o, "limit", limit_json(r, w));
        mv_json_add(r, o, "runs", runs_json(r, q, w));
        mv_json_add(r, o, "advice", advice_json(r, q, w));
        mv_json_add(r, o, "no_advice",
                    w->advice_none ? text_json(r, w->advice_none) : cJSON_CreateNull());
    }
    return array;
}

static int put_json(const inquiry *q)
{
    mv_report report, *r = &report;
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_whatif sum;

    mv_report_open(r, q->cli);
    if (mv_whatif_sum(&q->cli->arena, q->found, q->end - q->first, &sum, &err) != MV_OK)
        r->failed = true;
    mv_report_member(r, "fidelity", fidelity_json(r, &sum));
    mv_report_member(r, "recorded", recorded_json(r, &sum));
    mv_report_member(r, "limit", limit_json(r, &sum));
    mv_report_member(r, "runs", runs_json(r, q, &sum));
    mv_report_member(r, "advice", advice_json(r, q, &sum));
    mv_report_member(r, "devices", devices_json(r, q));
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_verdict(const inquiry *q, uint32_t device, const mv_whatif *w)
{
    mv_out *out = q->out;

    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_format(out, "device %u: ", device);
    mv_out_style(out, w->advice_count ? MV_STYLE_GREEN : MV_STYLE_YELLOW);
    mv_prose_put(out, 10 + (device > 9), 2, "%s", w->verdict);
    mv_out_style(out, MV_STYLE_NONE);
}

static void put_trust(const inquiry *q, const mv_whatif *w)
{
    const mv_replay_fidelity *f = &w->trials.fidelity;

    mv_out_text(q->out, "  ");
    mv_prose_put(q->out, 2, 4,
                 "replay of the recorded run: %u of %u segment events, %u of %u addresses; trust "
                 "%s: %s",
                 f->segment_matched, f->segment_events, f->allocs_matched, f->allocs,
                 mv_trust_name(w->trials.trust), w->trials.trust_why);
}

static void put_recorded(const inquiry *q, const mv_whatif *w)
{
    char reserved[MV_SIZE_TEXT], allocated[MV_SIZE_TEXT], limit[MV_SIZE_TEXT], failed[48] = "";
    const mv_trials *t = &w->trials;

    if (t->recorded_ooms)
        snprintf(failed, sizeof failed, ", %u request%s failed", t->recorded_ooms,
                 t->recorded_ooms == 1 ? "" : "s");
    mv_out_text(q->out, "  ");
    mv_prose_put(q->out, 2, 4,
                 "recorded with %s: %s reserved, %s allocated at their peaks, %llu device call%s%s",
                 *t->recorded_conf ? t->recorded_conf : "the default settings",
                 mv_size_text(reserved, t->recorded_reserved),
                 mv_size_text(allocated, t->recorded_allocated),
                 (unsigned long long)t->recorded_segment_allocs,
                 t->recorded_segment_allocs == 1 ? "" : "s", failed);
    if (t->limit_source == MV_LIMIT_GIVEN)
        mv_out_format(q->out, "  within %s\n", mv_size_text(limit, t->limit));
    else if (t->limit_source == MV_LIMIT_REFUSALS)
        mv_out_format(q->out,
                      "  within %s, the most that the recorded run got (--capacity says more)\n",
                      mv_size_text(limit, t->limit));
}

static void put_saves(mv_sheet *sheet, int64_t saves)
{
    char bytes[MV_SIZE_TEXT], text[MV_SIZE_TEXT + 1];

    mv_size_text(bytes, saves < 0 ? 0 - (uint64_t)saves : (uint64_t)saves);
    snprintf(text, sizeof text, "%s%s", saves < 0 ? "-" : "", bytes);
    mv_sheet_text(sheet, text);
}

static void put_runs(const inquiry *q, const mv_whatif *w)
{
    static const mv_column columns[] = {{"reserved", MV_UNIT_BYTES, 9},
                                        {"saves", MV_UNIT_BYTES, 9},
                                        {"allocated", MV_UNIT_BYTES | MV_UNIT_SPARE, 9},
                                        {"calls", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
                                        {"freed", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
                                        {"retries", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
                                        {"failed", MV_UNIT_COUNT, 0},
                                        {"settings", MV_UNIT_TEXT | MV_UNIT_END, 0}};
    mv_sheet sheet;

    if (w->run_count == 0)
        return;
    mv_sheet_init(&sheet, &q->cli->scratch, columns, 8);
    for (uint32_t i = 0; i < w->run_count && i < q->limit; i++) {
        const mv_trial *run = &w->runs[i];
        char text[600];
        mv_sheet_size(&sheet, run->result.peak.reserved);
        put_saves(&sheet, run->saves);
        mv_sheet_size(&sheet, run->result.peak.allocated);
        mv_sheet_count(&sheet, run->result.counts.segment_allocs);
        mv_sheet_count(&sheet, run->result.counts.segment_frees);
        mv_sheet_count(&sheet, run->result.counts.retries);
        mv_sheet_count(&sheet, run->result.counts.ooms);
        snprintf(text, sizeof text, "%s%s%s", *run->conf ? run->conf : "''",
                 run->is_recorded ? " (as recorded)" : "",
                 !run->result.recorded_ooms ? ""
                 : run->fits                ? ": the failed request is met"
                                            : "");
        mv_sheet_text(&sheet, text);
    }
    mv_out_char(q->out, '\n');
    mv_sheet_print(&sheet, q->out, 2);
    mv_rows_put_hidden(q->out, w->run_count, q->limit);
}

static void put_advice(const inquiry *q, const mv_whatif *w)
{
    for (uint32_t i = 0; i < w->advice_count; i++) {
        const mv_whatif_advice *a = &w->advice[i];
        mv_out_text(q->out, i == 0 ? "\n  " : "  ");
        mv_prose_put(q->out, 2, 2, "%s", a->text);
        if (a->stack.row != MV_NO_STACK.row)
            mv_stack_put(q->out, q->trace, q->sites.kinds, a->stack, q->cli->options.all_frames, 6);
    }
}

static void put_device(const inquiry *q, uint32_t index)
{
    const mv_whatif *w = &q->found[index];

    put_verdict(q, q->first + index, w);
    if (w->trials.trust == MV_TRUST_NONE)
        return;
    put_recorded(q, w);
    put_trust(q, w);
    put_runs(q, w);
    if (*w->idle_note) {
        mv_out_text(q->out, "\n  ");
        mv_prose_put(q->out, 2, 4, "%s", w->idle_note);
    }
    put_advice(q, w);
}

/* ---- both -------------------------------------------------------------------------------- */

/* False, with a message, when PyTorch would refuse one of the settings. */
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

static mv_code find_all(inquiry *q, mv_err *err)
{
    const mv_options *o = &q->cli->options;
    mv_whatif_opts opts = {
        .conf_count = o->confs,
        .conf = o->conf,
        .capacity = mv_option_given(o, MV_HAS(CAPACITY)) ? o->capacity : 0,
    };
    mv_code code = mv_sites_find(&q->cli->arena, q->trace, &q->sites, err);

    q->found = mv_push_array(&q->cli->arena, mv_whatif, (uint64_t)q->end - q->first);
    if (!q->found)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; code == MV_OK && i < q->end - q->first; i++) {
        mv_lives lives;
        code = mv_lives_find(&q->cli->arena, q->trace, q->first + i, &lives, err);
        if (code == MV_OK)
            code = mv_whatif_find(&q->cli->arena, q->trace, &lives, &q->sites, opts, &q->found[i],
                                  err);
    }
    return code;
}

int mv_cmd_whatif(mv_cli *cli)
{
    mv_trace trace;
    inquiry q = {.cli = cli,
                 .out = &cli->out,
                 .trace = &trace,
                 .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, 8)};
    mv_err err = {.offset = MV_NO_OFFSET};
    bool follows = false;

    if (!confs_are_fine(cli))
        return MV_EXIT_USAGE;
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &q.first, &q.end))
        return MV_EXIT_FAILED;
    if (find_all(&q, &err) != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    if (mv_option_given(&cli->options, MV_HAS(JSON)))
        return put_json(&q);
    for (uint32_t i = q.first; i < q.end; i++) {
        if (!mv_device_is_told(&trace, q.first, q.end, i))
            continue;
        if (follows)
            mv_out_char(q.out, '\n');
        put_device(&q, i - q.first);
        follows = true;
    }
    mv_idle_put_others(q.out, &trace, q.first, q.end, follows);
    return MV_EXIT_DONE;
}
