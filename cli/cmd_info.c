/* memviz info: prints a file's format, devices, history and oddities. */

#include "analyze/events/recorder.h"
#include "analyze/lives/digests.h"
#include "analyze/replay/release.h"
#include "analyze/totals/host_totals.h"
#include "base/duration.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/report/captured.h"
#include "cli/report/json.h"
#include "cli/report/prose.h"
#include "parse/live/read_live.h"

typedef struct {
    uint32_t device;
    uint32_t events, segments;
    int64_t first_us, last_us; /* MV_NO_TIME: no event has a time */
    uint32_t stacks;           /* number of distinct stacks among the events */
    uint32_t events_with_stack;
    uint64_t reserved, allocated; /* bytes in the final heap */
    mv_history_kind history;
    const char *history_why;
    uint32_t ring; /* number of events in the full ring buffer; 0: the buffer was not full */
} device_facts;

/* An annotation that --at @NAME can name. */
typedef struct {
    mv_string_id name;
    uint32_t count; /* number of times it starts, or of marks with this name */
} named_place;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace; /* the trace as read from the file */
    const mv_trace *level; /* the trace on the reported level */
    uint32_t first, end;   /* range of the reported devices */
    device_facts *devices; /* [count] */
    uint32_t count;
    named_place *places; /* [place_count] sorted by first start */
    uint32_t place_count;
    mv_history_kind history;
} facts;

/* ---- gathering --------------------------------------------------------------------------- */

static void sum_segments(const mv_trace *trace, device_facts *d)
{
    const mv_segments *s = &trace->segments;

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] < 0 || (uint32_t)s->device[i] != d->device)
            continue;
        d->segments++;
        d->reserved += s->total_size[i];
        for (uint32_t j = s->first_block[i]; j < s->first_block[i] + s->blocks[i]; j++)
            if (trace->blocks.state[j] == MV_BLOCK_ALLOCATED)
                d->allocated += trace->blocks.size[j];
    }
}

static mv_code gather_device(facts *f, uint32_t device, device_facts *d, mv_err *err)
{
    mv_digest digest;
    mv_code code = mv_digest_find(&f->cli->arena, f->level, device, &digest, err);

    *d = (device_facts){.device = device, .events = mv_trace_events(f->level, device).count};
    sum_segments(f->level, d);
    if (code != MV_OK)
        return code;
    d->first_us = digest.first_us;
    d->last_us = digest.last_us;
    d->stacks = digest.stacks;
    d->events_with_stack = digest.events_with_stack;
    d->history = (mv_history_kind)digest.history;
    d->ring = digest.ring;
    d->history_why = mv_arena_text(&f->cli->arena, digest.history_why, strlen(digest.history_why));
    return d->history_why ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

/* Returns the file's history, which is the worst one of the devices that have events. */
static mv_history_kind worst_history(const facts *f)
{
    static const mv_history_kind order[] = {MV_HISTORY_TRUNCATED, MV_HISTORY_LATE,
                                            MV_HISTORY_COMPLETE};

    for (unsigned k = 0; k < sizeof order / sizeof *order; k++)
        for (uint32_t i = 0; i < f->count; i++)
            if (f->devices[i].history == order[k])
                return order[k];
    return MV_HISTORY_NONE;
}

static uint32_t count_starts(const mv_trace *trace)
{
    uint32_t starts = 0;

    for (uint32_t i = 0; i < trace->annotations.count; i++)
        starts += trace->annotations.stage[i] == MV_STAGE_START;
    return starts;
}

static bool find_places(facts *f)
{
    const mv_annotations *a = &f->trace->annotations;
    uint32_t *row = mv_push_array(&f->cli->scratch, uint32_t, f->trace->strings.count);

    f->places = mv_push_array(&f->cli->arena, named_place, (uint64_t)a->count + 1);
    if (!row || !f->places)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t name = a->name[i].row;
        if ((a->stage[i] != MV_STAGE_START && a->stage[i] != MV_STAGE_MARK) ||
            name >= f->trace->strings.count)
            continue;
        if (row[name] == 0) {
            f->places[f->place_count++].name = a->name[i];
            row[name] = f->place_count;
        }
        f->places[row[name] - 1].count++;
    }
    return true;
}

