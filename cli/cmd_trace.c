/* memviz trace: prints the events as readable lines. */
#include <unistd.h>

#include "analyze/events/recorder.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/json.h"
#include "cli/report/prose.h"
#include "cli/report/stack_text.h"
#include "cli/report/table.h"
#include "parse/model/living.h"
#include "parse/model/versions.h"

#define TERMINAL_ROWS 50

/* A label of a stack. */
typedef struct {
    const char *text; /* NULL: not built yet */
    uint32_t width;
    uint32_t plain; /* length of a text that needs no escaping; else 0 */
} stack_label;

/* State that changes while events are listed. */
typedef struct {
    uint64_t events, hidden; /* number of events so far, and number of those that --limit omitted */
    uint32_t stacks;         /* number of entries in `listing.stacks` */
    bool has_failed;         /* a message was already printed */
} progress;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    uint32_t first, end; /* range of the reported devices */
    int64_t start_us;
    uint64_t limit;       /* maximum number of events to print */
    const uint8_t *kinds; /* kinds of the trace's frames */
    stack_label *labels;  /* [stacks.count] built on first use */
    uint32_t *stack_row;  /* [stacks.count] the stack's position in the report's list of stacks, or
                           * MV_NO_ROW */
    mv_stack_id *stacks;  /* [so_far->stacks] stacks in the order of these positions */
    progress *so_far;
    bool has_seconds, has_address, has_stream; /* the columns that fit on the terminal */
    int width_of_event, width_of_time, width_of_stream;
    uint32_t room; /* width available for the last column */
} listing;

enum {
    TIME = 32,
    STREAM_TEXT = 24,
    WHERE = 28, /* desired width of the last column */
    TAGS = 1024,
    LEAST_TAG = 12
};

static stack_label label_from(const char *text)
{
    stack_label out = {.text = text, .width = mv_prose_width(text)};
    uint32_t length = 0;

    while (text[length] >= 0x20 && text[length] < 0x7f)
        length++;
    out.plain = text[length] ? 0 : length;
    return out;
}

