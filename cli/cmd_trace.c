/* memviz trace: the events as readable lines. */
#include <unistd.h>

#include "analyze/code/culprit.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/address_version.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"

#define TERMINAL_ROWS 50

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    int64_t start_us;
    uint64_t limit; /* rows still to print */
    uint64_t hidden;
    const uint8_t *kinds; /* of frames */
    const char **label;   /* [stacks.count] made on first use */
    uint32_t *stack_row;  /* [stacks.count] position among the report's stacks, or MV_NO_ROW */
    mv_stack_id *stacks;  /* [stacks_used] in the order of those positions */
    uint32_t stacks_used;
} listing;

static bool is_block_event(uint8_t action)
{
    return action == MV_ACTION_ALLOC || action == MV_ACTION_FREE_REQUESTED ||
           action == MV_ACTION_FREE_COMPLETED || action == MV_ACTION_ANNOTATE;
}

static const char *label_of(listing *l, mv_stack_id stack)
{
    char text[256];

    if (stack.row >= l->trace->stacks.count)
        return "(no stack)";
    if (!l->label[stack.row]) {
        mv_culprit_label(l->trace, l->kinds, stack, text, sizeof text);
        l->label[stack.row] = mv_arena_text(&l->cli->scratch, text, strlen(text));
    }
    return l->label[stack.row] ? l->label[stack.row] : "?";
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

/* An action that memviz does not know is printed as the file names it. */
static void put_action(mv_out *out, const char *name, int width)
{
    int64_t left = width - (int64_t)mv_prose_width(name);

    mv_out_clean(out, (mv_span){(const uint8_t *)name, strlen(name)});
    mv_out_spaces(out, left > 0 ? left : 1);
}

/* Seconds since the start, to the microsecond. */
static void put_time(mv_out *out, int64_t start_us, int64_t time_us)
{
    char text[32], digits[20];
    uint64_t us = time_us < start_us ? (uint64_t)start_us - (uint64_t)time_us
                                     : (uint64_t)time_us - (uint64_t)start_us;
    uint32_t at = 0, count;

    if (time_us == MV_NO_TIME || start_us == MV_NO_TIME) {
        put_right(out, "-", 11);
        return;
    }
    if (time_us < start_us)
        text[at++] = '-';
    count = mv_digits(digits, us / 1000000);
    memcpy(text + at, digits, count);
    at += count;
    text[at++] = '.';
    for (uint32_t i = 0, unit = 100000; i < 6; i++, unit /= 10)
        text[at++] = (char)('0' + us / unit % 10);
    text[at] = 0;
    put_right(out, text, 11);
}

static void put_address(mv_out *out, const mv_events *e, uint32_t i, const mv_reuse *reuse)
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
    if (is_block_event(e->action[i])) {
        char version[24];
        version[0] = '#';
        version[1 + mv_digits(version + 1, mv_reuse_version(reuse, e->addr[i]))] = 0;
        put_left(out, version, 18 - (int)before);
    } else {
        mv_out_spaces(out, 18 - (int64_t)before);
    }
}

static void put_stream(mv_out *out, uint64_t stream)
{
    mv_out_text(out, "  ");
    if (stream == 0)
        mv_out_char(out, '0');
    else
        mv_out_hex(out, stream);
    mv_out_text(out, "  ");
}

static void put_remark(listing *l, const char *before, mv_string_id text)
{
    if (mv_string_span(l->trace, text).length == 0)
        return;
    mv_out_text(l->out, before);
    mv_out_clean(l->out, mv_string_span(l->trace, text));
    mv_out_char(l->out, ']');
}

static void put_tag(listing *l, mv_tag_id tag)
{
    const mv_tags *t = &l->trace->tags;
    mv_string_id compiled = t->compile_context[tag.row];

    if (tag.row == MV_PLAIN_TAG.row)
        return;
    put_remark(l, "  [", t->user_metadata[tag.row]);
    if (strcmp(mv_string_text(l->trace, compiled), "N/A") != 0)
        put_remark(l, "  [compiled: ", compiled);
    put_remark(l, "  [category: ", t->category[tag.row]);
}

