/* Determines the layout of a frame, that is, where each pane is. */
#include <math.h>

#include "view/chrome/chrome.h"

void mv_chrome_lay_out(mv_view *view, float width, float height)
{
    mv_chrome *c = view->chrome;
    const mv_ui *ui = &view->ui;
    mv_view_layout *l = &c->layout;
    mv_box rest = {0, 0, width, height};

    *l = (mv_view_layout){.toolbar = mv_box_cut_top(&rest, c->only_panes
                                                               ? mv_ui_px(ui, 28)
                                                               : mv_toolbar_height(view, width))};
    l->status = mv_box_cut_bottom(&rest, mv_ui_px(ui, 22));
    if (mv_loading_failure(view))
        l->banner = mv_box_cut_top(&rest, mv_ui_px(ui, 24));
    l->main = rest;
    if (!mv_view_device(view))
        return;
    l->lower = mv_box_cut_bottom(&rest, roundf(rest.h * (float)view->desk->lower_share));
    l->tabs = mv_box_cut_top(&l->lower, mv_ui_px(ui, 24));
    l->splitter = mv_box_cut_bottom(&rest, mv_ui_px(ui, 4));
    l->minimap = mv_box_cut_bottom(&rest, mv_ui_px(ui, height < 560 * ui->scale ? 30 : 44));
    l->main = rest;
    view->main_box = l->main;
    view->minimap_box = l->minimap;
    view->lower_box = l->lower;
}

mv_pane mv_chrome_main(const mv_view *view)
{
    return view->now->main == MV_MAIN_STATE   ? MV_PANE_STATE
           : view->now->main == MV_MAIN_RANKS ? MV_PANE_RANKS
                                              : MV_PANE_TIMELINE;
}

mv_pane mv_chrome_lower(const mv_view *view)
{
    static const mv_pane panes[] = {
        [MV_TAB_FLAME] = MV_PANE_FLAME,     [MV_TAB_TABLES] = MV_PANE_TABLES,
        [MV_TAB_DETAILS] = MV_PANE_DETAILS, [MV_TAB_REPORTS] = MV_PANE_REPORTS,
        [MV_TAB_WHATIF] = MV_PANE_WHATIF,   [MV_TAB_LEDGER] = MV_PANE_TABLES};

    return panes[view->now->tab];
}

mv_pane mv_chrome_pane_at(const mv_view *view, float x, float y, mv_box *box)
{
    const mv_view_layout *l = &view->chrome->layout;

    if (!mv_view_device(view))
        return MV_PANE_NONE;
    if (mv_box_has(l->main, x, y)) {
        *box = l->main;
        return mv_chrome_main(view);
    }
    if (mv_box_has(l->minimap, x, y)) {
        *box = l->minimap;
        return MV_PANE_MINIMAP;
    }
    if (mv_box_has(l->lower, x, y)) {
        *box = l->lower;
        return mv_chrome_lower(view);
    }
    return MV_PANE_NONE;
}

bool mv_chrome_is_covered(const mv_view *view)
{
    return view->desk->has_help ||
           (view->desk->focus != MV_FOCUS_PANES && !mv_focus_is_inline(view->desk->focus));
}
