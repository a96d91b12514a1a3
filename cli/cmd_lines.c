/* memviz lines: profiles memory by line of code. */

#include "analyze/code/labels.h"
#include "analyze/peak/lines.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/pieces.h"
#include "cli/input/source_text.h"
#include "cli/input/window.h"
#include "cli/report/by_group.h"
#include "cli/report/captured.h"
#include "cli/report/doubts.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "parse/pieces.h"

/* Number of rows in text without --limit, and number of characters of source shown next to them. */
#define TEXT_ROWS   20
#define SOURCE_MOST 72

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* kinds of the trace's frames */
    uint32_t first, end;  /* range of the reported devices */
    mv_lines *found;      /* [end - first] */
    mv_doubts *doubts;    /* [end - first] */
    uint64_t limit;
    bool is_grouped;        /* --by was given, so the rows are groups instead of lines */
    mv_source_text *source; /* source lines; NULL: not shown */
} line_report;

static const char *label_of(const line_report *r, const mv_line *line, char *out, uint32_t size)
{
    if (line->group) {
        snprintf(out, size, "%s", line->group);
        return out;
    }
    return mv_culprit_label(r->trace, r->kinds, line->stack, out, size);
}

static const char **labels_of(const line_report *r, const mv_lines *found, uint32_t count)
{
    const char **groups;

    if (!r->is_grouped)
        return mv_labels_operators(
            &r->cli->scratch, r->trace,
            mv_labels_of(&r->cli->scratch, r->trace, r->kinds, found->lines, count, mv_line, peak),
            found->lines, count, sizeof(mv_line), offsetof(mv_line, tag));
    groups = mv_push_array(&r->cli->scratch, const char *, count);
    for (uint32_t i = 0; groups && i < count; i++)
        groups[i] = found->lines[i].group;
    return groups;
}

