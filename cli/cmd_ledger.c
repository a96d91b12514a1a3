/* memviz ledger: where all memory of a device went, whoever asked for it. */
#include <stdio.h>

#include "analyze/code/culprit.h"
#include "analyze/ledger/ledger.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/report/prose.h"
#include "cli/report/sheet.h"

/* Rows in text when --limit says nothing; names in the first line. */
enum { TEXT_ROWS = 15, VERDICT_NAMES = 4, NAME = 64 };

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* of frames */
    int64_t start_us;
    mv_ledger *ledgers; /* [count] */
    uint32_t count;
    uint64_t limit;
} books;

/* Times count from the first thing that was recorded. */
static int64_t start_of(const mv_trace *trace)
{
    int64_t start = mv_position_start_us(trace);

    if (trace->api_calls.count > 0 && (start == MV_NO_TIME || trace->api_calls.time_us[0] < start))
        start = trace->api_calls.time_us[0];
    return start;
}

static double seconds(const books *b, int64_t time_us)
{
    return ((double)time_us - (double)b->start_us) / 1e6;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void add_rows(mv_report *r, cJSON *array, const books *b, const mv_ledger *ledger)
{
    char name[NAME], label[512];

    for (uint32_t i = 0; i < ledger->count && i < b->limit; i++) {
        const mv_ledger_row *row = &ledger->by[i];
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add(r, o, "library", mv_json_string(r, b->trace, row->library));
        mv_json_add_text(
            r, o, "name",
            mv_library_name(mv_string_text(b->trace, row->library), name, sizeof name));
        mv_json_add(r, o, "api", mv_json_string(r, b->trace, row->api));
        mv_json_add_u64(r, o, "bytes", row->bytes);
        mv_json_add_u64(r, o, "count", row->count);
        mv_json_add_bool(r, o, "framework", row->is_framework);
        mv_culprit_label(b->trace, b->kinds, row->stack, label, sizeof label);
        mv_json_add_text(r, o, "culprit", label);
        mv_json_add(r, o, "frames", mv_json_frames(r, b->trace, row->stack));
    }
}

static void add_held(mv_report *r, cJSON *o, const char *key, mv_held held)
{
    cJSON *inner = mv_json_object(r, o, key);

    mv_json_add_u64(r, inner, "bytes", held.bytes);
    mv_json_add_u64(r, inner, "count", held.count);
}

static void add_at(mv_report *r, cJSON *o, const mv_ledger *ledger)
{
    cJSON *at = mv_json_object(r, o, "at");

    mv_json_add(r, at, "time_us", mv_json_time(ledger->time_us));
    mv_json_add(r, at, "sample_us", mv_json_time(ledger->sample_us));
    mv_json_add(r, at, "event",
                ledger->event == MV_BEFORE ? cJSON_CreateNull() : mv_json_u64(ledger->event));
}

static void add_device(mv_report *r, cJSON *array, const books *b, const mv_ledger *ledger)
{
    cJSON *o = mv_json_object(r, array, NULL);
    bool is_known = ledger->used != MV_NO_BYTES;

    mv_json_add_u64(r, o, "device", ledger->device);
    add_at(r, o, ledger);
    mv_json_add(r, o, "used", mv_json_bytes(ledger->used));
    mv_json_add(r, o, "why",
                ledger->why
                    ? mv_json_span(r, (mv_span){(const uint8_t *)ledger->why, strlen(ledger->why)})
                    : cJSON_CreateNull());
    mv_json_add_text(r, o, "basis", !is_known ? "none" : ledger->is_process ? "process" : "device");
    mv_json_add(r, o, "total", mv_json_bytes(ledger->total));
    mv_json_add(r, o, "others", mv_json_bytes(ledger->others));
    mv_json_add_u64(r, o, "framework_reserved", ledger->framework_reserved);
    add_rows(r, mv_json_array(r, o, "by"), b, ledger);
    mv_json_add_u64(r, o, "by_sum", ledger->by_sum);
    mv_json_add(r, o, "context_estimate",
                is_known ? mv_json_i64(ledger->context_estimate) : cJSON_CreateNull());
    mv_json_add(r, o, "unexplained",
                is_known ? mv_json_i64(ledger->unexplained) : cJSON_CreateNull());
    add_held(r, o, "pinned_host", ledger->host);
    add_held(r, o, "other_processes_memory", ledger->foreign);
}

static int put_json(const books *b)
{
    mv_report report;
    cJSON *devices;

    mv_report_open(&report, b->cli);
    devices = mv_json_array(&report, NULL, NULL);
    for (uint32_t i = 0; i < b->count; i++)
        add_device(&report, devices, b, &b->ledgers[i]);
    mv_report_member(&report, "devices", devices);
    return mv_report_close(&report);
}

/* ---- text -------------------------------------------------------------------------------- */

#define SENTENCE 640

static void add_signed(char text[SENTENCE], const char *before, int64_t bytes)
{
    char size[MV_SIZE_TEXT];

    mv_prose_add(text, SENTENCE, "%s%s%s", before, bytes < 0 ? "-" : "",
                 mv_size_text(size, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes));
}

/* The libraries that hold most, by name; what is not named is told together. */
static uint64_t add_names(const books *b, const mv_ledger *ledger, char text[SENTENCE])
{
    char names[VERDICT_NAMES][NAME], name[NAME], size[MV_SIZE_TEXT];
    uint64_t sums[VERDICT_NAMES] = {0}, told = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < ledger->count; i++) {
        uint32_t k = 0;
        mv_library_name(mv_string_text(b->trace, ledger->by[i].library), name, sizeof name);
        while (k < count && strcmp(names[k], name) != 0)
            k++;
        if (k == VERDICT_NAMES)
            continue;
        if (k == count)
            memcpy(names[count++], name, sizeof name);
        sums[k] += ledger->by[i].bytes;
    }
    for (uint32_t k = 0; k < count; k++) {
        mv_prose_add(text, SENTENCE, "%s%s %s", k ? ", " : "", names[k],
                     mv_size_text(size, sums[k]));
        told += sums[k];
    }
    if (ledger->by_sum > told)
        mv_prose_add(text, SENTENCE, ", others %s", mv_size_text(size, ledger->by_sum - told));
    return ledger->by_sum;
}

