/* Keyboard navigation in the window (view/state/spot.h), from zone to zone, and from one part of
 * the window to the next. */
#include <math.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"

enum { NONE = -1 };

/* Returns the index of a zone among the zones with the same command and number. */
static uint32_t copy_of(const mv_ui *ui, uint32_t row)
{
    uint32_t copy = 0;

    for (uint32_t i = 0; i < row; i++)
        copy += ui->zones[i].command == ui->zones[row].command &&
                ui->zones[i].arg == ui->zones[row].arg;
    return copy;
}

/* Returns the row of the zone in the last frame; NONE if the zone was not painted. */
static int find(const mv_view *view)
{
    const mv_zone *zone = mv_spot_zone(view);

    return zone ? (int)(zone - view->ui.zones) : NONE;
}

static const mv_row_list *list_of(const mv_view *view)
{
    for (uint32_t i = 0; i < view->ui.list_count; i++)
        if (view->ui.lists[i].command == view->spot.command)
            return &view->ui.lists[i];
    return NULL;
}

static void go_to(mv_view *view, mv_command_id command, uint64_t arg, uint32_t copy)
{
    view->spot.command = command;
    view->spot.arg = arg;
    view->spot.copy = copy;
    view->spot.is_inside = false;
    view->spot.has_moved = true;
}

static bool go_to_zone(mv_view *view, int row)
{
    if (row == NONE)
        return false;
    go_to(view, view->ui.zones[row].command, view->ui.zones[row].arg,
          copy_of(&view->ui, (uint32_t)row));
    return true;
}

/* ---- from zone to zone ------------------------------------------------------------------- */

/* Whether zone `a` comes before `b` in reading order: from top to bottom, then from left to right,
 * then in painting order. */
static bool is_before(const mv_ui *ui, int a, int b)
{
    const mv_box *x = &ui->zones[a].box, *y = &ui->zones[b].box;

    if (x->y != y->y)
        return x->y < y->y;
    return x->x != y->x ? x->x < y->x : a < b;
}

/* Returns the zone after or before `from` in reading order. If `from` is NONE, returns the first or
 * last zone in that part of the window. */
static int beside(const mv_view *view, int from, bool is_back)
{
    const mv_ui *ui = &view->ui;
    int best = NONE;

    for (int i = 0; i < (int)ui->zone_count; i++) {
        if (i == from ||
            !mv_spot_is_in_place(view, (mv_window_part)view->spot.place, &ui->zones[i]))
            continue;
        if (from != NONE && is_before(ui, i, from) != is_back)
            continue;
        if (best == NONE || is_before(ui, i, best) != is_back)
            best = i;
    }
    return best;
}

/* Returns the nearest zone above or below. */
static int beyond(const mv_view *view, int from, bool is_up)
{
    const mv_ui *ui = &view->ui;
    mv_box a;
    float least = INFINITY;
    int best = NONE;

    if (from == NONE)
        return beside(view, NONE, is_up);
    a = ui->zones[from].box;
    for (int i = 0; i < (int)ui->zone_count; i++) {
        mv_box b = ui->zones[i].box;
        float down = is_up ? a.y - (b.y + b.h) : b.y - (a.y + a.h);
        float aside = fmaxf(0, fmaxf(b.x - (a.x + a.w), a.x - (b.x + b.w)));
        if (i == from || down < -1.5f ||
            !mv_spot_is_in_place(view, (mv_window_part)view->spot.place, &ui->zones[i]))
            continue;
        if (2 * down + aside < least) {
            least = 2 * down + aside;
            best = i;
        }
    }
    return best;
}

/* Moves by `by` rows in the current list. Returns false if there is no list, or at its end. */
static bool go_in_list(mv_view *view, int64_t by)
{
    const mv_row_list *list = list_of(view);
    int64_t row;

    if (!list || list->count == 0)
        return false;
    row = (int64_t)view->spot.arg + by;
    row = row < 0 ? 0 : row >= list->count ? (int64_t)list->count - 1 : row;
    if ((uint64_t)row == view->spot.arg)
        return false;
    go_to(view, view->spot.command, (uint64_t)row, 0);
    return true;
}

static mv_pane pane_of(const mv_view *view)
{
    return view->spot.place == MV_PART_MAIN    ? mv_chrome_main(view)
           : view->spot.place == MV_PART_LOWER ? mv_chrome_lower(view)
                                               : MV_PANE_NONE;
}

/* Gives a key to the content of a pane, outside its zones. Returns whether the pane uses the
 * key. */
static bool pane_takes(mv_view *view, const mv_input *input)
{
    mv_spot before = view->spot;

    view->spot.command = MV_DO_NOTHING;
    view->spot.is_inside = true;
    if (mv_pane_give(view, pane_of(view), mv_spot_place_box(view), input))
        return true;
    view->spot = before;
    return false;
}

