#include "view/chrome/chrome.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHEET_PAD = 16, TITLE = 14 };

/* ---- sheets and lists -------------------------------------------------------------------- */

mv_box mv_chrome_sheet(mv_view *view, mv_box box, float width, float height, const char *title)
{
    mv_ui *ui = &view->ui;
    float pad = mv_ui_px(ui, SHEET_PAD);
    mv_box sheet, line;

    mv_ui_fill(ui, box, (ui->theme->background & 0xffffff00) | 0xb0);
    sheet.w = fminf(roundf(width * ui->scale), box.w - 2 * mv_ui_px(ui, 8));
    sheet.h = fminf(roundf(height * ui->scale), box.h - 2 * mv_ui_px(ui, 8));
    sheet.x = roundf(box.x + (box.w - sheet.w) / 2);
    sheet.y = roundf(box.y + fminf((box.h - sheet.h) / 2, mv_ui_px(ui, 60)));
    mv_ui_fill(ui, sheet, ui->theme->background);
    mv_ui_frame(ui, sheet, ui->theme->faint_text);
    mv_ui_zone(ui, sheet, MV_DO_NOTHING, 0, NULL);
    sheet = (mv_box){sheet.x + pad, sheet.y + pad / 2, sheet.w - 2 * pad, sheet.h - pad};
    line = mv_box_cut_top(&sheet, mv_ui_px(ui, 30));
    mv_ui_text(ui, line, TITLE, ui->theme->text, MV_ANCHOR_START, title);
    return sheet;
}

void mv_chrome_list_follow(mv_view *view, uint32_t count, uint32_t shown)
{
    mv_chrome *c = view->chrome;

    if (count && c->row >= count)
        c->row = count - 1;
    if (c->row < c->first)
        c->first = c->row;
    if (shown && c->row >= c->first + shown)
        c->first = c->row - shown + 1;
}

bool mv_chrome_list_input(mv_view *view, const mv_input *input, uint32_t count, uint32_t shown)
{
    mv_chrome *c = view->chrome;
    int64_t by = 0, most = count ? (int64_t)count - 1 : 0, row;

    if (input->kind == MV_INPUT_WHEEL)
        by = input->dy > 0 ? -1 : 1;
    else if (input->kind != MV_INPUT_KEY || input->mods)
        return false;
    else if (input->key == MV_KEY_UP || input->key == MV_KEY_DOWN)
        by = input->key == MV_KEY_UP ? -1 : 1;
    else if (input->key == MV_KEY_PAGE_UP || input->key == MV_KEY_PAGE_DOWN)
        by = input->key == MV_KEY_PAGE_UP ? -(int64_t)shown : shown;
    else
        return false;
    row = c->row + by;
    c->row = row < 0 ? 0 : row > most ? (uint32_t)most : (uint32_t)row;
    return true;
}

/* ---- what has the keyboard --------------------------------------------------------------- */

/* "FILE.png" in the folder where the program runs. */
static void offer_name(mv_view *view)
{
    const mv_document *d = mv_view_document(view);
    char name[MV_FIELD_TEXT];

    snprintf(name, sizeof name, "%.900s.png", d ? d->name : "memviz");
    mv_field_set(&view->chrome->export, name);
}

void mv_chrome_focus(mv_view *view, mv_focus focus)
{
    mv_chrome *c = view->chrome;

    view->has_help = false;
    view->focus = focus;
    c->row = c->first = 0;
    if (focus == MV_FOCUS_PALETTE)
        mv_field_set(&c->palette, "");
    if (focus == MV_FOCUS_OPEN)
        mv_field_set(&c->open, "");
    if (focus == MV_FOCUS_EXPORT)
        offer_name(view);
    if (focus == MV_FOCUS_SEARCH)
        c->search.at = (uint32_t)strlen(c->search.text);
}

void mv_do_search(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_chrome_focus(view, MV_FOCUS_SEARCH);
}

void mv_do_palette(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_chrome_focus(view, view->focus == MV_FOCUS_PALETTE ? MV_FOCUS_PANES : MV_FOCUS_PALETTE);
}

