#include "view/chrome/menu.h"

#include <math.h>

#include "view/frame/device_rows.h"
#include "viz/scene/axis.h"

enum { ROW = 22, TITLE = 216, WIDTH = 860 };

/* ---- entries ----------------------------------------------------------------------------- */

static uint32_t view_rows(mv_view *view, mv_menu_row *rows)
{
    static const struct {
        mv_command_id id;
        mv_main_view main;
    } views[] = {{MV_DO_show_timeline, MV_MAIN_TIMELINE},
                 {MV_DO_show_segments, MV_MAIN_SEGMENTS},
                 {MV_DO_show_state, MV_MAIN_STATE},
                 {MV_DO_show_pools, MV_MAIN_POOLS},
                 {MV_DO_show_ranks, MV_MAIN_RANKS}};
    uint32_t count = mv_view_device_count(view) > 1 ? 5 : 4;

    for (uint32_t i = 0; i < count; i++)
        rows[i] = (mv_menu_row){.command = views[i].id,
                                .is_on = view->now->main == (uint8_t)views[i].main,
                                .title = mv_view_commands[views[i].id].title,
                                .help = mv_view_commands[views[i].id].help};
    return count;
}

static uint32_t level_rows(mv_view *view, mv_menu_row *rows)
{
    const mv_level_list *list = mv_view_levels(view);

    for (uint32_t i = 0; i < list->count; i++)
        rows[i] = (mv_menu_row){.command = MV_DO_level,
                                .arg = i,
                                .is_on = mv_view_level(view) == i,
                                .title = list->name[i],
                                .help = mv_level_about(list->name[i])};
    return list->count;
}

static uint32_t colour_rows(mv_view *view, mv_menu_row *rows)
{
    static const char *const helps[MV_COLOUR_COUNT] = {
        [MV_COLOUR_SITE] = "the line of your code that allocated; leaks in red",
        [MV_COLOUR_STACK] = "the whole stack; the same in every file, to compare ranks",
        [MV_COLOUR_CATEGORY] = "parameter, gradient, activation, optimizer state ...",
        [MV_COLOUR_SIZE] = "from small to large, in steps",
        [MV_COLOUR_LIFETIME] = "short to long, in steps of events; never freed is separate",
        [MV_COLOUR_STREAM] = "the CUDA stream of the allocation",
        [MV_COLOUR_POOL] = "the default pool, or the pool of a graph or of your own"};

    for (uint32_t i = 0; i < MV_COLOUR_COUNT; i++)
        rows[i] = (mv_menu_row){.command = MV_DO_colour,
                                .arg = i,
                                .is_on = view->now->colour == i,
                                .title = mv_colour_name((uint8_t)i),
                                .help = helps[i]};
    return MV_COLOUR_COUNT;
}

static uint32_t clock_rows(mv_view *view, mv_menu_row *rows)
{
    static const char *const helps[] = {
        [MV_CLOCK_EVENTS] = "every event takes the same space",
        [MV_CLOCK_TIME] = "real time; pauses take space too",
        [MV_CLOCK_TICKS] = "as in PyTorch's viewer: only stack changes take space",
        [MV_CLOCK_BUSY] = "real time; a long pause is a narrow band with its length"};
    uint32_t count = sizeof helps / sizeof *helps;

    for (uint32_t i = 0; i < count; i++)
        rows[i] = (mv_menu_row){.command = MV_DO_clock,
                                .arg = i,
                                .is_on = view->now->clock == i,
                                .title = mv_clock_name((uint8_t)i),
                                .help = helps[i]};
    return count;
}

/* maximum number of letters on a line of a note in tooltips */
enum { NOTE_LINE = 60 };

static uint32_t bookmark_rows(mv_view *view, mv_menu_row *rows)
{
    for (uint32_t i = 0; i < view->bookmarks->count; i++) {
        const mv_bookmark *b = &view->bookmarks->rows[i];
        char event[MV_TICK_TEXT];
        rows[i] =
            (mv_menu_row){.command = MV_DO_bookmark_go,
                          .arg = i,
                          .title = b->name,
                          .help = b->cursor == MV_BEFORE
                                      ? "before the first event"
                                      : mv_scene_format(&view->ui.scene, "event %s \xc2\xb7 %s",
                                                        mv_axis_exact(b->cursor, event),
                                                        mv_device_name(view, b->file, b->device))};
    }
    return view->bookmarks->count;
}