/* ---- fields ------------------------------------------------------------------------------ */

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                                      \
    COLUMN("device", "device", 1, MV_UNIT_COUNT, 0, d->device)                                   \
    COLUMN("events", "events", 2, MV_UNIT_COUNT, 0, d->events)                                   \
    COLUMN("segments", "segments", 5, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, d->segments)             \
    MEMBER("first_us", mv_value_time(d->first_us))                                               \
    MEMBER("last_us", mv_value_time(d->last_us))                                                 \
    COLUMN("stacks", "stacks", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, d->stacks)                   \
    COLUMN("events_with_stack", "with stack", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0,               \
           d->events_with_stack)                                                                 \
    COLUMN("reserved", "reserved", 6, MV_UNIT_BYTES, 0, d->reserved)                             \
    COLUMN("allocated", "allocated", 7, MV_UNIT_BYTES, 0, d->allocated)                          \
    COLUMN("history", "history", 8, MV_UNIT_TEXT, 0, mv_value_text(mv_history_name(d->history))) \
    MEMBER("history_why", mv_value_text(d->history_why))                                         \
    MEMBER("ring", mv_value_or_null(d->ring, mv_value_u64(d->ring)))

static void list_devices(mv_rows *rows)
{
    const facts *f = mv_rows_all(rows);

    if (mv_trace_is_missing_reserved(f->trace)) /* the file does not record reserved memory */
        mv_rows_head(rows, "reserved", NULL);
    else if (mv_trace_allocator(f->trace))
        mv_rows_head(rows, "segments", NULL);
    for (uint32_t i = 0; i < f->count; i++) {
        const device_facts *d = &f->devices[i];
        if (mv_rows_are_text(rows) && !mv_device_is_reported(f->level, f->first, f->end, d->device))
            continue;
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define POOL_FIELDS(COLUMN, MEMBER, LIST) MEMBER("pool_id", mv_value_pair(pools->a[i], pools->b[i]))

MV_LIST_ROWS(list_pools, facts, f, f->trace->pools.count, const mv_pools *pools = &f->trace->pools,
             POOL_FIELDS)

static const mv_table pool_table = {MV_TABLE(POOL_FIELDS, list_pools), .shape = MV_SHAPE_VALUES};

#define LEVEL_FIELDS(COLUMN, MEMBER, LIST) MEMBER("level", levels.name[i])

static void list_levels(mv_rows *rows)
{
    mv_level_list levels = mv_levels_of(((const facts *)mv_rows_all(rows))->trace);

    for (uint32_t i = 0; i < levels.count; i++)
        MV_ROWS_ADD(rows, LEVEL_FIELDS);
}

static const mv_table level_table = {MV_TABLE(LEVEL_FIELDS, list_levels), .shape = MV_SHAPE_VALUES};

#define STREAM_FIELDS(COLUMN, MEMBER, LIST) MEMBER("stream", stream)

MV_LIST_ROWS(list_streams, facts, f, f->trace->streams.count,
             uint64_t stream = f->trace->streams.value[i], STREAM_FIELDS)

static const mv_table stream_table = {MV_TABLE(STREAM_FIELDS, list_streams),
                                      .shape = MV_SHAPE_VALUES};

static mv_value setting_value(const mv_trace *trace, uint32_t row)
{
    const mv_settings *s = &trace->settings;

    switch (s->kind[row]) {
    case MV_SETTING_INT:
        return mv_value_i64(s->integer[row]);
    case MV_SETTING_FLOAT:
        return mv_value_real(s->real[row]);
    case MV_SETTING_BOOL:
        return mv_value_bool(s->integer[row] != 0);
    case MV_SETTING_TEXT:
        return mv_value_string(trace, s->text[row]);
    default:
        return mv_value_of(MV_VALUE_NULL);
    }
}

/* The entries of a nested table are adjacent in the file, so each table is opened and closed once.
 * Keys come from the file, so they are escaped like the file's other strings. */
static void put_json_settings(mv_rows *rows)
{
    const mv_trace *trace = ((const facts *)mv_rows_all(rows))->trace;
    const mv_settings *s = &trace->settings;
    mv_out *out = mv_rows_out(rows);

    mv_out_char(out, '{');
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t parent = s->parent[i].row;
        bool opens = parent != MV_NO_ROW && (i == 0 || s->parent[i - 1].row != parent);
        bool closes = parent != MV_NO_ROW && (i + 1 == s->count || s->parent[i + 1].row != parent);
        mv_out_text(out, i ? "," : "");
        if (opens) {
            mv_json_put_text(out, mv_string_span(trace, s->parent[i]));
            mv_out_text(out, ":{");
        }
        mv_json_put_text(out, mv_string_span(trace, s->key[i]));
        mv_out_char(out, ':');
        mv_rows_put_value(rows, setting_value(trace, i));
        mv_out_text(out, closes ? "}" : "");
    }
    mv_out_char(out, '}');
}

#define SETTING_FIELDS(COLUMN, MEMBER, LIST)                 \
    MEMBER("table", mv_value_string(f->trace, s->parent[i])) \
    MEMBER("key", mv_value_string(f->trace, s->key[i]))      \
    MEMBER("value", setting_value(f->trace, i))

MV_LIST_ROWS(list_settings, facts, f, f->trace->settings.count,
             const mv_settings *s = &f->trace->settings, SETTING_FIELDS)

static const mv_table setting_table = {MV_TABLE(SETTING_FIELDS, list_settings),
                                       .json = put_json_settings};

#define NOTE_FIELDS(COLUMN, MEMBER, LIST)                        \
    MEMBER("code", mv_value_text(mv_note_name((mv_note_code)i))) \
    MEMBER("count", mv_value_u64(trace->notes[i].count))         \
    MEMBER("text", mv_value_text(mv_note_text((mv_note_code)i))) \
    MEMBER("first", mv_value_text(trace->notes[i].first))

static void list_notes(mv_rows *rows)
{
    const mv_trace *trace = ((const facts *)mv_rows_all(rows))->trace;

    for (uint32_t i = 0; i < MV_NOTE_COUNT; i++)
        if (trace->notes[i].count > 0)
            MV_ROWS_ADD(rows, NOTE_FIELDS);
}

static const mv_table note_table = {MV_TABLE(NOTE_FIELDS, list_notes)};

#define PLACE_FIELDS(COLUMN, MEMBER, LIST) \
    MEMBER("count", place->count)          \
    MEMBER("name", mv_value_string(f->trace, place->name))

MV_LIST_ROWS(list_places, facts, f, f->place_count, const named_place *place = &f->places[i],
             PLACE_FIELDS)

static const mv_table place_table = {MV_TABLE(PLACE_FIELDS, list_places)};

/* Returns only the releases ("2.5 to 2.7"), if PyTorch itself wrote the file and the file's keys
 * identify them. */
static const char *pytorch_of(const mv_trace *trace, char text[MV_RELEASE_TEXT])
{
    static const char name[] = "PyTorch ";
    mv_release release = mv_release_of(trace);

    if (release.kind != MV_WRITER_PYTORCH || !*mv_release_text(text, release))
        return NULL;
    return text + strlen(name);
}

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                                      \
    MEMBER("format", mv_value_text(mv_format_name(t->origin.format)))                            \
    MEMBER("page", mv_value_bool(t->origin.is_page))                                             \
    MEMBER("compression", mv_value_text(t->origin.compression))                                  \
    MEMBER("protocol",                                                                           \
           mv_value_or_null(t->origin.pickle_protocol, mv_value_u64(t->origin.pickle_protocol))) \
    MEMBER("file_bytes", mv_value_bytes(t->origin.file_bytes))                                   \
    MEMBER("data_bytes", mv_value_bytes(t->origin.data_bytes))                                   \
    MEMBER("pytorch", mv_value_text(pytorch_of(t, release)))                                     \
    MEMBER("rounding.rule", mv_value_text(rounding.is_npu ? "torch_npu" : "cuda"))               \
    MEMBER("rounding.blocks", mv_value_u64(rounding.blocks))                                     \
    MEMBER("rounding.cuda_fits", mv_value_u64(rounding.cuda_fits))                               \
    MEMBER("rounding.npu_fits", mv_value_u64(rounding.npu_fits))                                 \
    LIST("devices", &device_table, mv_value_rows(NULL))                                          \
    MEMBER("history", mv_value_text(mv_history_name(f->history)))                                \
    MEMBER("annotations", mv_value_u64(t->annotations.count))                                    \
    MEMBER("tensors", mv_value_u64(t->tensors.count))                                            \
    MEMBER("annotation_ranges", mv_value_u64(count_starts(t)))                                   \
    LIST("annotation_names", &place_table, mv_value_rows(NULL))                                  \
    LIST("levels", &level_table, mv_value_rows(NULL))                                            \
    MEMBER("stacks", mv_value_u64(t->stacks.count))                                              \
    MEMBER("frames", mv_value_u64(t->frames.count))                                              \
    LIST("pools", &pool_table, mv_value_rows(NULL))                                              \
    LIST("streams", &stream_table, mv_value_rows(NULL))                                          \
    MEMBER("host_segments", mv_value_u64(t->host_segments.count))                                \
    MEMBER("host_events", mv_value_u64(t->host_events.count))                                    \
    MEMBER("host_bytes", mv_value_u64(mv_host_totals_of(t).now.reserved))                        \
    LIST("settings", &setting_table, mv_value_rows(NULL))                                        \
    MEMBER("dry_run", mv_value_bool(mv_setting_is_on(t, "dry_run")))                             \
    MV_CAPTURED_FIELDS(COLUMN, MEMBER, LIST, "capture.", &captured)                              \
    LIST("notes", &note_table, mv_value_rows(NULL))

static void list_report(mv_rows *rows)
{
    const facts *f = mv_rows_all(rows);
    const mv_trace *t = f->trace;
    mv_rounding rounding = mv_rounding_of(t);
    mv_captured captured = mv_captured_find(&f->cli->scratch, t);
    char release[MV_RELEASE_TEXT];

    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_info = {MV_TABLE(REPORT_FIELDS, list_report), .main = "devices"};

/* ---- text -------------------------------------------------------------------------------- */

enum { NAMES_SHOWN = 8 };
enum { LABEL = 16 }; /* column after a line's label */

static void put_format(const facts *f)
{
    const mv_origin *o = &f->trace->origin;
    char size[MV_SIZE_TEXT], more[200] = "";

    if (o->pickle_protocol)
        mv_prose_add(more, sizeof more, ", protocol %u", o->pickle_protocol);
    if (o->is_page)
        mv_prose_add(more, sizeof more, ", in an HTML page");
    if (o->format == MV_FORMAT_COMPACT)
        mv_prose_add(more, sizeof more, ", compact");
    if (o->file_bytes != MV_NO_BYTES)
        mv_prose_add(more, sizeof more, ", %s", mv_size_text(size, o->file_bytes));
    if (o->compression && strcmp(o->compression, "none") != 0)
        mv_prose_add(more, sizeof more, ", %s of %s", o->compression,
                     mv_size_text(size, o->data_bytes));
    mv_captured_label(f->out, "format");
    mv_prose_put(f->out, LABEL, LABEL, "%s%s", mv_format_name(o->format), more);
}

static void put_recorded(const facts *f)
{
    int64_t first = MV_NO_TIME, last = MV_NO_TIME;
    time_t seconds;
    struct tm utc;
    char date[40];

    for (uint32_t i = 0; i < f->count; i++) {
        const device_facts *d = &f->devices[i];
        if (d->first_us == MV_NO_TIME)
            continue;
        first = first == MV_NO_TIME || d->first_us < first ? d->first_us : first;
        last = d->last_us > last ? d->last_us : last;
    }
    if (first == MV_NO_TIME)
        return;
    seconds = (time_t)(first / 1000000);
    if (!gmtime_r(&seconds, &utc) || !strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &utc))
        return;
    if (seconds < 366 * 24 * 60 * 60) /* RMM's clock does not have a date */
        strftime(date, sizeof date, "from %H:%M:%S", &utc);
    mv_captured_label(f->out, "recorded");
    mv_prose_put(f->out, LABEL, LABEL, "%s, %.6f s", date, ((double)last - (double)first) / 1e6);
}

/* Whether reports use calls or heaps, because PyTorch's allocator was not used. */
static bool is_of_calls(const mv_trace *trace)
{
    return mv_level_has(trace, MV_LEVEL_DEFAULT) && mv_level_default(trace) != MV_LEVEL_PYTORCH;
}

static void put_history(const facts *f)
{
    const char *level = f->level->origin.level, *why = NULL;

    for (uint32_t i = 0; i < f->count && f->history != MV_HISTORY_NONE && !why; i++)
        if (f->devices[i].history == f->history)
            why = f->devices[i].history_why;
    if (!level && !mv_level_has(f->trace, MV_LEVEL_PYTORCH)) /* other levels may contain events */
        why = mv_level_missing_text(mv_trace_allocator(f->trace) ? MV_LEVEL_ALL : MV_LEVEL_PYTORCH);
    mv_captured_label(f->out, "history");
    mv_prose_put(f->out, LABEL, LABEL, "%s%s%s%s%s", mv_history_name(f->history), why ? ": " : "",
                 why ? why : "", level ? "; of --level " : "", level ? level : "");
}

/* For a bounded recording, prints which events were removed and why. */
static void put_folded(const facts *f)
{
    const char *events = mv_fact_find(f->trace, MV_FACT_FOLDED);
    const char *bound = mv_fact_find(f->trace, MV_FACT_FOLDED_BOUND);
    const char *until = mv_fact_find(f->trace, MV_FACT_FOLDED_UNTIL);
    uint64_t count = 0, until_us = 0, last = 0;
    char text[MV_COUNT_TEXT], span[MV_DURATION_TEXT], before[80] = "";

    if (!events || !mv_number_read(events, &count))
        return;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->devices[i].last_us != MV_NO_TIME && (uint64_t)f->devices[i].last_us > last)
            last = (uint64_t)f->devices[i].last_us;
    if (until && mv_number_read(until, &until_us))
        until_us += (uint64_t)mv_live_to_epoch_us(f->trace);
    if (until_us && until_us < last)
        snprintf(before, sizeof before, ", all more than %s before the last event",
                 mv_duration_text(span, (int64_t)(last - until_us)));
    mv_captured_label(f->out, "folded");
    mv_prose_put(f->out, LABEL, LABEL,
                 "%s event%s%s (--max-%s): their memory has been freed; blocks that were still "
                 "alive are in the file with their stacks",
                 mv_count_text(text, count), mv_plural(count), before, bound ? bound : "size");
}

