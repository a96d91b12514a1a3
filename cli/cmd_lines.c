/* memviz lines: a line profile of memory. */
#include <stdio.h>

#include "analyze/code/labels.h"
#include "analyze/peak/lines.h"
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/source_text.h"
#include "cli/input/window.h"
#include "cli/report/by_group.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "cli/report/report.h"
#include "cli/report/rows.h"
#include "cli/report/sheet.h"

/* Rows in text when --limit says nothing, and characters of source beside them. */
#define TEXT_ROWS   20
#define SOURCE_MOST 72

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* of frames */
    uint32_t first, end;  /* devices */
    mv_lines *found;      /* [end - first] */
    uint64_t limit;
    bool has_source;
    bool is_grouped; /* --by: rows are groups, not lines */
    mv_source_text source;
} profile;

static const char *label_of(const profile *p, const mv_line *line, char *out, uint32_t size)
{
    if (line->group) {
        snprintf(out, size, "%s", line->group);
        return out;
    }
    return mv_culprit_label(p->trace, p->kinds, line->stack, out, size);
}

/* Labels of the lines that are shown. */
static const char **labels_of(const profile *p, const mv_lines *found)
{
    uint32_t count = found->count < p->limit ? found->count : (uint32_t)p->limit;
    mv_labelled *rows = mv_push_array(&p->cli->scratch, mv_labelled, count);
    const char **groups = mv_push_array(&p->cli->scratch, const char *, count);

    for (uint32_t i = 0; groups && p->is_grouped && i < count; i++)
        groups[i] = found->lines[i].group;
    if (p->is_grouped)
        return groups;
    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = (mv_labelled){.trace = p->trace,
                                .kinds = p->kinds,
                                .stack = found->lines[i].stack,
                                .bytes = found->lines[i].peak};
    return rows ? mv_labels_find(&p->cli->scratch, rows, count, false) : NULL;
}

