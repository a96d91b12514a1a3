/* Overlays that take the keyboard focus from the panes, and the lists in these overlays. */

#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* ---- lists ------------------------------------------------------------------------------- */

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

bool mv_command_list_input(mv_view *view, const mv_input *input)
{
    uint32_t count;
    uint64_t arg;
    mv_command_id id = mv_command_list_chosen(view, &arg, &count);

    if (mv_chrome_list_input(view, input, count, MV_COMMANDS_SHOWN))
        return true;
    if (input->kind != MV_INPUT_KEY || input->key != MV_KEY_ENTER)
        return false;
    if (id != MV_DO_NOTHING) {
        mv_chrome_focus(view, MV_FOCUS_PANES);
        mv_view_do(view, id, arg);
    }
    return true;
}

/* ---- keyboard focus ---------------------------------------------------------------------- */

/* Suggests "FILE.png" in the working directory. */
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

    mv_view_write_desk(view)->has_help = false;
    mv_view_write_desk(view)->focus = focus;
    c->row = c->first = 0;
    c->has_menu_place = c->has_menu_place && focus == MV_FOCUS_MENU;
    if (focus == MV_FOCUS_PALETTE)
        mv_field_set(&c->palette, "");
    if (focus == MV_FOCUS_GO)
        mv_field_select_all(&c->go);
    if (focus == MV_FOCUS_EXPORT)
        offer_name(view);
    if (focus == MV_FOCUS_SEARCH)
        mv_field_select_all(&c->search);
    if (focus == MV_FOCUS_ROWS)
        mv_field_select_all(view->row_field);
    if (focus == MV_FOCUS_SEARCH)
        mv_history_rest(&view->intents->history);
}

void mv_do_focus(mv_view *view, uint64_t focus)
{
    mv_chrome_focus(view, (mv_focus)focus);
}

void mv_do_palette(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_chrome_focus(view,
                    view->desk->focus == MV_FOCUS_PALETTE ? MV_FOCUS_PANES : MV_FOCUS_PALETTE);
}

void mv_do_help(mv_view *view, uint64_t arg)
{
    bool was_open = view->desk->has_help;

    (void)arg;
    mv_chrome_focus(view, MV_FOCUS_PANES);
    mv_view_write_desk(view)->has_help = !was_open;
}

/* ---- the tour ---------------------------------------------------------------------------- */

void mv_do_tour_step(mv_view *view, uint64_t arg)
{
    bool was_open = view->desk->tour > 0, is_open = arg > 0 && arg <= MV_TOUR_STEPS;

    mv_chrome_focus(view, MV_FOCUS_PANES);
    mv_view_write_desk(view)->tour = is_open ? (uint32_t)arg : 0;
    if (was_open && !is_open && view->opts.files)
        view->opts.files->tour_ended();
}

void mv_tour_offer(mv_view *view)
{
    if (!view->opts.offers_tour || !mv_view_device(view))
        return;
    view->opts.offers_tour = false;
    mv_view_write_desk(view)->tour = 1;
}

bool mv_tour_input(mv_view *view, const mv_input *input)
{
    uint32_t step = view->desk->tour;

    if (step == 0 || view->desk->has_help || view->desk->focus != MV_FOCUS_PANES || input->mods)
        return false;
    if (input->key == MV_KEY_ENTER || input->key == MV_KEY_RIGHT)
        mv_do_tour_step(view, step + 1);
    else if (input->key == MV_KEY_LEFT && step > 1)
        mv_do_tour_step(view, step - 1);
    else if (input->key == MV_KEY_ESCAPE)
        mv_do_tour_step(view, 0);
    else
        return false;
    return true;
}
