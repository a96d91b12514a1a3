#include "cli/live/top_report.h"

#include "analyze/code/labels.h"
#include "analyze/code/libraries.h"
#include "base/duration.h"
#include "base/sort.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "parse/live/read_live.h"
#include "record/add_samples.h"

/* Growth is measured over this time. It is long enough for some steps of even the slowest training
 * runs, and short enough that a user who is watching notices a change. */
#define GROWN_US (5 * INT64_C(60000000))

/* ---- fields ------------------------------------------------------------------------------ */

#define LINE_FIELDS(COLUMN, MEMBER, LIST)                                                \
    COLUMN("bytes", "alive", 1, MV_UNIT_BYTES, 9, line->bytes)                           \
    COLUMN("blocks", "blocks", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, line->blocks)        \
    COLUMN("grown", "grown", 2, MV_UNIT_CHANGE, 11, mv_value_i64(line->grown))           \
    COLUMN("age_s", "oldest", 3, MV_UNIT_COUNT, 8, mv_value_shown(age_value(line), age)) \
    MEMBER("age_is_least", mv_value_bool(line->is_least_age))                            \
    COLUMN("label", "by", 5, MV_UNIT_TEXT, 0,                                            \
           mv_value_label(labels, i, &d->file->trace, d->file->kinds, line->stack))      \
    MEMBER("culprit", mv_value_culprit(&d->file->trace, d->file->kinds, line->stack))    \
    MEMBER("frames", mv_value_frames(&d->file->trace, line->stack))

static mv_value age_value(const mv_top_line *line)
{
    return line->age_us == MV_NO_TIME ? mv_value_of(MV_VALUE_NULL)
                                      : mv_value_real((double)line->age_us / 1e6);
}

static const char *age_text(const mv_top_line *line, char out[MV_DURATION_TEXT + 4])
{
    char age[MV_DURATION_TEXT];

    if (line->age_us == MV_NO_TIME)
        return "unknown";
    snprintf(out, MV_DURATION_TEXT + 4, "%s%s", line->is_least_age ? ">= " : "",
             mv_duration_text(age, line->age_us));
    return out;
}

static void list_lines(mv_rows *rows)
{
    const mv_top_report *r = mv_rows_all(rows);
    const mv_top_device *d = mv_rows_one(rows);
    char age[MV_DURATION_TEXT + 4];
    const char **labels;
    uint32_t count = mv_rows_take(rows, d->top.count, r->limit);

    labels = mv_labels_of(&r->cli->scratch, &d->file->trace, d->file->kinds, d->top.lines, count,
                          mv_top_line, bytes);
    for (uint32_t i = 0; i < count; i++) {
        const mv_top_line *line = &d->top.lines[i];
        age_text(line, age);
        MV_ROWS_ADD(rows, LINE_FIELDS);
    }
}

static const mv_table line_table = {MV_TABLE(LINE_FIELDS, list_lines)};

#define LIBRARY_FIELDS(COLUMN, MEMBER, LIST) \
    MEMBER("library", row->name)             \
    MEMBER("bytes", row->bytes)

MV_LIST_ROWS_OF(list_libraries, void, unused, mv_top_device, d, d->library_count,
                const mv_top_library *row = &d->libraries[i], LIBRARY_FIELDS)

static const mv_table library_table = {MV_TABLE(LIBRARY_FIELDS, list_libraries)};