/* Prints the possible values of --level, if the file contains more than PyTorch's blocks. */
static void put_levels(const facts *f)
{
    mv_level_list levels = mv_levels_of(f->trace);
    char names[1200] = "";

    if (levels.count == 0 || (levels.count == 1 && !is_of_calls(f->trace)))
        return;
    for (uint32_t i = 0; i < levels.count; i++)
        mv_text_append(names, sizeof names, "%s%s", i > 0 ? ", " : "", levels.name[i]);
    mv_captured_label(f->out, "levels");
    mv_prose_put(f->out, LABEL, LABEL, "%s; reports are about %s unless --level names another",
                 names, mv_level_name_of(f->trace, mv_level_default(f->trace)));
}

static void put_counts(const facts *f)
{
    const mv_trace *t = f->trace;
    mv_host_totals host = mv_host_totals_of(t);
    char size[MV_SIZE_TEXT], used[MV_SIZE_TEXT], names[1200] = "";

    mv_captured_label(f->out, "distinct");
    mv_prose_put(f->out, LABEL, LABEL, "stacks %u, frames %u, pools %u, streams %u",
                 t->stacks.count, t->frames.count, t->pools.count, t->streams.count);
    mv_captured_label(f->out, "annotations");
    for (uint32_t i = 0; i < f->place_count && i < NAMES_SHOWN; i++)
        mv_prose_add(names, sizeof names, "%s @%.60s (%u)", i ? "," : ":",
                     mv_string_text(t, f->places[i].name), f->places[i].count);
    if (f->place_count > NAMES_SHOWN)
        mv_prose_add(names, sizeof names, ", %u more (--json)", f->place_count - NAMES_SHOWN);
    mv_prose_put(f->out, LABEL, LABEL, "%u starts and ends, of %u range%s%s", t->annotations.count,
                 count_starts(t), mv_plural(count_starts(t)), names);
    if (t->tensors.count > 0) {
        mv_captured_label(f->out, "named tensors");
        mv_prose_put(f->out, LABEL, LABEL, "%u (memviz memory --by module)", t->tensors.count);
    }
    if (host.is_there) {
        mv_captured_label(f->out, "pinned host");
        mv_prose_put(f->out, LABEL, LABEL, "segments %u, %s; %s allocated; events %llu",
                     host.segments, mv_size_text(size, host.now.reserved),
                     mv_size_text(used, host.now.allocated), (unsigned long long)host.events);
    }
}

