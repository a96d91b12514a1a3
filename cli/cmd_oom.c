/* memviz oom: why each request for memory failed, and what would have helped. */
#include <stdio.h>

#include "analyze/code/culprit.h"
#include "analyze/code/labels.h"
#include "analyze/oom/oom.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"
#include "cli/report/stack_text.h"

/* Rows of each list in text when --limit says nothing; lines beside them. */
#define TEXT_ROWS   8
#define OTHER_LINES 14

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    mv_sites sites;
    int64_t start_us;
    uint32_t first, end; /* devices */
    mv_lives *lives;     /* [end - first] */
    mv_ooms *found;      /* [end - first] */
    uint64_t limit;
} inquest;

static const char *label_of(const inquest *q, mv_stack_id stack, char *label, size_t size)
{
    return mv_culprit_label(q->trace, q->sites.kinds, stack, label, size);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void add_stack(mv_report *r, cJSON *o, const inquest *q, mv_stack_id stack)
{
    char label[512];

    mv_json_add_text(r, o, "culprit", label_of(q, stack, label, sizeof label));
    mv_json_add(r, o, "frames", mv_json_frames(r, q->trace, stack));
}

static void add_pins(mv_report *r, cJSON *parent, const char *key, const inquest *q,
                     const mv_oom *oom, const mv_pin *pins, uint32_t count)
{
    cJSON *array = mv_json_array(r, parent, key);

    for (uint32_t i = 0; i < count && i < q->limit; i++) {
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "bytes", pins[i].bytes);
        mv_json_add_u64(r, o, "blocks", pins[i].blocks);
        if (pins[i].stranded) {
            mv_json_add_u64(r, o, "stranded", pins[i].stranded);
            mv_json_add_u64(r, o, "segments", pins[i].segments);
        }
        mv_json_add_u64(r, o, "age_events", mv_pin_age(&pins[i], oom->event));
        add_stack(r, o, q, pins[i].stack);
    }
}

static void add_change(mv_report *r, cJSON *parent, const inquest *q, uint32_t index,
                       const mv_oom *oom)
{
    const mv_oom_change *c = &oom->change;
    cJSON *o = mv_json_object(r, parent, "smallest_change");

    mv_json_add_u64(r, o, "free_bytes", c->free_bytes);
    mv_json_add_u64(r, o, "free_blocks", c->free_blocks);
    mv_json_add_u64(r, o, "free_segments", c->free_segments);
    mv_json_add_u64(r, o, "smaller_by", c->smaller_by);
    mv_json_add_u64(r, o, "more_memory", c->more_memory);
    if (c->biggest != MV_NO_ROW)
        add_stack(r, o, q, q->lives[index].allocs.stack[c->biggest]);
}

static void add_figures(mv_report *r, cJSON *o, const inquest *q, const mv_oom *oom)
{
    mv_json_add_u64(r, o, "event", oom->event);
    mv_json_add(r, o, "time_us", mv_json_time(oom->time_us));
    if (oom->api_call != MV_NO_ROW)
        mv_json_add(r, o, "api",
                    mv_json_string(r, q->trace, q->trace->api_calls.api[oom->api_call]));
    mv_json_add_u64(r, o, "requested", oom->requested);
    mv_json_add_u64(r, o, "segment_bytes", oom->segment);
    mv_json_add(r, o, "device_free", mv_json_bytes(oom->device_free));
    mv_json_add_bool(r, o, "limited", oom->limited);
    mv_json_add_u64(r, o, "reserved", oom->bytes.reserved);
    mv_json_add_u64(r, o, "allocated", oom->bytes.allocated);
    mv_json_add_u64(r, o, "pending", oom->bytes.pending);
    mv_json_add_u64(r, o, "free_in_cache", oom->bytes.free);
    mv_json_add_u64(r, o, "usable", oom->usable);
    mv_json_add_u64(r, o, "largest_hole", oom->largest_hole);
    if (oom->total) {
        mv_json_add_u64(r, o, "device_total", oom->total);
        mv_json_add_bool(r, o, "device_total_guessed", oom->total_source == MV_TOTAL_GUESSED);
        mv_json_add_u64(r, o, "outside", oom->outside);
    }
}