/* A file that is shown beside the lines, but is not what ran. */
static void warn_of_source(profile *p, mv_frame_id frame)
{
    char why[200];

    if (p->has_source && mv_source_text_tells(&p->source, p->trace, frame, why, sizeof why))
        mv_complain_of(mv_string_text(p->trace, p->trace->frames.file[frame.row]),
                       "the source is of another version: %s", why);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static cJSON *line_json(mv_report *r, profile *p, uint32_t device, const mv_line *line,
                        const char *name)
{
    const mv_frames *f = &p->trace->frames;
    bool has_frame = line->frame.row != MV_NO_ROW;
    cJSON *o = mv_json_object(r, NULL, NULL);
    int64_t number = has_frame ? f->line[line->frame.row] : MV_NO_LINE;
    char label[512];

    mv_json_add_u64(r, o, "device", device);
    if (line->group)
        mv_json_add_text(r, o, "group", line->group);
    mv_json_add(r, o, "file",
                mv_json_string(r, p->trace, has_frame ? f->file[line->frame.row] : MV_NO_STRING));
    mv_json_add(r, o, "line", number == MV_NO_LINE ? cJSON_CreateNull() : mv_json_i64(number));
    mv_json_add(
        r, o, "function",
        mv_json_string(r, p->trace, has_frame ? f->function[line->frame.row] : MV_NO_STRING));
    mv_json_add_text(r, o, "culprit", label_of(p, line, label, sizeof label));
    mv_json_add_text(r, o, "label", name ? name : label);
    mv_json_add_u64(r, o, "peak_bytes", line->peak);
    mv_json_add(r, o, "peak_event",
                line->peak_event == MV_BEFORE ? cJSON_CreateNull() : mv_json_u64(line->peak_event));
    mv_json_add_u64(r, o, "start_bytes", line->start);
    mv_json_add_u64(r, o, "total_bytes", line->total);
    mv_json_add_u64(r, o, "freed_bytes", line->freed);
    mv_json_add_u64(r, o, "live_bytes", line->live);
    mv_json_add_u64(r, o, "allocations", line->allocations);
    mv_json_add_u64(r, o, "active_bytes", line->active);
    mv_json_add_u64(r, o, "reserved_bytes", line->reserved);
    if (p->has_source) {
        mv_json_add(r, o, "source",
                    mv_json_span(r, mv_source_text_line(&p->source, p->trace, line->frame)));
        mv_json_add_bool(
            r, o, "source_differs",
            mv_source_text_differs(&p->source, p->trace, line->frame, label, sizeof label));
        warn_of_source(p, line->frame);
    }
    return o;
}

static int put_json(profile *p)
{
    mv_report report, *r = &report;
    cJSON *array;

    mv_report_open(r, p->cli);
    array = mv_json_array(r, NULL, NULL);
    for (uint32_t i = p->first; i < p->end; i++) {
        const mv_lines *found = &p->found[i - p->first];
        const char **labels = labels_of(p, found);
        for (uint32_t k = 0; k < found->count && k < p->limit; k++)
            mv_json_add(r, array, NULL,
                        line_json(r, p, i, &found->lines[k], labels ? labels[k] : NULL));
    }
    mv_report_member(r, "lines", array);
    return mv_report_close(r);
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_verdict(const profile *p, uint32_t device, const mv_lines *found)
{
    char label[512], size[MV_SIZE_TEXT];

    if (found->count == 0) {
        mv_captured_put_idle(p->out, p->trace, device);
        return;
    }
    mv_out_style(p->out, MV_STYLE_BOLD);
    mv_out_format(p->out, "device %u: ", device);
    mv_out_style(p->out, MV_STYLE_NONE);
    mv_out_format(p->out, "%u %s%s; most at once %s by ", found->count,
                  p->is_grouped ? "group" : "line", found->count == 1 ? "" : "s",
                  mv_size_text(size, found->lines[0].peak));
    mv_out_style(p->out, MV_STYLE_BOLD);
    label_of(p, &found->lines[0], label, sizeof label);
    mv_prose_put_cut(p->out, mv_prose_room(p->out, 48), label);
    mv_out_style(p->out, MV_STYLE_NONE);
    mv_out_char(p->out, '\n');
}

/* A cell of at most SOURCE_MOST characters. */
static void source_cell(profile *p, mv_sheet *sheet, mv_frame_id frame)
{
    mv_span text = mv_source_text_line(&p->source, p->trace, frame);
    char cell[4 * SOURCE_MOST + 4];
    uint64_t at = 0;

    for (uint32_t i = 0; i < SOURCE_MOST && at < text.length; i++) {
        uint32_t length = mv_utf8_length(text, at);
        at += length ? length : 1;
    }
    snprintf(cell, sizeof cell, "%.*s%s", (int)at, (const char *)text.data,
             at < text.length ? "..." : "");
    mv_sheet_text(sheet, cell);
}

static void put_lines(profile *p, const mv_lines *found)
{
    mv_column columns[] = {
        {"peak", MV_UNIT_BYTES, 9},
        {"total", MV_UNIT_BYTES, 9},
        {"live", MV_UNIT_BYTES, 9},
        {"allocs", MV_UNIT_COUNT, 0},
        {"active", MV_UNIT_BYTES | MV_UNIT_SPARE, 9},
        {"reserved", MV_UNIT_BYTES | MV_UNIT_SPARE, 9},
        {p->is_grouped ? mv_group_by_name(mv_by_what(p->cli)) : "line", MV_UNIT_TEXT, 0},
        {"source", MV_UNIT_TEXT, 0}};
    const char **labels = labels_of(p, found);
    mv_sheet sheet;

    mv_sheet_init(&sheet, &p->cli->scratch, columns, p->has_source ? 8 : 7);
    for (uint32_t i = 0; i < found->count && i < p->limit; i++) {
        const mv_line *line = &found->lines[i];
        mv_sheet_size(&sheet, line->peak);
        mv_sheet_size(&sheet, line->total);
        mv_sheet_size(&sheet, line->live);
        mv_sheet_count(&sheet, line->allocations);
        mv_sheet_size(&sheet, line->active);
        mv_sheet_size(&sheet, line->reserved);
        mv_sheet_text(&sheet, labels ? labels[i] : "?");
        if (p->has_source)
            source_cell(p, &sheet, line->frame);
        warn_of_source(p, line->frame);
    }
    mv_sheet_print(&sheet, p->out, 2);
    mv_rows_put_hidden(p->out, found->count, p->limit);
}

static void put_text(profile *p)
{
    bool follows = false;

    for (uint32_t i = p->first; i < p->end; i++) {
        const mv_lines *found = &p->found[i - p->first];
        if (!mv_device_is_told(p->trace, p->first, p->end, i))
            continue;
        if (follows)
            mv_out_char(p->out, '\n');
        put_verdict(p, i, found);
        if (found->count > 0)
            put_lines(p, found);
        follows = true;
    }
    mv_idle_put_others(p->out, p->trace, p->first, p->end, follows);
}

/* ---- both -------------------------------------------------------------------------------- */

static bool find_device(profile *p, uint32_t device)
{
    mv_lines *found = &p->found[device - p->first];
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_window window;
    mv_arena arena;
    mv_lives lives;
    mv_grouping grouping;

    if (!mv_window_find(p->cli, p->trace, device, &window))
        return false;
    mv_arena_init(&arena, &p->cli->budget);
    if (mv_lives_find(&arena, p->trace, device, &lives, &err) == MV_OK && !p->is_grouped)
        mv_lines_find(&p->cli->arena, p->trace, &lives, p->kinds, window, found, &err);
    else if (err.code == MV_OK && mv_grouping_find(&p->cli->arena, p->trace, &lives, p->kinds,
                                                   mv_by_what(p->cli), &grouping, &err) == MV_OK)
        mv_lines_by(&p->cli->arena, p->trace, &lives, &grouping, window, found, &err);
    mv_arena_release(&arena);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(p->cli), &err);
    return err.code == MV_OK;
}

int mv_cmd_lines(mv_cli *cli)
{
    mv_trace trace;
    profile p = {.cli = cli,
                 .out = &cli->out,
                 .trace = &trace,
                 .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, 1)};
    mv_err err = {.offset = MV_NO_OFFSET};
    int status;

    if (!mv_by_wanted(cli, &p.is_grouped, &status))
        return status;
    p.has_source = cli->options.source != NULL;
    if (p.has_source &&
        mv_source_text_init(&p.source, &cli->arena, cli->options.source, &err) != MV_OK)
        return mv_complain(NULL, &err);
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &p.first, &p.end))
        return MV_EXIT_FAILED;
    p.kinds = mv_frame_kinds(&cli->arena, &trace);
    p.found = mv_push_array(&cli->arena, mv_lines, p.end - p.first);
    if (!p.kinds || !p.found) {
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        return mv_complain(mv_input_name(cli), &err);
    }
    for (uint32_t i = p.first; i < p.end; i++)
        if (!find_device(&p, i))
            return MV_EXIT_FAILED;
    if (mv_option_given(&cli->options, MV_HAS(JSON)))
        return put_json(&p);
    put_text(&p);
    return MV_EXIT_DONE;
}
