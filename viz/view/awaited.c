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

/* ---- panels ---- */
bool mv_panels_open(mv_view *view)
{
    return view != NULL;
}
void mv_panels_close(mv_view *view)
{
    (void)view;
}
const mv_pane mv_pane_state = {blank, NULL};
const mv_pane mv_pane_flame = {blank, NULL};
const mv_pane mv_pane_tables = {blank, NULL};
const mv_pane mv_pane_details = {blank, NULL};
const mv_pane mv_pane_reports = {blank, NULL};
const char *mv_tables_text(mv_view *view, mv_arena *arena)
{
    (void)view;
    (void)arena;
    return NULL;
}
AWAITED(flame_source)
AWAITED(flame_weight)
AWAITED(flame_invert)
AWAITED(flame_focus)
AWAITED(table_kind)
AWAITED(table_sort)
AWAITED(table_row)
AWAITED(table_copy)
AWAITED(report_row)
AWAITED(history_row)
AWAITED(state_layout)

/* ---- chrome ---- */
#include "viz/view/chrome.h"
float mv_toolbar_height(const mv_view *view, float width)
{
    return width > 0 ? 36 * view->ui.scale : 0;
}
void mv_toolbar_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
void mv_legend_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
void mv_tabs_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
void mv_status_bar_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
bool mv_loading_paint(mv_view *view, mv_box box)
{
    blank(view, box);
    return mv_view_device(view) == NULL;
}
const mv_document *mv_loading_failure(const mv_view *view)
{
    (void)view;
    return NULL;
}
void mv_loading_banner(mv_view *view, mv_box box)
{
    blank(view, box);
}
void mv_help_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
void mv_command_list_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
bool mv_command_list_input(mv_view *view, const mv_input *input)
{
    return view->has_help && input->key;
}
void mv_device_list_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
bool mv_device_list_input(mv_view *view, const mv_input *input)
{
    return view->has_help && input->key;
}
void mv_open_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
void mv_export_paint(mv_view *view, mv_box box)
{
    blank(view, box);
}
void mv_search_paint(mv_view *view)
{
    blank(view, view->main_box);
}
bool mv_chrome_list_input(mv_view *view, const mv_input *input, uint32_t count, uint32_t shown)
{
    return view->has_help && input->key && count && shown;
}
bool mv_export_write(mv_view *view, const char *path)
{
    return view->has_help && path;
}
void mv_chrome_focus(mv_view *view, mv_focus focus)
{
    view->focus = focus;
}
AWAITED(show_timeline)
AWAITED(show_segments)
AWAITED(show_state)
AWAITED(show_flame)
AWAITED(show_tables)
AWAITED(show_details)
AWAITED(show_reports)
AWAITED(next_focus)
AWAITED(theme)
AWAITED(next_device)
AWAITED(previous_device)
AWAITED(choose_device)
AWAITED(compare)
AWAITED(search)
AWAITED(highlight)
AWAITED(isolate)
AWAITED(copy_stack)
AWAITED(copy_command)
AWAITED(export_view)
AWAITED(open_file)
AWAITED(palette)
AWAITED(help)
AWAITED(larger)
AWAITED(smaller)
AWAITED(cancel)
AWAITED(quit)