static void put_setting(mv_out *out, const mv_trace *trace, uint32_t row)
{
    const mv_settings *s = &trace->settings;

    if (s->parent[row].row != MV_NO_ROW) {
        mv_out_clean(out, mv_string_span(trace, s->parent[row]));
        mv_out_char(out, '.');
    }
    mv_out_clean(out, mv_string_span(trace, s->key[row]));
    mv_out_text(out, " = ");
    switch (s->kind[row]) {
    case MV_SETTING_INT:
        mv_out_i64(out, s->integer[row]);
        break;
    case MV_SETTING_FLOAT:
        mv_out_format(out, "%g", s->real[row]);
        break;
    case MV_SETTING_BOOL:
        mv_out_text(out, s->integer[row] ? "true" : "false");
        break;
    case MV_SETTING_TEXT:
        mv_out_quoted(out, mv_string_span(trace, s->text[row]));
        break;
    default:
        mv_out_text(out, "none");
    }
    mv_out_char(out, '\n');
}

/* A zero entry in a nested table means that something is off. Only --json shows such entries. */
static void put_settings(const facts *f)
{
    const mv_settings *s = &f->trace->settings;
    bool first = true;

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->parent[i].row != MV_NO_ROW && s->kind[i] == MV_SETTING_INT && s->integer[i] == 0)
            continue;
        mv_captured_label(f->out, first ? "settings" : "");
        put_setting(f->out, f->trace, i);
        first = false;
    }
}

