/* Zooms and pans the allocator's state, starting from what the last frame showed. */
#include <math.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"

enum { CLICK = 4 /* number of pixels that the pointer may move during a click */ };

/* Returns where the state was painted; NULL: it is not shown, or not ready. */
static const mv_state_place *place_of(const mv_view *view)
{
    return view->now->main == MV_MAIN_STATE && view->panels->heap_shown ? &view->panels->heap_place
                                                                        : NULL;
}

static void show(mv_view *view, mv_state_shown shown)
{
    mv_view_state *now = mv_view_write(view);

    now->heap_zoom = shown.zoom;
    now->heap_left = shown.left;
    now->heap_top = shown.top;
    now->heap_seen = now->cursor;
}

bool mv_heap_zoom(mv_view *view, double factor)
{
    const mv_state_place *p = place_of(view);
    float x = view->ui.pointer_x, y = view->ui.pointer_y;

    if (p && !mv_box_has(p->box, x, y)) {
        x = p->box.x + p->box.w / 2;
        y = p->box.y + p->box.h / 2;
    }
    if (p)
        show(view, mv_state_zoom(p, x, y, factor));
    return view->now->main == MV_MAIN_STATE;
}

bool mv_heap_pan(mv_view *view, double right, double down)
{
    const mv_state_place *p = place_of(view);

    if (p)
        show(view, mv_state_pan(p, (float)-right * p->box.w, (float)-down * p->box.h));
    return view->now->main == MV_MAIN_STATE;
}

bool mv_heap_fit_all(mv_view *view)
{
    if (view->now->main != MV_MAIN_STATE)
        return false;
    show(view, (mv_state_shown){0});
    return true;
}

/* Zooms to the marked hole. If there is none, zooms to the pinned block, or else to the pinned
 * segment. */
bool mv_heap_fit_selection(mv_view *view)
{
    const mv_state_place *p = place_of(view);
    const mv_view_state *now = view->now;
    const mv_lives *lives = &mv_view_device(view)->lives;
    uint64_t addr = 0, bytes = 0;
    uint32_t segment;

    if (now->main != MV_MAIN_STATE)
        return false;
    if (p && now->hole)
        bytes = mv_state_hole_at(&view->panels->heap_shown->heap.map, addr = now->hole);
    else if (now->pinned < lives->allocs.count) {
        addr = lives->allocs.addr[now->pinned];
        bytes = lives->allocs.block[now->pinned];
    } else if (now->pinned_segment < lives->segments.count) {
        addr = lives->segments.addr[now->pinned_segment];
        bytes = lives->segments.size[now->pinned_segment];
    }
    segment =
        p && bytes ? mv_state_segment_at(&view->panels->heap_shown->heap.map, addr) : MV_NO_ROW;
    if (segment == MV_NO_ROW)
        mv_view_say(view, false, "%s",
                    bytes ? "the pinned block is not in the heap at this moment"
                          : "nothing is selected: click a block first");
    else
        show(view, mv_state_fit(p, segment, addr - view->panels->heap_shown->heap.map.addr[segment],
                                bytes));
    return true;
}

void mv_heap_settle(mv_view *view)
{
    const mv_heap_answer *a = place_of(view) ? view->panels->heap_shown : NULL;

    if (!view->panels->fits_hole || !a || a->ask.device != mv_view_device(view) ||
        a->ask.event != view->now->cursor)
        return;
    view->panels->fits_hole = false;
    if (mv_state_hole_at(&a->heap.map, view->now->hole))
        mv_heap_fit_selection(view);
}

/* ---- the pointer ------------------------------------------------------------------------- */

static void click(mv_view *view, const mv_input *input)
{
    uint32_t alloc, segment;

    if (!mv_state_at(view, input->x, input->y, &alloc, &segment))
        return;
    if (alloc != MV_NO_ROW)
        mv_view_pin(view, alloc);
    else
        mv_view_write(view)->pinned = MV_NO_ROW;
    mv_view_write(view)->pinned_segment = segment;
    mv_view_write(view)->hole = 0;
    mv_view_write(view)->tab = MV_TAB_DETAILS;
}

static bool move(mv_view *view, const mv_input *input)
{
    mv_heap_drag *drag = &view->panels->heap_drag;
    const mv_state_place *p = place_of(view);
    float dx = input->x - drag->x, dy = input->y - drag->y;

    if (!drag->is_pressed || !p)
        return false;
    drag->is_moving |= fabsf(dx) + fabsf(dy) >= mv_ui_px(&view->ui, CLICK);
    if (!drag->is_moving)
        return true;
    mv_change_is(view, MV_STEPS_WINDOW);
    show(view, mv_state_pan(p, dx, dy));
    drag->x = input->x;
    drag->y = input->y;
    return true;
}

static bool turn_wheel(mv_view *view, const mv_input *input)
{
    double notch = 0.1;

    if (mv_box_has(view->panels->heap_events, input->x, input->y)) {
        mv_change_is(view, MV_STEPS_EVENTS);
        mv_do_step(view, input->dy > 0 ? (uint64_t)-1 : 1);
        return true;
    }
    mv_change_is(view, MV_STEPS_WINDOW);
    if (input->dx != 0)
        mv_heap_pan(view, notch * (double)input->dx, 0);
    if (input->dy != 0 && input->mods & MV_MOD_SHIFT)
        mv_heap_pan(view, 0, -notch * (double)input->dy);
    else if (input->dy != 0)
        mv_heap_zoom(view, pow(1.25, (double)input->dy));
    return true;
}

bool mv_state_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    mv_heap_drag *drag = &view->panels->heap_drag;
    bool was_click = drag->is_pressed && !drag->is_moving;

    (void)box;
    switch ((mv_input_kind)input->kind) {
    case MV_INPUT_WHEEL:
        return turn_wheel(view, input);
    case MV_INPUT_PRESS:
        if (input->button == MV_BUTTON_RIGHT)
            return false;
        *drag = (mv_heap_drag){.is_pressed = true, .x = input->x, .y = input->y};
        if (input->button == MV_BUTTON_LEFT && input->clicks >= 2)
            mv_heap_fit_selection(view);
        return true;
    case MV_INPUT_MOVE:
        return move(view, input);
    case MV_INPUT_RELEASE:
        *drag = (mv_heap_drag){0};
        if (was_click && input->button == MV_BUTTON_LEFT)
            click(view, input);
        return true;
    case MV_INPUT_LEAVE:
        *drag = (mv_heap_drag){0};
        return true;
    default:
        return false;
    }
}
