/* memviz FILE: an overview of how full the device became, with the verdict of each report. */

#include "analyze/advice/recording.h"
#include "analyze/advice/triage.h"
#include "analyze/ranks/rank_names.h"
#include "base/grow.h"
#include "base/sort.h"
#include "cli/complain.h"
#include "cli/errors.h"
#include "cli/input/input.h"
#include "cli/report/command_text.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/table.h"
#include "parse/model/event_times.h"

/* Number of verdicts in text without --limit, and the column in which their sentences begin. */
enum { TEXT_ROWS = 7, INDENT = 15 };

/* What is kept about a device after its file's memory is freed. */
typedef struct {
    uint32_t file, device;
    char place[MV_PLACE_TEXT]; /* "device 0", or the host */
    mv_levels peak;
    mv_bound allocated, reserved; /* how exact the two figures of `peak` are */
    bool is_of_host;
    bool is_of_other;     /* the file is from another tool, so reserved memory is unknown */
    uint64_t capacity;    /* memory available to PyTorch; MV_NO_BYTES: unknown */
    uint64_t below;       /* a total of this many bytes was refused; MV_NO_BYTES: unknown, or
                           * `capacity` is exact */
    bool by_failure;      /* `capacity` comes from a failed request */
    bool at_least;        /* `capacity` is a lower bound */
    uint64_t used, total; /* device memory in use, and in total; MV_NO_BYTES: unknown */
    bool has_floor;
    uint64_t lower, separation, placement; /* parts of the reserved peak (docs/floor.md) */
    const char *floor;                     /* the parts as a sentence, or "" */
    const char *history;
    const char *worst; /* label of the device's first verdict: "LEAK" */
} device_row;

typedef struct {
    uint32_t file, device;
    bool names_device;
    mv_finding_kind kind;
    const char *report, *verdict, *level, *text, *command;
    uint64_t bytes;
} verdict_row;

typedef struct {
    const char *path;
    const char *name;           /* the shortest name that distinguishes the file from the others */
    const char *what;           /* "capture" */
    const char *damaged;        /* the first damaged part that was skipped; NULL: none */
    const char *format, *level; /* level; NULL: PyTorch's allocator */
    uint64_t bytes;             /* size of the file; MV_NO_BYTES: unknown */
    uint64_t events;
    uint64_t errors;                /* number of errors if the file is a text; 0: the file is a
                                     * snapshot */
    uint32_t devices, idle;         /* number of devices in use, and of idle ones */
    int64_t time_us;                /* time from the first event to the last; MV_NO_TIME: unknown */
    mv_recording_contents contents; /* what the file contains if no device is in use */
} file_row;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    file_row *files; /* [file_count] */
    device_row *devices;
    verdict_row *verdicts; /* the most serious ones first */
    uint32_t file_count, device_count, device_room, verdict_count, verdict_room;
    uint64_t limit;
    uint32_t failed; /* number of files that could not be read */
} triage_report;

/* ---- fields ------------------------------------------------------------------------------ */

#define FINDING_FIELDS(COLUMN, MEMBER, LIST)    \
    MEMBER("report", v->report)                 \
    MEMBER("kind", mv_finding_name(v->kind))    \
    MEMBER("verdict", v->verdict)               \
    MEMBER("file", r->files[v->file].path)      \
    MEMBER("device", mv_value_event(v->device)) \
    MEMBER("level", v->level)                   \
    MEMBER("bytes", v->bytes)                   \
    MEMBER("text", v->text)                     \
    MEMBER("command", v->command)

MV_LIST_ROWS(list_findings, triage_report, r, mv_rows_take(rows, r->verdict_count, r->limit),
             const verdict_row *v = &r->verdicts[i], FINDING_FIELDS)