static void put_notes(const facts *f)
{
    for (uint32_t i = 0; i < MV_NOTE_COUNT; i++) {
        const mv_note *note = &f->trace->notes[i];
        if (note->count == 0)
            continue;
        mv_captured_label(f->out, "note");
        mv_out_style(f->out, MV_STYLE_YELLOW);
        mv_prose_put(f->out, LABEL, LABEL, "%llu %s%s%s%s", (unsigned long long)note->count,
                     mv_note_text((mv_note_code)i), *note->first ? " (" : "", note->first,
                     *note->first ? ")" : "");
        mv_out_style(f->out, MV_STYLE_NONE);
    }
}

/* Prints the rounding only if it differs from what every report assumes. */
static void put_rounding(const facts *f)
{
    mv_rounding r = mv_rounding_of(f->trace);
    char fits[80] = "";

    if (!r.is_npu)
        return;
    mv_captured_label(f->out, "rounding");
    if (r.blocks > 0)
        snprintf(fits, sizeof fits, "; matches %u of %u blocks, CUDA's rule %u", r.npu_fits,
                 r.blocks, r.cuda_fits);
    mv_prose_put(f->out, LABEL, LABEL,
                 "torch_npu's: %u bytes more than requested, rounded up to a multiple of %u%s",
                 MV_NPU_PAD, MV_MIN_BLOCK, fits);
}

