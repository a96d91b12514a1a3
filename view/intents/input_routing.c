#include <math.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/timeline/pane_ranks.h"

/* ---- keys and text ----------------------------------------------------------------------- */

static mv_text_field *field_of(const mv_view *view)
{
    mv_chrome *c = view->chrome;

    switch (view->desk->focus) {
    case MV_FOCUS_SEARCH:
        return &c->search;
    case MV_FOCUS_PALETTE:
        return &c->palette;
    case MV_FOCUS_OPEN:
        return &c->open.field;
    case MV_FOCUS_EXPORT:
        return &c->export;
    case MV_FOCUS_ROWS:
        return view->row_field;
    case MV_FOCUS_GO:
        return &c->go;
    case MV_FOCUS_BOOKMARK:
        return &c->bookmark;
    default:
        return NULL;
    }
}

bool mv_view_wants_text(const mv_view *view)
{
    return field_of(view) != NULL;
}

/* Handles Enter in a field. */
static void enter(mv_view *view, const mv_input *input)
{
    mv_chrome *c = view->chrome;

    switch (view->desk->focus) {
    case MV_FOCUS_SEARCH:
        mv_search_go(view, input->mods & MV_MOD_SHIFT);
        break;
    case MV_FOCUS_ROWS:
        mv_chrome_focus(view, MV_FOCUS_PANES);
        break;
    case MV_FOCUS_EXPORT:
        if (mv_export_write(view, c->export.text))
            mv_chrome_focus(view, MV_FOCUS_PANES);
        break;
    case MV_FOCUS_GO:
        if (mv_go_to(view, c->go.text))
            mv_chrome_focus(view, MV_FOCUS_PANES);
        break;
    case MV_FOCUS_BOOKMARK:
        if (mv_bookmark_typed(view))
            mv_chrome_focus(view, MV_FOCUS_PANES);
        break;
    default:
        break;
    }
}

/* Handles Ctrl+C, Ctrl+X and Ctrl+V. */
static bool clipboard_input(mv_view *view, mv_text_field *field, const mv_input *input)
{
    bool is_copy = input->key == 'C' || input->key == 'X';
    char selected[MV_FIELD_TEXT];
    const char *text;

    if (input->kind != MV_INPUT_KEY || input->mods != MV_MOD_CTRL ||
        (!is_copy && input->key != 'V'))
        return false;
    if (is_copy) {
        if (!mv_field_selected(field, selected))
            return false;
        mv_view_copy(view, selected);
        if (input->key == 'X')
            mv_field_type(field, "");
        return true;
    }
    text = view->opts.paste ? view->opts.paste(view->opts.user) : NULL;
    if (text)
        mv_field_type(field, text);
    return true;
}

/* Passes the input to the element with the keyboard focus, which has priority over commands.
 * Returns false if the element does not use the input. */
static bool field_input(mv_view *view, const mv_input *input)
{
    mv_text_field *field = field_of(view);

    if (view->desk->focus == MV_FOCUS_PALETTE && mv_command_list_input(view, input))
        return true;
    if (view->desk->focus == MV_FOCUS_DEVICES)
        return mv_device_list_input(view, input);
    if (view->desk->focus == MV_FOCUS_MENU)
        return mv_menu_input(view, input);
    if (view->desk->focus == MV_FOCUS_OPEN && mv_open_input(view, input))
        return true;
    if (!field)
        return false;
    if (input->kind == MV_INPUT_KEY && input->key == MV_KEY_ENTER) {
        mv_change_begin(view);
        enter(view, input);
        mv_change_end(view);
        return true;
    }
    if (!clipboard_input(view, field, input) && !mv_field_input(field, input))
        return false;
    if (view->desk->focus == MV_FOCUS_SEARCH)
        mv_search_typed(view);
    if (view->desk->focus == MV_FOCUS_ROWS)
        mv_rows_typed(view);
    view->chrome->open.is_read = view->chrome->open.is_chosen = false;
    view->chrome->row = view->chrome->first = 0;
    return true;
}

static void key(mv_view *view, const mv_input *input)
{
    mv_command_id id = mv_keymap_command(&view->keymap, input->key, input->mods);
    bool is_plain = !(input->mods & (MV_MOD_CTRL | MV_MOD_ALT));
    bool is_field = view->desk->focus != MV_FOCUS_PANES;

    if (view->desk->has_help && mv_chrome_list_input(view, input, UINT32_MAX, 1))
        return;
    if (mv_tour_input(view, input) || field_input(view, input))
        return;
    /* In a field, letter keys enter text. Keys that the field does not use still run commands. */
    if (is_field && is_plain && input->key != MV_KEY_ESCAPE && input->key < 256 &&
        !(mv_focus_is_inline(view->desk->focus) && input->key == MV_KEY_TAB))
        return;
    /* The user's key bindings come first. */
    if (id != MV_DO_NOTHING || is_field || view->desk->has_help || !mv_spot_input(view, input))
        mv_view_do(view, id, 0);
}

