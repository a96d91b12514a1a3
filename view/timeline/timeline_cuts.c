/* Pauses removed by the busy-time clock, painted as torn bands. The axis shows how long they
 * are. */
#include <math.h>

#include "view/timeline/plot.h"

enum { TOOTH = 5, LEAST = 3 };

static mv_box band_of(const mv_plot *p, const mv_time_cut *cut)
{
    float x0 = p->plot.x + (float)((cut->from - p->at.x) / p->at.dx);
    float x1 = p->plot.x + (float)((cut->to - p->at.x) / p->at.dx);

    x1 = fmaxf(x1, x0 + mv_ui_px(p->ui, LEAST));
    x0 = fmaxf(x0, p->plot.x);
    x1 = fminf(x1, p->plot.x + p->plot.w);
    return (mv_box){x0, p->plot.y, x1 - x0, p->plot.h};
}

/* Paints one edge of a band, which is a zigzag from top to bottom. */
static void torn_edge(mv_plot *p, float x)
{
    float tooth = mv_ui_px(p->ui, TOOTH), end = p->plot.y + p->plot.h;
    bool is_out = false;

    for (float y = p->plot.y; y < end + tooth; y += tooth, is_out = !is_out)
        mv_scene_point(&p->ui->scene, x + (is_out ? tooth / 2 : -tooth / 2), fminf(y, end));
    mv_scene_add(&p->ui->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                           .stroke = p->ui->theme->faint_text,
                                           .width = p->ui->scale});
}

void mv_plot_cuts(mv_plot *p)
{
    const mv_timescale *scale = &p->rows->scale;

    mv_scene_clip(&p->ui->scene, p->plot.x, p->plot.y, p->plot.w, p->plot.h);
    for (uint32_t i = 0; i < scale->cut_count; i++) {
        mv_box band = band_of(p, &scale->cuts[i]);
        if (band.w <= 0)
            continue;
        mv_ui_fill(p->ui, band, (p->ui->theme->background & ~0xffu) | 0xd0);
        torn_edge(p, band.x);
        torn_edge(p, band.x + band.w);
    }
    mv_scene_unclip(&p->ui->scene);
}

void mv_plot_keep_off_cuts(mv_plot *p)
{
    const mv_timescale *scale = &p->rows->scale;

    for (uint32_t i = 0; i < scale->cut_count; i++) {
        mv_box band = band_of(p, &scale->cuts[i]);
        if (band.w > 0)
            mv_callouts_take(&p->callouts, band);
    }
}
