#include <math.h>

#include "view/chrome/chrome.h"
#include "view/frame/device_rows.h"
#include "view/frame/file_badge.h"
#include "viz/scene/axis.h"
#include "viz/scene/distinct_texts.h"

enum {
    MOST_ENDING = 8, /* maximum length of a file's ending, such as ".kineto" */
    WIDE = 1240,     /* at this width or above, one row is enough for a file with one level and one
                     device */
    LEVEL = 120,     /* additional width if there is a levels button */
    RANKS = 64,      /* additional width if there is a ranks button */
    NARROW = 620, /* below this width there are three rows, because the views and the search do not
                   * fit next to the other items */
    ROW = 32,
    ITEM = 24,
    GAP = 4,
    SEARCH_AND_HIGHLIGHT = 320
};

/* Items that are placed in a row from the left and from the right. */
typedef struct {
    mv_view *view;
    mv_box left; /* the part of the row that is still free */
} bar;

static int rows_of(mv_view *view, float width)
{
    float wide = WIDE;

    if (mv_view_levels(view)->count > 1)
        wide += LEVEL;
    if (mv_view_device_count(view) > 1)
        wide += RANKS;
    width /= view->ui.scale;
    return width >= wide ? 1 : width >= NARROW ? 2 : 3;
}

float mv_toolbar_height(mv_view *view, float width)
{
    int rows = rows_of(view, width);

    return mv_ui_px(&view->ui, (float)(rows * ROW - (rows - 1) * GAP));
}

static mv_box take(bar *b, float width, bool is_right)
{
    mv_ui *ui = &b->view->ui;
    float gap = mv_ui_px(ui, GAP);
    mv_box box = is_right ? mv_box_cut_right(&b->left, width) : mv_box_cut_left(&b->left, width);

    if (is_right)
        mv_box_cut_right(&b->left, gap);
    else
        mv_box_cut_left(&b->left, gap);
    box.y = roundf(box.y + (box.h - mv_ui_px(ui, ITEM)) / 2);
    box.h = mv_ui_px(ui, ITEM);
    return box;
}

static void button(bar *b, bool is_right, bool is_on, mv_command_id command, const char *text)
{
    mv_ui *ui = &b->view->ui;
    float width = ceilf(mv_ui_text_width(ui, MV_UI_TEXT, text)) + 2 * mv_ui_px(ui, MV_UI_PAD) + 2;
    mv_box box = take(b, width, is_right);
    const char *lack = mv_view_command_unavailable_reason(b->view, command);

    if (!is_on)
        mv_ui_frame(ui, box, ui->theme->grid);
    if (!lack) {
        mv_ui_button(ui, box, is_on, command, 0, text);
        return;
    }
    mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_MIDDLE, text);
    mv_ui_zone(ui, box, command, 0, lack);
}

/* ---- file and device --------------------------------------------------------------------- */

static const char *device_text(mv_view *view)
{
    const mv_document *d = mv_view_document(view);
    const char *name;

    if (!d)
        return "no file";
    name = view->document_count > 1
               ? mv_device_name(view, view->now->file, view->now->device) /* differs from all other
                                                                           * names */
               : "";
    if (*name)
        return name;
    if (!mv_view_device(view) || d->device_count < 2)
        return mv_scene_format(&view->ui.scene, "%s", d->name);
    return mv_scene_format(&view->ui.scene, "%s \xc2\xb7 device %u", d->name,
                           d->devices[view->now->device].device);
}

/* Returns the text. If it is too wide, the file's name loses its endings and is then cut, but its device
 * stays. */
static const char *fitting_name(mv_ui *ui, const char *text, float width)
{
    static const char dot[] = " \xc2\xb7";
    const char *device = NULL, *name, *end;
    size_t before = sizeof dot - 1;

    for (const char *at = strstr(text, " device "); at; at = strstr(at + 1, " device "))
        device = at;
    if (device && (size_t)(device - text) >= before && memcmp(device - before, dot, before) == 0)
        device -= before;
    if (!device || mv_ui_text_width(ui, MV_UI_TEXT, text) <= width)
        return text;
    name = mv_scene_format(&ui->scene, "%.*s", (int)(device - text), text);
    width -= mv_ui_text_width(ui, MV_UI_TEXT, device);
    while (mv_ui_text_width(ui, MV_UI_TEXT, name) > width && (end = strrchr(name, '.')) &&
           end > name && strlen(end) <= MOST_ENDING)
        name = mv_scene_format(&ui->scene, "%.*s", (int)(end - name), name);
    return mv_scene_format(&ui->scene, "%s%s",
                           mv_text_fit(&ui->scene, name, MV_UI_TEXT * ui->scale, width), device);
}

