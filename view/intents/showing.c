/* Commands that choose the view, the tab, how hits are shown and how the picture looks, and the
 * command that cancels. */
#include <math.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"

/* ---- views, tabs and hits ---------------------------------------------------------------- */

void mv_do_show_main(mv_view *view, uint64_t arg)
{
    if (view->now->main == arg)
        return;
    mv_view_write(view)->main = (uint8_t)arg;
    mv_view_write(view)->fits_height = true;
}

void mv_do_turn(mv_view *view, uint64_t flag)
{
    bool *is_on = (bool *)((char *)mv_view_write(view) + flag);

    *is_on = !*is_on;
}

void mv_do_show_tab(mv_view *view, uint64_t arg)
{
    mv_view_write(view)->tab = (uint8_t)arg;
}

void mv_do_turn_tab(mv_view *view, uint64_t arg)
{
    uint32_t tabs =
        mv_view_command_is_enabled(view, MV_DO_show_ledger) ? MV_TAB_COUNT : MV_TAB_LEDGER;

    mv_view_write(view)->tab = (uint8_t)((view->now->tab + tabs + arg) % tabs);
}

/* Toggles a display mode. */
void mv_do_show_hits(mv_view *view, uint64_t arg)
{
    mv_view_write(view)->show = view->now->show == arg ? MV_SHOW_ALL : (uint8_t)arg;
}

/* ---- looks ------------------------------------------------------------------------------- */

void mv_do_theme(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write_desk(view)->is_dark = !view->desk->is_dark;
}

void mv_view_look(mv_view *view, bool is_dark, double scale)
{
    mv_view_desk *desk = mv_view_write_desk(view);

    desk->is_dark = is_dark;
    desk->scale = fmin(fmax(scale, MV_LEAST_SCALE), MV_MOST_SCALE);
}

void mv_do_move_splitter(mv_view *view, uint64_t arg)
{
    double share = view->desk->lower_share + 0.05 * (double)(int64_t)arg;

    mv_view_write_desk(view)->lower_share = fmin(fmax(share, MV_LEAST_LOWER), MV_MOST_LOWER);
}

void mv_do_move_legend(mv_view *view, uint64_t arg)
{
    float width = mv_legend_width(view, view->main_box.w) / view->ui.scale;

    if (width > 0)
        mv_view_write_desk(view)->legend_width = (double)width + 20 * (double)(int64_t)arg;
}

void mv_do_resize(mv_view *view, uint64_t arg)
{
    double scale = view->desk->scale * ((int64_t)arg > 0 ? 1.125 : 1 / 1.125);

    mv_view_look(view, view->desk->is_dark, fmax(scale, 0.8));
    mv_view_say(view, false, "text size: %.0f %%", view->desk->scale * 100);
}

/* ---- cancelling ---------------------------------------------------------------------------- */

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

/* Resets the focus of a flame graph. Returns false if there is nothing to reset. */
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