static const mv_table finding_table = {MV_TABLE(FINDING_FIELDS, list_findings)};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                             \
    COLUMN("file", "file", 1, MV_UNIT_TEXT | MV_UNIT_NAME, 0, r->files[d->file].path)   \
    COLUMN("device", "device", 2, MV_UNIT_COUNT, 0, d->device)                          \
    COLUMN("peak_allocated", "allocated", 3, MV_UNIT_BYTES, 9, d->peak.allocated)       \
    COLUMN("peak_reserved", "reserved", 4, MV_UNIT_BYTES, 9, d->peak.reserved)          \
    MEMBER("exact", mv_value_bool((d->allocated | d->reserved) == MV_BOUND_EXACT))      \
    MEMBER("capacity", mv_value_bytes(d->capacity))                                     \
    MEMBER("capacity_exact", mv_value_bool(d->capacity != MV_NO_BYTES && !d->at_least)) \
    MEMBER("capacity_below", mv_value_bytes(d->below))                                  \
    MEMBER("used", mv_value_bytes(d->used))                                             \
    MEMBER("total", mv_value_bytes(d->total))                                           \
    MEMBER("floor.lower",                                                               \
           d->has_floor ? mv_value_u64(d->lower) : mv_value_of(MV_VALUE_NULL_OBJECT))   \
    MEMBER("floor.separation", d->separation)                                           \
    MEMBER("floor.placement", d->placement)                                             \
    COLUMN("history", "history", 5, MV_UNIT_TEXT | MV_UNIT_SPARE, 0, d->history)        \
    COLUMN("worst", "first", 6, MV_UNIT_TEXT, 0, d->worst)

static void list_devices(mv_rows *rows)
{
    const triage_report *r = mv_rows_all(rows);
    uint32_t count = mv_rows_take(rows, r->device_count, r->limit);
    bool is_said = false;

    for (uint32_t i = 0; i < r->device_count; i++)
        is_said = is_said || !r->devices[i].is_of_other;
    if (!is_said)
        mv_rows_head(rows, "peak_reserved", NULL);
    for (uint32_t i = 0; i < count; i++) {
        const device_row *d = &r->devices[i];
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices), .named_by = 2};

#define FILE_FIELDS(COLUMN, MEMBER, LIST)            \
    MEMBER("file", f->path)                          \
    MEMBER("format", f->format)                      \
    MEMBER("level", f->level)                        \
    MEMBER("bytes", mv_value_bytes(f->bytes))        \
    MEMBER("events", f->events)                      \
    MEMBER("devices", f->devices)                    \
    MEMBER("duration_us", mv_value_time(f->time_us)) \
    MEMBER("damaged", f->damaged)

MV_LIST_ROWS(list_files, triage_report, r, r->file_count, const file_row *f = &r->files[i],
             FILE_FIELDS)

static const mv_table file_table = {MV_TABLE(FILE_FIELDS, list_files)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)               \
    LIST("findings", &finding_table, mv_value_rows(NULL)) \
    LIST("devices", &device_table, mv_value_rows(NULL))   \
    LIST("files", &file_table, mv_value_rows(NULL))

