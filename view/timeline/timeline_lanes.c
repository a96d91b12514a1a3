/* Lanes above the plot: the program's annotations, its steps, and spikes that are too short to be
 * visible in the plot. */
#include <math.h>

#include "base/size.h"
#include "view/timeline/plot.h"
#include "viz/scene/axis.h"
#include "viz/scene/heading.h"

enum { LANE_HEIGHT = 15 };

float mv_lanes_height(const mv_ui *ui, const mv_mark_lanes *marks)
{
    return marks ? mv_ui_px(ui, LANE_HEIGHT) * (float)marks->count : 0;
}

static const char *row_name(mv_plot *p, const mv_lane *lane, uint32_t row)
{
    if (lane->rows[row].name.row == MV_NO_ROW)
        return mv_scene_format(&p->ui->scene, "step %s", mv_scene_count(&p->ui->scene, row + 1));
    return mv_string_text(p->trace, lane->rows[row].name);
}

static const char *row_tip(mv_plot *p, const mv_lane *lane, uint32_t row)
{
    const mv_lane_row *r = &lane->rows[row];
    char from[MV_TICK_TEXT], to[MV_TICK_TEXT];
    const char *name = row_name(p, lane, row);

    mv_axis_exact(r->from, from);
    mv_axis_exact(r->to, to);
    if (r->from == r->to)
        return mv_scene_format(&p->ui->scene, "%.300s: before event %s", name, from);
    return mv_scene_format(&p->ui->scene, "%.300s: events %s to %s%s", name, from, to,
                           p->view->sheet ? "" : "; click to select them");
}

/* Paints a name. If it does not fit, a tooltip shows it. */
static void paint_name(mv_plot *p, const mv_lane *lane, uint32_t row, mv_box box, float end)
{
    const mv_lane_row *r = &lane->rows[row];
    const char *name = row_name(p, lane, row);
    bool is_hot = mv_ui_is_hot(p->ui, box);
    float width = mv_ui_text_width(p->ui, MV_UI_SMALL, name), right = p->plot.x + p->plot.w;
    mv_box text = {box.x + 3, box.y, box.w - 5, box.h};

    if (r->from == r->to) {
        float next = row + 1 < lane->count ? mv_viewport_x(&p->at, r[1].from) : right;
        text = (mv_box){end + 3, box.y, fminf(next, right) - end - 6, box.h};
    }
    if (width > text.w && (r->name.row == MV_NO_ROW || text.w < mv_ui_px(p->ui, 60)))
        return;
    mv_ui_text(p->ui, text, MV_UI_SMALL,
               is_hot && r->from != r->to ? p->ui->theme->plot : p->ui->theme->text,
               MV_ANCHOR_START, name);
}

/* Paints a row. Returns the least x of the next row, because rows narrower than a pixel are
 * skipped. */
static float paint_row(mv_plot *p, const mv_lane *lane, uint32_t row, mv_box lane_box)
{
    const mv_lane_row *r = &lane->rows[row];
    const mv_theme *theme = p->ui->theme;
    float left = p->plot.x, right = p->plot.x + p->plot.w;
    float x0 = fmaxf(left, mv_viewport_x(&p->at, r->from));
    float x1 = fminf(right, mv_viewport_x(&p->at, r->to));
    mv_box box = {roundf(x0), lane_box.y, 0, lane_box.h - 2};
    bool is_hot;

    if (r->from == r->to)
        x1 = x0 + mv_ui_px(p->ui, 2);
    box.w = fmaxf(1, roundf(x1) - box.x - (x1 - x0 > 4 ? 1 : 0));
    is_hot = mv_ui_is_hot(p->ui, box);
    if (p->view->sheet) {
        /* a range has a tooltip in a printed picture */
        const char *text = row_tip(p, lane, row);
        mv_paper_sheet *sheet = p->view->sheet;
        mv_scene_point(&p->ui->scene, box.x, box.y);
        mv_scene_point(&p->ui->scene, box.x + box.w, box.y + box.h);
        mv_scene_add(&p->ui->scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                               .is_crisp = true,
                                               .fill = p->ui->theme->lane,
                                               .title = mv_hover_take(&sheet->hover_bytes, text)});
    } else {
        mv_ui_fill(p->ui, box, is_hot ? theme->reserved : theme->lane);
    }
    mv_ui_zone(p->ui, box, MV_DO_select_range, r->from | (uint64_t)r->to << 32,
               is_hot ? row_tip(p, lane, row) : "");
    paint_name(p, lane, row, box, x1);
    return fmaxf(x1, x0 + 1);
}

/* Returns the title, such as "12 steps". The names of steps are numbers, which may not fit. */
static const char *lane_title(mv_plot *p, const mv_lane *lane)
{
    if (lane->count == 0 || lane->rows[0].name.row != MV_NO_ROW)
        return lane->title;
    return mv_scene_format(&p->ui->scene, lane->count == 1 ? "%s step" : "%s steps",
                           mv_scene_count(&p->ui->scene, lane->count));
}

static void paint_lane(mv_plot *p, const mv_lane *lane, mv_box box)
{
    float right = p->plot.x + p->plot.w;
    mv_box title = {p->scale.x, box.y, p->scale.w - mv_ui_px(p->ui, MV_UI_PAD), box.h - 2};
    uint32_t row = mv_lane_after(lane, p->shown.first);

    mv_ui_text(p->ui, title, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_END,
               lane_title(p, lane));
    while (row < lane->count && lane->rows[row].from < p->shown.end) {
        float x = paint_row(p, lane, row, box);
        uint32_t next;
        if (x >= right)
            return;
        next = mv_lane_after(lane, (uint32_t)ceil(mv_viewport_event(&p->at, x)));
        row = next > row ? next : row + 1;
    }
}

/* ---- spikes ------------------------------------------------------------------------------- */

static void paint_spikes(mv_plot *p)
{
    mv_box box = p->spikes, title = {p->scale.x, box.y, p->scale.w, box.h};
    bool has_any = false;

    for (uint32_t c = 0; p->spike_of && c < (uint32_t)p->plot.w; c++) {
        mv_box tick = {p->plot.x + (float)c, box.y + 1, 1, box.h - 2};
        if (p->spike_of[c] == MV_NO_ROW)
            continue;
        has_any = true;
        mv_ui_fill(p->ui, tick, mv_view_colour(p->view, p->spike_of[c]));
    }
    if (!has_any)
        return;
    title.w -= mv_ui_px(p->ui, MV_UI_PAD);
    mv_ui_text(p->ui, title, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_END, "spikes");
    if (mv_ui_is_hot(p->ui, box)) {
        uint32_t rank = p->spike_of[(uint32_t)(p->ui->pointer_x - p->plot.x)];
        char size[MV_SIZE_TEXT];
        if (rank == MV_NO_ROW)
            return;
        p->view->hover = rank;
        mv_ui_zone(p->ui, box, MV_DO_pin, rank,
                   mv_scene_format(&p->ui->scene,
                                   "%s, allocated and freed between two columns: click to pin it",
                                   mv_size_text(size, p->index->bytes[rank])));
    }
}

void mv_plot_lanes(mv_plot *p)
{
    mv_box box = p->lanes;

    for (uint32_t i = 0; p->marks && i < p->marks->count; i++)
        paint_lane(p, &p->marks->lanes[i], mv_box_cut_top(&box, mv_ui_px(p->ui, LANE_HEIGHT)));
    if (!p->of_segments)
        paint_spikes(p);
}
