/* memviz fragmentation: reserved beyond what is used: how much, why, and who pins it. */
#include <stdio.h>

#include "analyze/code/culprit.h"
#include "analyze/code/labels.h"
#include "analyze/fragmentation/fragmentation.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/window.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"
#include "cli/report/stack_text.h"

/* Rows of each list in text when --limit says nothing, of healthy devices fewer; lines beside
 * the lists. */
#define TEXT_ROWS   8
#define OK_ROWS     3
#define OTHER_LINES 16

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    mv_sites sites;
    uint32_t first, end;     /* devices */
    mv_lives *lives;         /* [end - first] */
    mv_fragmentation *found; /* [end - first], and one more of zeros */
    uint64_t limit;
} inspection;

/* The device that speaks for the file: a fragmented one before others, then the one with most
 * bytes beyond the need, then most reserved. */
static uint32_t worst_device(const inspection *x)
{
    uint32_t worst = 0;

    for (uint32_t i = 1; i < x->end - x->first; i++) {
        const mv_fragmentation *a = &x->found[i], *b = &x->found[worst];
        bool more =
            a->beyond != b->beyond ? a->beyond > b->beyond : a->bytes.reserved > b->bytes.reserved;
        if (a->fragmented != b->fragmented ? a->fragmented : more)
            worst = i;
    }
    return worst;
}

/* Rows of each list of a device. */
static uint64_t rows_of(const inspection *x, const mv_fragmentation *f)
{
    if (f->fragmented || mv_option_given(&x->cli->options, MV_HAS(LIMIT)))
        return x->limit;
    return x->limit < OK_ROWS ? x->limit : OK_ROWS;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void add_stack(mv_report *r, cJSON *o, const inspection *x, mv_stack_id stack)
{
    char label[512];

    mv_json_add_text(r, o, "culprit",
                     mv_culprit_label(x->trace, x->sites.kinds, stack, label, sizeof label));
    mv_json_add(r, o, "frames", mv_json_frames(r, x->trace, stack));
}

static void add_pool(mv_report *r, cJSON *o, const inspection *x, uint8_t kind, mv_pool_id pool,
                     mv_stream_id stream)
{
    const mv_pools *pools = &x->trace->pools;
    cJSON *id;

    mv_json_add_text(r, o, "pool", mv_segment_kind_name(kind));
    id = mv_json_array(r, o, "pool_id");
    mv_json_add(r, id, NULL, mv_json_u64(pools->a[pool.row]));
    mv_json_add(r, id, NULL, mv_json_u64(pools->b[pool.row]));
    mv_json_add_u64(r, o, "stream", x->trace->streams.value[stream.row]);
}

static void add_bytes(mv_report *r, cJSON *o, const mv_heap_sums *b, uint64_t whole)
{
    mv_json_add_u64(r, o, "reserved", b->reserved);
    mv_json_add_u64(r, o, "allocated", b->allocated);
    mv_json_add_u64(r, o, "pending", b->pending);
    mv_json_add_u64(r, o, "rounding", b->rounding);
    mv_json_add_u64(r, o, "free", b->free);
    mv_json_add_u64(r, o, "stranded", b->free - whole);
    mv_json_add_u64(r, o, "whole", whole);
    mv_json_add_i64(r, o, "unexplained", mv_heap_unexplained(b));
}

static cJSON *free_json(mv_report *r, const mv_fragmentation *f)
{
    cJSON *o = mv_json_object(r, NULL, NULL);

    mv_json_add_u64(r, o, "total", f->bytes.free);
    mv_json_add_u64(r, o, "largest", f->largest);
    mv_json_add_u64(r, o, "rounding", f->bytes.rounding);
    mv_json_add_u64(r, o, "pending", f->bytes.pending);
    mv_json_add_u64(r, o, "stranded", f->stranded);
    mv_json_add_u64(r, o, "whole", f->whole);
    return o;
}

static void add_pin(mv_report *r, cJSON *array, const inspection *x, const mv_fragmentation *f,
                    const mv_pin *pin)
{
    cJSON *o = mv_json_object(r, array, NULL);

    mv_json_add_u64(r, o, "bytes", pin->bytes);
    mv_json_add_u64(r, o, "blocks", pin->blocks);
    mv_json_add_u64(r, o, "segments", pin->segments);
    mv_json_add_u64(r, o, "stranded", pin->stranded);
    mv_json_add_u64(r, o, "age_events", mv_pin_age(pin, f->at.event));
    add_stack(r, o, x, pin->stack);
}

static cJSON *stranded_json(mv_report *r, const inspection *x, uint32_t index)
{
    const mv_fragmentation *f = &x->found[index];
    const mv_segment_lives *s = &x->lives[index].segments;
    cJSON *array = mv_json_array(r, NULL, NULL), *pins;

    for (uint32_t i = 0; i < f->pins.segment_count && i < x->limit; i++) {
        const mv_stranded *row = &f->pins.segments[i];
        uint32_t segment = f->map.segment[row->segment];
        mv_pool_id pool = s->pool[segment];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "device", x->first + index);
        mv_json_add_u64(r, o, "segment", f->map.addr[row->segment]);
        add_pool(r, o, x, s->kind[segment], pool.row == MV_NO_ROW ? MV_DEFAULT_POOL : pool,
                 s->stream[segment]);
        mv_json_add_u64(r, o, "total", f->map.size[row->segment]);
        mv_json_add_u64(r, o, "free", f->map.free[row->segment]);
        mv_json_add_u64(r, o, "stranded", row->stranded);
        pins = mv_json_array(r, o, "pinned_by");
        for (uint32_t p = 0; p < row->pins && p < x->limit; p++)
            add_pin(r, pins, x, f, &f->pins.pins[row->first_pin + p]);
    }
    return array;
}

