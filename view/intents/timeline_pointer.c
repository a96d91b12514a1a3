/* The pointer in the timeline pane. Clicks pin allocations, drags select, pan and scrub, and the
 * wheel zooms. */
#include <math.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/timeline/plot.h"

enum { GRIP = 5, CLICK = 4 /* number of pixels that the pointer may move during a click */ };

/* Returns the border between two events that is nearest to x. */
static uint32_t border_at(const mv_plot *p, float x)
{
    double event = round(mv_viewport_event(&p->at, x));

    return (uint32_t)fmin(fmax(event, 0), p->lives->events.count);
}

static void set_interval(mv_view *view, uint32_t a, uint32_t b)
{
    if (!view->now->has_interval && a != b)
        mv_view_show_interval(view);
    mv_view_write(view)->has_interval = a != b;
    mv_view_write(view)->a = a < b ? a : b;
    mv_view_write(view)->b = a < b ? b : a;
}

static void pin(mv_plot *p, uint32_t rank, uint32_t event)
{
    mv_view *view = p->view;

    if (p->of_segments) {
        mv_view_write(view)->pinned = MV_NO_ROW;
        mv_view_write(view)->pinned_segment = p->lives->allocs.segment[rank];
        mv_view_write(view)->cursor = event;
        mv_view_write(view)->tab = MV_TAB_DETAILS;
        return;
    }
    mv_view_write(view)->cursor = event;
    mv_view_point(view, rank);
}

static void click(mv_plot *p, const mv_input *input)
{
    mv_view *view = p->view;
    bool had_interval = view->now->has_interval;
    uint32_t event;
    mv_hit hit;

    if (!mv_plot_hit(p, input->x, input->y, &event, &hit))
        return;
    if (view->now->has_interval &&
        (border_at(p, input->x) < view->now->a || border_at(p, input->x) > view->now->b))
        mv_view_write(view)->has_interval = false;
    if (hit.rank != MV_NO_ROW) {
        pin(p, hit.rank, event);
        return;
    }
    if (view->now->has_interval == had_interval)
        mv_change_is(view, MV_STEPS_EVENTS);
    mv_view_write(view)->cursor = event;
}

static bool is_near(const mv_plot *p, float x, uint32_t event)
{
    return fabsf(mv_viewport_x(&p->at, event) - x) <= mv_ui_px(p->ui, GRIP);
}

static bool is_on_edge(const mv_plot *p, float x, float y)
{
    float grip = mv_ui_px(p->ui, GRIP);

    return p->legend.w > 0 && !p->is_legend_below && y >= p->legend.y &&
           y < p->legend.y + p->legend.h && x >= p->legend.x - 2 * grip && x < p->legend.x;
}

static void widen_legend(mv_plot *p, const mv_input *input)
{
    float right = p->legend.x + p->legend.w + mv_ui_px(p->ui, MV_UI_PAD);
    float width = (right - input->x) / p->ui->scale;

    mv_view_write_desk(p->view)->legend_width = (double)fminf(fmaxf(width, 1), 4000);
}

static mv_drag_kind drag_at(const mv_plot *p, const mv_input *input, mv_drag *drag)
{
    const mv_view_state *now = p->view->now;

    if (is_on_edge(p, input->x, input->y))
        return MV_DRAG_LEGEND;
    if (mv_box_has(p->ruler, input->x, input->y))
        return MV_DRAG_SCRUB;
    if (!mv_box_has(p->plot, input->x, input->y))
        return MV_DRAG_NONE;
    if (input->button == MV_BUTTON_MIDDLE || input->mods & MV_MOD_SHIFT)
        return MV_DRAG_PAN;
    if (now->has_interval && is_near(p, input->x, now->a)) {
        drag->other_end = now->b;
        return MV_DRAG_INTERVAL;
    }
    if (now->has_interval && is_near(p, input->x, now->b)) {
        drag->other_end = now->a;
        return MV_DRAG_INTERVAL;
    }
    drag->other_end = border_at(p, input->x);
    return MV_DRAG_PRESSED;
}

static void scrub(mv_plot *p, const mv_input *input)
{
    float x = fminf(fmaxf(input->x, p->plot.x), p->plot.x + p->plot.w - 1);

    mv_view_write(p->view)->cursor = mv_viewport_moment(&p->at, x);
}

