/* Parts of the viewer that others are landing: each part is deleted here by whoever lands it. */
#include "viz/view/panes.h"

/* ---- timeline ---- */
static void blank(mv_view *view, mv_box box)
{
    (void)view;
    (void)box;
}
bool mv_timeline_pane_open(mv_view *view)
{
    return view != NULL;
}
void mv_timeline_pane_close(mv_view *view)
{
    (void)view;
}
const mv_pane mv_pane_timeline = {blank, NULL};
const mv_pane mv_pane_minimap = {blank, NULL};
#define AWAITED(name)                              \
    void mv_do_##name(mv_view *view, uint64_t arg) \
    {                                              \
        (void)view;                                \
        (void)arg;                                 \
    }
AWAITED(zoom_in)
AWAITED(zoom_out)
AWAITED(zoom_in_y)
AWAITED(zoom_out_y)
AWAITED(pan_left)
AWAITED(pan_right)
AWAITED(fit_all)
AWAITED(fit_selection)
AWAITED(zoom_interval)
AWAITED(interval_of_pin)
AWAITED(fit_height)
AWAITED(next_clock)
AWAITED(event_back)
AWAITED(event_on)
AWAITED(event_far_back)
AWAITED(event_far_on)
AWAITED(peak_in_view)
AWAITED(peak)
AWAITED(mark_back)
AWAITED(mark_on)
AWAITED(oom_on)
AWAITED(oom_back)
AWAITED(to_alloc)
AWAITED(to_free)
AWAITED(next_colour)
AWAITED(go_to_event)
AWAITED(pin)
