/* Settings and code changes to tick, and how much memory the replayed run needs. The timeline shows
 * the replayed curves (timeline_whatif.c). */
#include <math.h>

#include "view/panes/panels.h"

enum {
    NARROW = 560,
    BOX = 11,
    MOST_WORDS = 3,
    TIP_LETTERS = 90, /* maximum number of letters on a line of a tip */
    RESULT = 5        /* number of lines above the boxes, for the verdict, a note and a change */
};

typedef struct {
    mv_view *view;
    mv_ui *ui;
    const mv_whatif_answer *answer;
    mv_panel_lines lines;
    mv_box line; /* what is left of the row's current line */
    float left;  /* x of the boxes */
    bool has_come, is_narrow;
    bool has_more;           /* the result has more parts than the first */
    bool is_rest;            /* the lines of the result that belong below the boxes are being
                              * painted */
    uint32_t result_lines;   /* number of lines of the result above the boxes */
    uint32_t parts, painted; /* number of parts of the result so far, and of those painted above the
                                boxes */
    uint32_t wanted;         /* the item that the keyboard focus moved to */
    uint32_t line_of_wanted;
} whatif_frame;

const char *mv_whatif_item(const mv_view *view, uint64_t number)
{
    const mv_panels *p = view->panels;

    return number < p->whatif_count ? p->whatif_items[number] : "";
}

/* ---- boxes to tick ------------------------------------------------------------------------- */

static void paint_box(whatif_frame *p, mv_box box, const char *item, const char *name)
{
    const mv_theme *theme = p->ui->theme;
    float side = mv_ui_px(p->ui, BOX), inset = mv_ui_px(p->ui, 3);
    mv_box mark = {box.x, box.y + roundf((box.h - side) / 2), side, side};
    bool is_ticked = mv_whatif_has(p->view->now->whatif, item);

    if (mv_ui_is_hot(p->ui, box))
        mv_ui_fill(p->ui, box, theme->grid);
    mv_ui_frame(p->ui, mark, theme->faint_text);
    if (is_ticked)
        mv_ui_fill(p->ui,
                   (mv_box){mark.x + inset, mark.y + inset, side - 2 * inset, side - 2 * inset},
                   theme->replayed);
    mv_box_cut_left(&box, side + mv_ui_px(p->ui, 5));
    mv_ui_text(p->ui, box, MV_UI_TEXT, theme->text, MV_ANCHOR_START, name);
}

/* Adds a box at the end of the row's line, or at the beginning of the next line. */
static void add_box(whatif_frame *p, const char *item, const char *name)
{
    mv_panels *panels = p->view->panels;
    float width = mv_ui_text_width(p->ui, MV_UI_TEXT, name) + mv_ui_px(p->ui, BOX + 5 + MV_UI_PAD);
    uint32_t number = panels->whatif_count;
    mv_box box;

    if (number == MV_MOST_TICKS)
        return;
    panels->whatif_items[panels->whatif_count++] = item;
    if (width > p->line.w && p->line.x > p->left) {
        p->line = mv_panel_line(&p->lines);
        mv_box_cut_left(&p->line, p->left - p->line.x);
    }
    if (p->has_come && number == p->wanted)
        p->line_of_wanted = p->lines.count - 1;
    box = mv_box_cut_left(&p->line, width);
    mv_box_cut_left(&p->line, mv_ui_px(p->ui, 4));
    if (box.h <= 0)
        return;
    paint_box(p, box, item, name);
    mv_ui_zone(p->ui, box, MV_DO_whatif_toggle, number, "");
}

static void begin_row(whatif_frame *p, const char *title)
{
    float pad = mv_ui_px(p->ui, MV_UI_PAD);
    mv_box name;

    p->line = mv_panel_line(&p->lines);
    name = mv_box_cut_left(&p->line, p->is_narrow ? p->line.w : p->left - p->line.x);
    name.x += pad;
    name.w -= 2 * pad;
    if (name.h > 0)
        mv_ui_text(p->ui, name, MV_UI_TEXT, p->ui->theme->text, MV_ANCHOR_START, title);
    if (p->is_narrow) {
        p->line = mv_panel_line(&p->lines);
        mv_box_cut_left(&p->line, p->left - p->line.x);
    }
}

static const char *title_of(whatif_frame *p, const mv_whatif_row *row)
{
    return row->bytes ? mv_panel_say(p->view, "%s: %s at the peak", row->title,
                                     mv_panel_size(p->view, row->bytes))
                      : row->title;
}