static void press(mv_plot *p, const mv_input *input)
{
    mv_drag *drag = &p->pane->drag;

    if (input->button == MV_BUTTON_RIGHT)
        return;
    *drag = (mv_drag){.x = input->x,
                      .y = input->y,
                      .shown = {p->view->now->from, p->view->now->to},
                      .y_from = p->pane->goal_y_from,
                      .y_to = p->pane->goal_y_to};
    drag->kind = drag_at(p, input, drag);
    if (drag->kind == MV_DRAG_PAN)
        mv_change_is(p->view, MV_STEPS_WINDOW);
    if (drag->kind == MV_DRAG_SCRUB) {
        mv_change_is(p->view, MV_STEPS_EVENTS);
        scrub(p, input);
    }
    if (drag->kind == MV_DRAG_PRESSED && input->clicks >= 2) {
        click(p, input);
        p->pane->is_fitted = false;
        drag->kind = MV_DRAG_NONE;
        mv_do_fit_selection(p->view, 0);
    }
}

static void pan(mv_plot *p, const mv_input *input)
{
    const mv_drag *drag = &p->pane->drag;
    double by = -(double)((input->x - drag->x) / p->plot.w);
    double up = (double)((input->y - drag->y) / p->plot.h) * (drag->y_to - drag->y_from);
    mv_stretch shown = mv_stretch_pan(&p->rows->scale, drag->shown, by);

    mv_view_write(p->view)->from = shown.from;
    mv_view_write(p->view)->to = shown.to;
    p->pane->jumps = true;
    if (p->view->now->fits_height)
        return;
    up = fmax(up, -drag->y_from);
    mv_timeline_show_bytes(p->view, drag->y_from + up, drag->y_to + up);
}

static bool drag_on(mv_plot *p, const mv_input *input)
{
    mv_drag *drag = &p->pane->drag;

    switch (drag->kind) {
    case MV_DRAG_PRESSED:
        if (fabsf(input->x - drag->x) < mv_ui_px(p->ui, CLICK))
            return true;
        drag->kind = MV_DRAG_INTERVAL;
        mv_view_write(p->view)->has_interval = false;
        set_interval(p->view, drag->other_end, border_at(p, input->x));
        return true;
    case MV_DRAG_INTERVAL:
        set_interval(p->view, drag->other_end, border_at(p, input->x));
        return true;
    case MV_DRAG_PAN:
        pan(p, input);
        return true;
    case MV_DRAG_SCRUB:
        scrub(p, input);
        return true;
    case MV_DRAG_LEGEND:
        widen_legend(p, input);
        return true;
    default:
        return false;
    }
}

static bool turn_wheel(mv_plot *p, const mv_input *input)
{
    double share = (double)((input->x - p->plot.x) / p->plot.w);
    double height = (double)((p->plot.y + p->plot.h - input->y) / p->plot.h);

    mv_change_is(p->view, MV_STEPS_WINDOW);
    share = fmin(fmax(share, 0), 1);
    if (input->dx != 0)
        mv_timeline_pan(p->view, 0.1 * (double)input->dx);
    if (input->dy != 0 && input->mods & MV_MOD_SHIFT)
        mv_timeline_zoom_y(p->view, fmin(fmax(height, 0), 1), pow(1.25, (double)-input->dy));
    else if (input->dy != 0)
        mv_timeline_zoom(p->view, share, pow(1.25, (double)-input->dy));
    return true;
}

bool mv_timeline_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    mv_drag *drag = &view->timeline->drag;
    bool was_pressed = drag->kind == MV_DRAG_PRESSED;
    mv_plot p;

    if (!mv_plot_open(&p, view, box) || !view->timeline->has_viewport)
        return false;
    mv_plot_look(&p);
    switch ((mv_input_kind)input->kind) {
    case MV_INPUT_PRESS:
        press(&p, input);
        return drag->kind != MV_DRAG_NONE;
    case MV_INPUT_MOVE:
        return drag_on(&p, input);
    case MV_INPUT_RELEASE:
        drag->kind = MV_DRAG_NONE;
        if (was_pressed)
            click(&p, input);
        return true;
    case MV_INPUT_LEAVE:
        drag->kind = MV_DRAG_NONE;
        return true;
    case MV_INPUT_WHEEL:
        return turn_wheel(&p, input);
    default:
        return false;
    }
}