static cJSON *lines_json(mv_report *r, const inspection *x, const mv_fragmentation *f)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < f->pins.line_count && i < x->limit; i++)
        add_pin(r, array, x, f, &f->pins.lines[i]);
    return array;
}

static cJSON *growth_json(mv_report *r, const inspection *x, const mv_fragmentation *f)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < f->growths.count && i < x->limit; i++) {
        const mv_segment_growth *g = &f->growths.rows[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "event", g->event);
        mv_json_add_u64(r, o, "segment_bytes", g->segment_bytes);
        mv_json_add_u64(r, o, "requested", g->request);
        mv_json_add_u64(r, o, "free_elsewhere", g->free);
        mv_json_add_u64(r, o, "usable", g->usable);
        mv_json_add_u64(r, o, "largest_hole", g->largest);
        mv_json_add_text(r, o, "reason", mv_growth_reason_name(g->reason));
        add_stack(r, o, x, g->stack);
    }
    return array;
}

static cJSON *advice_json(mv_report *r, const inspection *x, const mv_fragmentation *f)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < f->advice_count; i++) {
        cJSON *o = mv_json_object(r, array, NULL);
        if (f->advice[i].setting)
            mv_json_add_text(r, o, "setting", f->advice[i].setting);
        mv_json_add_text(r, o, "call", f->advice[i].call);
        mv_json_add_u64(r, o, "bytes", f->advice[i].bytes);
        if (f->advice[i].is_replayed)
            mv_json_add_i64(r, o, "saves", f->advice[i].saves);
        mv_json_add_text(r, o, "text", f->advice[i].text);
        mv_json_add(r, o, "frames", mv_json_frames(r, x->trace, f->advice[i].stack));
    }
    return array;
}

/* How far the replay of settings can be trusted; null where there was nothing to try. */
static cJSON *replay_json(mv_report *r, const mv_fragmentation *f)
{
    cJSON *o;

    if (!f->is_replayed && !f->not_replayed)
        return cJSON_CreateNull();
    o = mv_json_object(r, NULL, NULL);
    mv_json_add_text(r, o, "trust", mv_trust_name(f->trust));
    mv_json_add_text(r, o, "trust_why", f->trust_why);
    mv_json_add_u64(r, o, "tried", f->tried);
    mv_json_add_text(r, o, "not_replayed", f->not_replayed ? f->not_replayed : "");
    if (f->meets) {
        mv_json_add_text(r, o, "meets", f->meets);
        mv_json_add(r, o, "spare", mv_json_bytes(f->spare));
        mv_json_add_bool(r, o, "lacks_memory", f->lacks_memory);
    }
    return o;
}

static cJSON *pools_json(mv_report *r, const inspection *x, const mv_fragmentation *f)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < f->domain_count; i++) {
        const mv_domain_report *d = &f->domains[i];
        cJSON *o = mv_json_object(r, array, NULL);
        add_pool(r, o, x, d->kind, d->pool, d->stream);
        add_bytes(r, o, &d->bytes, d->whole);
        mv_json_add_u64(r, o, "largest", d->largest);
    }
    return array;
}