static mv_value seconds_before(int64_t now_us, int64_t time_us)
{
    return now_us == MV_NO_TIME || time_us == MV_NO_TIME
               ? mv_value_of(MV_VALUE_NULL)
               : mv_value_real((double)(now_us - time_us) / 1e6);
}

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                                \
    MEMBER("device", d->device)                                                            \
    MEMBER("file", d->file->path)                                                          \
    MEMBER("pid", mv_captured_number(&d->file->trace, "pid"))                              \
    MEMBER("rank", mv_captured_number(&d->file->trace, "rank"))                            \
    MEMBER("running", mv_value_bool(d->file->is_running))                                  \
    MEMBER("used", mv_value_bytes(d->ledger.used))                                         \
    MEMBER("total", mv_value_bytes(d->ledger.total))                                       \
    MEMBER("allocated", d->allocated)                                                      \
    MEMBER("reserved", mv_value_bytes(d->is_missing_reserved ? MV_NO_BYTES : d->reserved)) \
    MEMBER("listed", d->top.listed)                                                        \
    MEMBER("younger", d->top.younger)                                                      \
    MEMBER("residual", d->residual)                                                        \
    MEMBER("grown", mv_value_i64(d->top.grown))                                            \
    MEMBER("grown_s", seconds_before(d->top.now_us, d->top.since_us))                      \
    MEMBER("leak.verdict", mv_leak_verdict_name(d->verdict))                               \
    MEMBER("leak.why", mv_value_text(d->why))                                              \
    LIST("libraries", &library_table, mv_value_rows(d))                                    \
    LIST("lines", &line_table, mv_value_rows(d))

MV_LIST_ROWS(list_devices, mv_top_report, r, r->count, const mv_top_device *d = &r->devices[i],
             DEVICE_FIELDS)

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)             \
    LIST("devices", &device_table, mv_value_rows(NULL)) \
    MEMBER("leak.verdict", mv_leak_verdict_name(r->verdict))

MV_LIST_REPORT(list_report, mv_top_report, r, REPORT_FIELDS)

