/* Flags of bookmarks: on the time axis, and on the minimap. */
#include <math.h>
#include <string.h>

#include "view/timeline/plot.h"

enum { POLE = 12, CLOTH = 8, GRIP = 12 };

/* A flag with the foot of its pole at x, y; a click goes to its bookmark. */
static void flag(mv_view *view, float x, float y, uint32_t row)
{
    mv_ui *ui = &view->ui;
    float pole = mv_ui_px(ui, POLE), cloth = mv_ui_px(ui, CLOTH), grip = mv_ui_px(ui, GRIP);
    const char *tip = mv_scene_format(&ui->scene, "bookmark: %s", view->bookmarks->rows[row].name);

    x = roundf(x);
    mv_ui_fill(ui, (mv_box){x - 1, y - pole, mv_ui_px(ui, 2) + 1, pole}, ui->theme->background);
    mv_ui_fill(ui, (mv_box){x, y - pole, mv_ui_px(ui, 1), pole}, ui->theme->outline);
    mv_scene_point(&ui->scene, x, y - pole);
    mv_scene_point(&ui->scene, x + cloth, y - pole + cloth / 2);
    mv_scene_point(&ui->scene, x, y - pole + cloth);
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_POLYGON,
                                        .fill = ui->theme->outline,
                                        .stroke = ui->theme->background,
                                        .width = 1});
    mv_ui_zone(ui, (mv_box){x - 2, y - pole, grip, pole}, MV_DO_bookmark_go, row, tip);
}

void mv_bookmark_flags(mv_view *view, const mv_viewport *at, float y)
{
    const mv_bookmarks *all = view->bookmarks;

    for (uint32_t i = 0; i < all->count; i++) {
        const mv_bookmark *b = &all->rows[i];
        float x;
        if (b->file != view->now->file || b->device != view->now->device ||
            strcmp(b->level, view->now->level) != 0)
            continue;
        x = mv_viewport_x(at, b->cursor == MV_BEFORE ? 0 : b->cursor);
        if (x >= at->box.x && x < at->box.x + at->box.w)
            flag(view, x, y, i);
    }
}
