#include <math.h>
#include <string.h>

#include "view/chrome/chrome.h"

enum { COLUMN = 300, KEYS = 110, PAD = 40 };

/* Lists the commands that have keys: first the commands that can be run now, then MV_DO_NOTHING,
 * then the others. Returns the number of rows. */
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
    const char *text = view->keymap.keys[id];

    if (id == MV_DO_NOTHING) {
        mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START, "Not now:");
        return;
    }
    if (is_enabled)
        mv_ui_zone(ui, (mv_box){keys.x, keys.y, keys.w + box.w, keys.h}, id, 0, command->help);
    mv_box_cut_right(&keys, mv_ui_px(ui, 10));
    if (mv_ui_text_width(ui, MV_UI_TEXT, text) > keys.w) /* if all keys do not fit, only one is
                                                            shown */
        text = mv_scene_format(&ui->scene, "%.*s", (int)strcspn(text, " "), text);
    mv_ui_text(ui, keys, MV_UI_TEXT, is_enabled ? ui->theme->text : ui->theme->faint_text,
               MV_ANCHOR_END, text);
    mv_ui_text(ui, box, MV_UI_TEXT, is_enabled ? ui->theme->text : ui->theme->faint_text,
               MV_ANCHOR_START, command->title);
}

/* ---- what the picture means -------------------------------------------------------------- */

typedef enum {
    KEY_SOLID,
    KEY_DASHED,
    KEY_HATCHED,
    KEY_RED,
    KEY_GREY,
    KEY_EMPTY,
    KEY_BAR,
    KEY_TICKS,
    KEY_VEIL,
    KEY_CURSOR,
    KEY_FLAG
} key_kind;

static const struct {
    key_kind kind;
    const char *text;
} keys_of_picture[] = {{KEY_SOLID, "allocated: in use"},
                       {KEY_DASHED, "reserved by PyTorch"},
                       {KEY_HATCHED, "from before the first event"},
                       {KEY_RED, "a leak"},
                       {KEY_GREY, "no stack was recorded"},
                       {KEY_EMPTY, "free, in the allocator's state"},
                       {KEY_BAR, "lanes: annotations, steps"},
                       {KEY_TICKS, "lanes: too short to see"},
                       {KEY_VEIL, "outside the interval"},
                       {KEY_CURSOR, "the cursor: a moment"},
                       {KEY_FLAG, "a note"}};
enum { PICTURE_KEYS = sizeof keys_of_picture / sizeof *keys_of_picture };

static void key_area(mv_ui *ui, mv_box box, mv_shape shape)
{
    mv_scene_point(&ui->scene, box.x, box.y);
    mv_scene_point(&ui->scene, box.x + box.w, box.y);
    mv_scene_point(&ui->scene, box.x + box.w, box.y + box.h);
    mv_scene_point(&ui->scene, box.x, box.y + box.h);
    shape.kind = MV_SHAPE_POLYGON;
    mv_scene_add(&ui->scene, shape);
}

static void key_line(mv_ui *ui, mv_box box, uint32_t colour, bool is_dashed)
{
    mv_scene_point(&ui->scene, box.x, box.y + box.h / 2);
    mv_scene_point(&ui->scene, box.x + box.w, box.y + box.h / 2);
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                        .stroke = colour,
                                        .width = 1.6f * ui->scale,
                                        .is_dashed = is_dashed});
}

static void key_triangle(mv_ui *ui, mv_box box, bool is_flag)
{
    float x = box.x + box.w / 2, y = box.y, h = box.h;

    mv_scene_point(&ui->scene, x, is_flag ? y : y + h / 4);
    mv_scene_point(&ui->scene, is_flag ? x + h * 0.7f : x + h / 2, is_flag ? y + h / 3 : y + h);
    mv_scene_point(&ui->scene, is_flag ? x : x - h / 2, is_flag ? y + h * 0.67f : y + h);
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = ui->theme->outline});
    if (is_flag)
        mv_ui_fill(ui, (mv_box){x, y, mv_ui_px(ui, 1), h}, ui->theme->outline);
}

