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
#include "cli/report/rows.h"
#include "cli/report/table.h"

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
    bool is_grouped;        /* --by: rows are groups, not lines */
    mv_source_text *source; /* NULL: not shown */
} profile;

static const char *label_of(const profile *p, const mv_line *line, char *out, uint32_t size)
{
    if (line->group) {
        snprintf(out, size, "%s", line->group);
        return out;
    }
    return mv_culprit_label(p->trace, p->kinds, line->stack, out, size);
}

/* Labels of the first `count` lines. */
static const char **labels_of(const profile *p, const mv_lines *found, uint32_t count)
{
    const char **groups;

    if (!p->is_grouped)
        return mv_labels_of(&p->cli->scratch, p->trace, p->kinds, found->lines, count, mv_line,
                            peak);
    groups = mv_push_array(&p->cli->scratch, const char *, count);
    for (uint32_t i = 0; groups && i < count; i++)
        groups[i] = found->lines[i].group;
    return groups;
}

/* A file that is shown beside the lines, but is not what ran. */
static void warn_of_source(const profile *p, mv_frame_id frame)
{
    char why[200];

    if (p->source && mv_source_text_tells(p->source, p->trace, frame, why, sizeof why))
        mv_complain_of(mv_string_text(p->trace, p->trace->frames.file[frame.row]),
                       "the source is of another version: %s", why);
}

/* ---- fields ------------------------------------------------------------------------------ */

/* The beginning of a line of source: SOURCE_MOST characters. */
static const char *shorten(mv_span text, char cell[4 * SOURCE_MOST + 4])
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < SOURCE_MOST && at < text.length; i++) {
        uint32_t length = mv_utf8_length(text, at);
        at += length ? length : 1;
    }
    snprintf(cell, 4 * SOURCE_MOST + 4, "%.*s%s", (int)at, (const char *)text.data,
             at < text.length ? "..." : "");
    return cell;
}

#define LINE_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    MEMBER("device", device)                                                                     \
    MEMBER("group", mv_value_if(line->group, mv_value_text(line->group)))                        \
    MEMBER("file", mv_value_string(p->trace, row == MV_NO_ROW ? MV_NO_STRING : f->file[row]))    \
    MEMBER("line", row == MV_NO_ROW || f->line[row] == MV_NO_LINE ? mv_value_of(MV_VALUE_NULL)   \
                                                                  : mv_value_i64(f->line[row]))  \
    MEMBER("function",                                                                           \
           mv_value_string(p->trace, row == MV_NO_ROW ? MV_NO_STRING : f->function[row]))        \
    MEMBER("culprit", line->group ? mv_value_text(line->group)                                   \
                                  : mv_value_culprit(p->trace, p->kinds, line->stack))           \
    COLUMN("label", "line", 7, MV_UNIT_TEXT, 0,                                                  \
           mv_value_label(labels, i, p->trace, p->kinds, line->stack))                           \
    COLUMN("peak_bytes", "peak", 1, MV_UNIT_BYTES, 9, line->peak)                                \
    MEMBER("peak_event", mv_value_event(line->peak_event))                                       \
    MEMBER("start_bytes", line->start)                                                           \
    COLUMN("total_bytes", "total", 2, MV_UNIT_BYTES, 9, line->total)                             \
    MEMBER("freed_bytes", line->freed)                                                           \
    COLUMN("live_bytes", "live", 3, MV_UNIT_BYTES, 9, line->live)                                \
    COLUMN("allocations", "allocs", 4, MV_UNIT_COUNT, 0, line->allocations)                      \
    COLUMN("active_bytes", "active", 5, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, line->active)          \
    COLUMN("reserved_bytes", "reserved", 6, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, line->reserved)    \
    COLUMN("source", "source", 8, MV_UNIT_TEXT, 0,                                               \
           mv_value_if(p->source, mv_value_shown(mv_value_span(source), shorten(source, cell)))) \
    MEMBER("source_differs",                                                                     \
           mv_value_if(p->source, mv_value_bool(p->source &&mv_source_text_differs(              \
                                      p->source, p->trace, line->frame, why, sizeof why))))

static void list_device(mv_rows *rows, const profile *p, uint32_t device)
{
    const mv_lines *found = &p->found[device - p->first];
    const mv_frames *f = &p->trace->frames;
    uint32_t count = mv_rows_take(rows, found->count, p->limit);
    const char **labels = labels_of(p, found, count);
    char cell[4 * SOURCE_MOST + 4], why[512];

    if (!p->source)
        mv_rows_head(rows, "source", NULL);
    if (p->is_grouped)
        mv_rows_head(rows, "label", mv_group_by_name(mv_by_what(p->cli)));
    for (uint32_t i = 0; i < count; i++) {
        const mv_line *line = &found->lines[i];
        uint32_t row = line->frame.row;
        mv_span source = {(const uint8_t *)"", 0};
        if (p->source)
            source = mv_source_text_line(p->source, p->trace, line->frame);
        MV_ROWS_ADD(rows, LINE_FIELDS);
        warn_of_source(p, line->frame);
    }
}

/* Of the device that `one` points to, or with NULL of all. */
static void list_lines(mv_rows *rows, const void *all, const void *one)
{
    const profile *p = all;

    for (uint32_t device = p->first; device < p->end; device++)
        if (!one || *(const uint32_t *)one == device)
            list_device(rows, p, device);
}

static const mv_table line_table = {MV_TABLE(LINE_FIELDS, list_lines)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST) LIST("lines", &line_table, mv_value_rows(NULL))

const mv_table mv_report_lines = {MV_TABLE(REPORT_FIELDS, mv_rows_list_lists), .main = "lines"};

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

static void put_device(const void *all, uint32_t device)
{
    const profile *p = all;

    put_verdict(p, device, &p->found[device - p->first]);
    mv_table_print(p->cli, &line_table, p, &device, "");
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
    mv_source_text source;
    mv_trace trace;
    profile p = {.cli = cli,
                 .out = &cli->out,
                 .trace = &trace,
                 .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, 1)};
    mv_err err = {.offset = MV_NO_OFFSET};
    int status;

    if (!mv_by_wanted(cli, &p.is_grouped, &status))
        return status;
    if (cli->options.source) {
        if (mv_source_text_init(&source, &cli->arena, cli->options.source, &err) != MV_OK)
            return mv_complain(NULL, &err);
        p.source = &source;
    }
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
    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, &p);
    mv_devices_put(p.out, &trace, p.first, p.end, put_device, &p);
    return MV_EXIT_DONE;
}