static void chooser(bar *b, float width)
{
    mv_view *view = b->view;
    mv_ui *ui = &view->ui;
    bool has_choice = mv_view_device_count(view) > 1 || view->document_count > 1;
    mv_box box = take(b, width, false), text = box, arrow;
    float pad = mv_ui_px(ui, 8);
    uint32_t colour = ui->theme->faint_text;

    mv_ui_fill(ui, box, mv_ui_is_hot(ui, box) ? ui->theme->grid : ui->theme->plot);
    mv_ui_frame(ui, box, ui->theme->grid);
    mv_box_cut_left(&text, pad);
    arrow = mv_box_cut_right(&text, mv_ui_px(ui, 20));
    mv_ui_text(ui, text, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START,
               fitting_name(ui, device_text(view), text.w));
    arrow.x += mv_ui_px(ui, 6);
    arrow.y += roundf(arrow.h / 2) - mv_ui_px(ui, 2);
    mv_scene_point(&ui->scene, arrow.x, arrow.y);
    mv_scene_point(&ui->scene, arrow.x + pad, arrow.y);
    mv_scene_point(&ui->scene, arrow.x + pad / 2, arrow.y + pad / 2 + 1);
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = colour});
    mv_ui_zone(ui, box, has_choice ? MV_DO_choose_device : MV_DO_open_file, 0, NULL);
}

/* ---- search ------------------------------------------------------------------------------ */

static const char *hits_text(mv_view *view)
{
    char count[MV_TICK_TEXT];

    if (!*view->now->search)
        return "";
    if (*view->search_why)
        return "?";
    if (!view->matches)
        return "...";
    mv_axis_exact(view->matches->matches, count);
    return mv_scene_format(&view->ui.scene, view->matches->matches == 1 ? "%s hit" : "%s hits",
                           count);
}

static void search(bar *b)
{
    static const char hint[] = "Search: a function, size>64M, leak ...";
    mv_view *view = b->view;
    mv_ui *ui = &view->ui;
    const char *hits = hits_text(view);
    mv_box box, count;
    bool fits;

    if (*view->now->search) {
        button(b, true, view->now->show == MV_SHOW_ISOLATE, MV_DO_isolate, "Isolate");
        if (b->left.w > mv_ui_px(ui, SEARCH_AND_HIGHLIGHT)) /* in a narrower bar, the search opens
                                                             * only by its key */
            button(b, true, view->now->show == MV_SHOW_HIGHLIGHT, MV_DO_highlight, "Highlight");
    }
    box = take(b, b->left.w, false);
    view->chrome->search_box = box;
    if (box.w < mv_ui_px(ui, 60))
        return;
    mv_ui_zone(ui, box, MV_DO_search, 0, NULL);
    count = mv_box_cut_right(
        &box, *hits ? ceilf(mv_ui_text_width(ui, MV_UI_SMALL, hits)) + mv_ui_px(ui, 12) : 0);
    fits = mv_ui_text_width(ui, MV_UI_TEXT, hint) < box.w - mv_ui_px(ui, 2 * MV_UI_PAD);
    mv_field_paint(ui, box, &view->chrome->search, view->desk->focus == MV_FOCUS_SEARCH,
                   fits ? hint : "Search");
    mv_box_cut_left(&count, mv_ui_px(ui, 6));
    mv_ui_text(ui, count, MV_UI_SMALL, *view->search_why ? ui->theme->alarm : ui->theme->text,
               MV_ANCHOR_START, hits);
}