const mv_table mv_report_top = {MV_TABLE(REPORT_FIELDS, list_report), .main = "devices.lines"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_file(const mv_top_report *r, const mv_top_file *file)
{
    const char *pid = mv_fact_find(&file->trace, "pid"), *rank = mv_fact_find(&file->trace, "rank");
    mv_out *out = &r->cli->out;

    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_clean_text(out, file->path);
    mv_out_style(out, MV_STYLE_NONE);
    if (pid)
        mv_out_text(out, ": process ");
    mv_out_clean_text(out, pid ? pid : "");
    if (rank)
        mv_out_text(out, ", rank ");
    mv_out_clean_text(out, rank ? rank : "");
    mv_out_text(out, file->is_running ? ", running\n" : "\n");
}

static void put_use(const mv_top_device *d, char *text, size_t size)
{
    char bytes[MV_SIZE_TEXT], whole[MV_SIZE_TEXT];

    if (d->ledger.used != MV_NO_BYTES)
        mv_prose_add(text, size, "%s used", mv_size_text(bytes, d->ledger.used));
    if (d->ledger.used != MV_NO_BYTES && d->ledger.total != MV_NO_BYTES)
        mv_prose_add(text, size, " of %s", mv_size_text(whole, d->ledger.total));
    mv_prose_add(text, size, "%s%s allocated", *text ? ", " : "",
                 mv_size_text(bytes, d->allocated));
    if (!d->is_missing_reserved)
        mv_prose_add(text, size, ", %s reserved", mv_size_text(bytes, d->reserved));
}

static void put_libraries(mv_out *out, const mv_top_device *d)
{
    char text[600] = "", bytes[MV_SIZE_TEXT];

    for (uint32_t i = 0; i < d->library_count; i++)
        mv_prose_add(text, sizeof text, "%s%s %s", i ? ", " : "", d->libraries[i].name,
                     mv_size_text(bytes, d->libraries[i].bytes));
    if (d->ledger.used != MV_NO_BYTES)
        mv_prose_add(text, sizeof text, "%scontext and code %s, unexplained %s", *text ? ", " : "",
                     mv_size_text(bytes, (uint64_t)d->ledger.context_estimate),
                     mv_size_signed_text((char[MV_SIZE_TEXT]){0}, d->ledger.unexplained));
    if (!*text)
        return;
    mv_prose_put_item(out, "by library: %s", text);
}

static void put_change(mv_out *out, const mv_top_report *r, const mv_top_device *d)
{
    char grown[MV_SIZE_TEXT], length[MV_DURATION_TEXT], listed[MV_SIZE_TEXT], age[MV_DURATION_TEXT];

    mv_out_text(out, "  ");
    if (d->top.since_us == MV_NO_TIME)
        mv_prose_put(out, 2, 4, "%s since the first event",
                     mv_size_change_text(grown, d->top.grown));
    else
        mv_prose_put(out, 2, 4, "%s in the last %s", mv_size_change_text(grown, d->top.grown),
                     mv_duration_text(length, d->top.now_us - d->top.since_us));
    if (!r->cli->options.older_us)
        return;
    mv_out_text(out, "  ");
    if (d->top.now_us == MV_NO_TIME)
        mv_prose_put(out, 2, 4, "the events have no times: the age of blocks is unknown");
    else
        mv_prose_put(out, 2, 4, "%s in blocks that are at least %s old",
                     mv_size_text(listed, d->top.listed),
                     mv_duration_text(age, (int64_t)r->cli->options.older_us));
}

static void put_verdict_age(mv_out *out, const mv_followed *followed)
{
    int64_t age_ms = followed ? mv_now_ms() - followed->judged_ms : 0;
    char age[MV_DURATION_TEXT];

    if (age_ms >= 1000)
        mv_out_format(out, " (%s ago)", mv_duration_text(age, age_ms / 1000 * 1000000));
}

static void put_device(const mv_top_report *r, const mv_top_device *d)
{
    mv_out *out = &r->cli->out;
    char place[MV_PLACE_TEXT], use[200] = "", bytes[MV_SIZE_TEXT];

    put_use(d, use, sizeof use);
    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_format(out, "%s: ", mv_level_place(&d->file->trace, d->device, place));
    mv_out_style(out, MV_STYLE_NONE);
    mv_prose_put(out, 10, 2, "%s", use);
    mv_out_text(out, "  leak so far: ");
    mv_out_styled(out,
                  d->verdict == MV_VERDICT_LEAK    ? MV_STYLE_RED
                  : d->verdict == MV_VERDICT_CLEAN ? MV_STYLE_GREEN
                                                   : MV_STYLE_YELLOW,
                  mv_leak_verdict_name(d->verdict));
    put_verdict_age(out, d->file->followed);
    if (d->why)
        mv_prose_put(out, 22, 4, ": %s", d->why);
    else
        mv_out_char(out, '\n');
    put_libraries(out, d);
    put_change(out, r, d);
    if (d->residual)
        mv_prose_put_item(out, "residual: %s allocated by the final heap, not by the events",
                          mv_size_signed_text(bytes, d->residual));
    mv_table_print(r->cli, &line_table, r, d, "\n");
}

void mv_top_report_put(const mv_top_report *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        if (i > 0)
            mv_out_char(&r->cli->out, '\n');
        if (i == 0 || r->devices[i].file != r->devices[i - 1].file)
            put_file(r, r->devices[i].file);
        put_device(r, &r->devices[i]);
    }
}

/* ---- both -------------------------------------------------------------------------------- */

void mv_top_report_sort(mv_top_report *r, mv_top_order order)
{
    static const mv_sort_key keys[MV_TOP_ORDERS] = {
        [MV_TOP_BY_BYTES] = MV_FALLING(mv_top_line, bytes),
        [MV_TOP_BY_GROWN] = MV_FALLING(mv_top_line, grown),
        [MV_TOP_BY_AGE] = MV_FALLING(mv_top_line, age_us)};

    r->order = order;
    for (uint32_t i = 0; r->devices && i < r->count; i++)
        mv_sort_rows(&r->cli->scratch, r->devices[i].top.lines, r->devices[i].top.count,
                     keys[order], MV_FALLING(mv_top_line, bytes));
}

/* The current time on the clock that the trace uses. */
static int64_t now_of(const mv_top_file *file)
{
    int64_t now_us = file->followed ? (int64_t)file->followed->state.now_us : mv_now_ms() * 1000;

    if (!file->is_running)
        return MV_NO_TIME;
    return now_us + mv_live_to_epoch_us(mv_trace_as_read(&file->trace));
}

