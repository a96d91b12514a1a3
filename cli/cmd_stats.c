/* memviz stats: totals now and at their peaks, per device and pool, and how far to trust them. */
#include <stdio.h>

#include "analyze/totals/host_totals.h"
#include "analyze/totals/totals.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"

typedef struct {
    mv_totals totals;
    mv_history_kind history;
    const char *history_why;
} device_stats;

/* ---- JSON -------------------------------------------------------------------------------- */

static void add_levels(mv_report *r, cJSON *o, const mv_levels *bytes)
{
    mv_json_add_u64(r, o, "allocated", bytes->allocated);
    mv_json_add_u64(r, o, "active", bytes->active);
    mv_json_add_u64(r, o, "requested", bytes->requested);
    mv_json_add_u64(r, o, "reserved", bytes->reserved);
}

static void add_current(mv_report *r, cJSON *parent, const mv_current *current)
{
    cJSON *o = mv_json_object(r, parent, "current");

    add_levels(r, o, &current->bytes);
    mv_json_add_u64(r, o, "segments", current->segments);
    mv_json_add_u64(r, o, "allocations", current->allocations);
}

static void add_event(mv_report *r, cJSON *o, const char *key, uint32_t event)
{
    mv_json_add(r, o, key, event == MV_BEFORE ? cJSON_CreateNull() : mv_json_u64(event));
}

static void add_peak(mv_report *r, cJSON *parent, const mv_peak *peak)
{
    cJSON *o = mv_json_object(r, parent, "peak");

    add_levels(r, o, &peak->bytes);
    add_event(r, o, "allocated_event", peak->allocated_event);
    add_event(r, o, "active_event", peak->active_event);
    add_event(r, o, "requested_event", peak->requested_event);
    add_event(r, o, "reserved_event", peak->reserved_event);
}

static void add_pools(mv_report *r, cJSON *parent, const mv_trace *trace, const mv_totals *t)
{
    cJSON *array = mv_json_array(r, parent, "pools");

    for (uint32_t i = 0; i < t->pool_count; i++) {
        const mv_pool_totals *p = &t->pools[i];
        cJSON *o = mv_json_object(r, array, NULL), *id;
        mv_json_add_text(r, o, "pool", mv_segment_kind_name(p->kind));
        id = mv_json_array(r, o, "pool_id");
        mv_json_add(r, id, NULL, mv_json_u64(trace->pools.a[p->pool_id.row]));
        mv_json_add(r, id, NULL, mv_json_u64(trace->pools.b[p->pool_id.row]));
        add_current(r, o, &p->current);
        add_peak(r, o, &p->peak);
    }
}

static void add_audit(mv_report *r, cJSON *parent, const mv_audit *audit)
{
    cJSON *o = mv_json_object(r, parent, "audit"), *exact, *notes;

    mv_json_add_bool(r, o, "exact", audit->exact);
    mv_json_add_i64(r, o, "residual", audit->residual);
    exact = mv_json_object(r, o, "peak_exact");
    mv_json_add_bool(r, exact, "allocated", audit->allocated_exact);
    mv_json_add_bool(r, exact, "active", audit->active_exact);
    mv_json_add_bool(r, exact, "requested", audit->requested_exact);
    mv_json_add_bool(r, exact, "reserved", audit->reserved_exact);
    mv_json_add_bool(r, o, "total_exact", audit->total_exact);
    notes = mv_json_array(r, o, "notes");
    for (uint32_t i = 0; i < audit->count; i++)
        mv_json_add_text(r, notes, NULL, audit->notes[i]);
}

static void add_host_levels(mv_report *r, cJSON *o, const char *key, mv_host_levels levels)
{
    cJSON *inner = mv_json_object(r, o, key);

    mv_json_add_u64(r, inner, "allocated", levels.allocated);
    mv_json_add_u64(r, inner, "reserved", levels.reserved);
}

/* Pinned memory; null when the file has nothing about it. */
static cJSON *host_json(mv_report *r, const mv_trace *trace)
{
    mv_host_totals host = mv_host_totals_of(trace);
    cJSON *o;

    if (!host.is_there)
        return cJSON_CreateNull();
    o = mv_json_object(r, NULL, NULL);
    add_host_levels(r, o, "current", host.now);
    add_host_levels(r, o, "peak", host.peak);
    mv_json_add_u64(r, o, "segments", host.segments);
    mv_json_add_u64(r, o, "allocations", host.allocations);
    mv_json_add_u64(r, o, "events", host.events);
    return o;
}

