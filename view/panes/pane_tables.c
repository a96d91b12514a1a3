/* Tables. Their rows contain numbers, and each row has a place that a click goes to. */
#include <math.h>

#include "view/panes/panels.h"
#include "view/timeline/hit_ticks.h"
#include "viz/scene/axis.h"

enum {
    FILTER = 170,
    LEAST_NOTE = 260, /* minimum width of the note, including the button to its right */
    COPY = 56,
    LEAST_TEXT = 150, /* minimum width of a column without a fixed width; other columns make room
                         for it */
    HEAD_PARTS = MV_LISTING_LEDGER + 2
};

typedef struct {
    mv_view *view;
    mv_ui *ui;
    const mv_listing_answer *answer;
    mv_box box;        /* box of the rows, without the scroll bar */
    float rest;        /* width of columns without a fixed width */
    uint32_t left_out; /* one bit for each column, set if it does not fit */
    uint32_t room;     /* number of rows that fit */
} tables_frame;

static mv_listing_question question_of(mv_view *view)
{
    const mv_view_state *now = view->now;
    mv_listing_question q;

    memset(&q, 0, sizeof q);
    q.document = mv_view_document(view);
    q.device = mv_view_device(view);
    q.kind = mv_tables_kind(now);
    q.is_evaluated = mv_view_is_evaluated(view);
    q.sort = MV_NO_ROW;
    if (q.kind != MV_LISTING_LEDGER) { /* the ledger keeps the order of its report */
        q.sort = now->table_sort[q.kind];
        q.is_ascending = mv_tables_is_ascending(q.kind, now->is_sort_turned[q.kind]);
    }
    /* The other tables do not depend on the cursor, so they are not built again when it moves. */
    if (q.kind == MV_LISTING_STACKS || q.kind == MV_LISTING_FRAGMENTS ||
        q.kind == MV_LISTING_SIZES || q.kind == MV_LISTING_LEDGER)
        q.event = view->now->cursor;
    if (q.kind == MV_LISTING_LINES || q.kind == MV_LISTING_CATEGORIES) {
        mv_panels_interval(view, &q.a, &q.b);
        q.of_segments = now->main == MV_MAIN_SEGMENTS;
    }
    snprintf(q.rows, sizeof q.rows, "%.*s", (int)sizeof q.rows - 1, now->row_filter);
    if (mv_listing_is_of_blocks(q.kind) && !q.of_segments)
        mv_panels_isolated(view, q.only);
    return q;
}

