#include <math.h>
#include <string.h>

#include "view/chrome/chrome.h"

enum { COLUMN = 300, KEYS = 110, PAD = 40 };

/* Commands with keys: those that can be run now first, then MV_DO_NOTHING, then the others; returns
 * the number of rows. */
static uint32_t sort_commands(const mv_view *view, mv_command_id ids[MV_DO_COUNT + 1])
{
    uint32_t count = 0;

    for (int enabled = 1; enabled >= 0; enabled--) {
        if (!enabled)
            ids[count++] = MV_DO_NOTHING;
        for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++)
            if (*view->keymap.keys[i] &&
                mv_view_command_is_enabled(view, (mv_command_id)i) == (enabled == 1))
                ids[count++] = (mv_command_id)i;
    }
    return count;
}

static void paint_row(mv_view *view, mv_box box, mv_command_id id)
{
    mv_ui *ui = &view->ui;
    const mv_view_command *command = &mv_view_commands[id];
    bool is_enabled = mv_view_command_is_enabled(view, id);
    mv_box keys = mv_box_cut_left(&box, mv_ui_px(ui, KEYS));

    if (id == MV_DO_NOTHING) {
        mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START, "Not now:");
        return;
    }
    if (is_enabled)
        mv_ui_zone(ui, (mv_box){keys.x, keys.y, keys.w + box.w, keys.h}, id, 0, command->help);
    mv_box_cut_right(&keys, mv_ui_px(ui, 10));
    mv_ui_text(ui, keys, MV_UI_TEXT, is_enabled ? ui->theme->text : ui->theme->faint_text,
               MV_ANCHOR_END, view->keymap.keys[id]);
    mv_ui_text(
        ui, box, MV_UI_TEXT, is_enabled ? ui->theme->text : ui->theme->faint_text, MV_ANCHOR_START,
        is_enabled ? command->title : mv_scene_format(&ui->scene, "%s (not now)", command->title));
}

void mv_help_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    mv_chrome *c = view->chrome;
    mv_command_id ids[MV_DO_COUNT + 1];
    uint32_t count = sort_commands(view, ids), columns, rows, shown;
    float line = mv_ui_px(ui, MV_UI_LINE), width = fminf(box.w / ui->scale - 16, 3 * COLUMN + PAD);
    mv_box sheet, foot;

    columns = (uint32_t)fmaxf(1, floorf((width - PAD) / COLUMN));
    rows = (count + columns - 1) / columns;
    sheet = mv_chrome_sheet(view, box, width, (float)(rows + 1) * MV_UI_LINE + 60, "Keys");
    foot = mv_box_cut_bottom(&sheet, line);
    shown = (uint32_t)(sheet.h / line);
    if (c->row + shown > rows)
        c->row = rows > shown ? rows - shown : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t column = i / rows, row = i % rows;
        if (row >= c->row && row < c->row + shown)
            paint_row(view,
                      (mv_box){sheet.x + (float)column * mv_ui_px(ui, COLUMN),
                               sheet.y + (float)(row - c->row) * line, mv_ui_px(ui, COLUMN) - 8,
                               line},
                      ids[i]);
    }
    mv_ui_text(ui, foot, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START,
               "The mouse: wheel zooms, Shift+drag moves, drag selects, click pins, double-click "
               "fits. Escape: back");
}