static stack_label label_of(const listing *l, mv_stack_id stack)
{
    char text[256];
    stack_label *at;

    if (stack.row >= l->trace->stacks.count)
        return label_from("(no stack)");
    at = &l->labels[stack.row];
    if (!at->text) {
        mv_culprit_label(l->trace, l->kinds, stack, text, sizeof text);
        const char *kept = mv_arena_text(&l->cli->scratch, text, strlen(text));
        *at = label_from(kept ? kept : "?");
    }
    return *at;
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_right(mv_out *out, const char *text, int width)
{
    size_t length = strlen(text);

    mv_out_spaces(out, width - (int64_t)length);
    mv_out_bytes(out, text, length);
}

static void put_left(mv_out *out, const char *text, int width)
{
    size_t length = strlen(text);

    mv_out_bytes(out, text, length);
    mv_out_spaces(out, width - (int64_t)length);
}

/* An unknown action is printed with the name that the file contains. */
static void put_action(mv_out *out, const char *name, int width)
{
    int64_t left = width - (int64_t)mv_prose_width(name);

    mv_out_clean_text(out, name);
    mv_out_spaces(out, left > 0 ? left : 1);
}

/* Prints the seconds since the start, with microseconds. */
static const char *time_text(char text[TIME], int64_t start_us, int64_t time_us)
{
    uint64_t us = time_us < start_us ? (uint64_t)start_us - (uint64_t)time_us
                                     : (uint64_t)time_us - (uint64_t)start_us;
    uint32_t at = 0;

    if (time_us == MV_NO_TIME || start_us == MV_NO_TIME)
        return "-";
    if (time_us < start_us)
        text[at++] = '-';
    at += mv_digits(text + at, us / 1000000);
    text[at++] = '.';
    mv_digits_padded(text + at, 6, us % 1000000);
    text[at + 6] = 0;
    return text;
}

static const char *stream_text(char text[STREAM_TEXT], uint64_t stream)
{
    if (stream)
        snprintf(text, STREAM_TEXT, "0x%llx", (unsigned long long)stream);
    return stream ? text : "0";
}

static void widen(int *width, const char *text, int space)
{
    int needed = (int)strlen(text) + space;

    *width = needed > *width ? needed : *width;
}

/* Columns are as wide as their contents, plus a space before or after them. */
static void find_widths(listing *l)
{
    char text[TIME], digits[24] = "";

    l->width_of_event = 9;
    l->width_of_time = 11;
    l->width_of_stream = 12;
    for (uint32_t device = l->first; device < l->end; device++) {
        mv_events e = mv_trace_events(l->trace, device);
        int64_t first = MV_NO_TIME, last = MV_NO_TIME;
        if (l->trace->digests && mv_event_total(l->trace, device) > 0) {
            first = l->trace->digests[device].first_us;
            last = l->trace->digests[device].last_us;
        }
        for (uint32_t i = 0; !l->trace->digests && i < e.count; i++) {
            int64_t at = e.time_us[i];
            if (at == MV_NO_TIME)
                continue;
            first = first == MV_NO_TIME || at < first ? at : first;
            last = last == MV_NO_TIME || at > last ? at : last;
        }
        digits[mv_digits(digits, mv_event_total(l->trace, device))] = 0;
        widen(&l->width_of_event, digits, 0);
        widen(&l->width_of_time, time_text(text, l->start_us, first), 2);
        widen(&l->width_of_time, time_text(text, l->start_us, last), 2);
    }
    for (uint32_t i = 0; i < l->trace->streams.count; i++)
        widen(&l->width_of_stream, stream_text(digits, l->trace->streams.value[i]), 2);
}

/* Drops columns that do not fit, the least important first: the stream, the address, the time. */
static void find_columns(listing *l)
{
    uint32_t columns = l->out->columns ? l->out->columns : UINT32_MAX;
    uint32_t used = 28 + (uint32_t)l->width_of_event;
    struct {
        bool *has;
        uint32_t width;
    } rest[] = {{&l->has_seconds, (uint32_t)l->width_of_time},
                {&l->has_address, 18},
                {&l->has_stream, (uint32_t)l->width_of_stream}};

    for (unsigned i = 0; i < sizeof rest / sizeof *rest; i++) {
        *rest[i].has = used + rest[i].width + WHERE <= columns;
        used += *rest[i].has ? rest[i].width : 0;
    }
    l->room = columns == UINT32_MAX ? UINT32_MAX : columns > used ? columns - used : 2;
}

static void put_address(mv_out *out, const mv_events *e, uint32_t i, uint32_t of_address)
{
    char free_bytes[MV_SIZE_TEXT];
    uint32_t before;

    if (e->addr[i] == MV_NO_BYTES) {
        put_left(out, "-", 18);
        return;
    }
    if (e->action[i] == MV_ACTION_OOM) {
        mv_size_text(free_bytes, e->addr[i]);
        mv_out_text(out, free_bytes);
        put_left(out, " free", 18 - (int)strlen(free_bytes));
        return;
    }
    mv_out_hex(out, e->addr[i]);
    before = 2;
    for (uint64_t a = e->addr[i]; a > 15; a >>= 4)
        before++;
    before++;
    if (mv_action_has_version(e->action[i])) {
        char version[24];
        version[0] = '#';
        version[1 + mv_digits(version + 1, of_address)] = 0;
        put_left(out, version, 18 - (int)before);
    } else {
        mv_out_spaces(out, 18 - (int64_t)before);
    }
}

static void add_remark(const listing *l, const char *before, mv_string_id id, char text[TAGS])
{
    if (mv_string_span(l->trace, id).length)
        mv_prose_add(text, TAGS, "%s%s]", before, mv_string_text(l->trace, id));
}

/* Prints text in the space that is left on the line. */
static void put_tag(const listing *l, mv_tag_id tag, uint32_t room)
{
    const mv_tags *t = &l->trace->tags;
    mv_string_id compiled = t->compile_context[tag.row];
    char text[TAGS];

    if (tag.row == MV_PLAIN_TAG.row || room < LEAST_TAG)
        return;
    text[0] = 0;
    if (mv_string_span(l->trace, t->op[tag.row]).length)
        mv_prose_add(text, TAGS, "  %s %s", mv_string_text(l->trace, t->op[tag.row]),
                     mv_string_text(l->trace, t->shapes[tag.row]));
    add_remark(l, "  [", t->user_metadata[tag.row], text);
    if (strcmp(mv_string_text(l->trace, compiled), "N/A") != 0)
        add_remark(l, "  [compiled: ", compiled, text);
    add_remark(l, "  [category: ", t->category[tag.row], text);
    mv_prose_put_cut(l->out, room, text);
}

static void put_stack(const listing *l, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(l->trace, stack, &count);
    char label[512];

    for (uint32_t i = 0; i < count && i < MV_STACK_LINES; i++) {
        mv_out_spaces(l->out, 27);
        mv_frame_label(l->trace, frames[i], label, sizeof label);
        mv_out_clean_text(l->out, label);
        mv_out_char(l->out, '\n');
    }
    if (count > MV_STACK_LINES)
        mv_stack_put_more(l->out, count - MV_STACK_LINES, 27);
}

static mv_style action_style(uint8_t action)
{
    switch (action) {
    case MV_ACTION_OOM:
        return MV_STYLE_RED;
    case MV_ACTION_ALLOC:
        return MV_STYLE_GREEN;
    case MV_ACTION_FREE_REQUESTED:
    case MV_ACTION_FREE_COMPLETED:
        return MV_STYLE_DIM;
    default:
        return MV_STYLE_YELLOW;
    }
}

static void put_event(const listing *l, uint32_t device, const mv_events *e, uint32_t i,
                      uint32_t version)
{
    mv_out *out = l->out;
    char size[MV_SIZE_TEXT], time[TIME], stream[STREAM_TEXT];
    const stack_label where = label_of(l, e->stack[i]);

    mv_out_u64_wide(out, mv_event_number(l->trace, device, i), l->width_of_event);
    if (l->has_seconds)
        put_right(out, time_text(time, l->start_us, e->time_us[i]), l->width_of_time);
    mv_out_words(out, "  ");
    mv_out_style(out, action_style(e->action[i]));
    if (e->action[i] == MV_ACTION_OTHER)
        put_action(out, mv_event_action(l->trace, e, i), 15);
    else
        put_left(out, mv_action_name(e->action[i]), 15);
    mv_out_style(out, MV_STYLE_NONE);
    if (l->has_address)
        put_address(out, e, i, version);
    put_right(out, mv_size_text(size, e->size[i]), 9);
    mv_out_words(out, "  ");
    if (l->has_stream)
        put_left(out, stream_text(stream, l->trace->streams.value[e->stream[i].row]),
                 l->width_of_stream);
    if (where.plain && where.width <= l->room)
        mv_out_bytes(out, where.text, where.plain);
    else
        mv_prose_put_cut(out, l->room, where.text);
    put_tag(l, e->tag[i], l->room - (where.width < l->room ? where.width : l->room));
    mv_out_char(out, '\n');
    if (l->cli->options.all_frames)
        put_stack(l, e->stack[i]);
}

static void put_heading(const listing *l, uint32_t device, mv_window window)
{
    uint32_t count = mv_event_total(l->trace, device);
    char place[MV_PLACE_TEXT];

    mv_out_style(l->out, MV_STYLE_BOLD);
    mv_out_format(l->out, "%s: %u event%s", mv_level_place(l->trace, device, place), count,
                  mv_plural(count));
    mv_out_style(l->out, MV_STYLE_NONE);
    if (window.end - window.first != count)
        mv_out_format(l->out, ", from %u to before %u",
                      mv_event_number(l->trace, device, window.first),
                      mv_event_number(l->trace, device, window.end));
    mv_out_char(l->out, '\n');
    if (window.end == window.first)
        return;
    mv_out_style(l->out, MV_STYLE_DIM);
    put_right(l->out, "event", l->width_of_event);
    if (l->has_seconds)
        put_right(l->out, "seconds", l->width_of_time);
    mv_out_format(l->out, "  action         %s%9s  ", l->has_address ? "address           " : "",
                  "size");
    if (l->has_stream)
        put_left(l->out, "stream", l->width_of_stream);
    mv_prose_put_cut(l->out, l->room, "where");
    mv_out_char(l->out, '\n');
    mv_out_style(l->out, MV_STYLE_NONE);
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Returns a stack's position in the report's list of stacks, or null without a stack. */
static mv_value stack_number(const listing *l, mv_stack_id stack)
{
    uint32_t *row;

    if (stack.row >= l->trace->stacks.count)
        return mv_value_of(MV_VALUE_NULL);
    row = &l->stack_row[stack.row];
    if (*row == MV_NO_ROW) {
        *row = l->so_far->stacks;
        l->stacks[l->so_far->stacks++] = stack;
    }
    return mv_value_u64(*row);
}

#define EVENT_FIELDS(COLUMN, MEMBER, LIST)                                                     \
    MEMBER("device", mv_value_u64(device))                                                     \
    MEMBER("event", mv_value_u64(mv_event_number(l->trace, device, i)))                        \
    MEMBER("action", mv_value_text(mv_event_action(l->trace, e, i)))                           \
    MEMBER("addr", mv_value_bytes(is_oom ? MV_NO_BYTES : e->addr[i]))                          \
    MEMBER("device_free", mv_value_if(is_oom, mv_value_bytes(e->addr[i])))                     \
    MEMBER("version", mv_value_if(mv_action_has_version(e->action[i]), mv_value_u64(version))) \
    MEMBER("size", mv_value_u64(e->size[i]))                                                   \
    MEMBER("stream", mv_value_u64(l->trace->streams.value[e->stream[i].row]))                  \
    MEMBER("time_us", mv_value_time(e->time_us[i]))                                            \
    MEMBER("stack", stack_number(l, e->stack[i]))                                              \
    MEMBER("compile_context", mv_value_known(l->trace, tags->compile_context[tag]))            \
    MEMBER("user_metadata", mv_value_known(l->trace, tags->user_metadata[tag]))                \
    MEMBER("internal_metadata", mv_value_known(l->trace, tags->internal_metadata[tag]))        \
    MEMBER("category", mv_value_known(l->trace, tags->category[tag]))                          \
    MEMBER("op", mv_value_known(l->trace, tags->op[tag]))                                      \
    MEMBER("shapes", mv_value_known(l->trace, tags->shapes[tag]))                              \
    MEMBER("pool_id", mv_value_if(tags->pool[tag].row != MV_NO_ROW,                            \
                                  mv_value_pool(l->trace, tags->pool[tag])))

static void add_event(const listing *l, mv_rows *rows, uint32_t device, const mv_events *e,
                      uint32_t i, uint32_t version)
{
    const mv_tags *tags = &l->trace->tags;
    uint32_t tag = e->tag[i].row;
    bool is_oom = e->action[i] == MV_ACTION_OOM;

    MV_ROWS_ADD(rows, EVENT_FIELDS);
}

static bool ran_out_of_memory(const listing *l)
{
    mv_complain_of(mv_input_name(l->cli), "%s", mv_code_text(MV_NOMEM));
    return false;
}

/* Returns the versions of the events [first, end) of a device; NULL if memory runs out. */
static const uint32_t *find_versions(const listing *l, uint32_t device, uint32_t first,
                                     uint32_t end)
{
    mv_events e = mv_trace_events(l->trace, device);
    mv_arena *arena = &l->cli->scratch;
    uint32_t *versions;

    if (l->trace->versions && e.count > 0)
        return l->trace->versions[device] + first;
    versions = mv_push_unset(arena, uint32_t, end - first);
    if (!versions || mv_versions_find(arena, &e, 0, first, end, NULL, versions) != MV_OK)
        return NULL;
    return versions;
}

/* Lists the events of one device, as text if `rows` is NULL. Returns false, with a message, on
 * failure. */
static bool put_device(const listing *l, mv_rows *rows, uint32_t device)
{
    mv_events e = mv_trace_events(l->trace, device);
    uint64_t room = l->limit - l->so_far->events;
    const uint32_t *versions;
    mv_window window;
    uint32_t end;

    if (!mv_window_find(l->cli, l->trace, device, &window))
        return false;
    if (!rows)
        put_heading(l, device, window);
    end = window.end - window.first > room ? window.first + (uint32_t)room : window.end;
    versions = find_versions(l, device, window.first, end);
    if (!versions)
        return ran_out_of_memory(l);
    for (uint32_t i = window.first; i < end; i++)
        if (rows)
            add_event(l, rows, device, &e, i, versions[i - window.first]);
        else
            put_event(l, device, &e, i, versions[i - window.first]);
    l->so_far->events += end - window.first;
    l->so_far->hidden += window.end - end;
    return true;
}

static void list_device(const listing *l, mv_rows *rows, uint32_t device)
{
    l->so_far->has_failed = !put_device(l, rows, device);
}

static void list_events(mv_rows *rows)
{
    const listing *l = mv_rows_all(rows);

    for (uint32_t device = l->first; device < l->end && !l->so_far->has_failed; device++)
        list_device(l, rows, device);
}

static const mv_table event_table = {MV_TABLE(EVENT_FIELDS, list_events), .shape = MV_SHAPE_LINES,
                                     .named_by = 2};

#define STACK_FIELDS(COLUMN, MEMBER, LIST) \
    MEMBER("stack", mv_value_u64(i))       \
    MEMBER("frames", mv_value_frames(l->trace, l->stacks[i]))

/* Numbers the stacks as list_events does, for a table that contains only stacks. */
static void number_stacks(const listing *l, uint32_t device)
{
    mv_events e = mv_trace_events(l->trace, device);
    mv_window window;

    l->so_far->has_failed = !mv_window_find(l->cli, l->trace, device, &window);
    if (l->so_far->has_failed)
        return;
    for (uint32_t i = window.first; i < window.end && l->so_far->events < l->limit; i++) {
        l->so_far->events++;
        stack_number(l, e.stack[i]);
    }
}

static void list_stacks(mv_rows *rows)
{
    const listing *l = mv_rows_all(rows);

    for (uint32_t device = l->first; device < l->end && !l->so_far->has_failed; device++)
        number_stacks(l, device);
    for (uint32_t i = 0; i < l->so_far->stacks; i++)
        MV_ROWS_ADD(rows, STACK_FIELDS);
}

/* Lists each stack on one line, as an array of frames. */
static void put_json_stacks(mv_rows *rows)
{
    const listing *l = mv_rows_all(rows);
    mv_out *out = mv_rows_out(rows);

    mv_out_char(out, '[');
    for (uint32_t i = 0; i < l->so_far->stacks; i++) {
        mv_out_words(out, i ? ",\n" : "\n");
        mv_json_put_frames(out, l->trace, l->stacks[i]);
    }
    mv_out_char(out, ']');
}

static const mv_table stack_table = {MV_TABLE(STACK_FIELDS, list_stacks), .json = put_json_stacks};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)           \
    MV_WITH_FIELDS(MEMBER, l->cli)                    \
    LIST("events", &event_table, mv_value_rows(NULL)) \
    LIST("stacks", &stack_table, mv_value_rows(NULL))

MV_LIST_REPORT(list_report, listing, l, REPORT_FIELDS)

const mv_table mv_report_trace = {MV_TABLE(REPORT_FIELDS, list_report), .main = "events"};

/* ---- all --------------------------------------------------------------------------------- */

static bool has_events(const listing *l)
{
    for (uint32_t device = l->first; device < l->end; device++)
        if (mv_trace_events(l->trace, device).count > 0)
            return true;
    return false;
}

static int put_text(const listing *l)
{
    for (uint32_t device = l->first; device < l->end; device++)
        if (mv_device_is_reported(l->trace, l->first, l->end, device) &&
            !put_device(l, NULL, device))
            return MV_EXIT_FAILED;
    mv_idle_put_others(l->out, l->trace, l->first, l->end, false);
    if (!has_events(l))
        mv_prose_put(l->out, 0, 2, "%s", mv_recorder_of(l->trace)->no_events);
    if (l->so_far->hidden) {
        mv_out_style(l->out, MV_STYLE_DIM);
        mv_out_format(l->out, "%llu more event%s; --limit 0 shows all\n",
                      (unsigned long long)l->so_far->hidden, mv_plural(l->so_far->hidden));
        mv_out_style(l->out, MV_STYLE_NONE);
    }
    return MV_EXIT_DONE;
}

static uint64_t rows_wanted(const mv_cli *cli)
{
    const mv_options *o = &cli->options;

    if (mv_option_given(o, MV_HAS(LIMIT)))
        return o->limit ? o->limit : UINT64_MAX;
    if (mv_table_is_wanted(cli) || o->output || !isatty(STDOUT_FILENO))
        return UINT64_MAX;
    return TERMINAL_ROWS;
}

int mv_cmd_trace(mv_cli *cli)
{
    mv_trace trace;
    progress so_far = {0};
    listing l = {.cli = cli,
                 .out = &cli->out,
                 .trace = &trace,
                 .limit = rows_wanted(cli),
                 .so_far = &so_far};
    int status;

    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &l.first, &l.end))
        return MV_EXIT_FAILED;
    l.start_us = mv_position_start_us(&trace);
    find_widths(&l);
    find_columns(&l);
    l.kinds = mv_frame_kinds(&cli->scratch, &trace);
    l.labels = mv_push_array(&cli->scratch, stack_label, trace.stacks.count);
    l.stack_row = mv_push_array(&cli->scratch, uint32_t, trace.stacks.count);
    l.stacks = mv_push_array(&cli->scratch, mv_stack_id, trace.stacks.count);
    if (!l.kinds || !l.labels || !l.stack_row || !l.stacks)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    for (uint32_t i = 0; i < trace.stacks.count; i++)
        l.stack_row[i] = MV_NO_ROW;
    status = mv_table_is_wanted(cli) ? mv_table_put(cli, &l) : put_text(&l);
    return so_far.has_failed ? MV_EXIT_FAILED : status;
}