static void put_writer(const facts *f)
{
    const char *writer = mv_recorder_of(f->trace)->writer;
    char release[MV_RELEASE_TEXT];

    if (!writer)
        writer = mv_release_text(release, mv_release_of(f->trace));
    if (!*writer)
        return;
    mv_captured_label(f->out, "written by");
    mv_prose_put(f->out, LABEL, LABEL, "%s", writer);
}

/* Prints limits and peaks that XLA's allocators recorded, by device. */
static void put_limits(const facts *f)
{
    static const struct {
        const char *key, *label, *after;
    } rows[] = {
        {"limit_", "limit", "may be allocated"},
        {MV_FACT_PEAK_BEFORE, "peak before", "allocated at once, before the profile began"}};
    uint32_t devices = mv_trace_devices(f->trace);
    char size[MV_SIZE_TEXT], key[32], name[32] = "";

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t d = 0; d < devices; d++) {
            uint64_t bytes = mv_fact_of_device(f->trace, rows[i].key, d);
            const char *allocators;
            if (bytes == 0)
                continue;
            snprintf(key, sizeof key, "allocators_%u", d);
            allocators = mv_fact_find(f->trace, key);
            if (devices > 1)
                snprintf(name, sizeof name, "device %u: ", d);
            mv_captured_label(f->out, rows[i].label);
            mv_prose_put(f->out, LABEL, LABEL, "%s%s %s (%s)", name, mv_size_text(size, bytes),
                         rows[i].after, allocators ? allocators : "");
        }
}

