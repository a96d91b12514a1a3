#include <math.h>

#include "view/chrome/chrome.h"

enum {
    KEYS = 110, /* maximum width of the column of keys, without the gap, if a command has several */
    GAP = 10,   /* between keys and title */
    LEAST_GAP = 14, /* between columns */
    SIGN = 18,
    MOST_COLUMNS = 4,
    WIDTH = 1240,
    PAD = 40
};

/* One column of the help. */
typedef struct {
    float x, keys, titles; /* its left edge, and the widths of its two parts */
} help_column;

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

/* Returns all keys of a command, or if these are too wide, the first one. */
static const char *keys_of(mv_view *view, mv_command_id id)
{
    const char *text = view->keymap.keys[id];

    return mv_ui_text_width(&view->ui, MV_UI_TEXT, text) <= mv_ui_px(&view->ui, KEYS)
               ? text
               : mv_scene_format(&view->ui.scene, "%.*s", (int)strcspn(text, " "), text);
}

static void paint_row(mv_view *view, mv_box box, mv_command_id id, float keys_width)
{
    mv_ui *ui = &view->ui;
    const mv_view_command *command = &mv_view_commands[id];
    bool is_enabled = mv_view_command_is_enabled(view, id);
    mv_box keys = mv_box_cut_left(&box, keys_width);

    if (id == MV_DO_NOTHING) {
        mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START, "Not now:");
        return;
    }
    if (is_enabled)
        mv_ui_zone(ui, (mv_box){keys.x, keys.y, keys.w + box.w, keys.h}, id, 0, command->help);
    mv_box_cut_right(&keys, mv_ui_px(ui, GAP));
    mv_ui_text(ui, keys, MV_UI_TEXT, is_enabled ? ui->theme->text : ui->theme->faint_text,
               MV_ANCHOR_END, keys_of(view, id));
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
static void paint_picture_row(mv_view *view, mv_box box, uint32_t row, float keys_width)
{
    mv_ui *ui = &view->ui;
    mv_box swatch = mv_box_cut_left(&box, keys_width);

    if (row == 0) {
        mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START, "In the picture:");
        return;
    }
    mv_box_cut_right(&swatch, mv_ui_px(ui, GAP));
    swatch = mv_box_cut_right(&swatch, mv_ui_px(ui, SIGN));
    swatch = (mv_box){swatch.x, swatch.y + mv_ui_px(ui, 3), swatch.w, swatch.h - mv_ui_px(ui, 6)};
    paint_key(ui, swatch, keys_of_picture[row - 1].kind);
    mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START,
               keys_of_picture[row - 1].text);
}

/* ---- all --------------------------------------------------------------------------------- */

/* All rows: the commands, and below them the keys of the picture with their heading. */
typedef struct {
    mv_command_id ids[MV_DO_COUNT + 1];
    uint32_t commands, count;
    uint32_t rows; /* number of rows in each column */
    help_column columns[MOST_COLUMNS];
} help_rows;

/* Measures the columns. Returns the width of all of them. */
static float measure(mv_view *view, help_rows *h, uint32_t columns)
{
    mv_ui *ui = &view->ui;
    float width = 0;

    h->rows = (h->count + columns - 1) / columns;
    memset(h->columns, 0, sizeof h->columns);
    for (uint32_t i = 0; i < h->count; i++) {
        help_column *c = &h->columns[i / h->rows];
        bool is_command = i < h->commands && h->ids[i] != MV_DO_NOTHING;
        const char *title = is_command        ? mv_view_commands[h->ids[i]].title
                            : i > h->commands ? keys_of_picture[i - h->commands - 1].text
                                              : "In the picture:";
        float keys = is_command ? mv_ui_text_width(ui, MV_UI_TEXT, keys_of(view, h->ids[i]))
                                : mv_ui_px(ui, SIGN);
        c->keys = fmaxf(c->keys, ceilf(keys) + mv_ui_px(ui, GAP));
        c->titles = fmaxf(c->titles, ceilf(mv_ui_text_width(ui, MV_UI_TEXT, title)) + 1);
    }
    for (uint32_t c = 0; c < columns; c++) {
        h->columns[c].x = width;
        width += h->columns[c].keys + h->columns[c].titles + mv_ui_px(ui, LEAST_GAP);
    }
    return width;
}

/* Lays the rows out in as many columns as fit, and spreads these over the width. */
static void lay_out(mv_view *view, help_rows *h, float width)
{
    uint32_t columns = MOST_COLUMNS;
    float used = measure(view, h, columns);

    while (columns > 1 && used > width)
        used = measure(view, h, --columns);
    for (uint32_t c = 0; c < columns && used <= width; c++)
        h->columns[c].x += floorf((width - used) * (float)c / (float)columns);
}

void mv_help_paint(mv_view *view, mv_box box)
{
    static const char *const feet[] = {
        "The mouse: wheel zooms, Shift+drag moves, drag selects, click pins, double-click fits. "
        "Escape: back",
        "wheel zooms, drag selects, click pins \xc2\xb7 Escape: back"};
    mv_ui *ui = &view->ui;
    mv_chrome *c = view->chrome;
    help_rows h = {.commands = 0};
    uint32_t shown;
    float line = mv_ui_px(ui, MV_UI_LINE), width = fminf(box.w / ui->scale - 16, WIDTH);
    mv_box sheet, foot;

    h.commands = sort_commands(view, h.ids);
    h.count = h.commands + 1 + PICTURE_KEYS;
    lay_out(view, &h, (width - PAD) * ui->scale);
    sheet = mv_chrome_sheet(view, box, width, (float)(h.rows + 1) * MV_UI_LINE + 60,
                            "Keys and picture elements");
    foot = mv_box_cut_bottom(&sheet, line);
    shown = (uint32_t)(sheet.h / line);
    mv_ui_scroll(ui, sheet, h.rows, shown, &c->row);
    for (uint32_t i = 0; i < h.count; i++) {
        const help_column *column = &h.columns[i / h.rows];
        uint32_t row = i % h.rows;
        mv_box cell = {sheet.x + column->x, sheet.y + ((float)row - (float)c->row) * line,
                       column->keys + column->titles, line};
        if (row < c->row || row >= c->row + shown)
            continue;
        cell.w = fminf(cell.w, sheet.x + sheet.w - cell.x);
        if (i < h.commands)
            paint_row(view, cell, h.ids[i], column->keys);
        else
            paint_picture_row(view, cell, i - h.commands, column->keys);
    }
    mv_ui_text(ui, foot, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START,
               mv_ui_longest(ui, MV_UI_TEXT, foot.w, feet, 2));
}