/* Lists what can be done with the lane of the ranks under the pointer, or else with what is there in
 * the picture. */
static uint32_t here_rows(mv_view *view, mv_menu_row *rows)
{
    static const mv_command_id of_lane[] = {
        MV_DO_show_rank,  MV_DO_lane_pin,        MV_DO_lane_fold,
        MV_DO_lane_up,    MV_DO_lane_down,       MV_DO_next_align,
        MV_DO_own_scales, MV_DO_next_lane_order, MV_DO_level_lanes};
    static const mv_command_id of_picture[] = {
        MV_DO_show_details, MV_DO_fit_selection, MV_DO_search_line,     MV_DO_isolate,
        MV_DO_to_alloc,     MV_DO_to_free,       MV_DO_previous_user,   MV_DO_next_user,
        MV_DO_copy_stack,   MV_DO_edit_source,   MV_DO_interval_of_pin, MV_DO_interval_begin,
        MV_DO_interval_end, MV_DO_bookmark_add,  MV_DO_show_state,      MV_DO_show_timeline};
    uint32_t lane = view->chrome->has_menu_place ? view->chrome->menu_lane : MV_NO_ROW, count = 0;
    bool is_lane = lane != MV_NO_ROW;
    const mv_command_id *ids = is_lane ? of_lane : of_picture;
    size_t most = is_lane ? sizeof of_lane / sizeof *ids : sizeof of_picture / sizeof *ids;

    for (size_t i = 0; i < most; i++)
        if (mv_view_command_is_enabled(view, ids[i]))
            rows[count++] = (mv_menu_row){.command = ids[i],
                                          .arg = !is_lane                    ? 0
                                                 : ids[i] == MV_DO_show_rank ? lane
                                                                             : lane + 1,
                                          .title = mv_view_commands[ids[i]].title,
                                          .help = mv_view_commands[ids[i]].help};
    return count;
}

uint32_t mv_menu_rows(mv_view *view, mv_menu_row rows[MV_MENU_MOST])
{
    static uint32_t (*const lists[])(mv_view *, mv_menu_row *) = {
        [MV_MENU_VIEWS] = view_rows,         [MV_MENU_LEVELS] = level_rows,
        [MV_MENU_COLOURS] = colour_rows,     [MV_MENU_CLOCKS] = clock_rows,
        [MV_MENU_BOOKMARKS] = bookmark_rows, [MV_MENU_HERE] = here_rows};
    uint32_t menu = view->desk->menu;

    return menu < sizeof lists / sizeof *lists && lists[menu] ? lists[menu](view, rows) : 0;
}

/* ---- painting ---------------------------------------------------------------------------- */

/* Returns the box of the menu, which is under the button that opened it, or in the middle if that
 * button is not visible. */
static mv_box place_of(mv_view *view, mv_box all, uint32_t rows, float width)
{
    static const mv_command_id buttons[] = {
        [MV_MENU_VIEWS] = MV_DO_view_menu,     [MV_MENU_LEVELS] = MV_DO_level_menu,
        [MV_MENU_COLOURS] = MV_DO_colour_menu, [MV_MENU_CLOCKS] = MV_DO_clock_menu,
        [MV_MENU_BOOKMARKS] = MV_DO_bookmarks, [MV_MENU_HERE] = MV_DO_here_menu};
    mv_ui *ui = &view->ui;
    float pad = mv_ui_px(ui, 8);
    mv_box box = {.w = fminf(fminf(width, mv_ui_px(ui, WIDTH)), all.w - 2 * pad),
                  .h = fminf((float)rows * mv_ui_px(ui, ROW) + 2 * pad, all.h)};

    box.x = roundf(all.x + (all.w - box.w) / 2);
    box.y = roundf(all.y + fminf(mv_ui_px(ui, 40), all.h - box.h));
    if (view->chrome->has_menu_place) {
        box.x = fmaxf(all.x, fminf(view->chrome->menu_x, all.x + all.w - box.w));
        box.y = fmaxf(all.y, fminf(view->chrome->menu_y, all.y + all.h - box.h));
    }
    for (uint32_t i = 0; i < ui->zone_count; i++)
        if (ui->zones[i].command == buttons[view->desk->menu]) {
            box.x = fminf(ui->zones[i].box.x, all.x + all.w - box.w - pad);
            box.y = all.y;
        }
    return box;
}

