/* Which view, tab and hits are shown, how they look, and ending things. */
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"

/* ---- what is shown ----------------------------------------------------------------------- */

static void show_main(mv_view *view, mv_main_view main)
{
    if (view->now->main == (uint8_t)main)
        return;
    mv_view_write(view)->main = (uint8_t)main;
    mv_view_write(view)->fits_height = true;
}

static void show_tab(mv_view *view, mv_tab tab)
{
    mv_view_write(view)->tab = (uint8_t)tab;
}

void mv_do_show_timeline(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_TIMELINE);
}

void mv_do_show_segments(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_SEGMENTS);
}

void mv_do_show_state(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_STATE);
}

void mv_do_show_ranks(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_RANKS);
}

void mv_do_show_pools(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_main(view, MV_MAIN_POOLS);
}

void mv_do_show_requested(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write(view)->shows_requested = !view->now->shows_requested;
}

void mv_do_show_flame(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_FLAME);
}

void mv_do_show_tables(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_TABLES);
}

void mv_do_show_details(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_DETAILS);
}

void mv_do_show_reports(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, MV_TAB_REPORTS);
}

void mv_do_next_tab(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, (mv_tab)((view->now->tab + 1) % (MV_TAB_REPORTS + 1)));
}

void mv_do_previous_tab(mv_view *view, uint64_t arg)
{
    (void)arg;
    show_tab(view, (mv_tab)((view->now->tab + MV_TAB_REPORTS) % (MV_TAB_REPORTS + 1)));
}

/* Turns something on, or off when it is on. */
static void set_show(mv_view *view, mv_show show)
{
    mv_view_write(view)->show = view->now->show == (uint8_t)show ? MV_SHOW_ALL : (uint8_t)show;
}

void mv_do_highlight(mv_view *view, uint64_t arg)
{
    (void)arg;
    set_show(view, MV_SHOW_HIGHLIGHT);
}

void mv_do_isolate(mv_view *view, uint64_t arg)
{
    (void)arg;
    set_show(view, MV_SHOW_ISOLATE);
}

/* ---- looks ------------------------------------------------------------------------------- */

void mv_do_theme(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write_desk(view)->is_dark = !view->desk->is_dark;
}

static void resize(mv_view *view, double factor)
{
    double scale = view->desk->scale * factor;

    mv_view_write_desk(view)->scale = scale < 0.8             ? 0.8
                                      : scale > MV_MOST_SCALE ? MV_MOST_SCALE
                                                              : scale;
    mv_view_say(view, false, "texts at %.0f %%", view->desk->scale * 100);
}

void mv_do_larger(mv_view *view, uint64_t arg)
{
    (void)arg;
    resize(view, 1.125);
}

void mv_do_smaller(mv_view *view, uint64_t arg)
{
    (void)arg;
    resize(view, 1 / 1.125);
}

/* ---- ending things ----------------------------------------------------------------------- */

static void cancel_selection(mv_view *view)
{
    mv_view_state *now = mv_view_write(view);

    if (*now->search) {
        mv_search_set(view, "");
    } else if (now->pinned != MV_NO_ROW || now->pinned_segment != MV_NO_ROW) {
        now->pinned = now->pinned_segment = MV_NO_ROW;
    } else if (now->has_interval) {
        now->has_interval = false;
    } else if (now->other_file != MV_NO_ROW) {
        now->other_file = now->other_device = MV_NO_ROW;
    }
}

/* A focused flame graph is shown whole again. False: there is nothing to undo. */
static bool cancel_flame(mv_view *view)
{
    if (view->now->tab != MV_TAB_FLAME || view->now->flame_focus == 0)
        return false;
    mv_view_write(view)->flame_focus = 0;
    mv_view_write_desk(view)->flame_scroll = 0;
    return true;
}

void mv_do_cancel(mv_view *view, uint64_t arg)
{
    (void)arg;
    if (view->desk->has_help || view->desk->focus != MV_FOCUS_PANES) {
        mv_view_write_desk(view)->has_help = false;
        mv_view_write_desk(view)->focus = MV_FOCUS_PANES;
    } else if (mv_loading_failure(view)) {
        view->chrome->banners_closed++;
    } else if (!cancel_flame(view)) {
        cancel_selection(view);
    }
}

void mv_do_quit(mv_view *view, uint64_t arg)
{
    (void)arg;
    view->is_closing = true;
}