/* Paints the verdict of all reports, if there is one. A click shows the reports. */
static void badge(bar *b)
{
    mv_view *view = b->view;
    mv_ui *ui = &view->ui;
    const mv_file_badge of = mv_file_badge_of(view);
    uint32_t colour = of.is_alarm ? ui->theme->alarm : ui->theme->faint_text;
    mv_box box;

    if (!of.text || !*of.text)
        return;
    box =
        take(b, ceilf(mv_ui_text_width(ui, MV_UI_TEXT, of.text)) + 2 * mv_ui_px(ui, MV_UI_PAD) + 2,
             true);
    if (mv_ui_is_hot(ui, box))
        mv_ui_fill(ui, box, ui->theme->plot);
    mv_ui_frame(ui, box, colour);
    mv_ui_text(ui, box, MV_UI_TEXT, colour, MV_ANCHOR_MIDDLE, of.text);
    mv_ui_zone(ui, box, MV_DO_show_reports, 0, of.tip);
}

/* ---- all --------------------------------------------------------------------------------- */

static void views(bar *b)
{
    uint8_t main = b->view->now->main;

    button(b, false, main == MV_MAIN_TIMELINE, MV_DO_show_timeline, "Timeline");
    button(b, false, main == MV_MAIN_SEGMENTS, MV_DO_show_segments, "Segments");
    button(b, false, main == MV_MAIN_STATE, MV_DO_show_state, "State");
    button(b, false, main == MV_MAIN_POOLS, MV_DO_show_pools, "Pools");
    if (mv_view_device_count(b->view) > 1)
        button(b, false, main == MV_MAIN_RANKS, MV_DO_show_ranks, "Ranks");
}

static bool is_open(const bar *b, mv_menu menu)
{
    return b->view->desk->focus == MV_FOCUS_MENU && b->view->desk->menu == menu;
}

/* Paints the level button, for a file with several levels. */
static void level(bar *b)
{
    const mv_level_list *levels = mv_view_levels(b->view);
    uint32_t shown = mv_view_level(b->view);

    if (levels->count > 1)
        button(b, false, is_open(b, MV_MENU_LEVELS), MV_DO_level_menu,
               mv_scene_format(&b->view->ui.scene, "Level: %.40s",
                               shown < levels->count ? levels->name[shown] : b->view->now->level));
}

/* Paints the display choices, without their titles if these do not fit. */
static void looks(bar *b)
{
    mv_ui *ui = &b->view->ui;
    mv_scene *scene = &ui->scene;
    const char *colour = mv_scene_format(scene, "Colour: %s", mv_colour_name(b->view->now->colour));
    const char *clock = mv_scene_format(scene, "Clock: %s", mv_clock_name(b->view->now->clock));
    bool fits = mv_ui_text_width(ui, MV_UI_TEXT, colour) + mv_ui_text_width(ui, MV_UI_TEXT, clock) +
                    mv_ui_px(ui, 4 * MV_UI_PAD + 2 * GAP + 4) <=
                b->left.w;

    button(b, false, is_open(b, MV_MENU_COLOURS), MV_DO_colour_menu, fits ? colour : "Colour");
    button(b, false, is_open(b, MV_MENU_CLOCKS), MV_DO_clock_menu, fits ? clock : "Clock");
}

static void theme(bar *b)
{
    button(b, true, false, MV_DO_theme, b->view->desk->is_dark ? "Light" : "Dark");
}

static void helpers(bar *b)
{
    button(b, true, b->view->desk->has_help, MV_DO_help, "?");
    button(b, true, b->view->desk->focus == MV_FOCUS_PALETTE, MV_DO_palette, "Commands");
}

static void next_row(bar *b, mv_box *rest)
{
    float gap = mv_ui_px(&b->view->ui, GAP);
    mv_box row = mv_box_cut_top(rest, mv_ui_px(&b->view->ui, ROW));

    b->left = (mv_box){row.x + gap, row.y, row.w - 2 * gap, row.h};
    rest->y -= gap; /* the rows share the space between them */
    rest->h += gap;
}

static void paint_one_row(bar *b, bool has_device)
{
    chooser(b, mv_ui_px(&b->view->ui, 220));
    helpers(b);
    theme(b);
    level(b);
    if (!has_device)
        return;
    badge(b);
    views(b);
    looks(b);
    search(b);
}

