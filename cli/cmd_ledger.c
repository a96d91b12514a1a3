/* memviz ledger: lists all memory of a device, by the library that requested it. */

#include "analyze/code/libraries.h"
#include "analyze/ledger/ledger_series.h"
#include "analyze/oom/refused_calls.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"

/* Number of rows in text without --limit, number of other lines, and number of names in the first
 * line. */
enum { TEXT_ROWS = 15, OTHER_LINES = 8, SHORT_TEXT = 40 };

typedef struct {
    mv_ledger at;
    mv_ledger_series series;
} device_ledger;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    mv_trace named;       /* the trace whose events and times other reports use, and which --at
                           * therefore refers to */
    const uint8_t *kinds; /* kinds of the trace's frames */
    int64_t start_us;
    device_ledger *devices; /* [count] */
    uint32_t count;
    uint64_t limit;
} ledger_report;

/* Returns the start time that other reports count from, too, so that --at accepts the printed
 * times. */
static int64_t start_of(const ledger_report *r)
{
    const mv_trace *trace = r->trace;
    int64_t start = mv_position_start_us(&r->named);

    if (start == MV_NO_TIME && trace->api_calls.count > 0)
        start = trace->api_calls.time_us[0];
    return start == MV_NO_TIME && trace->samples.count > 0 ? trace->samples.time_us[0] : start;
}

static double seconds(const ledger_report *r, int64_t time_us)
{
    return ((double)time_us - (double)r->start_us) / 1e6;
}

/* ---- fields ------------------------------------------------------------------------------ */

#define ROW_FIELDS(COLUMN, MEMBER, LIST)                                      \
    MEMBER("library", mv_value_string(r->trace, row->library))                \
    COLUMN("name", "who", 3, MV_UNIT_TEXT | MV_UNIT_NAME, 0,                  \
           mv_value_shown(mv_value_text(name), who))                          \
    MEMBER("api", mv_value_string(r->trace, row->api))                        \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 10, row->bytes)                \
    COLUMN("count", "count", 2, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, row->count) \
    MEMBER("framework", row->is_framework)                                    \
    COLUMN("culprit", "most of it for", 4, MV_UNIT_TEXT, 0,                   \
           mv_value_culprit(r->trace, r->kinds, row->stack))                  \
    MEMBER("frames", mv_value_frames(r->trace, row->stack))

static void add_remainder(mv_rows *rows, const char *what, int64_t bytes)
{
    mv_rows_add_some(
        rows, 2, (mv_named_value[]){{"name", mv_value_text(what)}, {"bytes", mv_value_i64(bytes)}});
}

static void list_rows(mv_rows *rows)
{
    const ledger_report *r = mv_rows_all(rows);
    const mv_ledger *ledger = mv_rows_one(rows);
    uint32_t count = mv_rows_take(rows, ledger->count, r->limit);
    char name[MV_LIBRARY_NAME], who[2 * MV_LIBRARY_NAME];

    for (uint32_t i = 0; i < count; i++) {
        const mv_ledger_row *row = &ledger->by[i];
        mv_library_name(mv_string_text(r->trace, row->library), name);
        snprintf(who, sizeof who, "%s %.60s", name, mv_string_text(r->trace, row->api));
        MV_ROWS_ADD(rows, ROW_FIELDS);
    }
    if (mv_rows_are_text(rows) && ledger->used != MV_NO_BYTES && !ledger->is_missing_calls) {
        add_remainder(rows, "context and code (estimate)", ledger->context_estimate);
        add_remainder(rows, "unexplained", ledger->unexplained);
    }
}

static const mv_table row_table = {MV_TABLE(ROW_FIELDS, list_rows)};

#define LIBRARY_FIELDS(COLUMN, MEMBER, LIST)               \
    MEMBER("library", series->libraries[i].name)           \
    MEMBER("framework", series->libraries[i].is_framework) \
    MEMBER("bytes", by[i])

/* Lists one point of a series. This is a separate function because the point's number cannot be
 * derived from the point. */
