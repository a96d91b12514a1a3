/* The tour explains what the parts of the window are for, one after the other. */
#include <math.h>

#include "view/chrome/chrome.h"

enum { WIDTH = 340, HEIGHT = 136, BUTTON = 76 };

static const struct {
    const char *title, *text;
} steps[MV_TOUR_STEPS] = {
    {"Memory over time",
     "Each shape is an allocation, as high as its bytes. Point at one for its line of code, click "
     "to pin it. The wheel zooms, a drag selects an interval."},
    {"Legend",
     "The meaning of each colour, and the bytes that it holds at the cursor. A click on a row "
     "highlights its blocks."},
    {"Reports",
     "Problems, the most serious first, and their remedies. A click goes to the place that shows "
     "one. The other tabs have flame graphs, tables and details."},
    {"Search",
     "Press / and type a function, a file, size>64M or life<10: hits are highlighted, and Enter "
     "goes from one to the next."},
    {"Help", "? shows all keys, V lists all commands: this tour is one of them."}};

/* Returns the smallest box around all zones of a command, which is empty if there are none. */
static mv_box zones_of(const mv_ui *ui, mv_command_id command)
{
    mv_box all = {0};

    for (uint32_t i = 0; i < ui->zone_count; i++) {
        mv_box box = ui->zones[i].box;
        float right = fmaxf(all.x + all.w, box.x + box.w);
        float bottom = fmaxf(all.y + all.h, box.y + box.h);
        if (ui->zones[i].command != command)
            continue;
        if (all.w <= 0) {
            all = box;
            continue;
        }
        all.x = fminf(all.x, box.x);
        all.y = fminf(all.y, box.y);
        all.w = right - all.x;
        all.h = bottom - all.y;
    }
    return all;
}

/* Returns the part of the window that a step explains, which is empty if it is not shown. */
static mv_box target_of(const mv_view *view, uint32_t step)
{
    const mv_view_layout *l = &view->chrome->layout;
    mv_box legend = zones_of(&view->ui, MV_DO_legend_row), main = l->main;

    switch (step) {
    case 1:
        if (legend.w > 0 && legend.x > main.x + main.w / 2)
            main.w = legend.x - main.x;
        return main;
    case 2:
        return legend;
    case 3:
        return (mv_box){l->tabs.x, l->tabs.y, l->tabs.w, l->tabs.h + l->lower.h};
    case 4:
        return view->chrome->search_box;
    default:
        return zones_of(&view->ui, MV_DO_help);
    }
}

/* Returns the box of the card: above or below the target if there is room, otherwise over the
 * target's middle, and always within `box`. */
static mv_box card_of(const mv_ui *ui, mv_box box, mv_box target)
{
    float gap = mv_ui_px(ui, 12);
    mv_box card = {0, 0, fminf(mv_ui_px(ui, WIDTH), box.w), fminf(mv_ui_px(ui, HEIGHT), box.h)};

    if (target.w <= 0)
        target = box;
    card.x = target.x + (target.w - card.w) / 2;
    if (target.y + target.h + gap + card.h <= box.y + box.h)
        card.y = target.y + target.h + gap;
    else if (target.y - gap - card.h >= box.y)
        card.y = target.y - gap - card.h;
    else
        card.y = target.y + (target.h - card.h) / 2;
    card.x = roundf(fmaxf(box.x, fminf(card.x, box.x + box.w - card.w - gap)));
    card.y = roundf(fmaxf(box.y, fminf(card.y, box.y + box.h - card.h)));
    return card;
}

static void button(mv_ui *ui, mv_box *row, uint64_t step, const char *text)
{
    mv_box box = mv_box_cut_right(row, mv_ui_px(ui, BUTTON));

    mv_ui_frame(ui, box, ui->theme->grid);
    mv_ui_button(ui, box, false, MV_DO_tour_step, step, text);
    mv_box_cut_right(row, mv_ui_px(ui, 6));
}

void mv_tour_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    uint32_t step = view->desk->tour, last = MV_TOUR_STEPS;
    mv_box target = target_of(view, step), card = card_of(ui, box, target), row;
    float pad = mv_ui_px(ui, 12);
    mv_ui_lines style = {
        .size = MV_UI_TEXT, .line = MV_UI_LINE, .colour = ui->theme->text, .most = 4, .gap = " "};

    if (target.w > 0)
        mv_ui_mark(ui, target);
    mv_ui_fill(ui, card, ui->theme->background);
    mv_ui_mark(ui, card);
    mv_ui_zone(ui, card, MV_DO_tour_step, step, NULL); /* clicks on the card do not reach the
                                                          pane */
    view->chrome->tour_box = card;
    card = (mv_box){card.x + pad, card.y + pad, card.w - 2 * pad, card.h - 2 * pad};
    row = mv_box_cut_bottom(&card, mv_ui_px(ui, 24));
    button(ui, &row, step < last ? step + 1 : 0, step < last ? "Next" : "Done");
    if (step > 1)
        button(ui, &row, step - 1, "Back");
    if (step < last)
        button(ui, &row, 0, "Skip");
    mv_ui_text(ui, row, MV_UI_SMALL, ui->theme->faint_text, MV_ANCHOR_START,
               mv_scene_format(&ui->scene, "%u of %u", step, last));
    mv_ui_text(ui, mv_box_cut_top(&card, mv_ui_px(ui, 24)), MV_UI_TEXT + 2, ui->theme->text,
               MV_ANCHOR_START, steps[step - 1].title);
    mv_ui_paragraph(ui, card, &style, steps[step - 1].text);
}