/* Returns the whole help text, its first sentence, or nothing, whichever fits. A sentence is never
 * cut. */
static const char *help_that_fits(mv_ui *ui, const char *help, float width)
{
    const char *end = strstr(help, ". ");
    const char *const texts[] = {
        help, end ? mv_scene_format(&ui->scene, "%.*s", (int)(end + 1 - help), help) : help, ""};

    return mv_ui_longest(ui, MV_UI_TEXT, width, texts, 3);
}

static void paint_row(mv_view *view, mv_box line, const mv_menu_row *row, bool is_chosen)
{
    mv_ui *ui = &view->ui;
    bool is_of_note = view->desk->menu == MV_MENU_BOOKMARKS;
    mv_box title;
    float width;

    if (is_chosen || mv_ui_is_hot(ui, line))
        mv_ui_fill(ui, line, is_chosen ? ui->theme->grid : ui->theme->plot);
    mv_ui_zone(ui, line, row->command, row->arg,
               is_of_note ? mv_ui_broken(ui, row->title, NOTE_LINE) : "");
    if (row->is_on)
        mv_ui_fill(ui, (mv_box){line.x, line.y + 2, mv_ui_px(ui, 3), line.h - 4},
                   mv_site_colour(0));
    mv_box_cut_left(&line, mv_ui_px(ui, 10));
    if (is_of_note) {
        mv_ui_button(ui, mv_box_cut_right(&line, mv_ui_px(ui, 64)), false, MV_DO_bookmark_delete,
                     row->arg, "delete");
        mv_ui_button(ui, mv_box_cut_right(&line, mv_ui_px(ui, 48)), false, MV_DO_bookmark_edit,
                     row->arg, "edit");
    }
    width = mv_ui_px(ui, TITLE);
    if (is_of_note) /* the note's position and its buttons take the space that is left in the row */
        width = fmaxf(line.w - mv_ui_text_width(ui, MV_UI_TEXT, row->help) - mv_ui_px(ui, 16),
                      line.w / 2);
    title = mv_box_cut_left(&line, fminf(width, line.w));
    title.w -= mv_ui_px(ui, 8);
    mv_ui_text(ui, title, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START, row->title);
    mv_ui_text(ui, line, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START,
               is_of_note ? row->help : help_that_fits(ui, row->help, line.w));
}

void mv_menu_paint(mv_view *view, mv_box all)
{
    mv_ui *ui = &view->ui;
    mv_menu_row rows[MV_MENU_MOST];
    uint32_t count = mv_menu_rows(view, rows), shown;
    float pad = mv_ui_px(ui, 8), width = 0;
    mv_box box;

    for (uint32_t i = 0; i < count; i++)
        width = fmaxf(width, mv_ui_text_width(ui, MV_UI_TEXT, rows[i].help));
    width = view->desk->menu == MV_MENU_BOOKMARKS ? mv_ui_px(ui, WIDTH)
                                                  : width + mv_ui_px(ui, TITLE + 10) + 3 * pad;
    box = place_of(view, all, count ? count : 1, width);
    mv_ui_fill(ui, box, ui->theme->background);
    mv_ui_frame(ui, box, ui->theme->faint_text);
    mv_ui_zone(ui, box, MV_DO_NOTHING, 0, "");
    box = (mv_box){box.x + pad, box.y + pad, box.w - 2 * pad, box.h - 2 * pad};
    shown = (uint32_t)(box.h / mv_ui_px(ui, ROW));
    mv_chrome_list_follow(view, count, shown);
    mv_ui_scroll(ui, box, count, shown, &view->chrome->first);
    for (uint32_t i = view->chrome->first; i < count && i < view->chrome->first + shown; i++)
        paint_row(view, mv_box_cut_top(&box, mv_ui_px(ui, ROW)), &rows[i], i == view->chrome->row);
    if (count == 0)
        mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->faint_text, MV_ANCHOR_START,
                   mv_scene_format(&ui->scene, "no note yet: %s writes one",
                                   view->keymap.keys[MV_DO_bookmark_add]));
}