/* A source file that is shown next to the lines although it is not the version that ran. */
static void warn_of_source(const line_report *r, mv_frame_id frame)
{
    char why[200];

    if (r->source && mv_source_text_report(r->source, r->trace, frame, why, sizeof why))
        mv_complain_of(mv_string_text(r->trace, r->trace->frames.file[frame.row]),
                       "the source is another version: %s", why);
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Returns the first SOURCE_MOST characters of a source line. */
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

/* A line's figures. Lower bounds are marked, and figures that no event belongs to are omitted. */
typedef struct {
    mv_value peak, total, live, allocations, active, reserved;
    char text[6][MV_BOUND_TEXT];
} line_cells;

static void set_cells(const mv_lines *found, const mv_line *line, line_cells *out)
{
    const mv_line_bounds *b = &found->bounds;
    unsigned least = line->is_least ? MV_BOUND_LEAST : MV_BOUND_EXACT;
    bool is_unseen = !found->has_all && line->allocations == 0;
    mv_value none = mv_value_shown(mv_value_of(MV_VALUE_NULL), "-");

    out->peak = mv_value_bound(line->peak, b->peak | least, out->text[0]);
    out->total = mv_value_bound(line->total, b->total | least, out->text[1]);
    out->live = mv_value_bound(line->live, b->live | (found->has_end ? 0 : least), out->text[2]);
    snprintf(out->text[3], MV_BOUND_TEXT, "%s%u", mv_bound_sign(b->allocations), line->allocations);
    out->allocations = mv_value_shown(mv_value_u64(line->allocations), out->text[3]);
    if (is_unseen)
        out->total.shown = out->allocations.shown = "-";
    out->active = is_unseen ? none : mv_value_bound(line->active, b->active, out->text[4]);
    out->reserved = is_unseen ? none : mv_value_bound(line->reserved, b->reserved, out->text[5]);
}

#define LINE_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    MEMBER("device", device)                                                                     \
    MEMBER("group", mv_value_if(line->group, mv_value_text(line->group)))                        \
    MEMBER("file", mv_value_string(r->trace, row == MV_NO_ROW ? MV_NO_STRING : f->file[row]))    \
    MEMBER("line", row == MV_NO_ROW || f->line[row] == MV_NO_LINE ? mv_value_of(MV_VALUE_NULL)   \
                                                                  : mv_value_i64(f->line[row]))  \
    MEMBER("function",                                                                           \
           mv_value_string(r->trace, row == MV_NO_ROW ? MV_NO_STRING : f->function[row]))        \
    MEMBER("op", mv_value_known(r->trace, r->trace->tags.op[line->tag.row]))                     \
    MEMBER("shapes", mv_value_known(r->trace, r->trace->tags.shapes[line->tag.row]))             \
    MEMBER("culprit", line->group ? mv_value_text(line->group)                                   \
                                  : mv_value_culprit(r->trace, r->kinds, line->stack))           \
    COLUMN("label", "line", 7, MV_UNIT_TEXT | MV_UNIT_NAME, 0,                                   \
           mv_value_label(labels, i, r->trace, r->kinds, line->stack))                           \
    COLUMN("peak_bytes", "peak", 1, MV_UNIT_BYTES, 9, cells.peak)                                \
    MEMBER("peak_event", mv_value_event(line->peak_event))                                       \
    MEMBER("start_bytes", line->start)                                                           \
    COLUMN("total_bytes", "total", 2, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, cells.total)             \
    MEMBER("freed_bytes", line->freed)                                                           \
    COLUMN("live_bytes", "live", 3, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, cells.live)                \
    COLUMN("allocations", "allocs", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, cells.allocations)      \
    COLUMN("active_bytes", "active", 5, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, cells.active)          \
    COLUMN("reserved_bytes", "reserved", 6, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, cells.reserved)    \
    COLUMN("source", "source", 8, MV_UNIT_TEXT, 0,                                               \
           mv_value_if(r->source, mv_value_shown(mv_value_span(source), shorten(source, cell)))) \
    MEMBER("source_differs",                                                                     \
           mv_value_if(r->source, mv_value_bool(r->source &&mv_source_text_differs(              \
                                      r->source, r->trace, line->frame, why, sizeof why))))

static void list_device(mv_rows *rows, const line_report *r, uint32_t device)
{
    const mv_lines *found = &r->found[device - r->first];
    const mv_frames *f = &r->trace->frames;
    uint32_t count = mv_rows_take(rows, found->count, r->limit);
    const char **labels = labels_of(r, found, count);
    char cell[4 * SOURCE_MOST + 4], why[512];

    if (!r->source)
        mv_rows_head(rows, "source", NULL);
    if (mv_trace_allocator(r->trace)) /* the file does not record reserved memory */
        mv_rows_head(rows, "reserved_bytes", NULL);
    if (r->is_grouped)
        mv_rows_head(rows, "label", mv_group_by_name(mv_by_what(r->cli)));
    for (uint32_t i = 0; i < count; i++) {
        const mv_line *line = &found->lines[i];
        uint32_t row = line->frame.row;
        mv_span source = {(const uint8_t *)"", 0};
        line_cells cells;
        set_cells(found, line, &cells);
        if (r->source)
            source = mv_source_text_line(r->source, r->trace, line->frame);
        MV_ROWS_ADD(rows, LINE_FIELDS);
        warn_of_source(r, line->frame);
    }
}

/* Lists the lines of the device that `one` points to. NULL means all devices. */
static void list_lines(mv_rows *rows)
{
    const line_report *r = mv_rows_all(rows);

    for (uint32_t device = r->first; device < r->end; device++)
        if (!mv_rows_one(rows) || *(const uint32_t *)mv_rows_one(rows) == device)
            list_device(rows, r, device);
}

static const mv_table line_table = {MV_TABLE(LINE_FIELDS, list_lines)};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST) \
    MEMBER("device", r->first + i)          \
    MV_DOUBT_FIELDS(MEMBER, doubts)

MV_LIST_ROWS(list_devices, line_report, r, r->end - r->first,
             const mv_doubts *doubts = &r->doubts[i], DEVICE_FIELDS)

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)         \
    MV_WITH_FIELDS(MEMBER, r->cli)                  \
    LIST("lines", &line_table, mv_value_rows(NULL)) \
    LIST("devices", &device_table, mv_value_rows(NULL))

MV_LIST_REPORT(list_report, line_report, r, REPORT_FIELDS)

