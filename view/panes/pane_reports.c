/* The problems that the analyzers found, and where they are, most serious first. */
#include <math.h>

#include "base/sort.h"
#include "view/frame/file_badge.h"
#include "view/panes/panels.h"

enum {
    KIND = 124, /* width in pixels at scale 1 */
    LEAST_CULPRIT = 120,
    NARROW = 600,            /* below this width, the text of a row is under its line of code */
    INDENT = 12,             /* indentation of that text in pixels */
    MOST_LINES = 16,         /* maximum number of lines of a sentence */
    MOST_COOPERATIVE = 20000 /* maximum number of events; replaying more would block a page's only
                                thread for too long */
};

typedef struct {
    mv_view *view;
    mv_ui *ui;
    const mv_findings *findings;
    const mv_finding_place *places;
    const mv_report_row *rows;
    uint32_t count;
    float kind, culprit; /* widths of the columns */
    bool is_narrow;
    mv_panel_lines lines;
} reports_frame;

/* Returns the findings, first without and then with the replays of other settings. */
static const mv_findings_answer *ask(mv_view *view)
{
    const mv_findings_answer *a = view->panels->findings_shown;
    mv_findings_question q;
    bool is_current, can_try;

    memset(&q, 0, sizeof q);
    q.document = mv_view_document(view);
    q.device = mv_view_device(view);
    can_try = view->opts.tries_settings &&
              (!view->opts.is_cooperative || q.device->events <= MOST_COOPERATIVE);
    q.tries = can_try && a && a->ask.device == q.device;
    a = mv_slot_query(view->panels->findings, &q, &is_current);
    if (a && a->ask.device != q.device)
        a = NULL;
    view->panels->findings_shown = a;
    if (a && can_try && !q.tries)
        view->ui.is_animating = true; /* the next frame sends the second query */
    return a;
}

static bool is_alarm(mv_finding_kind kind)
{
    return kind <= MV_FINDING_WAITING;
}

/* ---- which rows -------------------------------------------------------------------------- */

static void add(mv_panels *panels, mv_report_row row)
{
    if (panels->report_count < MV_MOST_REPORTS)
        panels->reports[panels->report_count++] = row;
}

/* Whether a verdict on another level or device has a row here. */
static bool is_reported(const mv_view *view, const mv_verdict *v)
{
    bool is_shown = strcmp(v->level, mv_view_level_name(view)) == 0 &&
                    v->device == mv_view_device(view)->device;
    bool is_doubt = v->kind == MV_FINDING_NOTE &&
                    (v->report == MV_REPORT_LEAKS || v->report == MV_REPORT_FRAGMENTATION);

    return !is_shown && (is_alarm(v->kind) || is_doubt);
}

static void add_other_levels(mv_view *view)
{
    const mv_file_verdicts *v = view->verdicts;

    for (uint32_t i = 0; v && i < v->count; i++)
        if (is_reported(view, &v->rows[i]))
            add(view->panels,
                (mv_report_row){.finding = MV_NO_ROW,
                                .level = v->rows[i].level,
                                .device_row = MV_NO_ROW,
                                .where = mv_panel_say(view, "level %s", v->rows[i].level),
                                .kind = v->rows[i].kind,
                                .bytes = v->rows[i].bytes,
                                .text = v->rows[i].text});
}

/* Adds the problems of the other devices of a file with one level. */
static void add_other_devices(mv_view *view)
{
    const mv_document *document = mv_view_document(view);

    for (uint32_t i = 0; !view->verdicts && i < document->device_count; i++) {
        const mv_document_device *d = &document->devices[i];
        if (d == mv_view_device(view) ||
            atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DEVICE_REPORTED)
            continue;
        for (uint32_t k = 0; k < d->headline.alarms; k++)
            add(view->panels, (mv_report_row){.finding = MV_NO_ROW,
                                              .device_row = i,
                                              .where = mv_panel_say(view, "device %u", d->device),
                                              .kind = d->headline.rows[k].kind,
                                              .bytes = d->headline.rows[k].bytes,
                                              .text = d->headline.rows[k].text});
    }
}

MV_FINDING_BY_ALARM(by_alarm, mv_report_row, kind)