/* Prints the failed requests in another tool's log, and how --at can name them. */
static void put_failures(const facts *f)
{
    const char *value = mv_fact_find(f->trace, "failures");
    char at[MV_OOM_AT_TEXT], last[48] = "";
    uint64_t count;

    if (!value || !mv_number_read(value, &count) || count == 0)
        return;
    if (count > 1 && count <= UINT32_MAX)
        snprintf(last, sizeof last, " at the first, --at %s at the last",
                 mv_oom_at_text(at, (uint32_t)count));
    mv_captured_label(f->out, "failed");
    mv_prose_put(f->out, LABEL, LABEL,
                 "%s of its requests; memviz peak --at oom shows who held memory%s", value, last);
}

/* Prints what else a file from another tool contains, except for its events. */
static void put_tool_facts(const facts *f)
{
    static const struct {
        const char *key, *label, *after;
    } rows[] = {
        {"host", "host", ""},
        {"pid", "process", ""},
        {"jax_version", "JAX", ""},
        {"rank", "rank", ""},
        {"world_size", "ranks", ""},
        {"clock_set_back", "set back",
         " (number of times; the time continues from its earlier value)"},
        {MV_FACT_BUFFERS, "buffers", " in the file; buffers with one stack are one block here"},
        {MV_FACT_EXECUTABLES, "executables", " in the file (compiled programs)"},
        {MV_FACT_UNSIZED_EXECUTABLES, "", " of them without a size in the file"},
        {MV_FACT_CPU_DEVICE, "CPU", " is the number of the first CPU device"}};

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *value = mv_fact_find(f->trace, rows[i].key);
        if (!value || strcmp(value, "0") == 0)
            continue;
        mv_captured_label(f->out, rows[i].label);
        mv_prose_put(f->out, LABEL, LABEL, "%s%s", value, rows[i].after);
    }
    put_failures(f);
}

static void put_text(const facts *f)
{
    const char *name = mv_input_name(f->cli);

    mv_out_style(f->out, MV_STYLE_BOLD);
    mv_out_clean_text(f->out, name);
    mv_out_style(f->out, MV_STYLE_NONE);
    mv_out_char(f->out, '\n');
    put_format(f);
    put_writer(f);
    put_rounding(f);
    put_recorded(f);
    put_history(f);
    put_folded(f);
    put_levels(f);
    mv_table_print(f->cli, &device_table, f, NULL, "\n");
    mv_idle_put_others(f->out, f->level, f->first, f->end, false);
    mv_out_char(f->out, '\n');
    if (mv_trace_is_captured(f->trace))
        mv_captured_print(f->out, &f->cli->scratch, f->trace);
    if (mv_trace_allocator(f->trace))
        put_tool_facts(f);
    put_limits(f);
    put_counts(f);
    put_settings(f);
    put_notes(f);
}

int mv_cmd_info(mv_cli *cli)
{
    mv_trace trace;
    facts f = {.cli = cli, .out = &cli->out, .level = &trace};
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &f.first, &f.end))
        return MV_EXIT_FAILED;
    f.trace = mv_trace_as_read(&trace);
    f.devices = mv_push_array(&cli->arena, device_facts, f.end - f.first);
    if (!f.devices)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = f.first; i < f.end && err.code == MV_OK; i++)
        gather_device(&f, i, &f.devices[f.count++], &err);
    if (err.code == MV_OK && !find_places(&f))
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (err.code != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    f.history = worst_history(&f);
    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, &f);
    put_text(&f);
    return MV_EXIT_DONE;
}