static const mv_listing_answer *ask(mv_view *view)
{
    mv_listing_question q = question_of(view);
    bool is_current;
    const mv_listing_answer *a = mv_slot_query(view->panels->table, &q, &is_current);

    if (a && (a->question.device != q.device || a->question.kind != q.kind))
        a = NULL;
    view->panels->table_shown = a;
    return a;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Drops columns from the right until the text columns fit. Returns the width of the columns without
 * a fixed width. */
static float leave_out(tables_frame *p, float used, float room, bool only_places)
{
    const mv_listing *t = &p->answer->table;

    for (uint32_t c = t->column_count; c-- > 1 && used > room;) {
        uint8_t kind = t->columns[c].kind;
        if (t->columns[c].width == 0 || c == p->answer->question.sort || p->left_out >> c & 1 ||
            (only_places && kind != MV_CELL_ADDR && kind != MV_CELL_TIME))
            continue;
        p->left_out |= 1u << c;
        used -= mv_ui_px(p->ui, t->columns[c].width);
    }
    return used;
}

static void lay_columns(tables_frame *p)
{
    const mv_listing *t = &p->answer->table;
    uint32_t wide = 0;
    float used = 0, room;

    for (uint32_t c = 0; c < t->column_count; c++) {
        used += mv_ui_px(p->ui, t->columns[c].width);
        wide += t->columns[c].width == 0;
    }
    p->left_out = 0;
    room = p->box.w - (float)wide * mv_ui_px(p->ui, LEAST_TEXT);
    if (wide) /* addresses and times are dropped first */
        used = leave_out(p, leave_out(p, used, room, true), room, false);
    p->rest = wide && p->box.w > used ? (p->box.w - used) / (float)wide : 0;
}

static mv_box column_box(const tables_frame *p, mv_box *line, uint32_t c)
{
    float width = mv_ui_px(p->ui, p->answer->table.columns[c].width);
    mv_box cell = mv_box_cut_left(line, p->left_out >> c & 1 ? 0 : width > 0 ? width : p->rest);

    cell.w = fmaxf(0, cell.w - mv_ui_px(p->ui, 12));
    return cell;
}

static bool is_number(uint8_t kind)
{
    return kind != MV_CELL_TEXT;
}

static void paint_names(tables_frame *p, mv_box line)
{
    const mv_listing *t = &p->answer->table;
    uint32_t sort = p->answer->question.sort;

    mv_ui_fill(p->ui, line, p->ui->theme->background);
    line.x += mv_ui_px(p->ui, MV_UI_PAD);
    for (uint32_t c = 0; c < t->column_count; c++) {
        mv_box cell = column_box(p, &line, c);
        const char *name = t->columns[c].name;
        if (c == sort && t->cells)
            name = mv_panel_say(p->view, "%s %s", name,
                                p->answer->question.is_ascending ? "\xe2\x96\xb4" : "\xe2\x96\xbe");
        mv_ui_text(p->ui, cell, MV_UI_SMALL, p->ui->theme->faint_text,
                   is_number(t->columns[c].kind) ? MV_ANCHOR_END : MV_ANCHOR_START, name);
        if (t->cells && t->kind != MV_LISTING_LEDGER && cell.w > 0)
            mv_ui_zone(p->ui, cell, MV_DO_table_sort, c, "Sort by this column");
    }
}

/* Paints a bar at the start of the row for the cursor's event, and at the start of rows that belong
 * to the pinned allocation. */
static void mark_row(tables_frame *p, mv_box line, const mv_listing_place *place)
{
    const mv_view_state *now = p->view->now;
    bool is_cursor = p->answer->table.kind == MV_LISTING_EVENTS && place->event == now->cursor;
    bool is_pinned = now->pinned != MV_NO_ROW && place->alloc == now->pinned;

    if (is_cursor || mv_ui_is_hot(p->ui, line))
        mv_ui_fill(p->ui, line, p->ui->theme->grid);
    if (is_cursor || is_pinned)
        mv_ui_fill(p->ui, (mv_box){line.x, line.y, mv_ui_px(p->ui, 3), line.h},
                   p->ui->theme->outline);
}

/* Returns the text of a cell, in `text` or in the table. */
static const char *cell_text(const mv_listing *t, const mv_cell *cells, uint32_t c,
                             char text[MV_CELL_SIZE])
{
    return mv_cell_text((mv_cell_kind)t->columns[c].kind, cells[c], text);
}

/* Paints the cells of a row. A text may continue over the empty cells to its right. Returns the texts
 * that do not fit, on a line each, for a tooltip; NULL: all fit. */
static const char *paint_cells(tables_frame *p, mv_box line, const mv_cell *cells)
{
    const mv_listing *t = &p->answer->table;
    char text[MV_CELL_SIZE], next[MV_CELL_SIZE];
    const char *cut = NULL;

    for (uint32_t c = 0; c < t->column_count; c++) {
        const char *words = cell_text(t, cells, c, text);
        mv_box cell = column_box(p, &line, c);
        bool is_text = !is_number(t->columns[c].kind);
        while (is_text && c + 1 < t->column_count && !*cell_text(t, cells, c + 1, next)) {
            mv_box empty = column_box(p, &line, ++c);
            cell.w = fmaxf(cell.w, empty.x + empty.w - cell.x);
        }
        mv_ui_text(p->ui, cell, MV_UI_TEXT, p->ui->theme->text,
                   is_text ? MV_ANCHOR_START : MV_ANCHOR_END, words);
        if (is_text && cell.w > 0 && mv_ui_text_width(p->ui, MV_UI_TEXT, words) > cell.w)
            cut = mv_panel_say(p->view, "%s%s%s", cut ? cut : "", cut ? "\n" : "", words);
    }
    return cut;
}

static void paint_row(tables_frame *p, mv_box line, uint32_t row)
{
    const mv_listing *t = &p->answer->table;
    mv_cell cells[MV_LISTING_COLUMNS];
    mv_listing_place place;
    mv_box whole = line;
    const char *cut;

    mv_listing_row(p->ui->frame, &p->answer->ask, t, row, cells, &place);
    mark_row(p, line, &place);
    if (mv_ui_is_hot(p->ui, line) && place.alloc != MV_NO_ROW)
        p->view->hover = place.alloc;
    line.x += mv_ui_px(p->ui, MV_UI_PAD);
    cut = paint_cells(p, line, cells);
    mv_ui_zone(p->ui, whole, MV_DO_table_row, row, cut);
}

/* Paints the sum below the rows, where it is always visible. */
static void paint_total(tables_frame *p, mv_box line)
{
    mv_ui_fill(p->ui, line, p->ui->theme->background);
    mv_ui_fill(p->ui, (mv_box){line.x, line.y, line.w, 1}, p->ui->theme->faint_text);
    line.x += mv_ui_px(p->ui, MV_UI_PAD);
    paint_cells(p, line, p->answer->table.total);
}

/* Returns the row of the cursor's event. The list of events follows the cursor until the user
 * scrolls. */
static uint32_t row_of(const tables_frame *p, uint32_t cursor)
{
    const mv_listing *t = &p->answer->table;
    uint32_t row = cursor == MV_BEFORE ? 0 : cursor;
    uint32_t above = t->order ? (uint32_t)mv_upper_bound_u32(t->order, t->count, row) : row + 1;

    return above > 0 ? above - 1 : 0;
}

static void follow_cursor(tables_frame *p)
{
    mv_panels *panels = p->view->panels;
    uint32_t cursor = p->view->now->cursor, row = row_of(p, cursor);
    uint32_t *first = &panels->table_first[MV_LISTING_EVENTS];

    if (p->answer->table.kind != MV_LISTING_EVENTS || panels->table_cursor == cursor ||
        strcmp(p->answer->question.rows, p->view->now->row_filter) != 0)
        return;
    panels->table_cursor = cursor;
    if (row < *first || row >= *first + p->room)
        *first = row > p->room / 2 ? row - p->room / 2 : 0;
}

/* Scrolls so that the row with the keyboard focus also stays visible. */
static void follow_spot(tables_frame *p)
{
    uint32_t *first = &p->view->panels->table_first[p->answer->table.kind], row;

    if (!mv_focus_reached(p->view, MV_DO_table_row, &row))
        return;
    if (row < *first)
        *first = row;
    if (row >= *first + p->room)
        *first = row - p->room + 1;
}

static uint32_t event_of(const mv_listing *table, uint32_t row)
{
    return table->order ? table->order[row] : row;
}

/* Marks the hits of the search next to the scroll bar of the events. */
static void paint_hits(tables_frame *p, mv_box whole)
{
    const mv_listing *t = &p->answer->table;
    const mv_view *view = p->view;
    mv_box bar = mv_box_cut_right(&whole, mv_ui_px(p->ui, 4));
    uint32_t pixels = bar.h > 0 ? (uint32_t)bar.h : 0;

    if (t->kind != MV_LISTING_EVENTS || t->count < t->all || !mv_hits_are_marked(view))
        return;
    for (uint32_t i = 0; i < pixels; i++) {
        uint32_t from = (uint32_t)((uint64_t)t->count * i / pixels);
        uint32_t to = (uint32_t)((uint64_t)t->count * (i + 1) / pixels);
        if (from < to &&
            mv_hit_is_born(&mv_view_device(view)->index, view->matches,
                           from ? event_of(t, from - 1) : MV_BEFORE, event_of(t, to - 1)))
            mv_ui_fill(p->ui, (mv_box){bar.x, bar.y + (float)i, bar.w, 1}, p->ui->theme->outline);
    }
}

static void paint_rows(tables_frame *p)
{
    uint32_t *first = &p->view->panels->table_first[p->answer->table.kind];
    uint32_t count = p->answer->table.count;
    float h = mv_ui_px(p->ui, MV_UI_LINE);
    mv_box whole = p->box;

    if (p->answer->table.total)
        p->room = p->room > 1 ? p->room - 1 : 1;
    follow_cursor(p);
    follow_spot(p);
    mv_ui_list(p->ui, MV_DO_table_row, count, p->room);
    p->box.w -= mv_ui_px(p->ui, 10);
    lay_columns(p);
    paint_names(p, mv_box_cut_top(&p->box, h));
    mv_box_cut_top(&whole, h);
    mv_ui_scroll(p->ui, whole, count, p->room, first);
    paint_hits(p, whole);
    for (uint32_t i = 0; i < p->room && *first + i < count; i++)
        paint_row(p, mv_box_cut_top(&p->box, h), *first + i);
    if (p->answer->table.total)
        paint_total(p, mv_box_cut_top(&p->box, h));
    if (count == 0)
        mv_panel_remark(p->view, p->box, "no rows");
}

/* ---- the pane ---------------------------------------------------------------------------- */

/* Returns the note. Tables of blocks count only the hits if the picture shows only the hits. */
static const char *note_of(tables_frame *p)
{
    const mv_view_state *now = p->view->now;
    const mv_listing *t = &p->answer->table;
    const char *note = t->note;
    char shown[MV_TICK_TEXT], all[MV_TICK_TEXT];

    if (*p->answer->question.rows)
        note = mv_panel_say(p->view, "%s of %s rows: %s", mv_axis_exact(t->count, shown),
                            mv_axis_exact(t->all, all), note);
    if (now->show != MV_SHOW_ISOLATE || !*now->search ||
        p->answer->table.kind == MV_LISTING_EVENTS || p->answer->table.kind == MV_LISTING_MARKERS)
        return note;
    return mv_panel_say(p->view, p->answer->ask.only ? "hits only: %s" : "hits and all others: %s",
                        note);
}

static void paint_filter(tables_frame *p, mv_box box)
{
    mv_view *view = p->view;

    mv_box_cut_right(&box, mv_ui_px(p->ui, MV_UI_PAD));
    mv_field_paint(p->ui, box, view->row_field, view->desk->focus == MV_FOCUS_ROWS, "Filter rows");
    mv_ui_zone(p->ui, box, MV_DO_filter_rows, 0, NULL);
}

/* Paints the buttons for the tables, the row filter, and the note with the copy button. Returns the
 * part of the pane below them. */
static mv_box paint_head(tables_frame *p, mv_box pane)
{
    uint32_t kinds = p->view->now->tab == MV_TAB_TABLES ? MV_LISTING_LEDGER : 0, count = 0;
    float widths[HEAD_PARTS];
    mv_box boxes[HEAD_PARTS], copy, note;

    for (; count < kinds; count++)
        widths[count] =
            ceilf(mv_ui_text_width(p->ui, MV_UI_TEXT, mv_listing_name(count)) / p->ui->scale) +
            2 * MV_UI_PAD + 1;
    widths[count++] = p->ui->has_no_buttons ? 0 : FILTER + MV_UI_PAD;
    widths[count++] = LEAST_NOTE;
    mv_box_cut_top(&pane, mv_ui_px(p->ui, MV_PANEL_HEAD) *
                              (float)mv_panel_flow(p->view, pane, widths, count, boxes));
    for (uint32_t i = 0; i < kinds; i++)
        mv_ui_button(p->ui, boxes[i], p->view->now->table_kind == i, MV_DO_table_kind, i,
                     mv_listing_name(i));
    if (!p->ui->has_no_buttons)
        paint_filter(p, boxes[kinds]);
    copy = mv_box_cut_right(&boxes[kinds + 1], mv_ui_px(p->ui, COPY));
    mv_ui_button(p->ui, copy, false, MV_DO_table_copy, 0, "copy");
    note = boxes[kinds + 1];
    mv_box_cut_right(&note, mv_ui_px(p->ui, MV_UI_PAD));
    mv_box_cut_left(&note, mv_ui_px(p->ui, MV_UI_PAD));
    if (p->answer) {
        mv_ui_text(p->ui, note, MV_UI_TEXT, p->ui->theme->text, MV_ANCHOR_END, note_of(p));
        if (mv_ui_text_width(p->ui, MV_UI_TEXT, note_of(p)) > note.w)
            mv_ui_zone(p->ui, note, MV_DO_NOTHING, 0, note_of(p));
    }
    return pane;
}

void mv_tables_paint(mv_view *view, mv_box box)
{
    const mv_document *document;
    const mv_document_device *device;
    tables_frame p = {.view = view, .ui = &view->ui};

    if (!mv_panels_device(view, box, &document, &device))
        return;
    p.answer = ask(view);
    box = paint_head(&p, box);
    p.box = box;
    p.room = mv_panel_room(view, box);
    p.room = p.room > 1 ? p.room - 1 : 1;
    if (p.answer)
        paint_rows(&p);
    else
        mv_panel_remark(view, box, "building the table ...");
}

const char *mv_tables_text(mv_view *view, mv_arena *arena)
{
    const mv_listing_answer *a = mv_view_device(view) ? ask(view) : NULL;

    return a ? mv_listing_tsv(arena, &a->ask, &a->table, UINT32_MAX) : NULL;
}
