/* The whole trace at a glance, with a frame around the shown window. Dragging moves the window, its
 * edges resize it, and a double-click shows everything. */
#include <math.h>

#include "view/timeline/hit_ticks.h"
#include "view/timeline/plot.h"

/* Whether a plot over time is shown above the minimap. If so, the pane's data belongs to the
 * current frame. */
static bool is_below_plot(const mv_view *view)
{
    return view->timeline->has_viewport && view->now->main != MV_MAIN_STATE;
}

/* Finds the viewport of the minimap, which has the same clock as the plot above it, and shows the
 * whole trace. */
bool mv_minimap_open(mv_view *view, mv_box box, mv_viewport *out)
{
    const mv_timeline_rows *rows = mv_timeline_rows_of(view, view->now->main == MV_MAIN_SEGMENTS);
    const mv_document_device *d = mv_view_device(view);
    float pad = mv_ui_px(&view->ui, 2);
    mv_extent all;
    uint64_t most;

    if (!rows || box.w < 4 || box.h < 4)
        return false;
    if (is_below_plot(view)) {
        box.x = view->timeline->plot.x;
        box.w = view->timeline->plot.w;
    }
    box = (mv_box){roundf(box.x), roundf(box.y + pad), floorf(box.w), floorf(box.h - 2 * pad)};
    all = mv_pyramid_range(&view->levels, MV_BEFORE, d->lives.events.count);
    most = all.most.reserved > all.most.allocated ? all.most.reserved : all.most.allocated;
    *out = mv_viewport_make(&rows->scale, box, (mv_stretch){0, rows->scale.events}, 0,
                            (double)most * 1.05);
    return true;
}

static void area(mv_view *view, const mv_viewport *at, bool is_reserved, uint32_t fill)
{
    const mv_envelope *e = &view->timeline->whole;
    mv_scene *scene = &view->ui.scene;
    float bottom = at->box.y + at->box.h;

    for (uint32_t c = 0; c < e->count; c++) {
        const mv_levels *most = &e->columns[c].most;
        float y = mv_viewport_y(at, (double)(is_reserved ? most->reserved : most->allocated));
        float x = at->box.x + (float)c;
        mv_scene_point(scene, x, y);
        mv_scene_point(scene, x, bottom);
        if (c + 1 == e->count) {
            mv_scene_point(scene, x + 1, y);
            mv_scene_point(scene, x + 1, bottom);
        }
    }
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = fill});
}

static void window_box(mv_view *view, const mv_viewport *at)
{
    mv_ui *ui = &view->ui;
    uint32_t veil = (ui->theme->background & ~0xffu) | 0xb0;
    mv_stretch shown =
        is_below_plot(view) ? view->timeline->shown : (mv_stretch){view->now->from, view->now->to};
    float x0 = roundf(mv_viewport_x(at, shown.from)), x1 = roundf(mv_viewport_x(at, shown.to));
    float right = at->box.x + at->box.w;
    mv_box box;

    x0 = fminf(fmaxf(x0, at->box.x), right - 2);
    x1 = fminf(fmaxf(x1, x0 + 2), right);
    box = (mv_box){x0, at->box.y, x1 - x0, at->box.h};
    mv_ui_fill(ui, (mv_box){at->box.x, at->box.y, x0 - at->box.x, at->box.h}, veil);
    mv_ui_fill(ui, (mv_box){x1, at->box.y, right - x1, at->box.h}, veil);
    mv_ui_frame(ui, box, ui->theme->outline);
    box.w = 3;
    mv_ui_fill(ui, box, ui->theme->outline);
    box.x = x1 - 3;
    mv_ui_fill(ui, box, ui->theme->outline);
}

static void ticks(mv_view *view, const mv_viewport *at)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_trace_marks *l = &d->trace_marks;
    float last = -2;

    for (uint32_t i = 0; i < l->oom_count; i++) {
        float x = mv_viewport_x(at, l->ooms[i]);
        if (x < last + 1)
            continue;
        last = x;
        mv_ui_fill(&view->ui, (mv_box){x, at->box.y, 2, at->box.h}, view->ui.theme->alarm);
    }
    if (view->now->cursor != MV_BEFORE && view->now->main == MV_MAIN_STATE)
        mv_ui_fill(
            &view->ui,
            (mv_box){roundf(mv_viewport_x(at, view->now->cursor)) - 1, at->box.y, 3, at->box.h},
            view->ui.theme->outline);
    else if (view->now->cursor != MV_BEFORE)
        mv_ui_fill(&view->ui,
                   (mv_box){mv_viewport_x(at, view->now->cursor), at->box.y, 1, at->box.h},
                   view->ui.theme->reserved);
    if (view->now->has_interval) {
        float x0 = mv_viewport_x(at, view->now->a), x1 = mv_viewport_x(at, view->now->b);
        mv_ui_fill(&view->ui, (mv_box){x0, at->box.y + at->box.h - 3, fmaxf(2, x1 - x0), 3},
                   view->ui.theme->outline);
    }
}

void mv_minimap_paint(mv_view *view, mv_box box)
{
    mv_timeline_pane *pane = view->timeline;
    mv_viewport at;

    mv_ui_fill(&view->ui, box, view->ui.theme->background);
    if (!mv_view_device(view) || !mv_minimap_open(view, box, &at))
        return;
    pane->map_at = at;
    mv_ui_fill(&view->ui, at.box, view->ui.theme->plot);
    if (!mv_envelope_find(pane, &pane->whole, &view->levels, at, NULL,
                          view->opts.is_threaded ? MV_EXACT_COLUMNS : UINT32_MAX))
        view->ui.is_animating = true;
    area(view, &at, true, (view->ui.theme->reserved & ~0xffu) | 0x50);
    area(view, &at, false, mv_site_colour(0));
    ticks(view, &at);
    mv_hit_ticks(view, &at, (mv_box){at.box.x, at.box.y, at.box.w, mv_ui_px(&view->ui, 6)});
    if (view->now->main != MV_MAIN_STATE)
        window_box(view, &at);
    mv_ui_zone(
        &view->ui, box, MV_DO_NOTHING, 0,
        pane->drag.kind != MV_DRAG_NONE ? ""
        : view->now->main == MV_MAIN_STATE
            ? "Click or drag: the state at that moment; wheel: event by event"
            : "Drag the window, or its edges; outside: a new window; double-click: everything");
    mv_bookmark_flags(view, &at, at.box.y + mv_ui_px(&view->ui, 12));
}