static void paint_key(mv_ui *ui, mv_box box, key_kind kind)
{
    const mv_theme *theme = ui->theme;

    switch (kind) {
    case KEY_SOLID:
    case KEY_DASHED:
        key_line(ui, box, kind == KEY_SOLID ? theme->outline : theme->reserved, kind == KEY_DASHED);
        break;
    case KEY_HATCHED:
        key_area(ui, box, (mv_shape){.fill = mv_site_colour(1)});
        key_area(ui, box, (mv_shape){.is_hatched = true, .stroke = theme->hatch});
        break;
    case KEY_RED:
    case KEY_GREY:
        mv_ui_fill(ui, box, kind == KEY_RED ? theme->leak : theme->unknown);
        break;
    case KEY_EMPTY:
        mv_ui_frame(ui, box, theme->faint_text);
        break;
    case KEY_BAR:
        mv_ui_fill(ui, box, theme->grid);
        break;
    case KEY_TICKS:
        for (int i = 0; i < 3; i++)
            mv_ui_fill(ui, (mv_box){box.x + 2 + 5 * (float)i, box.y, 1, box.h}, mv_site_colour(0));
        break;
    case KEY_VEIL:
        mv_ui_fill(ui, box, mv_site_colour(0));
        mv_ui_fill(ui, box, (theme->plot & ~0xffu) | 0xa0);
        break;
    case KEY_CURSOR:
    case KEY_FLAG:
        key_triangle(ui, box, kind == KEY_FLAG);
        break;
    }
}

/* Paints a row; row 0 is the heading. */
static void paint_picture_row(mv_view *view, mv_box box, uint32_t row)
{
    mv_ui *ui = &view->ui;
    mv_box swatch = mv_box_cut_left(&box, mv_ui_px(ui, KEYS));

    if (row == 0) {
        mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START, "In the picture:");
        return;
    }
    mv_box_cut_right(&swatch, mv_ui_px(ui, 10));
    swatch = mv_box_cut_right(&swatch, mv_ui_px(ui, 18));
    swatch = (mv_box){swatch.x, swatch.y + mv_ui_px(ui, 3), swatch.w, swatch.h - mv_ui_px(ui, 6)};
    paint_key(ui, swatch, keys_of_picture[row - 1].kind);
    mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START,
               keys_of_picture[row - 1].text);
}

/* ---- all --------------------------------------------------------------------------------- */

void mv_help_paint(mv_view *view, mv_box box)
{
    static const char *const feet[] = {
        "The mouse: wheel zooms, Shift+drag moves, drag selects, click pins, double-click fits. "
        "Escape: back",
        "wheel zooms, drag selects, click pins \xc2\xb7 Escape: back"};
    mv_ui *ui = &view->ui;
    mv_chrome *c = view->chrome;
    mv_command_id ids[MV_DO_COUNT + 1];
    uint32_t commands = sort_commands(view, ids), count = commands + 1 + PICTURE_KEYS, columns,
             rows, shown;
    float line = mv_ui_px(ui, MV_UI_LINE), width = fminf(box.w / ui->scale - 16, 4 * COLUMN + PAD);
    mv_box sheet, foot;

    columns = (uint32_t)fmaxf(1, floorf((width - PAD) / COLUMN));
    rows = (count + columns - 1) / columns;
    sheet = mv_chrome_sheet(view, box, width, (float)(rows + 1) * MV_UI_LINE + 60,
                            "Keys and picture elements");
    foot = mv_box_cut_bottom(&sheet, line);
    shown = (uint32_t)(sheet.h / line);
    mv_ui_scroll(ui, sheet, rows, shown, &c->row);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t column = i / rows, row = i % rows;
        mv_box cell = {sheet.x + (float)column * mv_ui_px(ui, COLUMN),
                       sheet.y + ((float)row - (float)c->row) * line, mv_ui_px(ui, COLUMN) - 8,
                       line};
        if (row < c->row || row >= c->row + shown)
            continue;
        if (i < commands)
            paint_row(view, cell, ids[i]);
        else
            paint_picture_row(view, cell, i - commands);
    }
    mv_ui_text(ui, foot, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START,
               mv_ui_longest(ui, MV_UI_TEXT, foot.w, feet, 2));
}