/* ---- the pointer ------------------------------------------------------------------------- */

bool mv_pane_give(mv_view *view, mv_pane pane, mv_box box, const mv_input *input)
{
    static bool (*const pointers[MV_PANE_COUNT])(mv_view *, mv_box, const mv_input *) = {
        [MV_PANE_TIMELINE] = mv_timeline_pointer, [MV_PANE_MINIMAP] = mv_minimap_pointer,
        [MV_PANE_STATE] = mv_state_pointer,       [MV_PANE_RANKS] = mv_ranks_pointer,
        [MV_PANE_FLAME] = mv_flame_pointer,       [MV_PANE_TABLES] = mv_tables_pointer,
        [MV_PANE_DETAILS] = mv_details_pointer,   [MV_PANE_REPORTS] = mv_reports_pointer,
        [MV_PANE_WHATIF] = mv_whatif_pointer};

    bool is_used;

    if (!pointers[pane])
        return false;
    mv_change_begin(view);
    is_used = pointers[pane](view, box, input);
    mv_change_end(view);
    return is_used;
}

/* Tells the pane that the pointer has left it. */
static void enter_pane(mv_view *view, mv_pane pane, mv_box box)
{
    mv_chrome *c = view->chrome;
    mv_input leave = {.kind = MV_INPUT_LEAVE};

    if (c->under != MV_PANE_NONE && c->under != pane)
        mv_pane_give(view, c->under, c->under_box, &leave);
    c->under = pane;
    c->under_box = box;
}

/* Handles a press in a field, which moves the caret there; dragging then selects. */
static bool press_field(mv_view *view, const mv_input *input)
{
    mv_text_field *field = field_of(view);

    if (!field || input->button != MV_BUTTON_LEFT || !mv_box_has(field->box, input->x, input->y))
        return false;
    mv_field_press(&view->ui, field, input);
    view->chrome->is_selecting = true;
    return true;
}

static void press_covered(mv_view *view, const mv_zone *zone)
{
    mv_zone chosen;

    if (!zone) { /* the press is outside the sheet */
        mv_view_do(view, MV_DO_cancel, 0);
        return;
    }
    if (zone->command == MV_DO_NOTHING)
        return;
    chosen = *zone;
    if (view->desk->has_help || view->desk->focus == MV_FOCUS_PALETTE ||
        (view->desk->focus == MV_FOCUS_MENU && zone->command != MV_DO_bookmark_delete))
        mv_chrome_focus(view, MV_FOCUS_PANES);
    mv_view_do(view, chosen.command, chosen.arg);
}

/* Ends a pane's capture of the pointer. Everything that the pane did with the pointer until then is
 * one change. */
static void close_listed_clients(mv_view *view)
{
    if (view->chrome->captured == MV_PANE_NONE)
        return;
    view->chrome->captured = MV_PANE_NONE;
    mv_change_end(view);
}

static void capture(mv_view *view, mv_pane pane, mv_box box, uint8_t button)
{
    close_listed_clients(view);
    view->chrome->captured = pane;
    view->chrome->captured_box = box;
    view->chrome->captured_button = button;
    mv_change_begin(view);
}

/* Selects the item under the pointer, and lists the actions for it. */
static void press_right(mv_view *view, const mv_input *input, const mv_zone *zone)
{
    bool is_row = zone && (zone->command == MV_DO_table_row || zone->command == MV_DO_report_row);
    uint32_t lane = mv_rank_lane_at(view, input->x, input->y);

    if (!mv_view_device(view))
        return;
    if (is_row)
        mv_view_do(view, zone->command, zone->arg);
    else if (view->hover != MV_NO_ROW && lane == MV_NO_ROW) {
        mv_change_begin(view);
        mv_view_pin(view, view->hover);
        mv_change_end(view);
    }
    view->chrome->has_menu_place = true;
    view->chrome->menu_x = input->x;
    view->chrome->menu_y = input->y;
    view->chrome->menu_lane = lane;
    if (view->desk->focus != MV_FOCUS_MENU)
        mv_view_do(view, MV_DO_here_menu, 0);
    view->chrome->row = 0;
}

