/* memviz diff: what changed between two snapshots, the line that did most of it first. */
#include <stdio.h>

#include "analyze/code/labels.h"
#include "analyze/diff/diff.h"
#include "analyze/ranks/summary.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/window.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"
#include "cli/report/stack_text.h"

/* Rows in text when --limit says nothing; lines beside them. */
#define TEXT_ROWS   10
#define OTHER_LINES 18

#define NO_DEVICE UINT32_MAX

/* A device of one file beside a device of the other; either may be NO_DEVICE. */
typedef struct {
    uint32_t device[2];
    mv_diff_sides sides;
    mv_diff found;
} device_pair;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const char *name[2];
    mv_trace trace[2];
    mv_diff_code code;
    uint32_t count;
    device_pair *pairs; /* [count] */
    mv_levels level[2]; /* of all pairs together */
    int64_t delta;
    mv_reserved reserved[2]; /* likewise */
    bool exact[2][2];        /* whether [allocated, reserved] of [before, after] is known */
    uint64_t limit;
} comparison;

/* ---- words ------------------------------------------------------------------------------- */

static uint64_t magnitude(int64_t delta)
{
    return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

/* "+312 MiB", "-1.00 KiB", "0 B". */
static const char *delta_text(char text[MV_SIZE_TEXT + 1], int64_t delta)
{
    text[0] = delta < 0 ? '-' : '+';
    mv_size_text(text + 1, magnitude(delta));
    return delta == 0 ? text + 1 : text;
}

static void put_text(mv_out *out, const char *text)
{
    mv_out_clean(out, (mv_span){(const uint8_t *)text, strlen(text)});
}

/* Whether the moment is a peak: then reserved memory is looked at at its own. */
static bool is_at_peak(const char *at)
{
    return !at || strcmp(at, "peak") == 0 || strcmp(at, "reserved-peak") == 0;
}

/* "at the peak" */
static void put_at(mv_out *out, const char *at)
{
    if (!at || strcmp(at, "peak") == 0)
        mv_out_text(out, "at the peak");
    else if (strcmp(at, "reserved-peak") == 0)
        mv_out_text(out, "at the peak of reserved memory");
    else if (strcmp(at, "end") == 0)
        mv_out_text(out, "at the end");
    else {
        mv_out_text(out, "at ");
        put_text(out, at);
    }
}

/* The side whose stack stands for a row: after, unless it is gone there. */
static int side_of(const mv_diff_row *row)
{
    return row->bytes[1] != 0;
}

static const char *label_of(const comparison *c, const mv_diff_row *row, int side, char *out,
                            size_t size)
{
    return mv_culprit_label(&c->trace[side], c->code.sites[side].kinds, row->stack[side], out,
                            size);
}

/* Whether a row names a line that its reader can act on. */
static bool is_named(const comparison *c, const mv_diff_row *row)
{
    int s = side_of(row);
    const uint8_t *kinds = c->code.sites[s].kinds;
    mv_frame_id frame = mv_culprit_frame(&c->trace[s], kinds, row->stack[s]);

    return frame.row != MV_NO_ROW && kinds[frame.row] <= MV_FRAME_PACKAGE;
}

/* The line that answers for the change: the one that changed most in its direction, but a line
 * that can be acted on goes before one that cannot, if it did half as much. */
static const mv_diff_row *main_row(const comparison *c)
{
    const mv_diff_row *main = NULL, *named = NULL;

    for (uint32_t p = 0; p < c->count; p++)
        for (uint32_t i = 0; i < c->pairs[p].found.lines; i++) {
            const mv_diff_row *row = &c->pairs[p].found.line[i];
            if (c->delta != 0 && (row->delta < 0) != (c->delta < 0))
                continue;
            if (!main || magnitude(row->delta) > magnitude(main->delta))
                main = row;
            if (is_named(c, row) && (!named || magnitude(row->delta) > magnitude(named->delta)))
                named = row;
        }
    return named && magnitude(named->delta) >= magnitude(main->delta) / 2 ? named : main;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void add_device(mv_report *r, cJSON *o, uint32_t device)
{
    mv_json_add(r, o, "device", device == NO_DEVICE ? cJSON_CreateNull() : mv_json_u64(device));
}

static cJSON *pair_side_json(mv_report *r, const comparison *c, const device_pair *pair, int s)
{
    mv_moment none = {.event = MV_BEFORE, .time_us = MV_NO_TIME};
    cJSON *o = mv_at_json(r, pair->sides.lives[s] ? &pair->sides.moment[s] : &none);

    mv_json_add_text(r, o, "file", c->name[s]);
    add_device(r, o, pair->device[s]);
    return o;
}

/* One pair stands for itself; several are summed up. */
static cJSON *side_json(mv_report *r, const comparison *c, int s)
{
    mv_moment sum = {.event = MV_BEFORE, .time_us = MV_NO_TIME, .bytes = c->level[s]};
    cJSON *o;

    if (c->count == 1)
        return pair_side_json(r, c, &c->pairs[0], s);
    o = mv_at_json(r, &sum);
    mv_json_add_text(r, o, "file", c->name[s]);
    add_device(r, o, NO_DEVICE);
    return o;
}

static void add_row(mv_report *r, cJSON *array, const comparison *c, const device_pair *pair,
                    const mv_diff_row *row)
{
    cJSON *o = mv_json_object(r, array, NULL);
    int s = side_of(row);
    char label[512];

    add_device(r, o, pair->device[s] == NO_DEVICE ? pair->device[1 - s] : pair->device[s]);
    mv_json_add_text(r, o, "status", mv_diff_status_name(row->status));
    mv_json_add_u64(r, o, "before", row->bytes[0]);
    mv_json_add_u64(r, o, "after", row->bytes[1]);
    mv_json_add_i64(r, o, "delta", row->delta);
    mv_json_add_u64(r, o, "blocks_before", row->blocks[0]);
    mv_json_add_u64(r, o, "blocks_after", row->blocks[1]);
    mv_json_add_text(r, o, "culprit", label_of(c, row, s, label, sizeof label));
    mv_json_add(r, o, "frames", mv_json_frames(r, &c->trace[s], row->stack[s]));
    if (row->bytes[0] && row->bytes[1])
        mv_json_add(r, o, "frames_before", mv_json_frames(r, &c->trace[0], row->stack[0]));
}

static cJSON *reserved_json(mv_report *r, const mv_reserved reserved[2])
{
    cJSON *o = mv_json_object(r, NULL, NULL), *parts;

    mv_json_add_u64(r, o, "before", reserved[0].reserved);
    mv_json_add_u64(r, o, "after", reserved[1].reserved);
    mv_json_add_i64(r, o, "delta", (int64_t)(reserved[1].reserved - reserved[0].reserved));
    parts = mv_json_array(r, o, "parts");
    for (uint32_t i = 0; i < MV_RESERVED_PARTS; i++) {
        cJSON *part;
        if (reserved[0].part[i] == 0 && reserved[1].part[i] == 0)
            continue;
        part = mv_json_object(r, parts, NULL);
        mv_json_add_text(r, part, "reason", mv_reserved_part_name(i));
        mv_json_add_i64(r, part, "before", reserved[0].part[i]);
        mv_json_add_i64(r, part, "after", reserved[1].part[i]);
        mv_json_add_i64(r, part, "delta", reserved[1].part[i] - reserved[0].part[i]);
    }
    return o;
}

static cJSON *devices_json(mv_report *r, const comparison *c)
{
    cJSON *array = mv_json_array(r, NULL, NULL);

    for (uint32_t p = 0; p < c->count; p++) {
        const mv_diff *found = &c->pairs[p].found;
        cJSON *o = mv_json_object(r, array, NULL);
        mv_json_add(r, o, "before", pair_side_json(r, c, &c->pairs[p], 0));
        mv_json_add(r, o, "after", pair_side_json(r, c, &c->pairs[p], 1));
        mv_json_add_i64(r, o, "delta", found->delta);
        mv_json_add(r, o, "reserved", reserved_json(r, found->reserved));
        mv_json_add_u64(r, o, "unchanged_lines", found->same_lines);
        mv_json_add_u64(r, o, "unchanged_bytes", found->same_bytes);
    }
    return array;
}

static int put_json(const comparison *c)
{
    mv_report report, *r = &report;
    cJSON *sites, *lines;

    mv_report_open(r, c->cli);
    mv_report_member(r, "before", side_json(r, c, 0));
    mv_report_member(r, "after", side_json(r, c, 1));
    mv_report_member(r, "delta", mv_json_i64(c->delta));
    mv_report_member(r, "reserved", reserved_json(r, c->reserved));
    sites = mv_json_array(r, NULL, NULL);
    lines = mv_json_array(r, NULL, NULL);
    for (uint32_t p = 0; p < c->count; p++) {
        const mv_diff *found = &c->pairs[p].found;
        for (uint32_t i = 0; i < found->count && i < c->limit; i++)
            add_row(r, sites, c, &c->pairs[p], &found->sites[i]);
        for (uint32_t i = 0; i < found->lines && i < c->limit; i++)
            add_row(r, lines, c, &c->pairs[p], &found->line[i]);
    }
    mv_report_member(r, "sites", sites);
    mv_report_member(r, "lines", lines);
    mv_report_member(r, "devices", devices_json(r, c));
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_main(const comparison *c, const mv_diff_row *row)
{
    static const char *const verbs[] = {"grew by", "shrank by", "is new with", "is gone with"};
    char label[512], bytes[MV_SIZE_TEXT];

    mv_out_text(c->out, ": ");
    mv_out_style(c->out, MV_STYLE_BOLD);
    mv_prose_put_cut(c->out, mv_prose_room(c->out, 48),
                     label_of(c, row, side_of(row), label, sizeof label));
    mv_out_style(c->out, MV_STYLE_NONE);
    mv_out_format(c->out, " %s %s", verbs[row->status], mv_size_text(bytes, magnitude(row->delta)));
}

static mv_style style_of(int64_t delta)
{
    return delta > 0 ? MV_STYLE_RED : delta < 0 ? MV_STYLE_GREEN : MV_STYLE_BOLD;
}

static void put_verdict(const comparison *c)
{
    const mv_diff_row *row = main_row(c);
    bool is_same = c->delta == 0 && !row;
    char delta[MV_SIZE_TEXT + 1];

    mv_out_style(c->out, style_of(c->delta));
    mv_out_text(c->out, is_same ? "no change" : delta_text(delta, c->delta));
    mv_out_style(c->out, MV_STYLE_NONE);
    mv_out_text(c->out, is_same ? " in allocated memory " : " allocated ");
    put_at(c->out, c->cli->options.at);
    if (row)
        put_main(c, row);
    mv_out_char(c->out, '\n');
    if (row)
        mv_stack_put(c->out, &c->trace[side_of(row)], c->code.sites[side_of(row)].kinds,
                     row->stack[side_of(row)], c->cli->options.all_frames, 6);
}

/* Parts of one size are in the order of the list. */
static uint32_t next_part(const mv_reserved reserved[2], uint32_t said)
{
    uint32_t best = MV_RESERVED_PARTS;
    int64_t most = 0;

    for (uint32_t i = 0; i < MV_RESERVED_PARTS; i++) {
        int64_t delta = reserved[1].part[i] - reserved[0].part[i];
        if (!(said & (1u << i)) && magnitude(delta) > magnitude(most)) {
            most = delta;
            best = i;
        }
    }
    return best;
}

/* By how much reserved memory changed, and why: the rows add up to it. */
static void put_reserved(const comparison *c)
{
    const mv_reserved *r = c->reserved;
    int64_t change = (int64_t)(r[1].reserved - r[0].reserved);
    char delta[MV_SIZE_TEXT + 1], before[MV_SIZE_TEXT], after[MV_SIZE_TEXT];
    bool is_peak = is_at_peak(c->cli->options.at);
    uint32_t said = 0, part;

    mv_out_style(c->out, style_of(change));
    mv_out_text(c->out, change == 0 ? "no change" : delta_text(delta, change));
    mv_out_style(c->out, MV_STYLE_NONE);
    mv_out_format(c->out, "%s reserved%s%s: %s before, %s after\n", change == 0 ? " in" : "",
                  change == 0 ? " memory" : "", is_peak ? " at its peak" : " then",
                  mv_size_text(before, r[0].reserved), mv_size_text(after, r[1].reserved));
    while ((part = next_part(r, said)) < MV_RESERVED_PARTS) {
        said |= 1u << part;
        mv_out_format(c->out, "  %10s  ", delta_text(delta, r[1].part[part] - r[0].part[part]));
        mv_prose_put(c->out, 14, 14, "%s%s", mv_reserved_part_text(part),
                     is_peak && (part == MV_RESERVED_HOLES || part == MV_RESERVED_UNUSED)
                         ? ", beyond what was ever needed at once"
                         : "");
    }
}

static void put_side(const comparison *c, const device_pair *pair, int s)
{
    char allocated[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT], moment[MV_AT_TEXT];
    char at[MV_AT_TEXT + 32] = ": no such device";

    if (pair->sides.lives[s])
        snprintf(at, sizeof at, ", device %u, %s", pair->device[s],
                 mv_at_text(moment, &c->trace[s], &pair->sides.moment[s]));
    mv_out_text(c->out, s == 0 ? "  before  " : "  after   ");
    mv_prose_put(c->out, 10, 10, "%9s allocated, %9s reserved; %s%s",
                 mv_size_text(allocated, pair->found.level[s].allocated),
                 mv_size_text(reserved, pair->found.level[s].reserved), c->name[s], at);
}

static void add_size(mv_sheet *sheet, uint64_t bytes)
{
    if (bytes)
        mv_sheet_size(sheet, bytes);
    else
        mv_sheet_text(sheet, "-");
}

/* Labels of the lines that are shown. */
static const char **labels_of(const comparison *c, const mv_diff *found)
{
    uint32_t count = found->lines < c->limit ? found->lines : (uint32_t)c->limit;
    mv_labelled *rows = mv_push_array(&c->cli->scratch, mv_labelled, count);

    for (uint32_t i = 0; rows && i < count; i++) {
        const mv_diff_row *row = &found->line[i];
        int side = side_of(row);
        rows[i] = (mv_labelled){.trace = &c->trace[side],
                                .kinds = c->code.sites[side].kinds,
                                .stack = row->stack[side],
                                .bytes = row->bytes[side]};
    }
    return rows ? mv_labels_find(&c->cli->scratch, rows, count, false) : NULL;
}

/* `name`, and where the line was before, if that is not where it is now. */
static void add_label(const comparison *c, mv_sheet *sheet, const mv_diff_row *row,
                      const char *name)
{
    char label[512], before[512], both[1040];

    label_of(c, row, side_of(row), label, sizeof label);
    label_of(c, row, 0, before, sizeof before);
    if (row->bytes[0] && row->bytes[1] && strcmp(label, before) != 0) {
        snprintf(both, sizeof both, "%s (was %s)", name, before);
        mv_sheet_text(sheet, both);
    } else {
        mv_sheet_text(sheet, name);
    }
}

static void put_rows(const comparison *c, const mv_diff *found)
{
    static const mv_column columns[] = {
        {"change", MV_UNIT_BYTES, 9},     {"", MV_UNIT_TEXT, 0},
        {"before", MV_UNIT_BYTES, 8},     {"after", MV_UNIT_BYTES, 8},
        {"blocks", MV_UNIT_COUNT, 0},     {"", MV_UNIT_COUNT, 0},
        {"allocated by", MV_UNIT_TEXT, 0}};
    const char **labels = labels_of(c, found);
    char delta[MV_SIZE_TEXT + 1];
    mv_sheet sheet;

    mv_sheet_init(&sheet, &c->cli->scratch, columns, 7);
    for (uint32_t i = 0; i < found->lines && i < c->limit; i++) {
        const mv_diff_row *row = &found->line[i];
        mv_sheet_text(&sheet, delta_text(delta, row->delta));
        mv_sheet_text(&sheet, mv_diff_status_name(row->status));
        add_size(&sheet, row->bytes[0]);
        add_size(&sheet, row->bytes[1]);
        mv_sheet_count(&sheet, row->blocks[0]);
        mv_sheet_count(&sheet, row->blocks[1]);
        add_label(c, &sheet, row, labels ? labels[i] : "?");
    }
    mv_out_char(c->out, '\n');
    mv_sheet_print(&sheet, c->out, 2);
}

static void put_rest(const comparison *c, const mv_diff *found)
{
    char text[MV_SIZE_TEXT + 1];
    int64_t rest = 0;

    for (uint64_t i = c->limit; i < found->lines; i++)
        rest = (int64_t)((uint64_t)rest + (uint64_t)found->line[i].delta);
    mv_out_style(c->out, MV_STYLE_DIM);
    if (found->lines > c->limit)
        mv_out_format(c->out, "  %9s  in %llu more; --limit 0 shows all\n", delta_text(text, rest),
                      (unsigned long long)(found->lines - c->limit));
    if (found->same_lines)
        mv_out_format(c->out, "  %s in %u line%s without a change\n",
                      mv_size_text(text, found->same_bytes), found->same_lines,
                      found->same_lines == 1 ? "" : "s");
    mv_out_style(c->out, MV_STYLE_NONE);
}

static void put_pair(const comparison *c, const device_pair *pair)
{
    char delta[MV_SIZE_TEXT + 1];

    if (c->count > 1) {
        mv_out_style(c->out, MV_STYLE_BOLD);
        mv_out_format(c->out, "\ndevice %u: ", pair->device[pair->device[1] == NO_DEVICE ? 0 : 1]);
        mv_out_style(c->out, MV_STYLE_NONE);
        mv_out_format(c->out, "%s\n", delta_text(delta, pair->found.delta));
    }
    put_side(c, pair, 0);
    put_side(c, pair, 1);
    if (pair->found.lines)
        put_rows(c, &pair->found);
    put_rest(c, &pair->found);
}

/* What --fail-on asked for: growth. Where `before` may have been more than is known, growth may be
 * less; where `after` may, it may be more. */
static void judge_growth(comparison *c, mv_gate gate, int measure, uint64_t before, uint64_t after,
                         const char *what)
{
    uint64_t bound = c->cli->gates.bound[gate], grown = after > before ? after - before : 0;
    char is[MV_SIZE_TEXT], most[MV_SIZE_TEXT];
    bool is_above = grown > bound;

    mv_size_text(is, grown);
    mv_size_text(most, bound);
    if (!c->exact[is_above ? 0 : 1][measure])
        mv_gate_judge(&c->cli->gates, gate, MV_GATE_CANNOT_KNOW,
                      "%s: %s more %s as far as is known, but what was before the trace is not: it "
                      "may be %s than %s",
                      c->name[is_above ? 0 : 1], is, what, is_above ? "less" : "more", most);
    else if (is_above)
        mv_gate_judge(&c->cli->gates, gate, MV_GATE_FAILS, "%s more %s, above %s", is, what, most);
}

static int put_report(comparison *c)
{
    const mv_options *options = &c->cli->options;
    int status = MV_EXIT_DONE;

    judge_growth(c, MV_GATE_DELTA, 0, c->level[0].allocated, c->level[1].allocated, "allocated");
    judge_growth(c, MV_GATE_RESERVED, 1, c->reserved[0].reserved, c->reserved[1].reserved,
                 "reserved");
    if (mv_option_given(options, MV_HAS(JSON))) {
        status = put_json(c);
    } else {
        put_verdict(c);
        put_reserved(c);
        for (uint32_t p = 0; p < c->count; p++)
            put_pair(c, &c->pairs[p]);
    }
    return mv_gate_status(&c->cli->gates, status);
}

/* ---- devices ----------------------------------------------------------------------------- */

/* The device of a file that was used, if it was the only one. */
static uint32_t lone_device(const mv_trace *trace)
{
    uint32_t lone = NO_DEVICE;

    for (uint32_t i = 0; i < mv_trace_devices(trace); i++) {
        if (!mv_device_is_used(trace, i))
            continue;
        if (lone != NO_DEVICE)
            return NO_DEVICE;
        lone = i;
    }
    return lone;
}

static bool pair_asked(comparison *c, uint32_t device)
{
    for (int s = 0; s < 2; s++)
        if (device >= mv_trace_devices(&c->trace[s])) {
            mv_complain_of(c->name[s], "no device %u; the file has %u", device,
                           mv_trace_devices(&c->trace[s]));
            return false;
        }
    c->pairs[c->count++].device[1] = device;
    c->pairs[0].device[0] = device;
    return true;
}

/* Devices of one ordinal belong together; but a process that uses one device alone is compared by
 * that one, whichever it is: ranks name theirs by their number. */
static bool pair_devices(comparison *c)
{
    uint32_t devices[2] = {mv_trace_devices(&c->trace[0]), mv_trace_devices(&c->trace[1])};
    uint32_t most = devices[0] > devices[1] ? devices[0] : devices[1];
    uint32_t lone[2] = {lone_device(&c->trace[0]), lone_device(&c->trace[1])};

    c->pairs = mv_push_array(&c->cli->arena, device_pair, (uint64_t)most + 1);
    if (!c->pairs) {
        mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
        return false;
    }
    if (c->cli->options.device != MV_ALL_DEVICES)
        return pair_asked(c, (uint32_t)c->cli->options.device);
    if (lone[0] != NO_DEVICE && lone[1] != NO_DEVICE) {
        c->pairs[c->count++] = (device_pair){.device = {lone[0], lone[1]}};
        return true;
    }
    for (uint32_t i = 0; i < most; i++) {
        bool used[2] = {i < devices[0] && mv_device_is_used(&c->trace[0], i),
                        i < devices[1] && mv_device_is_used(&c->trace[1], i)};
        if (used[0] || used[1])
            c->pairs[c->count++] =
                (device_pair){.device = {used[0] ? i : NO_DEVICE, used[1] ? i : NO_DEVICE}};
    }
    return true;
}

/* ---- both -------------------------------------------------------------------------------- */

/* Helpers that read, and complain of, the command's first file are pointed to this one. */
static void turn_to(comparison *c, int s, char **files)
{
    c->cli->options.file = files + s;
}

/* The moment of reserved memory, and what of the side is known for sure: at a peak, that no higher
 * one was before the trace; at other moments, what the final heap bears out. */
static bool find_reserved(comparison *c, device_pair *pair, int s)
{
    bool is_peak = is_at_peak(c->cli->options.at);
    mv_moment_ask *ask = &pair->sides.reserved[s];
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_totals totals;

    *ask = (mv_moment_ask){.kind = is_peak ? MV_MOMENT_RESERVED_PEAK : MV_MOMENT_BEHIND,
                           .event = pair->sides.moment[s].event};
    if (!mv_window_find(c->cli, &c->trace[s], pair->device[s], &ask->window))
        return false;
    if (mv_totals_find(&c->cli->arena, &c->trace[s], pair->sides.lives[s], &totals, &err) !=
        MV_OK) {
        mv_complain(c->name[s], &err);
        return false;
    }
    c->exact[s][0] =
        c->exact[s][0] && (is_peak ? totals.audit.allocated_exact : totals.audit.residual == 0);
    c->exact[s][1] = c->exact[s][1] && (!is_peak || totals.audit.reserved_exact);
    return true;
}

static bool find_side(comparison *c, device_pair *pair, int s)
{
    mv_lives *lives;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (pair->device[s] == NO_DEVICE)
        return true;
    lives = mv_push_struct(&c->cli->arena, mv_lives);
    if (!lives)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else
        mv_lives_find(&c->cli->arena, &c->trace[s], pair->device[s], lives, &err);
    if (err.code != MV_OK) {
        mv_complain(c->name[s], &err);
        return false;
    }
    pair->sides.lives[s] = lives;
    return mv_at_find(c->cli, &c->trace[s], lives, "peak", &pair->sides.moment[s]) &&
           find_reserved(c, pair, s);
}

static bool find_pair(comparison *c, device_pair *pair, char **files)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    for (int s = 0; s < 2; s++) {
        turn_to(c, s, files);
        if (!find_side(c, pair, s))
            return false;
    }
    turn_to(c, 0, files);
    if (mv_diff_find(&c->cli->arena, &c->code, &pair->sides, &pair->found, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    for (int s = 0; s < 2; s++) {
        c->level[s].allocated += pair->found.level[s].allocated;
        c->level[s].active += pair->found.level[s].active;
        c->level[s].requested += pair->found.level[s].requested;
        c->level[s].reserved += pair->found.level[s].reserved;
        c->reserved[s].reserved += pair->found.reserved[s].reserved;
        for (uint32_t i = 0; i < MV_RESERVED_PARTS; i++)
            c->reserved[s].part[i] += pair->found.reserved[s].part[i];
    }
    return true;
}

static bool read_both(comparison *c, char **files)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    bool read = true;

    for (int s = 0; s < 2 && read; s++) {
        turn_to(c, s, files);
        c->name[s] = mv_input_name(c->cli);
        read = mv_input_read(c->cli, &c->trace[s]);
    }
    turn_to(c, 0, files);
    if (read &&
        mv_diff_code_find(&c->cli->arena, &c->trace[0], &c->trace[1], &c->code, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    return read;
}

int mv_cmd_diff(mv_cli *cli)
{
    comparison c = {.cli = cli,
                    .out = &cli->out,
                    .exact = {{true, true}, {true, true}},
                    .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};
    char **files = cli->options.file;

    if (!read_both(&c, files) || !pair_devices(&c))
        return MV_EXIT_FAILED;
    for (uint32_t i = 0; i < c.count; i++)
        if (!find_pair(&c, &c.pairs[i], files))
            return MV_EXIT_FAILED;
    c.delta = (int64_t)(c.level[1].allocated - c.level[0].allocated);
    return put_report(&c);
}
