/* Opens menus and handles choices in them. */
#include "view/chrome/menu.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* Opens a menu, with the current entry selected, or closes it. */
void mv_do_open_menu(mv_view *view, uint64_t menu)
{
    bool was_open = view->desk->focus == MV_FOCUS_MENU && view->desk->menu == menu;
    mv_menu_row rows[MV_MENU_MOST];
    uint32_t count;

    mv_chrome_focus(view, was_open ? MV_FOCUS_PANES : MV_FOCUS_MENU);
    mv_view_write_desk(view)->menu = (uint8_t)menu;
    count = mv_menu_rows(view, rows);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].is_on)
            view->chrome->row = i;
}

bool mv_menu_input(mv_view *view, const mv_input *input)
{
    mv_menu_row rows[MV_MENU_MOST];
    uint32_t count = mv_menu_rows(view, rows), row = view->chrome->row;

    if (mv_chrome_list_input(view, input, count, 8))
        return true;
    if (input->kind != MV_INPUT_KEY || row >= count)
        return false;
    if (input->key == MV_KEY_DELETE && rows[row].command == MV_DO_bookmark_go)
        return mv_view_do(view, MV_DO_bookmark_delete, rows[row].arg);
    if (input->key == 'E' && rows[row].command == MV_DO_bookmark_go)
        return mv_view_do(view, MV_DO_bookmark_edit, rows[row].arg);
    if (input->key != MV_KEY_ENTER)
        return false;
    mv_chrome_focus(view, MV_FOCUS_PANES);
    return mv_view_do(view, rows[row].command, rows[row].arg);
}

/* ---- colours and clocks ------------------------------------------------------------------ */

void mv_do_colour(mv_view *view, uint64_t arg)
{
    mv_view_write(view)->colour = (uint8_t)(arg % MV_COLOUR_COUNT);
}

void mv_do_next_colour(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_do_colour(view, view->now->colour + 1u);
}

static bool has_times(const mv_view *view)
{
    const mv_events *e = &mv_view_device(view)->lives.events;

    return e->count > 0 && e->time_us[0] != MV_NO_TIME;
}

static bool is_of_time(uint64_t clock)
{
    return clock == MV_CLOCK_TIME || clock == MV_CLOCK_BUSY;
}

void mv_do_clock(mv_view *view, uint64_t arg)
{
    arg %= MV_CLOCKS;
    if (is_of_time(arg) && !has_times(view))
        mv_view_say(view, false, "the events of this file have no times");
    else
        mv_view_write(view)->clock = (uint8_t)arg;
}

void mv_do_next_clock(mv_view *view, uint64_t arg)
{
    uint32_t next = view->now->clock;

    (void)arg;
    do
        next = (next + 1u) % MV_CLOCKS;
    while (is_of_time(next) && !has_times(view));
    mv_do_clock(view, next);
}
