/* Notes: flags on the time axis and on the minimap, and the text of notes in the plot. */
#include <math.h>

#include "view/timeline/plot.h"
#include "viz/scene/distinct_texts.h"

enum { POLE = 12, CLOTH = 8, GRIP = 12, TIP_LINE = 60, TEXT = 320, BRIEF = 110 };

/* Paints a flag whose pole stands at x, y. A click goes to its bookmark. */
static void flag(mv_view *view, float x, float y, uint32_t row)
{
    mv_ui *ui = &view->ui;
    float pole = mv_ui_px(ui, POLE), cloth = mv_ui_px(ui, CLOTH), grip = mv_ui_px(ui, GRIP);
    const char *tip = mv_ui_broken(ui, view->bookmarks->rows[row].name, TIP_LINE);

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

/* Finds the x of a note on the shown device. Returns false if the note is not in the window. */
static bool x_of(const mv_view *view, const mv_viewport *at, const mv_bookmark *b, float *x)
{
    *x = mv_viewport_x(at, b->cursor == MV_BEFORE ? 0 : b->cursor);
    return b->file == view->now->file && b->device == view->now->device &&
           strcmp(b->level, view->now->level) == 0 && *x >= at->box.x && *x < at->box.x + at->box.w;
}

void mv_bookmark_flags(mv_view *view, const mv_viewport *at, float y)
{
    float x;

    for (uint32_t i = 0; i < view->bookmarks->count; i++)
        if (x_of(view, at, &view->bookmarks->rows[i], &x))
            flag(view, x, y, i);
}

void mv_plot_notes(mv_plot *p)
{
    const mv_bookmarks *all = p->view->bookmarks;
    float size = MV_UI_SMALL * p->ui->scale, x;

    for (uint32_t i = 0; i < all->count && !p->view->sheet; i++) {
        const mv_bookmark *b = &all->rows[i];
        mv_scene *scene = &p->ui->scene;
        mv_levels levels;
        if (!x_of(p->view, &p->at, b, &x))
            continue;
        levels = mv_pyramid_at(p->levels, b->cursor);
        mv_plot_callout(
            p, x,
            mv_viewport_y(&p->at, (double)(p->of_segments ? levels.reserved : levels.allocated)),
            p->ui->theme->text, mv_text_fit(scene, b->name, size, mv_ui_px(p->ui, TEXT)),
            mv_text_fit(scene, b->name, size, mv_ui_px(p->ui, BRIEF)));
    }
}