/* Scrolls the pane, because it may contain more below its last zone. */
static void scroll(mv_view *view, float notches)
{
    mv_input wheel = {.kind = MV_INPUT_WHEEL, .dy = notches};

    if (view->spot.place == MV_PART_LOWER)
        mv_pane_give(view, pane_of(view), mv_spot_place_box(view), &wheel);
}

static void go_up_or_down(mv_view *view, const mv_input *input, bool is_up)
{
    if (go_in_list(view, is_up ? -1 : 1))
        return;
    if (!go_to_zone(view, beyond(view, find(view), is_up)) && !pane_takes(view, input))
        scroll(view, is_up ? 1 : -1);
}

static void go_beside(mv_view *view, bool is_back)
{
    if (!go_to_zone(view, beside(view, find(view), is_back)))
        go_in_list(view, is_back ? -1 : 1);
}

static void go_page(mv_view *view, bool is_up)
{
    const mv_row_list *list = list_of(view);
    int64_t shown = list && list->shown > 1 ? list->shown - 1 : 1;
    float lines = view->chrome->layout.lower.h / mv_ui_px(&view->ui, 3 * MV_UI_LINE);

    if (list)
        go_in_list(view, is_up ? -shown : shown);
    else
        scroll(view, is_up ? lines : -lines);
}

static void go_to_end(mv_view *view, bool is_start)
{
    if (list_of(view))
        go_in_list(view, is_start ? -(int64_t)view->spot.arg : UINT32_MAX);
    else
        go_to_zone(view, beside(view, NONE, !is_start));
}

/* ---- from one part of the window to the next --------------------------------------------- */

/* Moves to the first painted row of a list, or to the first zone, or among the tabs, to the shown
 * tab. */
static void enter_place(mv_view *view)
{
    static const mv_command_id tabs[] = {MV_DO_show_flame, MV_DO_show_tables, MV_DO_show_details,
                                         MV_DO_show_reports};
    mv_command_id wanted = view->spot.place == MV_PART_TABS ? tabs[view->now->tab % 4] : 0;
    int first = beside(view, NONE, false);

    for (uint32_t i = 0; view->spot.place == MV_PART_LOWER && i < view->ui.list_count; i++)
        wanted = view->ui.lists[i].command;
    for (int i = first; wanted != MV_DO_NOTHING && i != NONE; i = beside(view, i, false))
        if (view->ui.zones[i].command == wanted) {
            first = i;
            break;
        }
    if (!go_to_zone(view, first))
        go_to(view, MV_DO_NOTHING, 0, 0);
}

void mv_do_step_focus(mv_view *view, uint64_t by)
{
    mv_spot *spot = &view->spot;

    if (!mv_view_device(view))
        spot->place = MV_PART_TOOLBAR;
    else if (spot->is_shown)
        spot->place = (uint8_t)((spot->place + MV_PART_COUNT + by) % MV_PART_COUNT);
    spot->is_shown = true;
    if (mv_focus_is_inline(view->desk->focus))
        mv_view_write_desk(view)->focus = MV_FOCUS_PANES;
    enter_place(view);
}

/* ---- all --------------------------------------------------------------------------------- */

bool mv_spot_input(mv_view *view, const mv_input *input)
{
    bool was_shown = view->spot.is_shown;

    if (input->kind != MV_INPUT_KEY || input->mods || !mv_view_device(view))
        return false;
    view->spot.is_shown = true;
    if (view->spot.command == MV_DO_NOTHING && was_shown && pane_takes(view, input))
        return true;
    switch (input->key) {
    case MV_KEY_ENTER:
        view->spot.is_shown = was_shown;
        return was_shown && mv_view_do(view, view->spot.command, view->spot.arg);
    case MV_KEY_UP:
    case MV_KEY_DOWN:
        go_up_or_down(view, input, input->key == MV_KEY_UP);
        return true;
    case MV_KEY_LEFT:
    case MV_KEY_RIGHT:
        go_beside(view, input->key == MV_KEY_LEFT);
        return true;
    case MV_KEY_PAGE_UP:
    case MV_KEY_PAGE_DOWN:
        go_page(view, input->key == MV_KEY_PAGE_UP);
        return true;
    case MV_KEY_HOME:
    case MV_KEY_END:
        go_to_end(view, input->key == MV_KEY_HOME);
        return true;
    default:
        view->spot.is_shown = was_shown;
        return false;
    }
}

void mv_spot_clicked(mv_view *view, const mv_zone *zone)
{
    view->spot.is_shown = false;
    for (int place = 0; zone && place < MV_PART_COUNT; place++)
        if (mv_spot_is_in_place(view, (mv_window_part)place, zone)) {
            view->spot.place = (uint8_t)place;
            go_to_zone(view, (int)(zone - view->ui.zones));
        }
}
