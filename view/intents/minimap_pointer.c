/* The pointer in the minimap. Below the allocator's state, it moves the cursor. Otherwise it drags
 * the timeline's window or one of the window's edges. A drag outside the window, or while
 * everything is shown, makes a new window. */
#include <math.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/timeline/plot.h"

enum { GRIP = 5, CLICK = 3 };

static void press(mv_view *view, const mv_viewport *at, const mv_input *input)
{
    mv_timeline_pane *pane = view->timeline;
    float x0 = mv_viewport_x(at, view->now->from), x1 = mv_viewport_x(at, view->now->to);
    float grip = mv_ui_px(&view->ui, GRIP);
    mv_drag *drag = &pane->drag;

    if (input->clicks >= 2) {
        mv_do_fit_all(view, 0);
        return;
    }
    mv_change_is(view, MV_STEPS_WINDOW);
    *drag = (mv_drag){.kind = MV_DRAG_WINDOW, .x = input->x, .y = input->y};
    if (fabsf(input->x - x0) <= grip && input->x - x0 < x1 - input->x)
        drag->kind = MV_DRAG_WINDOW_FROM;
    else if (fabsf(input->x - x1) <= grip)
        drag->kind = MV_DRAG_WINDOW_TO;
    else if (input->x < x0 || input->x > x1 ||
             (view->now->from <= 0 && view->now->to >= at->scale->events))
        drag->kind = MV_DRAG_WINDOW_NEW;
    drag->shown = (mv_stretch){view->now->from, view->now->to};
}

static void drag_window(mv_view *view, const mv_viewport *at, const mv_input *input)
{
    const mv_timescale *scale = at->scale;
    mv_drag *drag = &view->timeline->drag;
    double moved = (double)(input->x - drag->x) * at->dx;
    double x0 = mv_stretch_place(scale, drag->shown.from);
    double x1 = mv_stretch_place(scale, drag->shown.to);
    mv_stretch shown = drag->shown;

    if (drag->kind == MV_DRAG_WINDOW_NEW) {
        double a = mv_viewport_event(at, drag->x), b = mv_viewport_event(at, input->x);
        if (fabsf(input->x - drag->x) < mv_ui_px(&view->ui, CLICK))
            return;
        shown = (mv_stretch){fmin(a, b), fmax(a, b)};
    } else if (drag->kind == MV_DRAG_WINDOW)
        shown = mv_stretch_pan(scale, shown, moved / (x1 - x0));
    else if (drag->kind == MV_DRAG_WINDOW_FROM)
        shown.from = fmin(mv_stretch_event(scale, x0 + moved), shown.to);
    else
        shown.to = fmax(mv_stretch_event(scale, x1 + moved), shown.from);
    shown = mv_stretch_valid(scale, shown);
    mv_view_write(view)->from = shown.from;
    mv_view_write(view)->to = shown.to;
    view->timeline->jumps = true;
}

/* Moves the cursor. The allocator's state has no window that could be dragged. */
static bool scrub(mv_view *view, const mv_viewport *at, const mv_input *input)
{
    mv_drag *drag = &view->timeline->drag;

    switch ((mv_input_kind)input->kind) {
    case MV_INPUT_PRESS:
        if (input->button != MV_BUTTON_LEFT)
            return false;
        drag->kind = MV_DRAG_MOMENT;
        break;
    case MV_INPUT_MOVE:
        if (drag->kind != MV_DRAG_MOMENT)
            return false;
        break;
    case MV_INPUT_WHEEL:
        mv_change_is(view, MV_STEPS_EVENTS);
        mv_do_step(view, input->dy > 0 ? (uint64_t)-1 : 1);
        return true;
    default:
        drag->kind = MV_DRAG_NONE;
        return true;
    }
    mv_change_is(view, MV_STEPS_EVENTS);
    mv_view_write(view)->cursor = mv_viewport_moment(at, input->x);
    return true;
}

static bool is_window_drag(mv_drag_kind kind)
{
    return kind >= MV_DRAG_WINDOW && kind <= MV_DRAG_WINDOW_NEW;
}

bool mv_minimap_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    mv_timeline_pane *pane = view->timeline;
    mv_viewport at;

    if (!mv_view_device(view) || !mv_minimap_open(view, box, &at))
        return false;
    if (view->now->main == MV_MAIN_STATE)
        return scrub(view, &at, input);
    switch ((mv_input_kind)input->kind) {
    case MV_INPUT_PRESS:
        if (input->button == MV_BUTTON_LEFT)
            press(view, &at, input);
        return input->button == MV_BUTTON_LEFT;
    case MV_INPUT_MOVE:
        if (!is_window_drag(pane->drag.kind))
            return false;
        drag_window(view, &at, input);
        return true;
    case MV_INPUT_RELEASE:
    case MV_INPUT_LEAVE:
        if (is_window_drag(pane->drag.kind)) {
            /* a click outside the window moves the window there */
            const mv_drag *drag = &view->timeline->drag;
            float x0 = mv_viewport_x(&at, view->now->from), x1 = mv_viewport_x(&at, view->now->to);
            if (drag->kind == MV_DRAG_WINDOW_NEW && drag->shown.from == view->now->from &&
                drag->shown.to == view->now->to && input->kind == MV_INPUT_RELEASE)
                mv_timeline_pan(view, (double)((drag->x - (x0 + x1) / 2) / fmaxf(1, x1 - x0)));
            view->timeline->drag.kind = MV_DRAG_NONE;
        }
        return true;
    case MV_INPUT_WHEEL:
        mv_change_is(view, MV_STEPS_WINDOW);
        mv_timeline_zoom(view, 0.5, pow(1.25, (double)-input->dy));
        return true;
    default:
        return false;
    }
}
