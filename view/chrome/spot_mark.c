/* Marks the zone that has the keyboard focus (view/state/spot.h). */
#include "view/chrome/chrome.h"

bool mv_spot_is_in_place(const mv_view *view, mv_window_part place, const mv_zone *zone)
{
    const mv_view_layout *l = &view->chrome->layout;
    float x = zone->box.x + zone->box.w / 2, y = zone->box.y + zone->box.h / 2;

    if (zone->command == MV_DO_NOTHING)
        return false;
    switch (place) {
    case MV_PART_TOOLBAR:
        return mv_box_has(l->toolbar, x, y) || mv_box_has(l->banner, x, y);
    case MV_PART_MAIN:
        return mv_box_has(l->main, x, y) || mv_box_has(l->minimap, x, y);
    case MV_PART_TABS:
        return mv_box_has(l->tabs, x, y);
    default:
        return mv_box_has(l->lower, x, y);
    }
}

mv_box mv_spot_place_box(const mv_view *view)
{
    const mv_view_layout *l = &view->chrome->layout;

    return view->spot.place == MV_PART_TOOLBAR ? l->toolbar
           : view->spot.place == MV_PART_MAIN  ? l->main
           : view->spot.place == MV_PART_TABS  ? l->tabs
                                               : l->lower;
}

const mv_zone *mv_spot_zone(const mv_view *view)
{
    const mv_spot *spot = &view->spot;
    uint32_t copy = 0;

    for (uint32_t i = 0; spot->command != MV_DO_NOTHING && i < view->ui.zone_count; i++) {
        const mv_zone *zone = &view->ui.zones[i];
        if (zone->command == spot->command && zone->arg == spot->arg && copy++ == spot->copy)
            return mv_spot_is_in_place(view, (mv_window_part)spot->place, zone) ? zone : NULL;
    }
    return NULL;
}

void mv_spot_paint(mv_view *view)
{
    const mv_zone *zone = mv_spot_zone(view);

    if (!view->spot.is_shown || mv_chrome_is_covered(view))
        return;
    if (zone)
        mv_ui_mark(&view->ui, zone->box);
    else if (view->spot.command == MV_DO_NOTHING && !view->spot.is_inside)
        mv_ui_mark(&view->ui, mv_spot_place_box(view));
}