static void put_stack(listing *l, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(l->trace, stack, &count);
    char label[512];

    for (uint32_t i = 0; i < count; i++) {
        mv_out_spaces(l->out, 27);
        mv_frame_label(l->trace, frames[i], label, sizeof label);
        mv_out_clean(l->out, (mv_span){(const uint8_t *)label, strlen(label)});
        mv_out_char(l->out, '\n');
    }
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

static void put_event(listing *l, const mv_events *e, uint32_t i, const mv_reuse *reuse)
{
    mv_out *out = l->out;
    char size[MV_SIZE_TEXT];
    const char *where = label_of(l, e->stack[i]);

    mv_out_u64_wide(out, i, 9);
    put_time(out, l->start_us, e->time_us[i]);
    mv_out_text(out, "  ");
    mv_out_style(out, action_style(e->action[i]));
    put_action(out, mv_event_action(l->trace, e, i), 15);
    mv_out_style(out, MV_STYLE_NONE);
    put_address(out, e, i, reuse);
    put_right(out, mv_size_text(size, e->size[i]), 9);
    put_stream(out, l->trace->streams.value[e->stream[i].row]);
    mv_out_clean(out, (mv_span){(const uint8_t *)where, strlen(where)});
    put_tag(l, e->tag[i]);
    mv_out_char(out, '\n');
    if (l->cli->options.all_frames)
        put_stack(l, e->stack[i]);
}

static void put_heading(listing *l, uint32_t device, mv_window window, uint32_t count)
{
    mv_out_style(l->out, MV_STYLE_BOLD);
    mv_out_format(l->out, "device %u: %u events", device, count);
    mv_out_style(l->out, MV_STYLE_NONE);
    if (window.end - window.first != count)
        mv_out_format(l->out, ", from %u to before %u", window.first, window.end);
    mv_out_char(l->out, '\n');
    if (window.end == window.first)
        return;
    mv_out_style(l->out, MV_STYLE_DIM);
    mv_out_text(l->out, "    event    seconds  action         address                size  stream"
                        "  where\n");
    mv_out_style(l->out, MV_STYLE_NONE);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_json_stack(listing *l, mv_stack_id stack)
{
    uint32_t *row;

    if (stack.row >= l->trace->stacks.count) {
        mv_out_words(l->out, "null");
        return;
    }
    row = &l->stack_row[stack.row];
    if (*row == MV_NO_ROW) {
        *row = l->stacks_used;
        l->stacks[l->stacks_used++] = stack;
    }
    mv_out_u64(l->out, *row);
}

static void put_json_text(listing *l, const char *key, mv_string_id text)
{
    if (text.row == MV_NO_ROW)
        return;
    mv_out_text(l->out, key);
    mv_json_put_text(l->out, mv_string_span(l->trace, text));
}

static void put_json_tag(listing *l, mv_tag_id tag)
{
    const mv_tags *t = &l->trace->tags;
    mv_pool_id pool = t->pool[tag.row];

    put_json_text(l, ",\"compile_context\":", t->compile_context[tag.row]);
    put_json_text(l, ",\"user_metadata\":", t->user_metadata[tag.row]);
    put_json_text(l, ",\"internal_metadata\":", t->internal_metadata[tag.row]);
    put_json_text(l, ",\"category\":", t->category[tag.row]);
    if (pool.row == MV_NO_ROW)
        return;
    mv_out_words(l->out, ",\"pool_id\":[");
    mv_out_u64(l->out, l->trace->pools.a[pool.row]);
    mv_out_char(l->out, ',');
    mv_out_u64(l->out, l->trace->pools.b[pool.row]);
    mv_out_char(l->out, ']');
}

static void put_json_address(mv_out *out, const mv_events *e, uint32_t i, const mv_reuse *reuse)
{
    bool is_oom = e->action[i] == MV_ACTION_OOM;

    mv_out_words(out, is_oom ? ",\"addr\":null,\"device_free\":" : ",\"addr\":");
    if (e->addr[i] == MV_NO_BYTES)
        mv_out_words(out, "null");
    else
        mv_out_u64(out, e->addr[i]);
    if (is_block_event(e->action[i])) {
        mv_out_words(out, ",\"version\":");
        mv_out_u64(out, mv_reuse_version(reuse, e->addr[i]));
    }
}

static void put_json_event(listing *l, uint32_t device, const mv_events *e, uint32_t i,
                           const mv_reuse *reuse)
{
    mv_out *out = l->out;
    const char *action = mv_event_action(l->trace, e, i);

    mv_out_words(out, "{\"device\":");
    mv_out_u64(out, device);
    mv_out_words(out, ",\"event\":");
    mv_out_u64(out, i);
    mv_out_words(out, ",\"action\":");
    mv_json_put_text(out, (mv_span){(const uint8_t *)action, strlen(action)});
    put_json_address(out, e, i, reuse);
    mv_out_words(out, ",\"size\":");
    mv_out_u64(out, e->size[i]);
    mv_out_words(out, ",\"stream\":");
    mv_out_u64(out, l->trace->streams.value[e->stream[i].row]);
    mv_out_words(out, ",\"time_us\":");
    if (e->time_us[i] == MV_NO_TIME)
        mv_out_words(out, "null");
    else
        mv_out_i64(out, e->time_us[i]);
    mv_out_words(out, ",\"stack\":");
    put_json_stack(l, e->stack[i]);
    put_json_tag(l, e->tag[i]);
    mv_out_char(out, '}');
}

/* ---- both -------------------------------------------------------------------------------- */

/* The events of one device. For events before the window only the uses of each address are counted.
 */
static bool list_device(listing *l, mv_report *report, uint32_t device)
{
    mv_events e = mv_trace_events(l->trace, device);
    mv_window window;
    mv_reuse reuse;

    if (!mv_window_find(l->cli, l->trace, device, &window))
        return false;
    if (!report)
        put_heading(l, device, window, e.count);
    mv_reuse_init(&reuse, &l->cli->scratch);
    for (uint32_t i = 0; i < window.end; i++) {
        if (e.action[i] == MV_ACTION_ALLOC && !mv_reuse_add(&reuse, e.addr[i])) {
            mv_complain_of(mv_input_name(l->cli), "%s", mv_code_text(MV_NOMEM));
            return false;
        }
        if (i < window.first)
            continue;
        if (l->limit == 0) {
            l->hidden += window.end - i;
            break;
        }
        l->limit--;
        if (report) {
            mv_report_row(report);
            put_json_event(l, device, &e, i, &reuse);
        } else {
            put_event(l, &e, i, &reuse);
        }
    }
    return true;
}

static int list_json(listing *l, uint32_t first, uint32_t end)
{
    mv_report report;

    mv_report_open(&report, l->cli);
    mv_report_rows(&report, "events");
    for (uint32_t device = first; device < end; device++)
        if (!list_device(l, &report, device))
            return MV_EXIT_FAILED;
    mv_report_rows_end(&report);
    mv_report_rows(&report, "stacks");
    for (uint32_t i = 0; i < l->stacks_used; i++) {
        mv_report_row(&report);
        mv_json_put_frames(l->out, l->trace, l->stacks[i]);
    }
    mv_report_rows_end(&report);
    return mv_report_close(&report);
}

static int list_text(listing *l, uint32_t first, uint32_t end)
{
    for (uint32_t device = first; device < end; device++)
        if (mv_device_is_told(l->trace, first, end, device) && !list_device(l, NULL, device))
            return MV_EXIT_FAILED;
    mv_idle_put_others(l->out, l->trace, first, end, false);
    if (l->hidden) {
        mv_out_style(l->out, MV_STYLE_DIM);
        mv_out_format(l->out, "%llu more events; --limit 0 shows all\n",
                      (unsigned long long)l->hidden);
        mv_out_style(l->out, MV_STYLE_NONE);
    }
    return MV_EXIT_DONE;
}

static uint64_t rows_wanted(const mv_cli *cli)
{
    const mv_options *o = &cli->options;

    if (mv_option_given(o, MV_HAS(LIMIT)))
        return o->limit ? o->limit : UINT64_MAX;
    if (mv_option_given(o, MV_HAS(JSON)) || o->output || !isatty(STDOUT_FILENO))
        return UINT64_MAX;
    return TERMINAL_ROWS;
}

int mv_cmd_trace(mv_cli *cli)
{
    mv_trace trace;
    listing l = {.cli = cli, .out = &cli->out, .trace = &trace, .limit = rows_wanted(cli)};
    uint32_t first, end;

    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &first, &end))
        return MV_EXIT_FAILED;
    l.start_us = mv_position_start_us(&trace);
    l.kinds = mv_frame_kinds(&cli->scratch, &trace);
    l.label = mv_push_array(&cli->scratch, const char *, trace.stacks.count);
    l.stack_row = mv_push_array(&cli->scratch, uint32_t, trace.stacks.count);
    l.stacks = mv_push_array(&cli->scratch, mv_stack_id, trace.stacks.count);
    if (!l.kinds || !l.label || !l.stack_row || !l.stacks)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    for (uint32_t i = 0; i < trace.stacks.count; i++)
        l.stack_row[i] = MV_NO_ROW;
    return mv_option_given(&cli->options, MV_HAS(JSON)) ? list_json(&l, first, end)
                                                        : list_text(&l, first, end);
}
