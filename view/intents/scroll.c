/* Scroll positions of lists. A frame is painted from a copy of the positions in the panes. Painting
 * keeps this copy in range, and scrolls it to a row if necessary. Afterwards the copy is stored in
 * the state, so painting itself does not change the state. */

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"
#include "view/timeline/pane_ranks.h"

void mv_scroll_show(mv_view *view)
{
    const mv_view_desk *desk = view->desk;
    mv_panels *p = view->panels;

    p->flame_first = desk->flame_scroll;
    p->details_first = desk->details_scroll;
    p->report_first = desk->report_scroll;
    p->whatif_first = desk->whatif_scroll;
    p->table_cursor = desk->table_cursor;
    memcpy(p->table_first, desk->table_scroll, sizeof desk->table_scroll);
    p->table_first[MV_LISTING_LEDGER] = desk->ledger_scroll;
    view->timeline->ranks->first = desk->ranks_scroll;
}

void mv_scroll_keep(mv_view *view)
{
    mv_view_desk *desk = mv_view_write_desk(view);
    const mv_panels *p = view->panels;

    desk->flame_scroll = p->flame_first;
    desk->details_scroll = p->details_first;
    desk->report_scroll = p->report_first;
    desk->whatif_scroll = p->whatif_first;
    desk->table_cursor = p->table_cursor;
    memcpy(desk->table_scroll, p->table_first, sizeof desk->table_scroll);
    desk->ledger_scroll = p->table_first[MV_LISTING_LEDGER];
    desk->ranks_scroll = view->timeline->ranks->first;
}
