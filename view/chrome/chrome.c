#include "view/chrome/chrome.h"

#include <math.h>

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

mv_box mv_chrome_help(mv_ui *ui, mv_box sheet, uint32_t colour, const char *text)
{
    mv_ui_lines style = {
        .size = MV_UI_TEXT, .line = MV_UI_LINE, .colour = colour, .most = 3, .gap = " "};

    return mv_ui_paragraph(ui, sheet, &style, text);
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