static void paint_two_rows(bar *b, mv_box *rest, bool has_device)
{
    mv_ui *ui = &b->view->ui;

    helpers(b);
    theme(b);
    chooser(b, fmaxf(mv_ui_px(ui, 100), fminf(mv_ui_px(ui, 220), b->left.w - mv_ui_px(ui, 270))));
    if (has_device)
        views(b);
    next_row(b, rest);
    level(b);
    if (!has_device)
        return;
    looks(b);
    badge(b);
    search(b);
}

/* Paints the bar in three rows, as on a phone. The theme can then only be changed by a command. */
static void paint_three_rows(bar *b, mv_box *rest, bool has_device)
{
    helpers(b);
    if (has_device) {
        /* a button such as "View: Timeline", which opens the list of views */
        static const char *const names[MV_MAIN_COUNT] = {[MV_MAIN_TIMELINE] = "Timeline",
                                                         [MV_MAIN_SEGMENTS] = "Segments",
                                                         [MV_MAIN_STATE] = "State",
                                                         [MV_MAIN_POOLS] = "Pools",
                                                         [MV_MAIN_RANKS] = "Ranks"};
        button(b, true, is_open(b, MV_MENU_VIEWS), MV_DO_view_menu,
               mv_scene_format(&b->view->ui.scene, "View: %s", names[b->view->now->main]));
    }
    chooser(b, b->left.w);
    next_row(b, rest);
    level(b);
    if (!has_device)
        return;
    looks(b);
    next_row(b, rest);
    badge(b);
    search(b);
}

void mv_toolbar_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    mv_box rest = box;
    bool has_device = mv_view_device(view) != NULL;
    bar b = {.view = view};
    int rows = rows_of(view, box.w);

    mv_ui_fill(ui, box, ui->theme->background);
    mv_ui_fill(ui, (mv_box){box.x, box.y + box.h - 1, box.w, 1}, ui->theme->grid);
    next_row(&b, &rest);
    if (rows == 1)
        paint_one_row(&b, has_device);
    else if (rows == 2)
        paint_two_rows(&b, &rest, has_device);
    else
        paint_three_rows(&b, &rest, has_device);
}

/* Paints the file and the verdict of its reports. */
void mv_file_heading_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    float gap = mv_ui_px(ui, 16);
    mv_box name;

    mv_box_cut_left(&box, mv_ui_px(ui, MV_UI_PAD));
    mv_box_cut_right(&box, mv_ui_px(ui, MV_UI_PAD));
    name = box;
    mv_box_cut_left(&box, mv_ui_text(ui, name, MV_UI_TEXT + 2, ui->theme->text, MV_ANCHOR_START,
                                     device_text(view)) +
                              gap);
    if (mv_view_is_evaluated(view))
        mv_ui_text(ui, box, MV_UI_TEXT,
                   mv_view_device(view)->headline.alarms ? ui->theme->alarm : ui->theme->faint_text,
                   MV_ANCHOR_START, mv_view_device(view)->headline.line);
}

void mv_tabs_paint(mv_view *view, mv_box box)
{
    struct {
        mv_command_id command;
        const char *text;
    } tabs[] = {{MV_DO_show_flame, "Flame graph"}, {MV_DO_show_tables, "Tables"},
                {MV_DO_show_details, "Details"},   {MV_DO_show_reports, "Reports"},
                {MV_DO_show_whatif, "What if"},    {MV_DO_show_ledger, "Ledger"}};
    int count = mv_view_command_is_enabled(view, MV_DO_show_ledger) ? MV_TAB_COUNT : MV_TAB_LEDGER;
    mv_ui *ui = &view->ui;
    float words = 0, pad;

    mv_ui_fill(ui, box, ui->theme->plot);
    mv_box_cut_left(&box, mv_ui_px(ui, GAP));
    for (int i = 0; i < count; i++)
        words += ceilf(mv_ui_text_width(ui, MV_UI_TEXT, tabs[i].text)) + 2;
    if (box.w - words < (float)count * mv_ui_px(ui, 2 * MV_UI_PAD)) { /* on a phone */
        words -= ceilf(mv_ui_text_width(ui, MV_UI_TEXT, tabs[0].text));
        tabs[0].text = "Flame";
        words += ceilf(mv_ui_text_width(ui, MV_UI_TEXT, tabs[0].text));
    }
    pad = fmaxf(2, fminf(mv_ui_px(ui, 24), floorf((box.w - words) / (float)count)));
    for (int i = 0; i < count; i++) {
        float width = ceilf(mv_ui_text_width(ui, MV_UI_TEXT, tabs[i].text)) + pad;
        mv_box tab = mv_box_cut_left(&box, width);
        tab.y += 2;
        tab.h -= 2;
        mv_ui_button(ui, tab, view->now->tab == i, tabs[i].command, 0, tabs[i].text);
        mv_box_cut_left(&box, 2);
    }
}