static void paint_row(whatif_frame *p, const mv_whatif_row *row)
{
    begin_row(p, title_of(p, row));
    for (uint32_t i = 0; i < row->count; i++)
        add_box(p, row->items[i], row->names[i]);
}

static bool is_offered(const mv_panels *panels, const char *item)
{
    for (uint32_t i = 0; i < panels->whatif_count; i++)
        if (strcmp(panels->whatif_items[i], item) == 0)
            return true;
    return false;
}

/* Paints items that were added by an earlier search or by a session. */
static void paint_others(whatif_frame *p)
{
    const char *at = p->view->now->whatif;
    bool has_row = false;

    while (*at) {
        size_t length = strcspn(at, "\n");
        const char *item = mv_panel_say(p->view, "%.*s", (int)length, at);
        if (!is_offered(p->view->panels, item)) {
            if (!has_row)
                begin_row(p, "also ticked");
            has_row = true;
            add_box(p, item, item);
        }
        at += length + (at[length] == '\n');
    }
}

/* Measures the column of titles, which is as wide as the titles, but at most half of the pane. */
static void measure(whatif_frame *p, mv_box box)
{
    const mv_whatif_facts *f = p->answer->facts;
    float width = mv_ui_text_width(p->ui, MV_UI_TEXT, "hits of the search");

    p->is_narrow = box.w < mv_ui_px(p->ui, NARROW);
    for (uint32_t i = 0; i < f->row_count; i++)
        width = fmaxf(width, mv_ui_text_width(p->ui, MV_UI_TEXT, title_of(p, &f->rows[i])));
    width = fminf(width + mv_ui_px(p->ui, 2 * MV_UI_PAD), box.w / 2);
    p->left = box.x + (p->is_narrow ? mv_ui_px(p->ui, 2 * MV_UI_PAD) : width);
}

/* ---- the result ------------------------------------------------------------------------- */

/* Paints as much of the first part as fits above the boxes, in a pane that is too low for all of it.
 * The tip has all of it, and it is repeated below the boxes. */
static void say_begin(whatif_frame *p, uint32_t colour, const char *text)
{
    float pad = mv_ui_px(p->ui, MV_UI_PAD), y = p->lines.y;
    uint32_t hint = p->result_lines > 1;

    mv_panel_wrap(&p->lines, pad, p->lines.box.w - 2 * pad, colour, p->result_lines - hint, text);
    mv_ui_zone(p->ui, (mv_box){p->lines.box.x, y, p->lines.box.w, p->lines.y - y}, MV_DO_NOTHING, 0,
               mv_ui_broken(p->ui, text, TIP_LETTERS));
}

/* Paints the next part of the result. It is painted above the boxes if it fits there, together with
 * a line for a hint if there is more. */
static void say(whatif_frame *p, uint32_t colour, const char *text)
{
    float pad = mv_ui_px(p->ui, MV_UI_PAD), width = p->lines.box.w - 2 * pad;
    uint32_t most = p->is_narrow ? 3 * MOST_WORDS : MOST_WORDS, part = p->parts++;
    mv_panel_lines unseen = p->lines;
    uint32_t needed;

    unseen.first = UINT32_MAX;
    needed = mv_panel_wrap(&unseen, pad, width, colour, most, text) + p->lines.count;
    if (p->is_rest) {
        if (part >= p->painted)
            mv_panel_wrap(&p->lines, pad, width, colour, most, text);
    } else if (part == p->painted && needed + (part > 0 || p->has_more) <= p->result_lines) {
        p->painted++;
        mv_panel_wrap(&p->lines, pad, width, colour, most, text);
    } else if (part == 0) {
        say_begin(p, colour, text);
    }
}

static void paint_result(whatif_frame *p)
{
    const mv_theme *theme = p->ui->theme;
    const mv_whatif_answer *a = p->answer;

    if (!*p->view->now->whatif) {
        say(p, theme->faint_text,
            "Tick settings and code changes: the run is replayed with them, and its curves appear "
            "over the recorded curves in the timeline.");
        return;
    }
    if (strcmp(a->ask.items, p->view->now->whatif) != 0) {
        say(p, theme->faint_text, "replaying the run ...");
        return;
    }
    p->has_more = a->has_run && (*a->why || *a->notes || a->changes.count > 0);
    if (*a->why)
        say(p, theme->alarm, a->why);
    if (!a->has_run)
        return;
    say(p, a->trial.result.counts.ooms ? theme->alarm : theme->text, a->verdict);
    if (*a->notes)
        say(p, theme->faint_text, a->notes);
    for (uint32_t i = 0; i < a->changes.count; i++)
        say(p, theme->faint_text,
            mv_panel_say(p->view, "%s. Assumed: %s.", a->changes.changes[i],
                         a->changes.assumed[i]));
}