static void add_outlook(mv_report *r, cJSON *o, const inquest *q, const mv_oom *oom)
{
    const mv_oom_outlook *f = &oom->outlook;
    cJSON *forecast, *tried, *leak;
    char label[512];

    mv_json_add_u64(r, o, "limit", f->limit);
    mv_json_add_u64(r, o, "limit_least", f->limit_least);
    mv_json_add_u64(r, o, "limit_most", f->limit_most);
    mv_json_add_i64(r, o, "margin", f->margin);
    mv_json_add_u64(r, o, "rise", f->rise);
    if (f->forecast.peak) {
        forecast = mv_json_object(r, o, "forecast");
        mv_json_add_u64(r, forecast, "peak", f->forecast.peak);
        mv_json_add_u64(r, forecast, "limit", f->limit);
        mv_json_add_text(r, forecast, "basis", f->basis);
        mv_json_add_u64(r, forecast, "matched", f->forecast.matched);
        mv_json_add_bool(r, forecast, "is_least", f->forecast.is_least);
    } else {
        mv_json_add(r, o, "forecast", cJSON_CreateNull());
    }
    if (f->tried) {
        tried = mv_json_object(r, o, "tried");
        mv_json_add_text(r, tried, "setting", f->conf);
        mv_json_add_bool(r, tried, "serves", f->serves);
        mv_json_add_u64(r, tried, "reserved", f->would_reserve);
        mv_json_add_u64(r, tried, "spare", f->spare);
    }
    if (f->has_leak) {
        leak = mv_json_object(r, o, "leak");
        mv_json_add_text(r, leak, "culprit",
                         mv_leak_label(q->trace, q->sites.kinds, &f->leak, label, sizeof label));
        mv_json_add_u64(r, leak, "bytes", f->leaked);
        mv_json_add_u64(r, leak, "bytes_per_step", f->leak.bytes_per_step);
        mv_json_add(r, leak, "frames", mv_json_frames(r, q->trace, f->leak.stack));
    }
}

static void add_oom(mv_report *r, cJSON *array, const inquest *q, uint32_t index, const mv_oom *oom)
{
    cJSON *o = mv_json_object(r, array, NULL);

    mv_json_add_u64(r, o, "device", q->first + index);
    add_figures(r, o, q, oom);
    add_outlook(r, o, q, oom);
    mv_json_add_text(r, o, "verdict", mv_oom_verdict_name(oom->verdict));
    mv_json_add_text(r, o, "why", oom->why);
    add_pins(r, o, "pinned_by", q, oom, oom->pins.lines, oom->pins.line_count);
    mv_json_add_text(r, o, "advice", oom->advice);
    if (oom->detailed) {
        add_pins(r, o, "held_by", q, oom, oom->holders, oom->holder_count);
        add_change(r, o, q, index, oom);
    }
    add_stack(r, o, q, oom->stack);
}