const mv_table mv_report_triage = {MV_TABLE(REPORT_FIELDS, mv_rows_list_lists), .main = "findings"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_file(const triage_report *r, const file_row *f)
{
    char size[MV_SIZE_TEXT], events[MV_COUNT_TEXT], rest[200] = "";

    mv_out_style(r->out, MV_STYLE_BOLD);
    mv_out_clean_text(r->out, f->path);
    mv_out_style(r->out, MV_STYLE_NONE);
    mv_prose_add(rest, sizeof rest, ": %s, %s", f->what, f->format);
    if (f->bytes != MV_NO_BYTES)
        mv_prose_add(rest, sizeof rest, ", %s", mv_size_text(size, f->bytes));
    mv_prose_add(rest, sizeof rest, f->errors ? ", %s error%s about memory" : ", %s event%s",
                 mv_count_text(events, f->errors ? f->errors : f->events),
                 mv_plural(f->errors ? f->errors : f->events));
    if (f->time_us != MV_NO_TIME)
        mv_prose_add(rest, sizeof rest, " in %.3f s", (double)f->time_us / 1e6);
    if (f->level)
        mv_prose_add(rest, sizeof rest, "; about --level %s", f->level);
    mv_prose_put(r->out, mv_prose_width(f->path), 2, "%s", rest);
}

static void put_damage(const triage_report *r, const file_row *f)
{
    if (!f->damaged)
        return;
    mv_out_style(r->out, MV_STYLE_YELLOW);
    mv_prose_put(r->out, 0, 2, "%s%sdamaged parts of the file were skipped: %s",
                 r->file_count > 1 ? f->path : "", r->file_count > 1 ? ": " : "", f->damaged);
    mv_out_style(r->out, MV_STYLE_NONE);
}

/* Returns ", 10 % of the 2.83 GiB available". A process limit is only known to be between two
 * bounds, and may have been lowered after the peak. No percentage is printed in that case. */
static void say_capacity(const device_row *d, char rest[400])
{
    char size[2][MV_SIZE_TEXT], share[MV_SIZE_TEXT];

    if (d->capacity == MV_NO_BYTES)
        return;
    mv_size_text(size[0], d->capacity);
    if (d->below != MV_NO_BYTES)
        mv_prose_add(rest, 400, "; the last failure shows a limit of at least %s and below %s",
                     size[0], mv_size_text(size[1], d->below));
    else if (d->at_least)
        mv_prose_add(rest, 400, "; at least %s is available", size[0]);
    else if (d->peak.reserved > d->capacity)
        mv_prose_add(rest, 400, "; %s %s was available",
                     d->by_failure ? "at the last failure" : "at the end", size[0]);
    else
        mv_prose_add(rest, 400, ", %s%s of the %s available", mv_bound_sign(d->reserved),
                     mv_percent_text(share, d->peak.reserved, d->capacity), size[0]);
}

/* Returns "peak 257 MiB allocated, 290 MiB reserved". For the host it is "peak 8.00 MiB pinned". A
 * file from another tool does not record reserved memory, so for it this is "peak 8.00 MiB
 * allocated". */
static void say_peak(const device_row *d, char rest[400])
{
    char size[2][MV_SIZE_TEXT];
    bool is_one = d->is_of_host && d->peak.allocated == d->peak.reserved;

    mv_size_text(size[0], d->peak.allocated);
    mv_size_text(size[1], d->peak.reserved);
    if (d->is_of_other || is_one)
        mv_prose_add(rest, 400, "peak %s%s %s", mv_bound_sign(d->allocated), size[0],
                     d->is_of_host ? "pinned" : "allocated");
    else
        mv_prose_add(rest, 400, "peak %s%s allocated, %s%s %s", mv_bound_sign(d->allocated),
                     size[0], mv_bound_sign(d->reserved), size[1],
                     d->is_of_host ? "pinned" : "reserved");
}

/* Prints "device 0: peak 257 MiB allocated, 290 MiB reserved, 10 % of the 2.83 GiB available". */
static void put_device(const triage_report *r, const device_row *d)
{
    char size[2][MV_SIZE_TEXT], share[MV_SIZE_TEXT], rest[400] = "";

    say_peak(d, rest);
    if (d->used != MV_NO_BYTES && d->total != MV_NO_BYTES)
        mv_prose_add(rest, sizeof rest, "; %s of the device's %s in use (%s)",
                     mv_size_text(size[0], d->used), mv_size_text(size[1], d->total),
                     mv_percent_text(share, d->used, d->total));
    else
        say_capacity(d, rest);
    mv_out_styled(r->out, MV_STYLE_BOLD, d->place);
    mv_prose_put(r->out, (uint32_t)strlen(d->place), 2, ": %s", rest);
    if (!*d->floor)
        return;
    mv_prose_put_item(r->out, "%s", d->floor);
}

static mv_style style_of(mv_finding_kind kind)
{
    return kind <= MV_FINDING_FRAGMENTED                           ? MV_STYLE_RED
           : kind == MV_FINDING_WAITING || kind == MV_FINDING_NOTE ? MV_STYLE_YELLOW
           : kind == MV_FINDING_FINE                               ? MV_STYLE_GREEN
                                                                   : MV_STYLE_BOLD;
}

static void put_verdict(const triage_report *r, const verdict_row *v)
{
    char where[300] = "";

    if (r->file_count > 1)
        mv_prose_add(where, sizeof where, "%.200s", r->files[v->file].name);
    if (v->names_device)
        mv_prose_add(where, sizeof where, "%sdevice %u", *where ? ", " : "", v->device);
    mv_out_style(r->out, style_of(v->kind));
    mv_out_format(r->out, "%-*s", INDENT, mv_finding_name(v->kind));
    mv_out_style(r->out, MV_STYLE_NONE);
    mv_prose_put(r->out, INDENT, INDENT, "%s%s%s", where, *where ? ": " : "", v->text);
    mv_out_spaces(r->out, INDENT);
    mv_out_style(r->out, MV_STYLE_DIM);
    mv_out_clean_text(r->out, v->command);
    mv_out_style(r->out, MV_STYLE_NONE);
    mv_out_char(r->out, '\n');
}

static void put_one_file(const triage_report *r)
{
    const file_row *f = &r->files[0];

    put_file(r, f);
    put_damage(r, f);
    for (uint32_t i = 0; i < r->device_count; i++)
        put_device(r, &r->devices[i]);
    if (f->idle && f->devices)
        mv_out_format(r->out, "%u other device%s idle\n", f->idle, f->idle == 1 ? " is" : "s are");
    for (uint32_t i = 0; i < f->contents.count; i++)
        mv_prose_put(r->out, 0, 2, "%s", f->contents.lines[i]);
}

static void put_files(const triage_report *r)
{
    const mv_options *o = &r->cli->options;
    const char *command = "memviz ranks";

    for (int i = 0; i < o->named_files && command; i++) {
        const char *next = mv_command_text(&r->cli->scratch, "", "", o->named_file[i]);
        command =
            next ? mv_arena_printf(&r->cli->scratch, "%s%s", command, strchr(next, ' ')) : NULL;
    }
    mv_table_print(r->cli, &device_table, r, NULL, "");
    for (uint32_t i = 0; i < r->file_count; i++)
        put_damage(r, &r->files[i]);
    mv_out_text(r->out, "\nwhich one differs, and why:\n  ");
    mv_out_style(r->out, MV_STYLE_DIM);
    mv_out_clean_text(r->out, command ? command : "");
    mv_out_style(r->out, MV_STYLE_NONE);
    mv_out_char(r->out, '\n');
}

static void put_text(const triage_report *r)
{
    if (r->file_count == 1)
        put_one_file(r);
    else
        put_files(r);
    for (uint32_t i = 0; i < r->verdict_count && i < r->limit; i++) {
        if (i == 0)
            mv_out_char(r->out, '\n');
        put_verdict(r, &r->verdicts[i]);
    }
    mv_rows_put_hidden(r->out, r->verdict_count, r->limit);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Whether a verdict must name its device. The host does not count as a device. */
static bool names_device(const mv_triage *t, const mv_triage_row *row)
{
    return !mv_level_is_host(row->level) &&
           (t->device_count > 1 || (t->device_count == 1 && row->device != t->devices[0].device));
}

/* Returns the options, --level and --device, of the command that shows a verdict's details. */
static const char *options_of(const triage_report *r, const mv_triage *t, const mv_triage_row *row)
{
    mv_report report = row->finding->report;
    const char *level = row->level ? row->level
                        : report == MV_REPORT_LEDGER || report == MV_REPORT_OOM ||
                                report == MV_REPORT_WHATIF || report == MV_REPORT_INFO
                            ? NULL
                            : r->cli->options.level;
    char which[32] = "";

    if (names_device(t, row) && report != MV_REPORT_INFO)
        snprintf(which, sizeof which, "--device %u", row->device);
    return mv_arena_printf(&r->cli->arena, "%s%s%s%s", level ? "--level " : "", level ? level : "",
                           level && *which ? " " : "", which);
}

/* A process limit only becomes visible in reserved memory and refused requests. A refusal is not a
 * bound if the limit was raised afterwards. */
static void find_capacity(const mv_triage_device *d, device_row *row)
{
    const mv_oom_outlook *limit = d->has_ooms ? mv_ooms_last_limit(&d->ooms) : NULL;

    row->capacity = d->outlook.capacity;
    row->below = MV_NO_BYTES;
    row->by_failure = strcmp(d->outlook.source, "oom") == 0;
    if (!row->by_failure)
        return;
    row->at_least =
        !limit || limit->limit_most > row->capacity || limit->limit_least != row->capacity;
    if (limit && limit->limit_most > limit->limit_least && row->capacity <= limit->limit_most)
        row->below = limit->limit_most + 1;
}

/* Keeps the floor that whatif found, if it belongs to the same peak. Returns false if memory runs
 * out. */
static bool keep_floor(mv_arena *arena, const mv_triage_device *d, device_row *row)
{
    const mv_minimum *f = &d->whatif.floor;

    row->floor = "";
    row->has_floor = d->has_whatif && f->is_known && f->reserved && !row->is_of_host &&
                     f->reserved == row->peak.reserved;
    if (!row->has_floor)
        return true;
    row->lower = f->lower;
    row->separation = f->separation;
    row->placement = f->placement;
    if (row->reserved == MV_BOUND_EXACT) /* otherwise, the parts do not add up to the run's real
                                          * peak */
        row->floor = mv_minimum_verdict(arena, f);
    return row->floor != NULL;
}

static device_row row_of(const mv_trace *trace, const mv_triage_device *d, uint32_t file)
{
    const mv_audit *audit = &d->totals.audit;

    device_row row = {.file = file,
                      .device = d->device,
                      .peak = d->totals.peak.bytes,
                      .allocated = audit->peak.allocated,
                      .reserved = audit->peak.reserved,
                      .is_of_host = mv_level_is_host(trace->origin.level),
                      .is_of_other = mv_trace_is_missing_reserved(trace),
                      .used = d->has_ledger ? d->ledger.used : MV_NO_BYTES,
                      .total = d->has_ledger ? d->ledger.total : MV_NO_BYTES,
                      .history = mv_history_name(d->lives.history)};

    mv_level_place(trace, d->device, row.place);
    find_capacity(d, &row);
    return row;
}

static bool keep_verdict(triage_report *r, const mv_triage *t, const mv_triage_row *row,
                         uint32_t file, verdict_row *to)
{
    mv_arena *arena = &r->cli->arena;
    const mv_finding *f = row->finding;
    const char *options = options_of(r, t, row);
    const char *level = row->level ? row->level : r->cli->level;

    *to = (verdict_row){.file = file,
                        .device = row->device,
                        .names_device = names_device(t, row),
                        .level = mv_arena_text(arena, level, strlen(level)),
                        .kind = f->kind,
                        .report = mv_report_name(f->report),
                        .verdict = f->verdict,
                        .text = mv_arena_text(arena, row->text, strlen(row->text)),
                        .bytes = row->bytes};
    to->command = options ? mv_command_text(arena, to->report, options, r->files[file].path) : NULL;
    return to->text && to->level && to->command;
}

/* Copies the report on a file, so that the file's own memory can be freed. */
static mv_code keep(triage_report *r, const mv_trace *trace, const mv_triage *t, uint32_t file,
                    mv_err *err)
{
    mv_arena *arena = &r->cli->arena;

    for (uint32_t i = 0; i < t->device_count; i++) {
        device_row device = row_of(trace, &t->devices[i], file);
        for (uint32_t k = t->count; k-- > 0;)
            if (t->rows[k].device == device.device)
                device.worst = mv_finding_name(t->rows[k].finding->kind);
        if (!keep_floor(arena, &t->devices[i], &device) ||
            !mv_append(arena, r->devices, r->device_count, r->device_room, device))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    for (uint32_t i = 0; i < t->count; i++) {
        verdict_row verdict;
        if (!keep_verdict(r, t, &t->rows[i], file, &verdict) ||
            !mv_append(arena, r->verdicts, r->verdict_count, r->verdict_room, verdict))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    return MV_OK;
}

/* Names a device and level, or the host: "device 0 (--level all)", "--level host". */
static const char *where_of(const mv_triage_other *o, char text[80])
{
    if (o->of->level == MV_LEVEL_HOST)
        snprintf(text, 80, "--level host");
    else
        snprintf(text, 80, "device %u (--level %.40s)", o->device, o->of->trace.origin.level);
    return text;
}

/* A leak that was found takes precedence over an unknown verdict. */
static void evaluate_leaks(mv_gates *gates, const mv_trace *trace, const mv_triage *t)
{
    char where[80];

    for (uint32_t i = 0; i < t->other_count; i++) {
        const mv_triage_other *o = &t->others[i];
        if (o->is_reported && o->leaks.verdict == MV_VERDICT_LEAK)
            mv_gate_evaluate_leaks(gates, where_of(o, where), &o->leaks);
    }
    for (uint32_t i = 0; i < t->device_count; i++) {
        mv_level_place(trace, t->devices[i].device, where);
        mv_gate_evaluate_leaks(gates, where, &t->devices[i].leaks);
    }
    for (uint32_t i = 0; i < t->other_count; i++) {
        const mv_triage_other *o = &t->others[i];
        if (o->is_reported && o->leaks.verdict != MV_VERDICT_LEAK)
            mv_gate_evaluate_leaks(gates, where_of(o, where), &o->leaks);
    }
}

static void evaluate_gates(mv_gates *gates, const mv_trace *trace, const mv_triage *t)
{
    evaluate_leaks(gates, trace, t);
    for (uint32_t i = 0; i < t->device_count; i++) {
        const mv_triage_device *d = &t->devices[i];
        if (d->has_ooms || mv_trace_allocator(trace))
            mv_gate_evaluate_ooms(gates, trace, d->device, &d->ooms);
        if (!d->fragmentation.is_unseen || (gates->asked & MV_GATES(FRAGMENTED) && !gates->any))
            mv_gate_evaluate_fragmentation(gates, trace, d->device, &d->fragmentation);
        mv_gate_evaluate_totals(gates, trace, &d->totals);
    }
}

/* Describes a file in its row. Strings are allocated in `to`. */
static void describe(mv_arena *to, file_row *f, const mv_trace *read, const mv_trace *trace)
{
    const char *damaged = mv_input_damage(read);
    int64_t first = MV_NO_TIME, last = MV_NO_TIME;

    f->format = mv_format_name(read->origin.format);
    f->what = mv_trace_is_captured(read)       ? "capture"
              : mv_trace_may_be_captured(read) ? "damaged file"
                                               : "snapshot";
    f->damaged = damaged ? mv_arena_text(to, damaged, strlen(damaged)) : NULL;
    f->bytes = read->origin.file_bytes;
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++) {
        mv_events e = mv_trace_events(trace, device);
        /* packed times ascend, so that the first and the last one suffice */
        uint32_t from = e.time_us ? 0 : mv_event_from(&e, MV_NO_TIME + 1);
        uint32_t step = e.time_us || from + 1 >= e.count ? 1 : e.count - 1 - from;
        f->events += e.count;
        for (uint32_t i = from; i < e.count; i += step) {
            int64_t time_us = mv_event_time(&e, i);
            if (time_us == MV_NO_TIME)
                continue;
            first = first == MV_NO_TIME || time_us < first ? time_us : first;
            last = last == MV_NO_TIME || time_us > last ? time_us : last;
        }
    }
    f->time_us = first == MV_NO_TIME ? MV_NO_TIME : last - first;
}

/* Makes the report on a text: the first errors in it, explained as oom does. */
static mv_code keep_errors(triage_report *r, uint32_t file, const mv_error_texts *texts,
                           mv_err *err)
{
    mv_arena *arena = &r->cli->arena;
    file_row *f = &r->files[file];
    mv_error_report errors;

    if (mv_errors_explain(r->cli, texts, &errors, err) != MV_OK)
        return err->code;
    f->what = "log";
    f->format = "text";
    f->bytes = texts->bytes;
    f->time_us = MV_NO_TIME;
    f->errors = texts->more;
    for (uint32_t i = 0; i < texts->count; i++)
        f->errors += texts->rows[i].times;
    for (uint32_t i = 0; i < texts->count && i < MV_MOST_FINDINGS; i++) {
        const mv_error_text *e = &texts->rows[i];
        char title[MV_ERROR_TITLE];
        verdict_row verdict = {.file = file,
                               .device = e->device < 0 ? UINT32_MAX : (uint32_t)e->device,
                               .kind = e->is_summary ? MV_FINDING_NOTE : MV_FINDING_OOM,
                               .report = mv_report_name(MV_REPORT_OOM),
                               .verdict = mv_text_verdict_name(errors.rows[i].verdict),
                               .level = mv_level_name(MV_LEVEL_PYTORCH),
                               .bytes = e->size[MV_ERROR_REQUESTED].bytes};
        if (verdict.bytes == MV_NO_BYTES)
            verdict.bytes = 0;
        verdict.text = mv_arena_printf(arena, "%s: %s: %s", mv_error_title(e, title),
                                       verdict.verdict, errors.rows[i].why);
        verdict.command = mv_command_text(arena, verdict.report, "", f->path);
        if (!verdict.text || !verdict.command ||
            !mv_append(arena, r->verdicts, r->verdict_count, r->verdict_room, verdict))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    mv_errors_evaluate(r->cli, texts);
    return MV_OK;
}

static mv_code look_at(triage_report *r, uint32_t file, mv_arena *arena, mv_err *err)
{
    mv_cli *cli = r->cli;
    file_row *f = &r->files[file];
    mv_trace read, trace;
    mv_triage_query ask = {
        .read = &read, .trace = &trace, .with_others = !cli->options.level, .end = UINT32_MAX};
    mv_triage triage;
    mv_error_texts texts = {0};
    uint32_t devices;
    char contained[MV_DEVICES_TEXT];

    cli->errors = &texts;
    if (mv_input_read_levels(cli, arena, f->path, &read, &trace, err) != MV_OK) {
        if (texts.count == 0)
            return err->code;
        *err = (mv_err){.offset = MV_NO_OFFSET};
        return keep_errors(r, file, &texts, err);
    }
    ask.joined = cli->joined;
    devices = mv_trace_devices(&trace);
    if (cli->options.device >= devices)
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "no device %lld; the file contains %s",
                       (long long)cli->options.device, mv_devices_text(contained, devices));
    if (cli->options.device != MV_ALL_DEVICES) {
        ask.end = (ask.first = (uint32_t)cli->options.device) + 1;
        devices = 1;
    }
    describe(&cli->arena, f, &read, &trace);
    /* A heap's name is allocated in the file's arena, which is released before the report is
     * printed. */
    if (trace.origin.level)
        f->level = mv_arena_text(&cli->arena, trace.origin.level, strlen(trace.origin.level));
    cli->level = f->level ? f->level : mv_level_name(MV_LEVEL_PYTORCH);
    if (mv_triage_find(&cli->budget, ask, 0, &triage, err) == MV_OK) {
        f->devices = triage.device_count;
        f->idle = devices - triage.device_count;
        evaluate_gates(&cli->gates, &trace, &triage);
        mv_gate_evaluate_idle(&cli->gates, &trace, ask.first,
                              ask.end == UINT32_MAX ? devices : ask.end);
        if (keep(r, &trace, &triage, file, err) == MV_OK && triage.device_count == 0)
            mv_recording_describe(&cli->arena, &read, f->path, &f->contents, err);
    }
    mv_triage_release(&triage);
    if (err->code == MV_OK)
        mv_input_report_damage(cli, f->path, &read.notes[MV_NOTE_DAMAGED]);
    return err->code;
}

MV_FINDING_BY_ALARM(by_weight, verdict_row, kind)

static bool name_files(triage_report *r)
{
    mv_rank_place *places = mv_push_array(&r->cli->scratch, mv_rank_place, r->file_count);
    const char **names;

    for (uint32_t i = 0; places && i < r->file_count; i++)
        places[i] = (mv_rank_place){.path = r->files[i].path};
    names = places ? mv_rank_names(&r->cli->arena, places, r->file_count) : NULL;
    for (uint32_t i = 0; names && i < r->file_count; i++)
        r->files[i].name = names[i];
    return names != NULL;
}

int mv_cmd_triage(mv_cli *cli)
{
    triage_report r = {.cli = cli, .out = &cli->out};
    int status = MV_EXIT_DONE;

    r.files = mv_push_array(&cli->arena, file_row, (uint64_t)cli->options.files);
    if (!r.files)
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    mv_input_follows_heap(cli);
    cli->columns_if_few = ~0u; /* as for peak */
    for (int i = 0; i < cli->options.files; i++) {
        mv_err err = {.offset = MV_NO_OFFSET};
        mv_arena arena;
        mv_arena_init(&arena, &cli->budget);
        r.files[r.file_count].path = cli->options.file[i];
        mv_gate_next(&cli->gates, cli->options.file[i]);
        if (look_at(&r, r.file_count, &arena, &err) == MV_OK)
            r.file_count++;
        else
            r.failed += mv_complain(cli->options.file[i], &err) != MV_EXIT_DONE;
        mv_arena_release(&arena);
        mv_input_close(cli);
    }
    if (r.file_count == 0)
        return MV_EXIT_FAILED;
    if (!name_files(&r))
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    mv_sort_by(&cli->scratch, r.verdicts, r.verdict_count, sizeof *r.verdicts, by_weight, NULL);
    r.limit = mv_rows_wanted(cli, r.device_count > 1 ? TEXT_ROWS : UINT64_MAX, 1, 0);
    if (mv_table_is_wanted(cli))
        status = mv_table_put(cli, &r);
    else
        put_text(&r);
    cli->keeps_report = true;
    return r.failed ? MV_EXIT_FAILED : mv_gate_status(&cli->gates, status);
}