/* Paints the parts of the result that fit above the boxes. The boxes then do not move when results
 * appear and disappear. In a low pane there is less room above the boxes. */
static void paint_above(whatif_frame *p, uint32_t room)
{
    p->result_lines = room < 3 ? 1 : room / 3 < RESULT ? room / 3 : RESULT;
    paint_result(p);
    if (p->painted < p->parts && p->lines.count < p->result_lines)
        mv_panel_wrap(&p->lines, mv_ui_px(p->ui, MV_UI_PAD), p->lines.box.w,
                      p->ui->theme->faint_text, 1, "more about this below the boxes");
    while (p->lines.count < p->result_lines)
        mv_panel_line(&p->lines);
}

/* Paints the parts of the result that did not fit above the boxes. */
static void paint_below(whatif_frame *p)
{
    if (p->painted == p->parts)
        return;
    p->is_rest = true;
    p->parts = 0;
    mv_panel_line(&p->lines);
    paint_result(p);
}

/* Paints the button that unticks everything, at the right end of the first line. */
static void paint_clear(whatif_frame *p, mv_box *box)
{
    float width = mv_ui_px(p->ui, 90);
    mv_box button = {box->x + box->w - width, box->y + 1, width, MV_PANEL_HEAD * p->ui->scale - 3};

    if (!*p->view->now->whatif || p->ui->has_no_buttons)
        return;
    mv_ui_button(p->ui, button, false, MV_DO_whatif_clear, 0, "untick all");
    p->lines.box.w -= width;
}

/* ---- the pane -------------------------------------------------------------------------------- */

static void paint_rows(whatif_frame *p)
{
    const mv_whatif_facts *f = p->answer->facts;
    const char *search = p->view->now->search;
    mv_whatif_row row;

    if (*search && !*p->view->search_why &&
        mv_whatif_row_of(p->ui->frame, "hits of the search", mv_panel_say(p->view, "%s", search),
                         &row))
        paint_row(p, &row);
    for (uint32_t i = 0; i < f->row_count; i++)
        paint_row(p, &f->rows[i]);
    paint_others(p);
}

static void scroll(whatif_frame *p, mv_box box)
{
    uint32_t *first = &p->view->panels->whatif_first, room = mv_panel_room(p->view, box);
    uint32_t begin = *first;

    if (p->has_come && p->wanted < p->view->panels->whatif_count) {
        if (p->wanted + 1 == p->view->panels->whatif_count) /* with the lines below the boxes */
            begin = p->lines.count > room ? p->lines.count - room : 0;
        if (p->line_of_wanted >= begin + room)
            begin = p->line_of_wanted - room + 1;
        if (p->line_of_wanted < begin)
            begin = p->line_of_wanted;
    }
    p->ui->is_animating = p->ui->is_animating || begin != *first;
    *first = begin;
    mv_ui_list(p->ui, MV_DO_whatif_toggle, p->view->panels->whatif_count, room);
    mv_ui_scroll(p->ui, box, p->lines.count, room, first);
}

void mv_whatif_paint(mv_view *view, mv_box box)
{
    const mv_document *document;
    const mv_document_device *device;
    whatif_frame p = {.view = view, .ui = &view->ui, .answer = view->whatif};
    const char *text;

    view->panels->whatif_count = 0;
    if (!mv_panels_device(view, box, &document, &device))
        return;
    text = view->is_whatif_without_memory       ? "not replayed: out of memory"
           : !p.answer                          ? "replaying the recorded run ..."
           : !p.answer->facts && *p.answer->why ? p.answer->why
                                                : NULL;
    if (text) {
        paint_clear(&p, &box);
        mv_panel_remark(view, box, text);
        return;
    }
    p.has_come = mv_focus_reached(view, MV_DO_whatif_toggle, &p.wanted);
    p.lines = (mv_panel_lines){
        .view = view, .box = box, .y = box.y + 2, .first = view->panels->whatif_first};
    p.lines.box.w -= mv_ui_px(p.ui, 10);
    measure(&p, p.lines.box);
    paint_clear(&p, &p.lines.box);
    paint_above(&p, mv_panel_room(view, box));
    p.lines.box.w = box.w - mv_ui_px(p.ui, 10);
    paint_rows(&p);
    paint_below(&p);
    scroll(&p, box);
}
