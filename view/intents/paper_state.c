/* Sets the state of a view that paints a printed frame, from the frame's sheet. */
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/timeline/plot.h"

/* Returns the event after which most bytes are allocated, which the legend counts. */
static uint32_t highest_moment(mv_view *view)
{
    mv_window window = view->sheet->opts.window;
    mv_box any = {0, 0, 1000, 1000};
    mv_extent most;
    mv_plot p;

    mv_search_update(view);
    if (!mv_plot_open(&p, view, any))
        return MV_BEFORE;
    most = mv_pyramid_range(p.levels, window.first == 0 ? MV_BEFORE : window.first, window.end);
    return p.of_segments ? most.reserved_event : most.allocated_event;
}

void mv_view_begin_paper(mv_view *view)
{
    mv_view_state *now = mv_view_write(view);
    const mv_paper_sheet *sheet = view->sheet;

    mv_view_choose(view, 0, 0);
    now->main = sheet->main;
    now->show = sheet->opts.only ? MV_SHOW_ISOLATE : MV_SHOW_ALL;
    now->cursor = sheet->opts.event;
    if (sheet->opts.window.end > sheet->opts.window.first) {
        now->from = sheet->opts.window.first;
        now->to = sheet->opts.window.end;
    }
    if (!sheet->is_of_moment)
        now->cursor = highest_moment(view);
}