void mv_do_export_view(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_chrome_focus(view, MV_FOCUS_EXPORT);
}

void mv_do_open_file(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_chrome_focus(view, MV_FOCUS_OPEN);
}

void mv_do_help(mv_view *view, uint64_t arg)
{
    bool was_open = view->has_help;

    (void)arg;
    mv_chrome_focus(view, MV_FOCUS_PANES);
    view->has_help = !was_open;
}

/* ---- what is shown ----------------------------------------------------------------------- */

static void show_main(mv_view *view, mv_main_view main)
{
    if (view->now->main == (uint8_t)main)
        return;
    mv_view_remember(view);
    view->now->main = (uint8_t)main;
    view->now->fits_height = true;
}

static void show_tab(mv_view *view, mv_tab tab)
{
    if (view->now->tab != (uint8_t)tab)
        mv_view_remember(view);
    view->now->tab = (uint8_t)tab;
}

void mv_do_show_timeline(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_TIMELINE);
}

void mv_do_show_segments(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_SEGMENTS);
}

void mv_do_show_state(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_STATE);
}

void mv_do_show_flame(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_FLAME);
}

void mv_do_show_tables(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_TABLES);
}

void mv_do_show_details(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_DETAILS);
}

void mv_do_show_reports(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_REPORTS);
}

void mv_do_next_focus(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, (mv_tab)((view->now->tab + 1) % (MV_TAB_REPORTS + 1)));
}

/* Turns something on, or off when it is on. */
static void set_show(mv_view *view, mv_show show)
{
    mv_view_remember(view);
    view->now->show = view->now->show == (uint8_t)show ? MV_SHOW_ALL : (uint8_t)show;
}

void mv_do_highlight(mv_view *view, uint64_t arg)
{
    (void)arg;
    set_show(view, MV_SHOW_HIGHLIGHT);
}

void mv_do_isolate(mv_view *view, uint64_t arg)
{
    (void)arg;
    set_show(view, MV_SHOW_ISOLATE);
}

/* ---- looks ------------------------------------------------------------------------------- */

void mv_do_theme(mv_view *view, uint64_t arg)
{
    (void)arg;
    view->is_dark = !view->is_dark;
}

static void resize(mv_view *view, float factor)
{
    float scale = view->ui.scale * factor;

    view->ui.scale = scale < 0.8f ? 0.8f : scale > 4 ? 4 : scale;
    mv_view_say(view, false, "texts at %.0f %%", (double)view->ui.scale * 100);
}

void mv_do_larger(mv_view *view, uint64_t arg)
{
    (void)arg;
    resize(view, 1.125f);
}

void mv_do_smaller(mv_view *view, uint64_t arg)
{
    (void)arg;
    resize(view, 1 / 1.125f);
}

/* ---- ending things ----------------------------------------------------------------------- */

static void cancel_selection(mv_view *view)
{
    mv_view_state *now = view->now;

    if (*now->search) {
        mv_search_set(view, "");
    } else if (now->pinned != MV_NO_ROW || now->pinned_segment != MV_NO_ROW) {
        mv_view_remember(view);
        now->pinned = now->pinned_segment = MV_NO_ROW;
    } else if (now->has_interval) {
        mv_view_remember(view);
        now->has_interval = false;
    } else if (now->other_file != MV_NO_ROW) {
        mv_view_remember(view);
        now->other_file = now->other_device = MV_NO_ROW;
    }
}

void mv_do_cancel(mv_view *view, uint64_t arg)
{
    (void)arg;
    if (view->has_help || view->focus != MV_FOCUS_PANES) {
        view->has_help = false;
        view->focus = MV_FOCUS_PANES;
    } else if (mv_loading_failure(view)) {
        view->chrome->banners_closed++;
    } else if (!mv_panels_cancel(view)) {
        cancel_selection(view);
    }
}

void mv_do_quit(mv_view *view, uint64_t arg)
{
    (void)arg;
    view->is_closing = true;
}
