/* memviz ledger: where all memory of a device went, whoever asked for it. */
#include <stdio.h>

#include "analyze/code/culprit.h"
#include "analyze/code/libraries.h"
#include "analyze/ledger/ledger.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/table.h"

/* Rows in text when --limit says nothing, lines beside them; names in the first line. */
enum { TEXT_ROWS = 15, OTHER_LINES = 8, NAME = 64 };

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* of frames */
    int64_t start_us;
    mv_ledger *ledgers; /* [count] */
    uint32_t count;
    uint64_t limit;
} ledger_report;

/* Times count from the first thing that was recorded. */
static int64_t start_of(const mv_trace *trace)
{
    int64_t start = mv_position_start_us(trace);

    if (trace->api_calls.count > 0 && (start == MV_NO_TIME || trace->api_calls.time_us[0] < start))
        start = trace->api_calls.time_us[0];
    return start;
}

static double seconds(const ledger_report *r, int64_t time_us)
{
    return ((double)time_us - (double)r->start_us) / 1e6;
}

/* ---- fields ------------------------------------------------------------------------------ */

#define ROW_FIELDS(COLUMN, MEMBER, LIST)                                                \
    MEMBER("library", mv_value_string(r->trace, row->library))                          \
    COLUMN("name", "who", 3, MV_UNIT_TEXT, 0, mv_value_shown(mv_value_text(name), who)) \
    MEMBER("api", mv_value_string(r->trace, row->api))                                  \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 10, row->bytes)                          \
    COLUMN("count", "count", 2, MV_UNIT_COUNT, 0, row->count)                           \
    MEMBER("framework", row->is_framework)                                              \
    COLUMN("culprit", "most of it for", 4, MV_UNIT_TEXT, 0,                             \
           mv_value_culprit(r->trace, r->kinds, row->stack))                            \
    MEMBER("frames", mv_value_frames(r->trace, row->stack))

static void add_remainder(mv_rows *rows, const char *what, int64_t bytes)
{
    mv_rows_add_some(
        rows, 2, (mv_named_value[]){{"name", mv_value_text(what)}, {"bytes", mv_value_i64(bytes)}});
}

static void list_rows(mv_rows *rows, const void *all, const void *one)
{
    const ledger_report *r = all;
    const mv_ledger *ledger = one;
    uint32_t count = mv_rows_take(rows, ledger->count, r->limit);
    char name[MV_LIBRARY_NAME], who[2 * MV_LIBRARY_NAME];

    for (uint32_t i = 0; i < count; i++) {
        const mv_ledger_row *row = &ledger->by[i];
        mv_library_name(mv_string_text(r->trace, row->library), name);
        snprintf(who, sizeof who, "%s %.60s", name, mv_string_text(r->trace, row->api));
        MV_ROWS_ADD(rows, ROW_FIELDS);
    }
    if (mv_rows_are_text(rows) && ledger->used != MV_NO_BYTES) {
        add_remainder(rows, "context and code (estimate)", ledger->context_estimate);
        add_remainder(rows, "unexplained", ledger->unexplained);
    }
}

static const mv_table row_table = {MV_TABLE(ROW_FIELDS, list_rows)};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                              \
    MEMBER("device", ledger->device)                                                     \
    MEMBER("at.time_us", mv_value_time(ledger->time_us))                                 \
    MEMBER("at.sample_us", mv_value_time(ledger->sample_us))                             \
    MEMBER("at.event", mv_value_event(ledger->event))                                    \
    MEMBER("used", mv_value_bytes(ledger->used))                                         \
    MEMBER("why", ledger->why)                                                           \
    MEMBER("basis", basis)                                                               \
    MEMBER("total", mv_value_bytes(ledger->total))                                       \
    MEMBER("others", mv_value_bytes(ledger->others))                                     \
    MEMBER("framework_reserved", ledger->framework_reserved)                             \
    LIST("by", &row_table, mv_value_rows(ledger))                                        \
    MEMBER("by_sum", ledger->by_sum)                                                     \
    MEMBER("context_estimate", is_known ? mv_value_i64(ledger->context_estimate) : null) \
    MEMBER("unexplained", is_known ? mv_value_i64(ledger->unexplained) : null)           \
    MEMBER("pinned_host.bytes", ledger->host.bytes)                                      \
    MEMBER("pinned_host.count", ledger->host.count)                                      \
    MEMBER("other_processes_memory.bytes", ledger->foreign.bytes)                        \
    MEMBER("other_processes_memory.count", ledger->foreign.count)

