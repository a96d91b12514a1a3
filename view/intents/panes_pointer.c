/* The pointer in the panes next to the timeline. */
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"

bool mv_flame_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    uint32_t node;

    if (input->kind == MV_INPUT_KEY)
        return mv_flame_key(view, input);
    if (mv_panel_wheel(input, &mv_view_write_desk(view)->flame_scroll))
        return true;
    if (input->kind != MV_INPUT_PRESS || input->button != MV_BUTTON_LEFT)
        return false;
    node = mv_flame_at(view, box, input->x, input->y);
    return node != MV_NO_ROW && mv_view_do(view, MV_DO_flame_focus, node);
}

bool mv_tables_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    mv_view_desk *desk = mv_view_write_desk(view);

    (void)box;
    return mv_panel_wheel(input, view->now->tab == MV_TAB_LEDGER
                                     ? &desk->ledger_scroll
                                     : &desk->table_scroll[view->now->table_kind]);
}

bool mv_details_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    (void)box;
    return mv_panel_wheel(input, &mv_view_write_desk(view)->details_scroll);
}

bool mv_reports_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    (void)box;
    return mv_panel_wheel(input, &mv_view_write_desk(view)->report_scroll);
}

bool mv_whatif_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    (void)box;
    return mv_panel_wheel(input, &mv_view_write_desk(view)->whatif_scroll);
}