static int put_json(const inquest *q)
{
    mv_report report, *r = &report;
    cJSON *ooms, *devices;

    mv_report_open(r, q->cli);
    ooms = mv_json_array(r, NULL, NULL);
    devices = mv_json_array(r, NULL, NULL);
    for (uint32_t i = 0; i < q->end - q->first; i++) {
        const mv_ooms *found = &q->found[i];
        cJSON *o = mv_json_object(r, devices, NULL);
        mv_json_add_u64(r, o, "device", q->first + i);
        mv_json_add_u64(r, o, "ooms", found->count);
        mv_json_add_text(r, o, "history", mv_history_name(q->lives[i].history));
        mv_json_add_u64(r, o, "retries", found->retries);
        mv_json_add_u64(r, o, "released", found->released);
        mv_json_add_u64(r, o, "collections", found->collections);
        mv_json_add_u64(r, o, "collected", found->collected);
        for (uint32_t k = 0; k < found->count && k < q->limit; k++)
            add_oom(r, ooms, q, i, &found->ooms[k]);
    }
    mv_report_member(r, "ooms", ooms);
    mv_report_member(r, "devices", devices);
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

/* Labels of the lines that hold memory, told apart from each other and from the one that asked for
 * more: with a helper the callers differ, "train.py:13 cache > util.py:9 alloc". */
static const char **holder_labels(const inquest *q, const mv_oom *oom, const mv_pin *pins,
                                  uint32_t count)
{
    mv_labelled *rows = mv_push_array(&q->cli->scratch, mv_labelled, (uint64_t)count + 1);
    bool is_holder = false;

    for (uint32_t i = 0; rows && i <= count; i++) {
        mv_stack_id stack = i < count ? pins[i].stack : oom->stack;
        rows[i] = (mv_labelled){.trace = q->trace,
                                .kinds = q->sites.kinds,
                                .stack = stack,
                                .bytes = i < count ? pins[i].bytes : 0};
        is_holder = is_holder || (i < count && stack.row == oom->stack.row);
    }
    return rows ? mv_labels_find(&q->cli->scratch, rows, count + !is_holder, false) : NULL;
}

static void put_lines(const inquest *q, const mv_oom *oom, bool pins)
{
    static const mv_column pin_columns[] = {{"stranded", MV_UNIT_BYTES, 9},
                                            {"beside", MV_UNIT_BYTES, 9},
                                            {"blocks", MV_UNIT_COUNT, 0},
                                            {"age", MV_UNIT_COUNT, 0},
                                            {"pinned by", MV_UNIT_TEXT, 0}};
    static const mv_column held_columns[] = {{"held", MV_UNIT_BYTES, 9},
                                             {"blocks", MV_UNIT_COUNT, 0},
                                             {"age", MV_UNIT_COUNT, 0},
                                             {"by", MV_UNIT_TEXT, 0}};
    const mv_pin *rows = pins ? oom->pins.lines : oom->holders;
    uint32_t count = pins ? oom->pins.line_count : oom->holder_count;
    const char **labels;
    mv_sheet sheet;

    if (count == 0)
        return;
    labels = holder_labels(q, oom, rows, count < q->limit ? count : (uint32_t)q->limit);
    mv_sheet_init(&sheet, &q->cli->scratch, pins ? pin_columns : held_columns, pins ? 5 : 4);
    for (uint32_t i = 0; i < count && i < q->limit; i++) {
        if (pins)
            mv_sheet_size(&sheet, rows[i].stranded);
        mv_sheet_size(&sheet, rows[i].bytes);
        mv_sheet_count(&sheet, rows[i].blocks);
        mv_sheet_count(&sheet, mv_pin_age(&rows[i], oom->event));
        mv_sheet_text(&sheet, labels ? labels[i] : "?");
    }
    mv_sheet_print(&sheet, q->out, 2);
    mv_rows_put_hidden(q->out, count, q->limit);
}

static void put_headline(const inquest *q, uint32_t index, const mv_oom *oom)
{
    char size[MV_SIZE_TEXT], label[512], time[32] = "", head[64], asked[48];

    snprintf(head, sizeof head, "OUT OF MEMORY  %s", mv_oom_verdict_name(oom->verdict));
    snprintf(asked, sizeof asked, ": %s asked for at ", mv_size_text(size, oom->requested));
    mv_out_style(q->out, MV_STYLE_RED);
    mv_out_text(q->out, head);
    mv_out_style(q->out, MV_STYLE_NONE);
    mv_out_text(q->out, asked);
    mv_out_style(q->out, MV_STYLE_BOLD);
    mv_prose_put_cut(q->out, mv_prose_room(q->out, (uint32_t)(strlen(head) + strlen(asked))),
                     label_of(q, oom->stack, label, sizeof label));
    mv_out_style(q->out, MV_STYLE_NONE);
    mv_out_char(q->out, '\n');
    if (oom->time_us != MV_NO_TIME && q->start_us != MV_NO_TIME)
        snprintf(time, sizeof time, " (%.3f s)", (double)(oom->time_us - q->start_us) / 1e6);
    mv_out_text(q->out, "  ");
    mv_prose_put(q->out, 2, 4, "device %u, event %u%s: %s", q->first + index, oom->event, time,
                 oom->why);
}

static void put_oom(const inquest *q, uint32_t index, const mv_oom *oom)
{
    char size[5][MV_SIZE_TEXT], limit[2 * MV_SIZE_TEXT + 32] = "";
    const mv_oom_outlook *f = &oom->outlook;

    put_headline(q, index, oom);
    if (oom->limited)
        mv_prose_add(limit, sizeof limit, "; the limit is at least %s and below %s",
                     mv_size_text(size[0], f->limit_least),
                     mv_size_text(size[1], f->limit_most + 1));
    mv_out_text(q->out, "  ");
    mv_prose_put(
        q->out, 2, 4, "%s reserved = %s allocated + %s pending + %s free; the device has %s left%s",
        mv_size_text(size[0], oom->bytes.reserved), mv_size_text(size[1], oom->bytes.allocated),
        mv_size_text(size[2], oom->bytes.pending), mv_size_text(size[3], oom->bytes.free),
        oom->device_free == MV_NO_BYTES ? "?" : mv_size_text(size[4], oom->device_free), limit);
    if (oom->detailed && *oom->enough) {
        mv_out_text(q->out, "  ");
        mv_prose_put(q->out, 2, 4, "%s", oom->enough);
    }
    mv_out_style(q->out, MV_STYLE_YELLOW);
    mv_out_text(q->out, "  -> ");
    mv_out_style(q->out, MV_STYLE_NONE);
    mv_prose_put(q->out, 5, 5, "%s", oom->advice);
    mv_stack_put(q->out, q->trace, q->sites.kinds, oom->stack, q->cli->options.all_frames, 6);
    put_lines(q, oom, oom->pins.line_count > 0 && oom->verdict != MV_OOM_CAPACITY);
}

static void put_device(const inquest *q, uint32_t index)
{
    const mv_ooms *found = &q->found[index];

    for (uint32_t i = 0; i < found->count && i < q->limit; i++) {
        put_oom(q, index, &found->ooms[i]);
        mv_out_char(q->out, '\n');
    }
    mv_rows_put_hidden(q->out, found->count, q->limit);
    mv_prose_put(q->out, 0, 2, "device %u: %s%s%s%s%s%s%s%s", q->first + index, found->verdict,
                 found->is_known ? "" : " (", found->is_known ? "" : found->why,
                 found->is_known ? "" : ")", *found->retried ? "; " : "", found->retried,
                 *found->collecting ? "; " : "", found->collecting);
}

/* ---- both -------------------------------------------------------------------------------- */

static bool inquire(inquest *q, uint32_t index, mv_err *err)
{
    mv_lives *lives = &q->lives[index];
    mv_window window;

    return mv_lives_find(&q->cli->arena, q->trace, q->first + index, lives, err) == MV_OK &&
           mv_window_find(q->cli, q->trace, q->first + index, &window) &&
           mv_ooms_find(&q->cli->arena, q->trace, lives, &q->sites, window, &q->found[index],
                        err) == MV_OK;
}

static bool find_all(inquest *q)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    bool found = true;

    q->lives = mv_push_array(&q->cli->arena, mv_lives, q->end - q->first);
    q->found = mv_push_array(&q->cli->arena, mv_ooms, q->end - q->first);
    if (!q->lives || !q->found)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else
        mv_sites_find(&q->cli->arena, q->trace, &q->sites, &err);
    for (uint32_t i = 0; i < q->end - q->first && err.code == MV_OK && found; i++)
        found = inquire(q, i, &err);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(q->cli), &err);
    return err.code == MV_OK && found;
}