/* Adds up the ledger's rows for each library. */
static bool add_up_libraries(mv_cli *cli, mv_top_device *d)
{
    mv_ledger_row *rows = mv_push_array(&cli->scratch, mv_ledger_row, d->ledger.count);
    const mv_trace *read = mv_trace_as_read(&d->file->trace);
    char name[MV_LIBRARY_NAME];

    d->libraries = mv_push_array(&cli->arena, mv_top_library, d->ledger.count);
    if (!rows || !d->libraries)
        return false;
    for (uint32_t i = 0; i < d->ledger.count; i++)
        rows[i] = d->ledger.by[i];
    mv_sort_rows(&cli->scratch, rows, d->ledger.count, MV_RISING(mv_ledger_row, library.row));
    for (uint32_t i = 0; i < d->ledger.count; i++) {
        if (i == 0 || rows[i].library.row != rows[i - 1].library.row) {
            mv_library_name(mv_string_text(read, rows[i].library), name);
            d->libraries[d->library_count++].name = mv_arena_text(&cli->arena, name, strlen(name));
        }
        d->libraries[d->library_count - 1].bytes += rows[i].bytes;
    }
    mv_sort_rows(&cli->scratch, d->libraries, d->library_count, MV_FALLING(mv_top_library, bytes));
    return true;
}

/* `lives` belongs to the trace on the file's level, whereas the ledger uses the trace as read. */
static mv_code find_ledger(mv_cli *cli, mv_top_device *d, const mv_lives *lives, mv_err *err)
{
    const mv_trace *read = mv_trace_as_read(&d->file->trace);
    mv_ledger_query ask = {.when = MV_LEDGER_END};
    mv_lives own;

    d->ledger.used = d->ledger.total = MV_NO_BYTES;
    if (read->api_calls.count == 0 && read->samples.count == 0)
        return MV_OK;
    if (read != &d->file->trace && mv_lives_find(&cli->arena, read, d->device, &own, err) != MV_OK)
        return err->code;
    if (mv_ledger_find(&cli->arena, read, read != &d->file->trace ? &own : lives, ask, &d->ledger,
                       err) == MV_OK &&
        !add_up_libraries(cli, d))
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    return err->code;
}

static mv_code find_verdict(mv_cli *cli, mv_top_device *d, const mv_lives *lives, mv_err *err)
{
    mv_judged judged;

    if (d->file->followed)
        judged = mv_followed_judged(d->file->followed, d->device);
    else if (mv_judge(&cli->arena, &cli->arena, &d->file->trace, lives, &judged, err) != MV_OK)
        return err->code;
    d->verdict = judged.verdict;
    d->why = judged.why;
    return MV_OK;
}

static mv_code find_device(mv_cli *cli, mv_top_device *d, mv_err *err)
{
    const mv_trace *trace = &d->file->trace;
    mv_top_query ask = {.now_us = now_of(d->file),
                        .grown_us = GROWN_US,
                        .older_us = (int64_t)cli->options.older_us};
    mv_totals totals;
    mv_lives lives;

    if (mv_lives_find(&cli->arena, trace, d->device, &lives, err) != MV_OK ||
        mv_totals_find(&cli->arena, trace, &lives, &totals, err) != MV_OK ||
        mv_top_find(&cli->arena, trace, &lives, d->file->kinds, ask, &d->top, err) != MV_OK ||
        find_verdict(cli, d, &lives, err) != MV_OK)
        return err->code;
    /* A followed file's trace contains only the events that still matter. */
    if (d->file->followed && d->top.since_us == MV_NO_TIME && d->top.now_us != MV_NO_TIME &&
        mv_followed_has(&d->file->followed->state.before, trace, d->device))
        d->top.since_us = d->top.now_us - GROWN_US;
    d->allocated = totals.current.bytes.allocated;
    d->reserved = totals.current.bytes.reserved;
    d->is_missing_reserved = mv_trace_is_missing_reserved(trace);
    d->residual = (int64_t)(d->allocated - d->top.allocated);
    return find_ledger(cli, d, &lives, err);
}