/* ---- below the search field -------------------------------------------------------------- */

static mv_box line_of(mv_ui *ui, mv_box *box)
{
    return mv_box_cut_top(box, mv_ui_px(ui, MV_UI_LINE));
}

static void put(mv_ui *ui, mv_box *box, uint32_t colour, const char *text)
{
    mv_ui_text(ui, line_of(ui, box), MV_UI_TEXT, colour, MV_ANCHOR_START, text);
}

static const struct {
    const char *words, *meaning;
} examples[] = {
    {"forward", "a frame has this text"},
    {"site:train.py:62", "the line charged with the allocation"},
    {"/conv[0-9]+\\.py/", "a frame matches"},
    {"size>64M", "bytes of the block; < <= > >= ="},
    {"life<10  life:never", "number of events from birth to free"},
    {"stream:3  pool:1,0", "its stream or pool"},
    {"addr:0x7f1234", "the allocation covers this byte"},
    {"leak  cat:optimizer", "leaks; a category"},
    {"nostack  nopython", "allocations without a line of code"},
    {"-dropout", "excludes matches"},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static void example(mv_ui *ui, mv_box *box, int i)
{
    mv_box line = line_of(ui, box), words = mv_box_cut_left(&line, mv_ui_px(ui, 150));

    mv_ui_text(ui, words, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START, examples[i].words);
    mv_ui_text(ui, line, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START, examples[i].meaning);
}

void mv_search_paint(mv_view *view)
{
    static const char *const hints[] = {
        "Enter: next hit \xc2\xb7 Shift+Enter: previous \xc2\xb7 Escape: done",
        "Enter: next hit \xc2\xb7 Escape: done"};
    mv_ui *ui = &view->ui;
    const mv_view_layout *l = &view->chrome->layout;
    bool has_text = *view->now->search;
    float pad = mv_ui_px(ui, 8), width = fminf(mv_ui_px(ui, 440), l->toolbar.w - 2 * pad);
    mv_ui_lines style = {.size = MV_UI_TEXT, .line = MV_UI_LINE, .most = 4, .gap = " "};
    const char *found = *view->search_why ? view->search_why : hits_text(view);
    uint32_t needed = mv_ui_line_count(ui, width - 2 * pad, &style, found);
    float lines = has_text ? (float)needed + 1 : EXAMPLES;
    float x = fminf(view->chrome->search_box.x, l->toolbar.w - width - pad);
    mv_box box = {x, l->toolbar.y + l->toolbar.h, width,
                  lines * mv_ui_px(ui, MV_UI_LINE) + 2 * pad};

    if (view->desk->focus != MV_FOCUS_SEARCH)
        return;
    mv_ui_fill(ui, box, ui->theme->background);
    mv_ui_frame(ui, box, ui->theme->faint_text);
    mv_ui_zone(ui, box, MV_DO_search, 0, "");
    box = (mv_box){box.x + pad, box.y + pad, box.w - 2 * pad, box.h - 2 * pad};
    if (!has_text) {
        for (int i = 0; i < EXAMPLES; i++)
            example(ui, &box, i);
        return;
    }
    style.colour = *view->search_why ? ui->theme->alarm : ui->theme->text;
    box = mv_ui_paragraph(ui, box, &style, found);
    put(ui, &box, ui->theme->faint_text, mv_ui_longest(ui, MV_UI_TEXT, box.w, hints, 2));
}