static void put_verdict(const books *b, const mv_ledger *ledger)
{
    bool is_known = ledger->used != MV_NO_BYTES;
    char size[MV_SIZE_TEXT], text[SENTENCE] = "";

    mv_prose_add(text, SENTENCE, "device %u: %s %s: ", ledger->device,
                 mv_size_text(size, is_known ? ledger->used : ledger->by_sum),
                 is_known ? "used" : "asked for");
    if (add_names(b, ledger, text) == 0)
        mv_prose_add(text, SENTENCE, "nothing held by calls");
    if (is_known) {
        add_signed(text, ", context and code ", ledger->context_estimate);
        add_signed(text, ", unexplained ", ledger->unexplained);
        if (ledger->used > 0)
            mv_prose_add(text, SENTENCE, " (%.0f %%)",
                         (double)ledger->unexplained / (double)ledger->used * 100);
    }
    mv_out_style(b->out, MV_STYLE_BOLD);
    mv_prose_put(b->out, 0, 2, "%s", text);
    mv_out_style(b->out, MV_STYLE_NONE);
}

static void put_moment(const books *b, const mv_ledger *ledger)
{
    char size[MV_SIZE_TEXT], others[64] = "";
    mv_out *out = b->out;

    if (ledger->time_us != MV_NO_TIME && b->start_us != MV_NO_TIME) {
        mv_out_format(out, "  at %.3f s", seconds(b, ledger->time_us));
        if (ledger->sample_us != MV_NO_TIME)
            mv_out_format(out, ", use sampled at %.3f s", seconds(b, ledger->sample_us));
        mv_out_char(out, '\n');
    }
    if (ledger->why) {
        mv_out_text(out, "  ");
        mv_prose_put(out, 2, 4, "use of the device is not known: %s", ledger->why);
        return;
    }
    if (ledger->total == MV_NO_BYTES)
        return;
    if (ledger->others != MV_NO_BYTES)
        snprintf(others, sizeof others, ", %s of it in use by others",
                 mv_size_text(size, ledger->others));
    mv_out_text(out, "  ");
    mv_prose_put(
        out, 2, 4, "the device has %s%s; use is %s", mv_size_text(size, ledger->total), others,
        ledger->is_process ? "this process's own" : "the device's, less what was in use before");
}