typedef struct {
    const mv_ledger_series *series;
    uint32_t point;
} series_point;

static void list_libraries(mv_rows *rows)
{
    const series_point *at = mv_rows_one(rows);
    const mv_ledger_series *series = at->series;
    const uint64_t *by = mv_ledger_series_by(series, at->point);

    for (uint32_t i = 0; i < series->library_count; i++)
        if (by[i] > 0)
            MV_ROWS_ADD(rows, LIBRARY_FIELDS);
}

static const mv_table library_table = {MV_TABLE(LIBRARY_FIELDS, list_libraries)};

/* Whether some calls were lost in damaged parts of the file. */
static bool is_missing_calls(const ledger_report *r)
{
    return r->trace->notes[MV_NOTE_LOST_CALLS].count > 0;
}

#define SAMPLE_FIELDS(COLUMN, MEMBER, LIST)                                                       \
    MEMBER("time_us", mv_value_time(point->time_us))                                              \
    MEMBER("used", point->used)                                                                   \
    MEMBER("others", mv_value_bytes(point->others))                                               \
    MEMBER("framework_reserved", point->framework_reserved)                                       \
    MEMBER("framework_allocated", point->framework_allocated)                                     \
    LIST("by", &library_table, mv_value_rows(&at))                                                \
    MEMBER("context_estimate", mv_value_or_null(is_known, mv_value_i64(point->context_estimate))) \
    MEMBER("unexplained", mv_value_or_null(is_known, mv_value_i64(point->unexplained)))

static void list_samples(mv_rows *rows)
{
    const mv_ledger_series *series = mv_rows_one(rows);
    bool is_known = !is_missing_calls(mv_rows_all(rows));

    for (uint32_t i = 0; i < series->count; i++) {
        const mv_ledger_point *point = &series->points[i];
        series_point at = {series, i};
        MV_ROWS_ADD(rows, SAMPLE_FIELDS);
    }
}

static const mv_table sample_table = {MV_TABLE(SAMPLE_FIELDS, list_samples),
                                      .shape = MV_SHAPE_LINES};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    MEMBER("device", ledger->device)                                                               \
    MEMBER("at.time_us", mv_value_time(ledger->time_us))                                           \
    MEMBER("at.sample_us", mv_value_time(ledger->sample_us))                                       \
    MEMBER("at.event", mv_value_event(ledger->event))                                              \
    MEMBER("used", mv_value_bytes(ledger->used))                                                   \
    MEMBER("why", ledger->why)                                                                     \
    MEMBER("basis", basis)                                                                         \
    MEMBER("total", mv_value_bytes(ledger->total))                                                 \
    MEMBER("others", mv_value_bytes(ledger->others))                                               \
    MEMBER("framework_reserved", ledger->framework_reserved)                                       \
    LIST("by", &row_table, mv_value_rows(ledger))                                                  \
    MEMBER("by_sum", ledger->by_sum)                                                               \
    MEMBER("context_estimate", mv_value_or_null(is_known, mv_value_i64(ledger->context_estimate))) \
    MEMBER("context_pools", mv_value_or_null(is_known, mv_value_u64(ledger->context_pools)))       \
    MEMBER("unexplained", mv_value_or_null(is_known, mv_value_i64(ledger->unexplained)))           \
    MEMBER("pinned_host.bytes", ledger->host.bytes)                                                \
    MEMBER("pinned_host.count", ledger->host.count)                                                \
    MEMBER("other_processes_memory.bytes", ledger->foreign.bytes)                                  \
    MEMBER("other_processes_memory.count", ledger->foreign.count)                                  \
    MEMBER("reserved_addresses.bytes", ledger->addresses.held.bytes)                               \
    MEMBER("reserved_addresses.count", ledger->addresses.held.count)                               \
    MEMBER("reserved_addresses.peak", ledger->addresses.peak)                                      \
    MEMBER("reserved_addresses.refused", ledger->addresses.refused)                                \
    LIST("samples", &sample_table, mv_value_rows(&r->devices[i].series))