static void press(mv_view *view, const mv_input *input)
{
    mv_chrome *c = view->chrome;
    const mv_zone *zone = mv_ui_zone_at(&view->ui, input->x, input->y);
    mv_box box = {0};
    mv_pane pane;

    if (mv_chrome_is_covered(view)) {
        if (!press_field(view, input))
            press_covered(view, zone);
        return;
    }
    if (input->button == MV_BUTTON_RIGHT) {
        press_right(view, input, zone);
        return;
    }
    mv_spot_clicked(view, zone);
    if (zone && zone->command != MV_DO_NOTHING && input->button == MV_BUTTON_LEFT) {
        uint8_t own = zone->command == MV_DO_search        ? MV_FOCUS_SEARCH
                      : zone->command == MV_DO_filter_rows ? MV_FOCUS_ROWS
                                                           : MV_FOCUS_PANES;
        if (mv_focus_is_inline(view->desk->focus) && view->desk->focus != own)
            mv_view_write_desk(view)->focus = MV_FOCUS_PANES;
        if (own == MV_FOCUS_PANES || view->desk->focus != own) {
            mv_view_do(view, zone->command, zone->arg);
            if (zone->command == MV_DO_search) /* the field shows the beginning of its text */
                c->search.at = c->search.anchor = 0;
        }
        press_field(view, input);
        return;
    }
    mv_view_write_desk(view)->focus = MV_FOCUS_PANES;
    c->is_splitting = mv_box_has(c->layout.splitter, input->x, input->y);
    pane = mv_chrome_pane_at(view, input->x, input->y, &box);
    if (pane == MV_PANE_NONE || c->is_splitting)
        return;
    capture(view, pane, box, input->button);
    mv_pane_give(view, pane, box, input);
}

static void split(mv_view *view, float y)
{
    const mv_view_layout *l = &view->chrome->layout;
    float top = l->main.y, bottom = l->lower.y + l->lower.h;
    double share = bottom > top ? (double)((bottom - y) / (bottom - top)) : 0;

    mv_view_write_desk(view)->lower_share = fmin(fmax(share, MV_LEAST_LOWER), MV_MOST_LOWER);
}

static void move(mv_view *view, const mv_input *input)
{
    mv_chrome *c = view->chrome;
    mv_box box = {0};
    mv_pane pane;

    c->moved_ms = view->ms;
    if (c->is_splitting) {
        split(view, input->y);
        return;
    }
    if (c->is_selecting && field_of(view)) {
        mv_field_drag(&view->ui, field_of(view), input->x);
        return;
    }
    if (c->captured) {
        mv_pane_give(view, c->captured, c->captured_box, input);
        return;
    }
    if (mv_chrome_is_covered(view))
        return;
    pane = mv_chrome_pane_at(view, input->x, input->y, &box);
    enter_pane(view, pane, box);
    mv_pane_give(view, pane, box, input);
}

static void release(mv_view *view, const mv_input *input)
{
    mv_chrome *c = view->chrome;
    mv_pane pane = c->captured;

    c->is_splitting = c->is_selecting = false;
    if (pane == MV_PANE_NONE || input->button != c->captured_button)
        return;
    mv_pane_give(view, pane, c->captured_box, input);
    close_listed_clients(view);
}

static void wheel(mv_view *view, const mv_input *input)
{
    mv_box box = {0};

    if (view->desk->has_help)
        mv_chrome_list_input(view, input, UINT32_MAX, 1);
    else if (view->desk->focus == MV_FOCUS_PALETTE)
        mv_command_list_input(view, input);
    else if (view->desk->focus == MV_FOCUS_DEVICES)
        mv_device_list_input(view, input);
    else if (view->desk->focus == MV_FOCUS_MENU)
        mv_menu_input(view, input);
    else if (view->desk->focus == MV_FOCUS_OPEN)
        mv_open_input(view, input);
    else if (!mv_chrome_is_covered(view))
        mv_pane_give(view, mv_chrome_pane_at(view, input->x, input->y, &box), box, input);
}

static void leave(mv_view *view)
{
    mv_chrome *c = view->chrome;

    view->ui.pointer_x = view->ui.pointer_y = -1;
    c->is_splitting = c->is_selecting = false;
    if (c->captured) {
        mv_input gone = {.kind = MV_INPUT_LEAVE};
        mv_pane_give(view, c->captured, c->captured_box, &gone);
        close_listed_clients(view);
    }
    enter_pane(view, MV_PANE_NONE, (mv_box){0});
}

/* ---- all --------------------------------------------------------------------------------- */

void mv_view_route(mv_view *view, const mv_input *input)
{
    if (input->kind >= MV_INPUT_MOVE && input->kind <= MV_INPUT_WHEEL) {
        view->ui.pointer_x = input->x;
        view->ui.pointer_y = input->y;
    }
    if (input->kind == MV_INPUT_KEY || input->kind == MV_INPUT_PRESS ||
        input->kind == MV_INPUT_TEXT)
        *view->message = '\0';
    switch ((mv_input_kind)input->kind) {
    case MV_INPUT_KEY:
        key(view, input);
        break;
    case MV_INPUT_TEXT:
        field_input(view, input);
        break;
    case MV_INPUT_MOVE:
        move(view, input);
        break;
    case MV_INPUT_PRESS:
        press(view, input);
        break;
    case MV_INPUT_RELEASE:
        release(view, input);
        break;
    case MV_INPUT_WHEEL:
        wheel(view, input);
        break;
    case MV_INPUT_LEAVE:
        leave(view);
        break;
    case MV_INPUT_DROP:
        if (input->path)
            mv_view_drop(view, input->path);
        break;
    case MV_INPUT_KEY_UP:
        break;
    }
}

void mv_view_input(mv_view *view, const mv_input *input)
{
    mv_change_input(view, input);
}
