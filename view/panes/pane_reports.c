/* Problems and their places: the findings of the analyzers, most serious first. */
#include <string.h>

#include "view/panes/panels.h"

enum { KIND = 124, CULPRIT = 290 }; /* pixels at scale 1 */

typedef struct {
    mv_view *view;
    mv_ui *ui;
    const mv_findings *findings;
    mv_panel_lines lines;
} reports_frame;

static const mv_findings_answer *ask(mv_view *view)
{
    mv_findings_question q;
    bool is_current;
    const mv_findings_answer *a;

    memset(&q, 0, sizeof q);
    q.document = mv_view_document(view);
    q.device = mv_view_device(view);
    a = mv_slot_ask(view->panels->findings, &q, &is_current);
    if (a && a->ask.device != q.device)
        a = NULL;
    view->panels->findings_shown = a;
    return a;
}

static bool is_alarm(const mv_finding *f)
{
    return f->kind <= MV_FINDING_WAITING;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* "LEAK   train.py:62 forward   2.00 MiB a step, 24.0 MiB at the end". */
static void paint_line(reports_frame *p, const mv_finding *f, mv_box line, bool is_shown)
{
    const mv_theme *theme = p->ui->theme;
    uint32_t colour = is_alarm(f) ? theme->alarm : theme->text;

    if (is_shown || (f->has_place && mv_ui_is_hot(p->ui, line))) {
        mv_ui_fill(p->ui, line, theme->background);
        mv_ui_frame(p->ui, line, is_shown ? theme->faint_text : theme->grid);
    }
    if (is_alarm(f))
        mv_ui_fill(p->ui, (mv_box){line.x, line.y + 1, mv_ui_px(p->ui, 4), line.h - 2}, colour);
    mv_box_cut_left(&line, mv_ui_px(p->ui, MV_UI_PAD + 4));
    mv_ui_text(p->ui, mv_box_cut_left(&line, mv_ui_px(p->ui, KIND)), MV_UI_TEXT, colour,
               MV_ANCHOR_START, mv_finding_name(f->kind));
    if (*f->culprit) {
        mv_box culprit = mv_box_cut_left(&line, mv_ui_px(p->ui, CULPRIT));
        culprit.w -= mv_ui_px(p->ui, MV_UI_PAD);
        mv_ui_text(p->ui, culprit, MV_UI_TEXT, theme->text, MV_ANCHOR_START, f->culprit);
    }
    line.w -= mv_ui_px(p->ui, MV_UI_PAD);
    mv_ui_text(p->ui, line, MV_UI_TEXT, theme->text, MV_ANCHOR_START, f->title);
}

static void paint_finding(reports_frame *p, uint32_t row)
{
    const mv_finding *f = &p->findings->rows[row];
    bool is_shown = row == p->view->now->report_row;
    float left = mv_ui_px(p->ui, MV_UI_PAD + 4 + KIND), top = p->lines.y;
    float width = p->lines.box.w - left - mv_ui_px(p->ui, MV_UI_PAD);
    mv_box line = mv_panel_line(&p->lines);

    if (line.h > 0)
        paint_line(p, f, line, is_shown);
    if (is_shown) {
        mv_panel_wrap(&p->lines, left, width, p->ui->theme->text, 3, f->what);
        if (*f->advice)
            mv_panel_wrap(&p->lines, left, width, p->ui->theme->text, 3,
                          mv_panel_say(p->view, "-> %s", f->advice));
        if (f->has_place && line.h > 0 && !p->ui->has_no_buttons)
            mv_panel_wrap(&p->lines, left, width, p->ui->theme->faint_text, 1,
                          f->is_about_heap ? "click: show in the allocator's state"
                                           : "click: show in the timeline");
    }
    if (p->lines.y > top)
        mv_ui_zone(p->ui, (mv_box){p->lines.box.x, top, p->lines.box.w, p->lines.y - top},
                   MV_DO_report_row, row, is_shown ? "" : NULL);
}

/* All findings; from the next frame on, scrolls to the finding that the keyboard moved to. */
static void paint_findings(reports_frame *p, mv_box box)
{
    uint32_t *first = &p->view->panels->report_first, room = mv_panel_room(p->view, box);
    uint32_t wanted, begin = *first;
    bool has_come = mv_spot_came_to(p->view, MV_DO_report_row, &wanted);

    for (uint32_t i = 0; i < p->findings->count; i++) {
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
    mv_ui_list(p->ui, MV_DO_report_row, p->findings->count, room);
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
    if (mv_view_is_judged(view))
        answer = ask(view);
    if (!answer) {
        panels->findings_shown = NULL;
        mv_ui_text(p.ui, box, MV_UI_TEXT, p.ui->theme->faint_text, MV_ANCHOR_MIDDLE,
                   "looking for leaks, fragmentation and what holds the peak ...");
        return;
    }
    if (panels->report_of && panels->report_of != device)
        panels->report_first = 0;
    panels->report_of = device;
    p.findings = &answer->findings;
    p.lines =
        (mv_panel_lines){.view = view, .box = box, .y = box.y + 2, .first = panels->report_first};
    p.lines.box.w -= mv_ui_px(p.ui, 10);
    paint_findings(&p, box);
}