static void list_devices(mv_rows *rows)
{
    const ledger_report *r = mv_rows_all(rows);

    for (uint32_t i = 0; i < r->count; i++) {
        const mv_ledger *ledger = &r->devices[i].at;
        bool is_used = ledger->used != MV_NO_BYTES;
        bool is_known = is_used && !ledger->is_missing_calls;
        const char *basis = !is_used ? "none" : ledger->is_process ? "process" : "device";
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                     \
    MEMBER("damaged", mv_value_text(mv_input_damage(r->trace))) \
    LIST("devices", &device_table, mv_value_rows(NULL))

MV_LIST_REPORT(list_report, ledger_report, r, REPORT_FIELDS)

const mv_table mv_report_ledger = {MV_TABLE(REPORT_FIELDS, list_report), .main = "devices.by"};

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
    if (*ledger->basis)
        mv_prose_put_item(out, "%s", ledger->basis);
}

static void put_addresses(mv_out *out, const mv_ledger_addresses *addresses)
{
    char held[MV_SIZE_TEXT], size[MV_SIZE_TEXT], peak[48] = "", refused[64] = "";

    if (addresses->peak > addresses->held.bytes)
        snprintf(peak, sizeof peak, ", %s at most", mv_size_text(size, addresses->peak));
    if (addresses->refused > 0)
        snprintf(refused, sizeof refused, "; %llu request%s refused",
                 (unsigned long long)addresses->refused,
                 addresses->refused == 1 ? " was" : "s were");
    mv_prose_put_item(out, "reserved addresses, without memory: %s in %llu range%s%s%s",
                      mv_size_text(held, addresses->held.bytes),
                      (unsigned long long)addresses->held.count, mv_plural(addresses->held.count),
                      peak, refused);
}

/* Prints the memory that is not included in any sum. */
static void put_outside_sums(const ledger_report *r, const mv_ledger *ledger)
{
    char size[MV_SIZE_TEXT];
    mv_out *out = r->out;

    mv_out_char(out, '\n');
    mv_prose_put_item(out, "%s", ledger->check);
    for (int i = 0; i < 2; i++) {
        const char *sentence = i ? ledger->pools : ledger->residue;
        if (!*sentence)
            continue;
        mv_prose_put_item(out, "%s", sentence);
    }
    if (ledger->host.count > 0)
        mv_prose_put_item(out, "pinned host memory: %s in %llu allocation%s",
                          mv_size_text(size, ledger->host.bytes),
                          (unsigned long long)ledger->host.count, mv_plural(ledger->host.count));
    if (ledger->foreign.bytes > 0)
        mv_prose_put_item(out, "memory opened from other processes: %s",
                          mv_size_text(size, ledger->foreign.bytes));
    if (ledger->addresses.peak > 0 || ledger->addresses.refused > 0)
        put_addresses(out, &ledger->addresses);
}

/* ---- text: over time ----------------------------------------------------------------------- */

/* Columns of the table over time. */
typedef struct {
    const ledger_report *report;
    const mv_ledger_series *series;
    uint32_t point[3]; /* first, peak and end */
} ledger_explanation;

#define PART_FIELDS(COLUMN, MEMBER, LIST)                  \
    COLUMN(NULL, "first", 1, MV_UNIT_BYTES, 10, values[0]) \
    COLUMN(NULL, "peak", 2, MV_UNIT_BYTES, 10, values[1])  \
    COLUMN(NULL, "end", 3, MV_UNIT_BYTES, 10, values[2])   \
    COLUMN(NULL, "over time", 4, MV_UNIT_TEXT, 0, mv_value_text(what))

static void add_part(mv_rows *rows, const char *what, const int64_t bytes[3])
{
    mv_value values[] = {mv_value_i64(bytes[0]), mv_value_i64(bytes[1]), mv_value_i64(bytes[2])};

    MV_ROWS_ADD(rows, PART_FIELDS);
}

static void list_parts(mv_rows *rows)
{
    const ledger_explanation *explanation = mv_rows_one(rows);
    const mv_ledger_series *series = explanation->series;
    const char *what = "";
    char times[3][SHORT_TEXT];
    int64_t used[3], context[3], unexplained[3], held[3];
    mv_value values[3];

    for (unsigned k = 0; k < 3; k++) {
        const mv_ledger_point *point = &series->points[explanation->point[k]];
        snprintf(times[k], SHORT_TEXT, "%.3f s", seconds(explanation->report, point->time_us));
        values[k] = mv_value_text(times[k]);
        used[k] = (int64_t)point->used;
        context[k] = point->context_estimate;
        unexplained[k] = point->unexplained;
    }
    MV_ROWS_ADD(rows, PART_FIELDS);
    add_part(rows, "used", used);
    for (uint32_t i = 0; i < series->library_count; i++) {
        for (unsigned k = 0; k < 3; k++)
            held[k] = (int64_t)mv_ledger_series_by(series, explanation->point[k])[i];
        add_part(rows, series->libraries[i].name, held);
    }
    if (is_missing_calls(mv_rows_all(rows)))
        return;
    add_part(rows, "context and code (estimate)", context);
    add_part(rows, "unexplained", unexplained);
}

static const mv_table part_table = {MV_TABLE(PART_FIELDS, list_parts)};

/* Prints nothing if the device's use was sampled only once. */
static void put_explanation(const ledger_report *r, const mv_ledger_series *series)
{
    ledger_explanation explanation = {r, series, {series->first, series->peak, series->end}};

    if (series->first != series->end)
        mv_table_print(r->cli, &part_table, r, &explanation, "\n");
}

static void put_damage(const ledger_report *r)
{
    const char *damage = mv_input_damage(r->trace);

    if (damage)
        mv_prose_put(r->out, 0, 2, "damaged parts of the file were skipped: %s", damage);
}

static int put_report(const ledger_report *r)
{
    bool is_captured = mv_trace_is_captured(r->trace);

    if (mv_table_is_wanted(r->cli))
        mv_table_put(r->cli, r);
    r->cli->keeps_report = true;
    if (!is_captured)
        return mv_complain_of(mv_input_name(r->cli), "%s",
                              mv_trace_may_be_captured(r->trace) ? MV_LEDGER_LOST_CAPTURE
                                                                 : MV_LEDGER_NO_CAPTURE);
    if (mv_table_is_wanted(r->cli))
        return MV_EXIT_DONE;
    put_damage(r);
    if (r->count == 0)
        mv_out_text(r->out, "no data about any device\n");
    for (uint32_t i = 0; i < r->count; i++) {
        if (i > 0)
            mv_out_char(r->out, '\n');
        put_verdict(r, &r->devices[i].at);
        put_moment(r, &r->devices[i].at);
        mv_table_print(r->cli, &row_table, r, &r->devices[i].at, "\n");
        put_explanation(r, &r->devices[i].series);
        put_outside_sums(r, &r->devices[i].at);
    }
    return MV_EXIT_DONE;
}

/* ---- both -------------------------------------------------------------------------------- */

/* Returns the time of the last recorded event. */
static int64_t last_of(const mv_trace *trace)
{
    const mv_api_calls *c = &trace->api_calls;
    const mv_samples *s = &trace->samples;
    int64_t last = c->count ? c->time_us[c->count - 1] : MV_NO_TIME;

    for (uint32_t i = 0; i < s->count; i++)
        if (last == MV_NO_TIME || s->time_us[i] > last)
            last = s->time_us[i];
    return last;
}

/* Finds a refused call, on a level that consists of CUDA calls. */
static bool read_refused(const ledger_report *r, uint32_t device, const char *at, int64_t *time_us,
                         char *why, uint32_t why_size)
{
    mv_oom oom = {0};

    snprintf(why, why_size, "no such out-of-memory event on device %u: %s; memviz oom lists them",
             device, at);
    if (!mv_refused_call_read(&r->cli->budget, &r->named, device, at, MV_ALL_EVENTS, &oom, why,
                              why_size))
        return false;
    *time_us = oom.time_us;
    return true;
}

/* Finds a time, an annotation, an event on a level of CUDA calls, or a refused call. */
static bool read_time_at(const ledger_report *r, uint32_t device, const char *at,
                         mv_ledger_query *ask)
{
    bool is_oom = mv_moment_oom_number(at) > 0;
    char why[MV_WHY];
    int64_t time_us;

    if (!(is_oom ? read_refused(r, device, at, &time_us, why, sizeof why)
                 : mv_position_time(&r->named, device, at, &time_us, why, sizeof why)) ||
        (!is_oom && time_us > last_of(r->trace) &&
         mv_position_is_beyond(&r->named, device, at, why, sizeof why))) {
        mv_complain_of(mv_input_name(r->cli), "%s", why);
        return false;
    }
    *ask = mv_ledger_at_time(r->trace, device, time_us);
    return true;
}

/* Finds the time of the report. Returns false, with a message, if --at names none. */
static bool read_at(const ledger_report *r, const mv_lives *lives, mv_ledger_query *ask)
{
    const char *at = r->cli->options.at;
    mv_moment moment;

    *ask = (mv_ledger_query){.when = MV_LEDGER_MOST_USED};
    if (!at)
        return true;
    if (strcmp(at, "end") == 0) {
        ask->when = MV_LEDGER_END;
        return true;
    }
    if (lives->events.count == 0 && (strcmp(at, "peak") == 0 || strcmp(at, "reserved-peak") == 0)) {
        ask->when = MV_LEDGER_MOST_HELD;
        return true;
    }
    if (*at == '@' || (mv_position_is_valid(at) && at[strspn(at, "0123456789")]) ||
        lives->events.count == 0)
        return read_time_at(r, lives->device, at, ask);
    if (!mv_at_find(r->cli, r->trace, lives, "end", &moment))
        return false;
    *ask = mv_ledger_after_event(r->trace, lives->device, moment.event);
    return true;
}

static int find_device(ledger_report *r, uint32_t device)
{
    device_ledger *out = &r->devices[r->count];
    mv_arena *arena = &r->cli->arena;
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_ledger_query ask;
    mv_lives lives;

    if (mv_lives_find(arena, r->trace, device, &lives, &err) != MV_OK)
        return mv_complain(mv_input_name(r->cli), &err);
    if (!read_at(r, &lives, &ask))
        return MV_EXIT_FAILED;
    if (mv_ledger_find(arena, r->trace, &lives, ask, &out->at, &err) != MV_OK ||
        mv_ledger_series_find(arena, r->trace, &lives, &out->series, &err) != MV_OK)
        return mv_complain(mv_input_name(r->cli), &err);
    r->count++;
    return MV_EXIT_DONE;
}

static int find_devices(ledger_report *r)
{
    uint64_t devices = mv_ledger_devices(r->trace);
    int64_t only = r->cli->options.device;

    if (only != MV_ALL_DEVICES && (only >= 64 || !(devices >> only & 1)))
        return mv_complain_of(mv_input_name(r->cli), "no data about device %lld", (long long)only);
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
    mv_err err = {.offset = MV_NO_OFFSET};
    ledger_report r = {.cli = cli,
                       .out = &cli->out,
                       .trace = &trace,
                       .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};

    if (!mv_input_read(cli, &trace))
        return MV_EXIT_FAILED;
    r.named = trace;
    if (mv_level_take(&cli->arena, &r.named, MV_LEVEL_DEFAULT, &err) != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    r.start_us = start_of(&r);
    r.kinds = mv_frame_kinds(&cli->arena, &trace);
    r.devices = mv_push_array(&cli->arena, device_ledger, 64);
    if (!r.kinds || !r.devices)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    return find_devices(&r) == MV_EXIT_DONE ? put_report(&r) : MV_EXIT_FAILED;
}