static int put_json(mv_cli *cli, const mv_trace *trace, const device_stats *stats, uint32_t count)
{
    mv_report report, *r = &report;
    cJSON *array;

    mv_report_open(r, cli);
    array = mv_json_array(r, NULL, NULL);
    for (uint32_t i = 0; i < count; i++) {
        const mv_totals *t = &stats[i].totals;
        cJSON *o = mv_json_object(r, array, NULL), *total;
        mv_json_add_u64(r, o, "device", t->device);
        mv_json_add_text(r, o, "history", mv_history_name(stats[i].history));
        mv_json_add_text(r, o, "history_why", stats[i].history_why);
        add_current(r, o, &t->current);
        add_peak(r, o, &t->peak);
        total = mv_json_object(r, o, "total");
        mv_json_add_u64(r, total, "allocated", t->total.allocated);
        mv_json_add_u64(r, total, "freed", t->total.freed);
        add_pools(r, o, trace, t);
        add_audit(r, o, &t->audit);
    }
    mv_report_member(r, "devices", array);
    mv_report_member(r, "host", host_json(r, trace));
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

/* A peak that is only a lower bound is marked. */
static void peak_cell(mv_sheet *sheet, uint64_t bytes, bool exact)
{
    char size[MV_SIZE_TEXT], text[MV_SIZE_TEXT + 4];

    mv_size_text(size, bytes);
    snprintf(text, sizeof text, "%s%s", exact ? "" : ">= ", size);
    mv_sheet_text(sheet, text);
}

static void event_cells(mv_sheet *sheet, const mv_trace *trace, uint32_t device, uint32_t event)
{
    mv_events e = mv_trace_events(trace, device);
    int64_t start = mv_position_start_us(trace);
    char text[40];

    if (event >= e.count) {
        mv_sheet_text(sheet, "before");
        mv_sheet_text(sheet, "");
        return;
    }
    mv_sheet_count(sheet, event);
    if (start == MV_NO_TIME || e.time_us[event] == MV_NO_TIME)
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%.6f s", (double)(e.time_us[event] - start) / 1e6);
    mv_sheet_text(sheet, text);
}

static void put_levels(mv_cli *cli, const mv_trace *trace, const mv_totals *t)
{
    static const mv_column columns[] = {
        {"", MV_UNIT_TEXT, 9},          {"current", MV_UNIT_BYTES, 9}, {"peak", MV_UNIT_BYTES, 9},
        {"at event", MV_UNIT_COUNT, 8}, {"time", MV_UNIT_COUNT, 0},
    };
    const struct {
        const char *name;
        uint64_t current, peak;
        bool exact;
        uint32_t event;
    } rows[] = {
        {"allocated", t->current.bytes.allocated, t->peak.bytes.allocated, t->audit.allocated_exact,
         t->peak.allocated_event},
        {"active", t->current.bytes.active, t->peak.bytes.active, t->audit.active_exact,
         t->peak.active_event},
        {"requested", t->current.bytes.requested, t->peak.bytes.requested, t->audit.requested_exact,
         t->peak.requested_event},
        {"reserved", t->current.bytes.reserved, t->peak.bytes.reserved, t->audit.reserved_exact,
         t->peak.reserved_event},
    };
    mv_sheet sheet;

    mv_sheet_init(&sheet, &cli->scratch, columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        mv_sheet_text(&sheet, rows[i].name);
        mv_sheet_size(&sheet, rows[i].current);
        peak_cell(&sheet, rows[i].peak, rows[i].exact);
        event_cells(&sheet, trace, t->device, rows[i].event);
    }
    mv_sheet_print(&sheet, &cli->out, 2);
}

static void put_pools(mv_cli *cli, const mv_trace *trace, const mv_totals *t)
{
    static const mv_column columns[] = {
        {"pool", MV_UNIT_TEXT, 9},
        {"allocated", MV_UNIT_BYTES, 0},
        {"requested", MV_UNIT_BYTES | MV_UNIT_SPARE, 0},
        {"reserved", MV_UNIT_BYTES, 0},
        {"segments", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
        {"allocations", MV_UNIT_COUNT | MV_UNIT_SPARE, 0},
        {"peak allocated", MV_UNIT_BYTES, 0},
        {"peak reserved", MV_UNIT_BYTES, 0},
    };
    mv_sheet sheet;
    char name[64];
    uint64_t rows = mv_option_given(&cli->options, MV_HAS(LIMIT)) && cli->options.limit
                        ? cli->options.limit
                        : UINT64_MAX;

    mv_sheet_init(&sheet, &cli->scratch, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < t->pool_count && i < rows; i++) {
        const mv_pool_totals *p = &t->pools[i];
        snprintf(name, sizeof name, "%s (%llu, %llu)", mv_segment_kind_name(p->kind),
                 (unsigned long long)trace->pools.a[p->pool_id.row],
                 (unsigned long long)trace->pools.b[p->pool_id.row]);
        mv_sheet_text(&sheet, name);
        mv_sheet_size(&sheet, p->current.bytes.allocated);
        mv_sheet_size(&sheet, p->current.bytes.requested);
        mv_sheet_size(&sheet, p->current.bytes.reserved);
        mv_sheet_count(&sheet, p->current.segments);
        mv_sheet_count(&sheet, p->current.allocations);
        peak_cell(&sheet, p->peak.bytes.allocated, t->audit.allocated_exact);
        peak_cell(&sheet, p->peak.bytes.reserved, t->audit.reserved_exact);
    }
    mv_sheet_print(&sheet, &cli->out, 2);
    mv_rows_put_hidden(&cli->out, t->pool_count, rows);
}

static void put_audit(mv_out *out, const mv_audit *audit)
{
    mv_out_text(out, "  audit: ");
    mv_out_style(out, audit->exact ? MV_STYLE_GREEN : MV_STYLE_YELLOW);
    mv_out_text(out, audit->exact ? "exact" : "not exact");
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_format(out, ", residual %lld bytes\n", (long long)audit->residual);
    for (uint32_t i = 0; i < audit->count; i++) {
        mv_out_text(out, "    ");
        mv_prose_put(out, 4, 6, "%s", audit->notes[i]);
    }
}

static void put_device(mv_cli *cli, const mv_trace *trace, const device_stats *stats)
{
    mv_out *out = &cli->out;
    const mv_totals *t = &stats->totals;
    const char *least = t->audit.total_exact ? "" : ">= ";
    char allocated[MV_SIZE_TEXT], freed[MV_SIZE_TEXT];

    if (mv_trace_events(trace, t->device).count == 0 && t->current.segments == 0) {
        mv_captured_put_idle(out, trace, t->device);
        return;
    }

    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_format(out, "device %u", t->device);
    mv_out_style(out, MV_STYLE_NONE);
    if (stats->history == MV_HISTORY_NONE)
        mv_prose_put(out, 10, 2, ": %s", stats->history_why);
    else
        mv_prose_put(out, 10, 2, ": history %s: %s", mv_history_name(stats->history),
                     stats->history_why);
    put_levels(cli, trace, t);
    mv_out_text(out, "  ");
    mv_prose_put(out, 2, 4,
                 "%s%s allocated in all, %s%s freed; now %llu segment%s, %llu allocation%s", least,
                 mv_size_text(allocated, t->total.allocated), least,
                 mv_size_text(freed, t->total.freed), (unsigned long long)t->current.segments,
                 t->current.segments == 1 ? "" : "s", (unsigned long long)t->current.allocations,
                 t->current.allocations == 1 ? "" : "s");
    mv_out_char(out, '\n');
    put_pools(cli, trace, t);
    put_audit(out, &t->audit);
}

static void put_host(mv_out *out, const mv_trace *trace)
{
    mv_host_totals host = mv_host_totals_of(trace);
    char now[MV_SIZE_TEXT], used[MV_SIZE_TEXT], most[MV_SIZE_TEXT], most_used[MV_SIZE_TEXT];

    if (!host.is_there)
        return;
    mv_out_char(out, '\n');
    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_text(out, "host");
    mv_out_style(out, MV_STYLE_NONE);
    mv_prose_put(
        out, 4, 2, ": %s pinned in %u %s, %s of it allocated; at most %s pinned, %s allocated",
        mv_size_text(now, host.now.reserved), host.segments,
        host.segments == 1 ? "segment" : "segments", mv_size_text(used, host.now.allocated),
        mv_size_text(most, host.peak.reserved), mv_size_text(most_used, host.peak.allocated));
}

/* ---- both -------------------------------------------------------------------------------- */

/* The lives of a device are large, and not needed once its totals are known. */
static mv_code find_device(mv_cli *cli, const mv_trace *trace, uint32_t device, device_stats *stats,
                           mv_err *err)
{
    mv_arena arena;
    mv_lives lives;
    mv_code code;

    mv_arena_init(&arena, &cli->budget);
    code = mv_lives_find(&arena, trace, device, &lives, err);
    if (code == MV_OK)
        code = mv_totals_find(&cli->arena, trace, &lives, &stats->totals, err);
    if (code == MV_OK) {
        stats->history = lives.history;
        stats->history_why =
            mv_arena_text(&cli->arena, lives.history_why, strlen(lives.history_why));
        if (!stats->history_why)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    mv_arena_release(&arena);
    return code;
}

int mv_cmd_stats(mv_cli *cli)
{
    mv_trace trace;
    uint32_t first, end;
    device_stats *stats;
    mv_err err = {.offset = MV_NO_OFFSET};
    bool follows = false;

    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &first, &end))
        return MV_EXIT_FAILED;
    stats = mv_push_array(&cli->arena, device_stats, end - first);
    if (!stats)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = first; i < end && err.code == MV_OK; i++)
        find_device(cli, &trace, i, &stats[i - first], &err);
    if (err.code != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    for (uint32_t i = 0; i < end - first; i++)
        mv_gate_judge_totals(&cli->gates, &stats[i].totals);
    if (mv_option_given(&cli->options, MV_HAS(JSON)))
        return mv_gate_status(&cli->gates, put_json(cli, &trace, stats, end - first));
    for (uint32_t i = first; i < end; i++) {
        if (!mv_device_is_told(&trace, first, end, i))
            continue;
        if (follows)
            mv_out_char(&cli->out, '\n');
        put_device(cli, &trace, &stats[i - first]);
        follows = true;
    }
    mv_idle_put_others(&cli->out, &trace, first, end, follows);
    put_host(&cli->out, &trace);
    return mv_gate_status(&cli->gates, MV_EXIT_DONE);
}