const mv_table mv_report_lines = {MV_TABLE(REPORT_FIELDS, list_report), .main = "lines"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_verdict(const line_report *r, uint32_t device, const mv_lines *found)
{
    char label[512], place[MV_PLACE_TEXT];
    line_cells cells;
    uint32_t column;

    if (found->count == 0) {
        mv_captured_put_idle(r->out, r->trace, device);
        return;
    }
    set_cells(found, &found->lines[0], &cells);
    mv_out_style(r->out, MV_STYLE_BOLD);
    column = mv_prose_part(r->out, 0, 2, "%s:", mv_level_place(r->trace, device, place));
    mv_out_style(r->out, MV_STYLE_NONE);
    column =
        mv_prose_part(r->out, column, 2, " %u %s%s; most at once %s by", found->count,
                      r->is_grouped ? "group" : "line", mv_plural(found->count), cells.peak.shown);
    mv_out_style(r->out, MV_STYLE_BOLD);
    label_of(r, &found->lines[0], label, sizeof label);
    mv_prose_put_name(r->out, column, 2, label);
    mv_out_style(r->out, MV_STYLE_NONE);
}

static void put_device(const void *all, uint32_t device)
{
    const line_report *r = all;

    put_verdict(r, device, &r->found[device - r->first]);
    if (r->found[device - r->first].count > 0)
        mv_doubts_put(r->cli, &r->doubts[device - r->first]);
    mv_table_print(r->cli, &line_table, r, &device, "");
}

/* ---- both -------------------------------------------------------------------------------- */

typedef struct {
    line_report *report;
    mv_line_search *search;
    bool is_refused; /* --from or --to is wrong; the message was printed */
} line_walk;

static mv_code add_piece(void *user, const mv_trace *piece, const mv_lives *lives, mv_err *err)
{
    line_walk *w = user;
    line_report *r = w->report;
    mv_lines *found = &r->found[lives->device - r->first];
    mv_window window;
    mv_grouping by;

    w->is_refused = !mv_window_find(r->cli, piece, lives->device, &window);
    if (w->is_refused)
        return MV_OK;
    if (!r->is_grouped)
        mv_lines_add(w->search, piece, lives, window, err);
    else if (mv_grouping_find(&r->cli->arena, piece, lives, r->kinds, mv_by_what(r->cli), &by,
                              err) == MV_OK)
        mv_lines_by(&r->cli->arena, piece, lives, &by, window, found, err);
    if (err->code == MV_OK && !(r->cli->pieces && mv_living_of(piece, lives->device).is_cut))
        mv_doubts_find(r->cli, lives, MV_DOUBTED_PEAK, &r->doubts[lives->device - r->first], err);
    return err->code;
}

static bool find_device(line_report *r, uint32_t device)
{
    mv_lines *found = &r->found[device - r->first];
    line_walk w = {.report = r, .search = mv_lines_begin(&r->cli->arena, r->kinds, found)};
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!w.search)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "lines");
    else
        mv_input_each_piece(r->cli, r->trace, device, add_piece, &w, &err);
    mv_lines_end(w.search);
    if (err.code != MV_OK)
        mv_input_failed(r->cli, &err);
    return err.code == MV_OK && !w.is_refused;
}

int mv_cmd_lines(mv_cli *cli)
{
    mv_source_text source;
    mv_trace trace;
    line_report r = {.cli = cli,
                     .out = &cli->out,
                     .trace = &trace,
                     .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, 1)};
    mv_err err = {.offset = MV_NO_OFFSET};

    r.is_grouped = mv_option_given(&cli->options, MV_HAS(BY));
    if (cli->options.source) {
        if (mv_source_text_init(&source, &cli->arena, cli->options.source, &err) != MV_OK)
            return mv_complain(NULL, &err);
        r.source = &source;
    }
    cli->reads_pieces = true;
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &r.first, &r.end))
        return MV_EXIT_FAILED;
    mv_pieces_need(cli->pieces,
                   MV_EVENT_action | MV_EVENT_addr | MV_EVENT_size | MV_EVENT_stack | MV_EVENT_tag);
    r.kinds = mv_frame_kinds(&cli->arena, &trace);
    r.found = mv_push_array(&cli->arena, mv_lines, r.end - r.first);
    r.doubts = mv_push_array(&cli->arena, mv_doubts, r.end - r.first);
    if (!r.kinds || !r.found || !r.doubts)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    for (uint32_t i = r.first; i < r.end; i++)
        if (!find_device(&r, i))
            return MV_EXIT_FAILED;
    return mv_devices_report(cli, &trace, r.first, r.end, put_device, &r);
}