static void list_devices(mv_rows *rows, const void *all, const void *one)
{
    const ledger_report *r = all;
    mv_value null = mv_value_of(MV_VALUE_NULL);

    (void)one;
    for (uint32_t i = 0; i < r->count; i++) {
        const mv_ledger *ledger = &r->ledgers[i];
        bool is_known = ledger->used != MV_NO_BYTES;
        const char *basis = !is_known ? "none" : ledger->is_process ? "process" : "device";
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST) LIST("devices", &device_table, mv_value_rows(NULL))

const mv_table mv_report_ledger = {MV_TABLE(REPORT_FIELDS, mv_rows_list_lists),
                                   .main = "devices.by"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_verdict(const ledger_report *r, const mv_ledger *ledger)
{
    mv_out_style(r->out, MV_STYLE_BOLD);
    mv_prose_put(r->out, 0, 2, "device %u: %s", ledger->device, ledger->verdict);
    mv_out_style(r->out, MV_STYLE_NONE);
}

static void put_moment(const ledger_report *r, const mv_ledger *ledger)
{
    mv_out *out = r->out;

    if (ledger->time_us != MV_NO_TIME && r->start_us != MV_NO_TIME) {
        mv_out_format(out, "  at %.3f s", seconds(r, ledger->time_us));
        if (ledger->sample_us != MV_NO_TIME)
            mv_out_format(out, ", use sampled at %.3f s", seconds(r, ledger->sample_us));
        mv_out_char(out, '\n');
    }
    if (*ledger->basis) {
        mv_out_text(out, "  ");
        mv_prose_put(out, 2, 4, "%s", ledger->basis);
    }
}

/* What is in no sum. */
static void put_beside(const ledger_report *r, const mv_ledger *ledger)
{
    char size[MV_SIZE_TEXT];
    mv_out *out = r->out;

    mv_out_format(out, "\n  %s\n", ledger->check);
    if (ledger->host.count > 0)
        mv_out_format(out, "  pinned memory of the host: %s in %llu allocations\n",
                      mv_size_text(size, ledger->host.bytes),
                      (unsigned long long)ledger->host.count);
    if (ledger->foreign.bytes > 0)
        mv_out_format(out, "  memory of other processes that is open here: %s\n",
                      mv_size_text(size, ledger->foreign.bytes));
}

static int put_report(const ledger_report *r)
{
    bool is_captured = mv_trace_is_captured(r->trace);

    if (mv_table_is_wanted(r->cli))
        mv_table_put(r->cli, r);
    r->cli->keeps_report = true;
    if (!is_captured)
        return mv_complain_of(mv_input_name(r->cli), "%s", MV_LEDGER_NO_CAPTURE);
    if (mv_table_is_wanted(r->cli))
        return MV_EXIT_DONE;
    if (r->count == 0)
        mv_out_text(r->out, "nothing is known of any device\n");
    for (uint32_t i = 0; i < r->count; i++) {
        if (i > 0)
            mv_out_char(r->out, '\n');
        put_verdict(r, &r->ledgers[i]);
        put_moment(r, &r->ledgers[i]);
        mv_table_print(r->cli, &row_table, r, &r->ledgers[i], "\n");
        put_beside(r, &r->ledgers[i]);
    }
    return MV_EXIT_DONE;
}

/* ---- both -------------------------------------------------------------------------------- */

/* False, with a message, when --at names no moment. */
static bool read_at(ledger_report *r, const mv_lives *lives, mv_ledger_ask *ask)
{
    const char *at = r->cli->options.at;
    mv_moment moment;

    *ask = (mv_ledger_ask){.when = MV_LEDGER_MOST_USED};
    if (!at)
        return true;
    if (strcmp(at, "end") == 0) {
        ask->when = MV_LEDGER_END;
    } else if (lives->events.count > 0) {
        if (!mv_at_find(r->cli, r->trace, lives, "end", &moment))
            return false;
        *ask = mv_ledger_after_event(r->trace, lives->device, moment.event);
    } else if (strcmp(at, "peak") == 0) {
        ask->when = MV_LEDGER_MOST_HELD;
    } else {
        mv_complain_of(mv_input_name(r->cli),
                       "device %u has no events of PyTorch: --at can be peak or end",
                       lives->device);
        return false;
    }
    return true;
}

static int find_device(ledger_report *r, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_ledger_ask ask;
    mv_lives lives;

    if (mv_lives_find(&r->cli->arena, r->trace, device, &lives, &err) != MV_OK)
        return mv_complain(mv_input_name(r->cli), &err);
    if (!read_at(r, &lives, &ask))
        return MV_EXIT_FAILED;
    if (mv_ledger_find(&r->cli->arena, r->trace, &lives, ask, &r->ledgers[r->count], &err) != MV_OK)
        return mv_complain(mv_input_name(r->cli), &err);
    r->count++;
    return MV_EXIT_DONE;
}

static int find_devices(ledger_report *r)
{
    uint64_t devices = mv_ledger_devices(r->trace);
    int64_t only = r->cli->options.device;

    if (only != MV_ALL_DEVICES && (only >= 64 || !(devices >> only & 1)))
        return mv_complain_of(mv_input_name(r->cli), "nothing is known of device %lld",
                              (long long)only);
    for (uint32_t i = 0; i < 64; i++) {
        if (!(devices >> i & 1) || (only != MV_ALL_DEVICES && only != i))
            continue;
        if (find_device(r, i) != MV_EXIT_DONE)
            return MV_EXIT_FAILED;
    }
    return MV_EXIT_DONE;
}

int mv_cmd_ledger(mv_cli *cli)
{
    mv_trace trace;
    ledger_report r = {.cli = cli,
                       .out = &cli->out,
                       .trace = &trace,
                       .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};

    if (!mv_input_read(cli, &trace))
        return MV_EXIT_FAILED;
    r.start_us = start_of(&trace);
    r.kinds = mv_frame_kinds(&cli->arena, &trace);
    r.ledgers = mv_push_array(&cli->arena, mv_ledger, 64);
    if (!r.kinds || !r.ledgers)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    return find_devices(&r) == MV_EXIT_DONE ? put_report(&r) : MV_EXIT_FAILED;
}