static void find_rows(mv_view *view, const mv_findings *findings)
{
    mv_panels *panels = view->panels;

    panels->report_count = 0;
    for (uint32_t i = 0; i < findings->count; i++)
        add(panels, (mv_report_row){.finding = i,
                                    .device_row = MV_NO_ROW,
                                    .where = findings->rows[i].culprit,
                                    .kind = findings->rows[i].kind,
                                    .bytes = findings->rows[i].bytes,
                                    .text = findings->rows[i].title});
    add_other_levels(view);
    add_other_devices(view);
    mv_sort_by(NULL, panels->reports, panels->report_count, sizeof *panels->reports, by_alarm,
               NULL);
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Returns the title of a row. It names the level if the row is a verdict on leaks, because such a
 * verdict applies only to the shown level. */
static const char *title_of(reports_frame *p, const mv_report_row *row)
{
    const mv_finding *f = row->finding == MV_NO_ROW ? NULL : &p->findings->rows[row->finding];
    const mv_document *document = mv_view_document(p->view);
    mv_text_maker words = {.arena = p->ui->frame};
    const char *memory;

    if (!f || f->report != MV_REPORT_LEAKS || is_alarm(f->kind) ||
        !mv_file_has_several_levels(document))
        return row->text;
    memory = mv_triage_memory_of(&document->trace, &words);
    return mv_panel_say(p->view, "%s: %s", *memory ? memory : "the whole device", row->text);
}

/* Measures the columns. The column of lines of code is as wide as its contents, but leaves room for
 * the titles. */
static void measure(reports_frame *p)
{
    float room, titles = 0;

    p->is_narrow = p->lines.box.w < mv_ui_px(p->ui, NARROW);
    p->kind = p->is_narrow ? 0 : mv_ui_px(p->ui, KIND);
    for (uint32_t i = 0; i < p->count && p->is_narrow; i++)
        p->kind =
            fmaxf(p->kind, mv_ui_text_width(p->ui, MV_UI_TEXT, mv_finding_name(p->rows[i].kind)) +
                               mv_ui_px(p->ui, MV_UI_PAD));
    room = p->lines.box.w - p->kind - mv_ui_px(p->ui, 3 * MV_UI_PAD);
    p->culprit = mv_ui_px(p->ui, LEAST_CULPRIT);
    for (uint32_t i = 0; i < p->count; i++) {
        p->culprit = fmaxf(p->culprit, mv_ui_text_width(p->ui, MV_UI_TEXT, p->rows[i].where) +
                                           mv_ui_px(p->ui, 2 * MV_UI_PAD));
        titles = fmaxf(titles, mv_ui_text_width(p->ui, MV_UI_TEXT, title_of(p, &p->rows[i])));
    }
    p->culprit = p->is_narrow ? room : fminf(p->culprit, fmaxf(room - titles, room / 2));
}

/* Returns the left edge of text that is on separate lines. */
static float text_left(const reports_frame *p)
{
    return (p->is_narrow ? mv_ui_px(p->ui, INDENT) : p->kind) + mv_ui_px(p->ui, MV_UI_PAD + 4);
}

/* Whether the line of code is in the column for it. If it is too long, it becomes part of the
 * text. */
static bool has_column(const reports_frame *p, const mv_report_row *row)
{
    return *row->where && mv_ui_text_width(p->ui, MV_UI_TEXT, row->where) <=
                              p->culprit - (p->is_narrow ? 0 : mv_ui_px(p->ui, MV_UI_PAD));
}

static const char *words_of(reports_frame *p, const mv_report_row *row)
{
    if (!*row->where || has_column(p, row))
        return title_of(p, row);
    return mv_panel_say(p->view, "%s: %s", row->where, title_of(p, row));
}

/* Whether the row's text is on separate lines, because it does not fit next to the line of code. */
static bool is_stacked(reports_frame *p, const mv_report_row *row)
{
    float room = p->lines.box.w - p->kind - mv_ui_px(p->ui, 2 * MV_UI_PAD + 4);
    bool has = has_column(p, row);

    if (p->is_narrow && has)
        return true;
    return mv_ui_text_width(p->ui, MV_UI_TEXT, words_of(p, row)) > room - (has ? p->culprit : 0);
}

/* Returns the tooltip for a click on the row; NULL: a click does nothing. */
static const char *hint_of(const reports_frame *p, const mv_report_row *row)
{
    const mv_finding *f = row->finding == MV_NO_ROW ? NULL : &p->findings->rows[row->finding];

    return !f                               ? "click: show it"
           : *p->places[row->finding].ticks ? "click: tick it in What if"
           : !f->has_place                  ? NULL
           : f->is_about_heap               ? "click: show in the allocator's state"
                                            : "click: show in the timeline";
}

/* Paints a row such as "LEAK train.py:62 forward 2.00 MiB a step, 24.0 MiB at the end". */
static void paint_line(reports_frame *p, const mv_report_row *row, mv_box line, bool is_shown)
{
    const mv_theme *theme = p->ui->theme;
    uint32_t colour = is_alarm(row->kind) ? theme->alarm : theme->text;

    if (is_shown || (hint_of(p, row) && mv_ui_is_hot(p->ui, line))) {
        mv_ui_fill(p->ui, line, theme->background);
        mv_ui_frame(p->ui, line, is_shown ? theme->faint_text : theme->grid);
    }
    if (is_alarm(row->kind))
        mv_ui_fill(p->ui, (mv_box){line.x, line.y + 1, mv_ui_px(p->ui, 4), line.h - 2}, colour);
    mv_box_cut_left(&line, mv_ui_px(p->ui, MV_UI_PAD + 4));
    mv_ui_text(p->ui, mv_box_cut_left(&line, p->kind), MV_UI_TEXT, colour, MV_ANCHOR_START,
               mv_finding_name(row->kind));
    if (has_column(p, row)) {
        mv_box where = mv_box_cut_left(&line, p->culprit);
        mv_ui_text(p->ui, where, MV_UI_TEXT, theme->text, MV_ANCHOR_START, row->where);
    }
    line.w -= mv_ui_px(p->ui, MV_UI_PAD);
    if (!is_stacked(p, row))
        mv_ui_text(p->ui, line, MV_UI_TEXT, theme->text, MV_ANCHOR_START, words_of(p, row));
}

static void paint_more(reports_frame *p, const mv_report_row *row, bool is_visible)
{
    float left = text_left(p), width = p->lines.box.w - left - mv_ui_px(p->ui, MV_UI_PAD);
    const mv_theme *theme = p->ui->theme;
    const mv_finding *f = row->finding == MV_NO_ROW ? NULL : &p->findings->rows[row->finding];
    const char *hint = hint_of(p, row);

    if (f)
        mv_panel_wrap(&p->lines, left, width, theme->text, MOST_LINES, f->what);
    if (f && *f->advice)
        mv_panel_wrap(&p->lines, left, width, theme->text, MOST_LINES,
                      mv_panel_say(p->view, "-> %s", f->advice));
    if (hint && is_visible && !p->ui->has_no_buttons)
        mv_panel_wrap(&p->lines, left, width, theme->faint_text, 1, hint);
}

/* Returns the box of the next line if that line is visible, without moving past it. */
static mv_box next_line(const reports_frame *p)
{
    const mv_panel_lines *l = &p->lines;
    mv_box line = {l->box.x, l->y, l->box.w, MV_UI_LINE * p->ui->scale};

    if (l->count < l->first || line.y + line.h > l->box.y + l->box.h + 0.5f)
        line.h = 0;
    return line;
}

static void paint_finding(reports_frame *p, uint32_t i)
{
    const mv_report_row *row = &p->rows[i];
    bool is_shown = i == p->view->now->report_row, is_over = is_stacked(p, row);
    float top = p->lines.y, left = text_left(p);
    /* If there is no line of code and the text would fill that column too, the text begins next to
     * the kind. */
    bool is_beside = is_over && !p->is_narrow && !has_column(p, row);
    mv_box line = is_beside ? next_line(p) : mv_panel_line(&p->lines);

    if (line.h > 0)
        paint_line(p, row, line, is_shown);
    if (is_over)
        mv_panel_wrap(&p->lines, left, p->lines.box.w - left - mv_ui_px(p->ui, MV_UI_PAD),
                      p->ui->theme->text, MOST_LINES, words_of(p, row));
    if (is_shown)
        paint_more(p, row, line.h > 0);
    if (p->lines.y > top)
        mv_ui_zone(p->ui, (mv_box){p->lines.box.x, top, p->lines.box.w, p->lines.y - top},
                   MV_DO_report_row, i, is_shown ? "" : NULL);
}

/* Paints all findings, and scrolls, from the next frame, to the finding that the keyboard focus
 * moved to. */
static void paint_findings(reports_frame *p, mv_box box)
{
    mv_box below = {box.x, p->lines.y, box.w, box.y + box.h - p->lines.y};
    uint32_t *first = &p->view->panels->report_first, room = mv_panel_room(p->view, below);
    uint32_t wanted, begin = *first;
    bool has_come = mv_focus_reached(p->view, MV_DO_report_row, &wanted);

    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t top = p->lines.count;
        paint_finding(p, i);
        if (!has_come || i != wanted)
            continue;
        if (p->lines.count > begin + room)
            begin = p->lines.count - room;
        if (top < begin)
            begin = top;
    }
    p->ui->is_animating = p->ui->is_animating || begin != *first;
    *first = begin;
    mv_ui_list(p->ui, MV_DO_report_row, p->count, room);
    mv_ui_scroll(p->ui, box, p->lines.count, room, first);
}

/* ---- the pane ---------------------------------------------------------------------------- */

void mv_reports_paint(mv_view *view, mv_box box)
{
    mv_panels *panels = view->panels;
    const mv_document *document;
    const mv_document_device *device;
    const mv_findings_answer *answer = NULL;
    reports_frame p = {.view = view, .ui = &view->ui};

    if (!mv_panels_device(view, box, &document, &device))
        return;
    if (mv_view_is_evaluated(view))
        answer = ask(view);
    if (!answer) {
        panels->findings_shown = NULL;
        panels->report_count = 0;
        mv_panel_remark(view, box, "looking for leaks, fragmentation and what holds the peak ...");
        return;
    }
    if (panels->report_of && panels->report_of != device)
        panels->report_first = 0;
    panels->report_of = device;
    p.findings = &answer->findings;
    p.places = answer->places;
    find_rows(view, p.findings);
    p.rows = panels->reports;
    p.count = panels->report_count;
    p.lines =
        (mv_panel_lines){.view = view, .box = box, .y = box.y + 2, .first = panels->report_first};
    p.lines.box.w -= mv_ui_px(p.ui, 10);
    measure(&p);
    paint_findings(&p, box);
}