static cJSON *devices_json(mv_report *r, const inspection *x)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t i = 0; i < x->end - x->first; i++) {
        const mv_fragmentation *f = &x->found[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add_u64(r, o, "device", x->first + i);
        mv_json_add_text(r, o, "verdict", mv_fragmentation_verdict_name(f));
        mv_json_add_bool(r, o, "known", f->is_known);
        mv_json_add(r, o, "at", mv_at_json(r, &f->at));
        add_bytes(r, o, &f->bytes, f->whole);
        mv_json_add_text(r, o, "why", f->why);
        mv_json_add(r, o, "segments", stranded_json(r, x, i));
        mv_json_add(r, o, "pinned_by", lines_json(r, x, f));
        mv_json_add(r, o, "growth", growth_json(r, x, f));
        mv_json_add_u64(r, o, "needed", f->demand.needed);
        mv_json_add_u64(r, o, "taken", f->demand.taken);
        mv_json_add_u64(r, o, "beyond", f->beyond);
        mv_json_add(r, o, "pools", pools_json(r, x, f));
        mv_json_add(r, o, "advice", advice_json(r, x, f));
        mv_json_add(r, o, "replay", replay_json(r, f));
    }
    return array;
}

static int put_json(const inspection *x)
{
    mv_report report, *r = &report;
    uint32_t index = worst_device(x);
    const mv_fragmentation *f = &x->found[index];

    mv_report_open(r, x->cli);
    mv_report_member(r, "device",
                     x->end > x->first ? mv_json_u64(x->first + index) : cJSON_CreateNull());
    mv_report_member(r, "at", mv_at_json(r, &f->at));
    mv_report_member(r, "at_chosen", cJSON_CreateBool(f->chosen));
    mv_report_member(r, "verdict",
                     mv_json_span(r, (mv_span){(const uint8_t *)mv_fragmentation_verdict_name(f),
                                               strlen(mv_fragmentation_verdict_name(f))}));
    mv_report_member(r, "why", mv_json_span(r, (mv_span){(const uint8_t *)f->why, strlen(f->why)}));
    mv_report_member(r, "known", cJSON_CreateBool(f->is_known));
    mv_report_member(r, "over_plain", cJSON_CreateBool(f->over_plain));
    mv_report_member(r, "reserved", mv_json_u64(f->bytes.reserved));
    mv_report_member(r, "allocated", mv_json_u64(f->bytes.allocated));
    mv_report_member(r, "needed", mv_json_u64(f->demand.needed));
    mv_report_member(r, "beyond", mv_json_u64(f->beyond));
    mv_report_member(r, "unexplained", mv_json_i64(mv_heap_unexplained(&f->bytes)));
    mv_report_member(r, "free", free_json(r, f));
    mv_report_member(r, "stranded", stranded_json(r, x, index));
    mv_report_member(r, "pinned_by", lines_json(r, x, f));
    mv_report_member(r, "growth", growth_json(r, x, f));
    mv_report_member(r, "advice", advice_json(r, x, f));
    mv_report_member(r, "replay", replay_json(r, f));
    mv_report_member(r, "devices", devices_json(r, x));
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_verdict(const inspection *x, uint32_t index)
{
    const mv_fragmentation *f = &x->found[index];

    if (f->fragmented) {
        mv_out_style(x->out, MV_STYLE_RED);
        mv_out_text(x->out, "FRAGMENTED  ");
        mv_out_style(x->out, MV_STYLE_NONE);
    }
    mv_out_format(x->out, "device %u: ", x->first + index);
    if (!f->fragmented) {
        mv_out_style(x->out, f->is_known ? MV_STYLE_GREEN : MV_STYLE_YELLOW);
        mv_out_text(x->out, f->answer);
        mv_out_style(x->out, MV_STYLE_NONE);
        mv_out_text(x->out, ": ");
    }
    mv_out_format(x->out, "%s\n  ", f->figures);
    mv_prose_put(x->out, 2, 2, "%s", f->why);
}

static void put_moment(const inspection *x, const mv_fragmentation *f)
{
    char size[7][MV_SIZE_TEXT], doubt[64] = "", at[MV_AT_TEXT];

    mv_out_format(x->out, "  %s%s:\n", mv_at_text(at, x->trace, &f->at),
                  f->chosen ? ", when most was reserved" : "");
    if (mv_heap_unexplained(&f->bytes))
        snprintf(doubt, sizeof doubt, "; %lld bytes unexplained",
                 (long long)mv_heap_unexplained(&f->bytes));
    mv_out_text(x->out, "  ");
    mv_prose_put(x->out, 2, 4,
                 "%s reserved = %s allocated + %s pending + %s stranded in used segments + %s in "
                 "unused ones%s; largest hole %s, rounding %s",
                 mv_size_text(size[0], f->bytes.reserved),
                 mv_size_text(size[1], f->bytes.allocated), mv_size_text(size[2], f->bytes.pending),
                 mv_size_text(size[3], f->stranded), mv_size_text(size[4], f->whole), doubt,
                 mv_size_text(size[5], f->largest), mv_size_text(size[6], f->bytes.rounding));
}

/* What was tried in vain, or could not be; and how far it can be trusted. */
static void put_note(const inspection *x, const char *note)
{
    if (!*note)
        return;
    mv_out_text(x->out, "  ");
    mv_prose_put(x->out, 2, 2, "%s", note);
}

static void put_advice(const inspection *x, const mv_fragmentation *f)
{
    for (uint32_t i = 0; i < f->advice_count; i++) {
        mv_out_style(x->out, MV_STYLE_YELLOW);
        mv_out_text(x->out, "  -> ");
        mv_out_style(x->out, MV_STYLE_NONE);
        mv_prose_put(x->out, 5, 5, "%s", f->advice[i].text);
        if (f->advice[i].stack.row != MV_NO_STACK.row)
            mv_stack_put(x->out, x->trace, x->sites.kinds, f->advice[i].stack,
                         x->cli->options.all_frames, 7);
    }
    put_note(x, f->trials_note);
    put_note(x, f->trust_note);
}

/* Labels of the lines that pin, as far as they are shown. */
static const char **pin_labels(const inspection *x, const mv_fragmentation *f, uint64_t most)
{
    uint32_t count = f->pins.line_count < most ? f->pins.line_count : (uint32_t)most;
    mv_labelled *rows = mv_push_array(&x->cli->scratch, mv_labelled, count);

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = (mv_labelled){.trace = x->trace,
                                .kinds = x->sites.kinds,
                                .stack = f->pins.lines[i].stack,
                                .bytes = f->pins.lines[i].stranded};
    return rows ? mv_labels_find(&x->cli->scratch, rows, count, false) : NULL;
}

static void put_lines(const inspection *x, const mv_fragmentation *f)
{
    static const mv_column columns[] = {
        {"stranded", MV_UNIT_BYTES, 9}, {"beside", MV_UNIT_BYTES, 9},
        {"blocks", MV_UNIT_COUNT, 0},   {"segments", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
        {"age", MV_UNIT_COUNT, 0},      {"by", MV_UNIT_TEXT, 0}};
    uint64_t rows = rows_of(x, f);
    const char **labels = pin_labels(x, f, rows);
    mv_sheet sheet;

    if (f->pins.line_count == 0)
        return;
    mv_sheet_init(&sheet, &x->cli->scratch, columns, 6);
    for (uint32_t i = 0; i < f->pins.line_count && i < rows; i++) {
        const mv_pin *line = &f->pins.lines[i];
        mv_sheet_size(&sheet, line->stranded);
        mv_sheet_size(&sheet, line->bytes);
        mv_sheet_count(&sheet, line->blocks);
        mv_sheet_count(&sheet, line->segments);
        mv_sheet_count(&sheet, mv_pin_age(line, f->at.event));
        mv_sheet_text(&sheet, labels ? labels[i] : "?");
    }
    mv_out_char(x->out, '\n');
    mv_sheet_print(&sheet, x->out, 2);
    mv_rows_put_hidden(x->out, f->pins.line_count, rows);
}

static void put_growth(const inspection *x, const mv_fragmentation *f)
{
    static const mv_column columns[] = {{"added", MV_UNIT_BYTES, 9},
                                        {"asked", MV_UNIT_BYTES | MV_UNIT_SPARE, 9},
                                        {"free", MV_UNIT_BYTES, 9},
                                        {"largest", MV_UNIT_BYTES, 9},
                                        {"event", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
                                        {"because", MV_UNIT_TEXT, 0},
                                        {"for", MV_UNIT_TEXT, 0}};
    uint64_t rows = rows_of(x, f);
    mv_sheet sheet;
    char label[512];

    if (f->growths.count == 0)
        return;
    mv_sheet_init(&sheet, &x->cli->scratch, columns, 7);
    for (uint32_t i = 0; i < f->growths.count && i < rows; i++) {
        const mv_segment_growth *g = &f->growths.rows[i];
        mv_sheet_size(&sheet, g->segment_bytes);
        mv_sheet_size(&sheet, g->request);
        mv_sheet_size(&sheet, g->free);
        mv_sheet_size(&sheet, g->largest);
        mv_sheet_count(&sheet, g->event);
        mv_sheet_text(&sheet, mv_growth_reason_name(g->reason));
        mv_sheet_text(&sheet,
                      mv_culprit_label(x->trace, x->sites.kinds, g->stack, label, sizeof label));
    }
    mv_out_char(x->out, '\n');
    mv_sheet_print(&sheet, x->out, 2);
    mv_rows_put_hidden(x->out, f->growths.count, rows);
}

static void put_device(const inspection *x, uint32_t index)
{
    const mv_fragmentation *f = &x->found[index];

    if (x->lives[index].events.count == 0 && f->bytes.reserved == 0) {
        mv_captured_put_idle(x->out, x->trace, x->first + index);
        return;
    }
    put_verdict(x, index);
    put_moment(x, f);
    put_advice(x, f);
    put_lines(x, f);
    put_growth(x, f);
}

static void put_text(const inspection *x)
{
    bool follows = false;

    for (uint32_t i = x->first; i < x->end; i++) {
        if (!mv_device_is_told(x->trace, x->first, x->end, i))
            continue;
        if (follows)
            mv_out_char(x->out, '\n');
        put_device(x, i - x->first);
        follows = true;
    }
    mv_idle_put_others(x->out, x->trace, x->first, x->end, follows);
}

/* ---- both -------------------------------------------------------------------------------- */

/* What --fail-on asked for. */
static mv_code judge_gates(inspection *x, uint32_t index, mv_err *err)
{
    const mv_fragmentation *f = &x->found[index];
    mv_totals totals;

    if (f->fragmented || !f->is_known)
        mv_gate_judge(&x->cli->gates, MV_GATE_FRAGMENTED,
                      f->fragmented ? MV_GATE_FAILS : MV_GATE_CANNOT_KNOW, "device %u: %s: %s",
                      x->first + index, f->figures, f->why);
    if (mv_totals_find(&x->cli->arena, x->trace, &x->lives[index], &totals, err) != MV_OK)
        return err->code;
    mv_gate_judge_totals(&x->cli->gates, &totals);
    return MV_OK;
}

/* False when a message is out already, or with an error. */
static bool inspect(inspection *x, uint32_t index, mv_err *err)
{
    mv_lives *lives = &x->lives[index];
    mv_fragmentation_opts opts = {0};
    mv_moment at;

    if (mv_lives_find(&x->cli->arena, x->trace, x->first + index, lives, err) != MV_OK ||
        !mv_window_find(x->cli, x->trace, x->first + index, &opts.window))
        return false;
    if (mv_option_given(&x->cli->options, MV_HAS(AT))) {
        if (!mv_at_find(x->cli, x->trace, lives, "peak", &at))
            return false;
        opts.at = &at;
    }
    return mv_fragmentation_find(&x->cli->arena, x->trace, lives, &x->sites, opts, &x->found[index],
                                 err) == MV_OK &&
           judge_gates(x, index, err) == MV_OK;
}

static bool find_all(inspection *x)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    bool found = true;

    x->lives = mv_push_array(&x->cli->arena, mv_lives, x->end - x->first);
    x->found = mv_push_array(&x->cli->arena, mv_fragmentation, (uint64_t)x->end - x->first + 1);
    if (!x->lives || !x->found)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else
        mv_sites_find(&x->cli->arena, x->trace, &x->sites, &err);
    for (uint32_t i = 0; i < x->end - x->first && err.code == MV_OK && found; i++)
        found = inspect(x, i, &err);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(x->cli), &err);
    return err.code == MV_OK && found;
}

int mv_cmd_fragmentation(mv_cli *cli)
{
    mv_trace trace;
    inspection x = {.cli = cli,
                    .out = &cli->out,
                    .trace = &trace,
                    .limit = mv_rows_wanted(cli, TEXT_ROWS, 2, OTHER_LINES)};
    int status = MV_EXIT_DONE;

    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &x.first, &x.end))
        return MV_EXIT_FAILED;
    if (!find_all(&x))
        return MV_EXIT_FAILED;
    if (x.end == x.first)
        x.found[0].why = "the file has no device";
    if (mv_option_given(&cli->options, MV_HAS(JSON)))
        status = put_json(&x);
    else
        put_text(&x);
    return mv_gate_status(&cli->gates, status);
}