/* What --fail-on asked for. */
static void judge_gate(inquest *q)
{
    for (uint32_t i = 0; i < q->end - q->first; i++) {
        const mv_ooms *found = &q->found[i];
        char size[MV_SIZE_TEXT];
        if (found->count)
            mv_gate_judge(&q->cli->gates, MV_GATE_OOM, MV_GATE_FAILS,
                          "device %u: %s, the first of %s", q->first + i, found->verdict,
                          mv_size_text(size, found->ooms[0].requested));
        else if (q->lives[i].history != MV_HISTORY_COMPLETE)
            mv_gate_judge(&q->cli->gates, MV_GATE_OOM, MV_GATE_CANNOT_KNOW, "device %u: %s: %s",
                          q->first + i, found->verdict, found->why);
    }
}

int mv_cmd_oom(mv_cli *cli)
{
    mv_trace trace;
    inquest q = {.cli = cli,
                 .out = &cli->out,
                 .trace = &trace,
                 .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};

    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &q.first, &q.end) ||
        !find_all(&q))
        return MV_EXIT_FAILED;
    q.start_us = mv_position_start_us(&trace);
    judge_gate(&q);
    if (mv_option_given(&cli->options, MV_HAS(JSON)))
        return mv_gate_status(&cli->gates, put_json(&q));
    for (uint32_t i = q.first; i < q.end; i++)
        if (mv_device_is_told(&trace, q.first, q.end, i))
            put_device(&q, i - q.first);
    mv_idle_put_others(q.out, &trace, q.first, q.end, false);
    return mv_gate_status(&cli->gates, MV_EXIT_DONE);
}