static void add_signed_row(mv_sheet *sheet, mv_arena *arena, int64_t bytes, const char *what)
{
    char size[MV_SIZE_TEXT], text[MV_SIZE_TEXT + 1];
    const char *kept;

    mv_size_text(size, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
    snprintf(text, sizeof text, "%s%s", bytes < 0 ? "-" : "", size);
    kept = mv_arena_text(arena, text, strlen(text));
    mv_sheet_text(sheet, kept ? kept : "");
    mv_sheet_text(sheet, "");
    mv_sheet_text(sheet, what);
    mv_sheet_text(sheet, "");
}

static void put_rows(const books *b, const mv_ledger *ledger)
{
    static const mv_column columns[] = {{"bytes", MV_UNIT_BYTES, 10},
                                        {"count", MV_UNIT_COUNT, 0},
                                        {"who", MV_UNIT_TEXT, 0},
                                        {"most of it for", MV_UNIT_TEXT, 0}};
    char name[NAME], who[2 * NAME], label[512];
    mv_arena *scratch = &b->cli->scratch;
    mv_sheet sheet;

    if (ledger->count == 0 && ledger->used == MV_NO_BYTES)
        return;
    mv_sheet_init(&sheet, scratch, columns, 4);
    for (uint32_t i = 0; i < ledger->count && i < b->limit; i++) {
        const mv_ledger_row *row = &ledger->by[i];
        mv_library_name(mv_string_text(b->trace, row->library), name, sizeof name);
        snprintf(who, sizeof who, "%s %.60s", name, mv_string_text(b->trace, row->api));
        mv_sheet_size(&sheet, row->bytes);
        mv_sheet_count(&sheet, row->count);
        mv_sheet_text(&sheet, who);
        mv_sheet_text(&sheet,
                      mv_culprit_label(b->trace, b->kinds, row->stack, label, sizeof label));
    }
    if (ledger->used != MV_NO_BYTES) {
        add_signed_row(&sheet, scratch, ledger->context_estimate, "context and code (estimate)");
        add_signed_row(&sheet, scratch, ledger->unexplained, "unexplained");
    }
    mv_out_char(b->out, '\n');
    mv_sheet_print(&sheet, b->out, 2);
    if (ledger->count > b->limit)
        mv_out_format(b->out, "  %llu more; --limit 0 shows all\n",
                      (unsigned long long)(ledger->count - b->limit));
}

/* What is in no sum. */
static void put_beside(const books *b, const mv_ledger *ledger)
{
    uint64_t framework = 0;
    char size[MV_SIZE_TEXT], sum[MV_SIZE_TEXT];
    mv_out *out = b->out;

    for (uint32_t i = 0; i < ledger->count; i++)
        framework += ledger->by[i].is_framework ? ledger->by[i].bytes : 0;
    mv_out_char(out, '\n');
    if (ledger->framework_reserved == framework && framework == 0)
        mv_out_text(out, "  nothing is reserved by PyTorch's allocator\n");
    else if (ledger->framework_reserved == framework)
        mv_out_format(out, "  PyTorch's allocator says the same: %s reserved\n",
                      mv_size_text(size, framework));
    else
        mv_out_format(out, "  PyTorch's allocator says %s reserved; its calls hold %s\n",
                      mv_size_text(size, ledger->framework_reserved), mv_size_text(sum, framework));
    if (ledger->host.count > 0)
        mv_out_format(out, "  pinned memory of the host: %s in %llu allocations\n",
                      mv_size_text(size, ledger->host.bytes),
                      (unsigned long long)ledger->host.count);
    if (ledger->foreign.bytes > 0)
        mv_out_format(out, "  memory of other processes that is open here: %s\n",
                      mv_size_text(size, ledger->foreign.bytes));
}

static int put_report(const books *b)
{
    if (mv_option_given(&b->cli->options, MV_HAS(JSON)))
        return put_json(b);
    if (!mv_trace_is_captured(b->trace))
        return mv_complain_of(mv_input_name(b->cli), "%s", MV_LEDGER_NO_CAPTURE);
    if (b->count == 0)
        mv_out_text(b->out, "nothing is known of any device\n");
    for (uint32_t i = 0; i < b->count; i++) {
        if (i > 0)
            mv_out_char(b->out, '\n');
        put_verdict(b, &b->ledgers[i]);
        put_moment(b, &b->ledgers[i]);
        put_rows(b, &b->ledgers[i]);
        put_beside(b, &b->ledgers[i]);
    }
    return MV_EXIT_DONE;
}

/* ---- both -------------------------------------------------------------------------------- */

/* False, with a message, when --at names no moment. */
static bool read_at(books *b, const mv_lives *lives, mv_ledger_ask *ask)
{
    const char *at = b->cli->options.at;
    mv_moment moment;

    *ask = (mv_ledger_ask){.when = MV_LEDGER_MOST_USED};
    if (!at)
        return true;
    if (strcmp(at, "end") == 0) {
        ask->when = MV_LEDGER_END;
    } else if (lives->events.count > 0) {
        if (!mv_at_find(b->cli, b->trace, lives, "end", &moment))
            return false;
        *ask = mv_ledger_behind_event(b->trace, lives->device, moment.event);
    } else if (strcmp(at, "peak") == 0) {
        ask->when = MV_LEDGER_MOST_HELD;
    } else {
        mv_complain_of(mv_input_name(b->cli),
                       "device %u has no events of PyTorch: --at can be peak or end",
                       lives->device);
        return false;
    }
    return true;
}

static int find_device(books *b, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_ledger_ask ask;
    mv_lives lives;

    if (mv_lives_find(&b->cli->arena, b->trace, device, &lives, &err) != MV_OK)
        return mv_complain(mv_input_name(b->cli), &err);
    if (!read_at(b, &lives, &ask))
        return MV_EXIT_FAILED;
    if (mv_ledger_find(&b->cli->arena, b->trace, &lives, ask, &b->ledgers[b->count], &err) != MV_OK)
        return mv_complain(mv_input_name(b->cli), &err);
    b->count++;
    return MV_EXIT_DONE;
}

static int find_devices(books *b)
{
    uint64_t devices = mv_ledger_devices(b->trace);
    int64_t only = b->cli->options.device;

    if (only != MV_ALL_DEVICES && (only >= 64 || !(devices >> only & 1)))
        return mv_complain_of(mv_input_name(b->cli), "nothing is known of device %lld",
                              (long long)only);
    for (uint32_t i = 0; i < 64; i++) {
        if (!(devices >> i & 1) || (only != MV_ALL_DEVICES && only != i))
            continue;
        if (find_device(b, i) != MV_EXIT_DONE)
            return MV_EXIT_FAILED;
    }
    return MV_EXIT_DONE;
}

int mv_cmd_ledger(mv_cli *cli)
{
    const mv_options *o = &cli->options;
    mv_trace trace;
    books b = {.cli = cli, .out = &cli->out, .trace = &trace, .limit = UINT64_MAX};

    if (!mv_input_read(cli, &trace))
        return MV_EXIT_FAILED;
    if (mv_option_given(o, MV_HAS(LIMIT)))
        b.limit = o->limit ? o->limit : UINT64_MAX;
    else if (!mv_option_given(o, MV_HAS(JSON)))
        b.limit = TEXT_ROWS;
    b.start_us = start_of(&trace);
    b.kinds = mv_frame_kinds(&cli->arena, &trace);
    b.ledgers = mv_push_array(&cli->arena, mv_ledger, 64);
    if (!b.kinds || !b.ledgers)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    return find_devices(&b) == MV_EXIT_DONE ? put_report(&b) : MV_EXIT_FAILED;
}