/* Whether a device holds nothing and did nothing. It is omitted if its file has other devices. */
static bool is_idle(const mv_top_device *d)
{
    const mv_trace *trace = &d->file->trace;

    if (d->file->followed && mv_followed_has(&d->file->followed->state.used, trace, d->device))
        return false;
    return mv_trace_events(trace, d->device).count == 0 && d->allocated == 0 && d->reserved == 0 &&
           d->library_count == 0 && d->ledger.used == MV_NO_BYTES;
}

static bool add_device(mv_top_report *r, const mv_top_file *file, uint32_t device, mv_err *err)
{
    mv_top_device *d = r->devices ? &r->devices[r->count] : NULL;

    if (!d)
        return true; /* no files or no devices */
    *d = (mv_top_device){.file = file, .device = device};
    if (find_device(r->cli, d, err) != MV_OK)
        return false;
    if (is_idle(d) && file->end - file->first > 1)
        return true;
    r->verdict = r->count ? mv_leak_verdict_join(r->verdict, d->verdict) : d->verdict;
    r->count++;
    return true;
}

/* Adds the devices' current use to the trace as read, from which the levels are made. */
static bool add_samples(const mv_top_report *r, mv_top_file *file, mv_err *err)
{
    mv_trace *trace = &file->trace, *read = trace;
    mv_nvml_process process = {.visible = mv_fact_find(trace, "cuda_visible_devices"),
                               .order = mv_fact_find(trace, "cuda_device_order")};
    mv_live_used was = file->followed ? file->followed->state.used : (mv_live_used){0};
    uint64_t pid, used = was.blocks | was.calls | was.heaps;

    if (!file->is_running || !mv_number_read(mv_fact_find(trace, "pid"), &pid))
        return true;
    if (trace->origin.as_read) {
        read = mv_push_struct(&r->cli->arena, mv_trace);
        if (!read)
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "") == MV_OK;
        *read = *trace->origin.as_read;
        trace->origin.as_read = read;
    }
    process.pid = (uint32_t)pid;
    return mv_add_samples(&r->cli->arena, &process, r->nvml, used, read, err) == MV_OK;
}

static bool read_file(mv_top_report *r, uint32_t i, mv_top_file *file)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_cli *cli = r->cli;
    const char *path = cli->options.file[i];
    mv_followed *followed = r->followed && r->is_running[i] ? &r->followed[i] : NULL;

    file->path = path;
    if (followed && mv_followed_read(cli, followed, path, GROWN_US, &file->trace))
        file->followed = followed;
    if ((!file->followed && !mv_input_read_file(cli, path, &file->trace)) ||
        !mv_input_devices(cli, &file->trace, &file->first, &file->end))
        return false;
    file->kinds = mv_frame_kinds(&cli->arena, &file->trace);
    file->is_running = r->is_running && r->is_running[i] && !mv_fact_find(&file->trace, "end_us") &&
                       !mv_fact_find(&file->trace, "stopped");
    if (!file->kinds)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else if (add_samples(r, file, &err))
        return true;
    mv_complain(path, &err);
    return false;
}

bool mv_top_report_read(mv_cli *cli, mv_top_report *r)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    uint64_t devices = 0;

    r->cli = cli;
    r->file_count = (uint32_t)cli->options.files;
    r->files = mv_push_array(&cli->arena, mv_top_file, r->file_count);
    for (uint32_t i = 0; r->files && i < r->file_count; i++) {
        if (!read_file(r, i, &r->files[i]))
            return false;
        devices += r->files[i].end - r->files[i].first;
    }
    r->devices = r->files ? mv_push_array(&cli->arena, mv_top_device, devices) : NULL;
    if (!r->devices)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i < r->file_count && err.code == MV_OK; i++)
        for (uint32_t k = r->files[i].first; k < r->files[i].end; k++)
            if (!add_device(r, &r->files[i], k, &err))
                break;
    if (err.code != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    mv_top_report_sort(r, r->order);
    return true;
}
