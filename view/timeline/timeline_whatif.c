/* The levels of a run that is replayed with other settings or code changes (the What-if tab), drawn
 * over the recorded levels. */
#include <math.h>

#include "base/size.h"
#include "view/timeline/plot.h"

/* Returns the replay of the shown rows; NULL: nothing is ticked, or the replay is not ready. */
static const mv_whatif_answer *shown(const mv_plot *p)
{
    const mv_whatif_answer *a = p->view->whatif;

    return a && a->has_run && *p->view->now->whatif && !p->of_pools && !p->of_ranks &&
                   !p->rows->only && p->lives->events.count
               ? a
               : NULL;
}

uint64_t mv_plot_whatif_most(const mv_plot *p, mv_stretch window)
{
    const mv_whatif_answer *a = shown(p);
    mv_levels most;

    return a && mv_whatif_most(a, (uint32_t)window.from, (uint32_t)ceil(window.to), &most)
               ? most.reserved
               : 0;
}

/* Finds the levels of each pixel column. Returns false when out of memory. */
static bool find_columns(const mv_plot *p, const mv_whatif_answer *a, mv_envelope *out)
{
    *out = (mv_envelope){.at = p->at, .count = (uint32_t)p->plot.w};
    out->columns = mv_push_array(p->ui->frame, mv_extent, out->count);
    for (uint32_t c = 0; out->columns && c < out->count; c++, out->end = c) {
        mv_window moments = mv_viewport_column(&p->at, c);
        if (!mv_whatif_most(a, moments.first, moments.end, &out->columns[c].most))
            break;
    }
    return out->columns != NULL;
}

void mv_plot_whatif(mv_plot *p)
{
    const mv_whatif_answer *a = shown(p);
    float unit = p->ui->scale;
    mv_shape border = {.stroke = p->ui->theme->plot, .width = 4.4f * unit};
    mv_shape shape = {.stroke = p->ui->theme->replayed, .width = 2 * unit};
    mv_envelope e;

    if (!a || !find_columns(p, a, &e))
        return;
    mv_curve_paint(p->ui, &p->at, &e, MV_ALLOCATED, border);
    mv_curve_paint(p->ui, &p->at, &e, MV_ALLOCATED, shape);
    shape.is_dashed = true;
    mv_curve_paint(p->ui, &p->at, &e, MV_RESERVED, shape);
}

static void key_line(mv_plot *p, mv_box *box, bool is_dashed, const char *name, uint64_t peak)
{
    mv_box before = *box;
    char size[MV_SIZE_TEXT];

    mv_plot_key_line(
        p, box, p->ui->theme->replayed, is_dashed,
        mv_scene_format(&p->ui->scene, "what if: %s, peak %s", name, mv_size_text(size, peak)));
    before.h = fmaxf(0, box->y - before.y);
    if (p->legend_columns <= 1)
        mv_ui_zone(p->ui, before, MV_DO_show_whatif, 0, NULL);
}

void mv_plot_whatif_key(mv_plot *p, mv_box *box)
{
    const mv_whatif_answer *a = shown(p);

    if (!a)
        return;
    key_line(p, box, false, "allocated", a->trial.result.peak.allocated);
    key_line(p, box, true, "reserved", a->trial.result.peak.reserved);
}

const char *mv_plot_whatif_tip(const mv_plot *p, uint32_t event)
{
    const mv_whatif_answer *a = shown(p);
    char reserved[MV_SIZE_TEXT], allocated[MV_SIZE_TEXT];
    mv_levels most;

    if (!a || event == MV_BEFORE || !mv_whatif_most(a, event, event + 1, &most))
        return NULL;
    return mv_scene_format(&p->ui->scene, "what if: %s allocated, %s reserved%s",
                           mv_size_text(allocated, most.allocated),
                           mv_size_text(reserved, most.reserved),
                           a->curve.step > 1 ? " at most near here" : "");
}
