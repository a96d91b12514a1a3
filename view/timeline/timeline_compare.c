/* The total of another device or rank, which is overlaid on the shown one as a curve with a peak,
 * and has entries in the legend and the tooltip. In the segments view, the total is the other
 * device's reserved bytes. */
#include <math.h>

#include "base/size.h"
#include "view/frame/device_rows.h"
#include "view/timeline/plot.h"

/* ---- the compared device ---------------------------------------------------------------- */

static uint64_t level_of(const mv_plot *p, const mv_levels *levels)
{
    return p->of_segments ? levels->reserved : levels->allocated;
}

/* Finds the columns. Without threads, every frame must be exact. */
static void find_columns(mv_plot *p)
{
    mv_timeline_pane *pane = p->pane;
    uint32_t most = p->view->opts.is_threaded ? MV_EXACT_COLUMNS : UINT32_MAX;

    if (!mv_envelope_find(pane, &pane->over, &pane->other_levels, p->at, &p->to, most))
        p->ui->is_animating = true;
}

void mv_plot_other_find(mv_plot *p)
{
    const mv_document_device *other = mv_view_other(p->view);
    mv_timeline_pane *pane = p->pane;

    if (!other || other == p->device)
        return;
    if (pane->other != other) {
        mv_pyramid_reader_init(&pane->other_levels, &other->pyramid);
        pane->over.count = 0;
    }
    pane->other = other;
    p->other = other;
    p->to = mv_alignment_make(p->device, other, (mv_align)p->view->now->align);
}

uint64_t mv_plot_other_most(mv_plot *p, mv_stretch shown)
{
    mv_window moments;
    mv_extent e;

    if (p->device->lives.events.count == 0)
        shown = (mv_stretch){0, 1};
    if (!p->other || !mv_alignment_column(&p->to, shown.from, shown.to, &moments))
        return 0;
    e = mv_pyramid_range(&p->pane->other_levels, moments.first, moments.end);
    return level_of(p, &e.most);
}

static mv_extent all_of(mv_plot *p)
{
    return mv_pyramid_range(&p->pane->other_levels, MV_BEFORE, p->other->lives.events.count);
}

static const char *name_of(mv_plot *p)
{
    return mv_device_name(p->view, p->view->now->other_file, p->view->now->other_device);
}

/* ---- the curve ---------------------------------------------------------------------------- */

void mv_plot_other(mv_plot *p)
{
    uint32_t colour = p->ui->theme->compared;
    float unit = p->ui->scale;

    if (!p->other)
        return;
    find_columns(p);
    /* The border makes the curve legible on all colours of the stack. */
    mv_curve_paint(p->ui, &p->at, &p->pane->over, p->of_segments ? MV_RESERVED : MV_ALLOCATED,
                   (mv_shape){.stroke = p->ui->theme->plot, .width = 4.4f * unit});
    mv_curve_paint(p->ui, &p->at, &p->pane->over, p->of_segments ? MV_RESERVED : MV_ALLOCATED,
                   (mv_shape){.stroke = colour, .width = 2 * unit});
}

void mv_plot_other_peak(mv_plot *p)
{
    char size[MV_SIZE_TEXT];
    uint32_t column, event;
    mv_extent all;
    float x, y;

    if (!p->other)
        return;
    all = all_of(p);
    event = p->of_segments ? all.reserved_event : all.allocated_event;
    if (!mv_envelope_column(&p->pane->over, event, &column))
        return;
    x = p->plot.x + (float)column + 0.5f;
    y = mv_viewport_y(&p->at, (double)level_of(p, &all.most));
    if (y >= p->plot.y && y <= p->plot.y + p->plot.h)
        mv_plot_callout(p, x, y - mv_ui_px(p->ui, 4), p->ui->theme->compared,
                        mv_scene_format(&p->ui->scene, "%s: %s %s", name_of(p),
                                        p->of_segments ? "most reserved" : "peak",
                                        mv_size_text(size, level_of(p, &all.most))),
                        size);
}

/* ---- labels ------------------------------------------------------------------------------ */

/* Returns "120 MiB", or "not begun or ended". */
static const char *value_at(mv_plot *p, uint32_t event)
{
    double place = event == MV_BEFORE ? 0 : event;
    char size[MV_SIZE_TEXT];
    mv_levels levels;
    uint32_t moment;

    if (!mv_alignment_moment(&p->to, place, &moment))
        return "nothing recorded there";
    levels = mv_pyramid_at(&p->pane->other_levels, moment);
    return mv_scene_format(&p->ui->scene, "%s", mv_size_text(size, level_of(p, &levels)));
}

const char *mv_plot_other_tip(mv_plot *p, uint32_t event)
{
    return p->other ? mv_scene_format(&p->ui->scene, "%s: %s", name_of(p), value_at(p, event))
                    : NULL;
}

static const char *peak_text(mv_plot *p)
{
    mv_extent all = all_of(p);
    uint32_t event = p->of_segments ? all.reserved_event : all.allocated_event;
    char size[MV_SIZE_TEXT];

    return mv_scene_format(&p->ui->scene, "%s %s%s", p->of_segments ? "most reserved" : "peak",
                           mv_size_text(size, level_of(p, &all.most)),
                           mv_alignment_shows(&p->to, event) ? "" : ", outside this picture");
}

static void say(mv_plot *p, mv_box *box, const char *text)
{
    mv_box row = mv_plot_key_row(p, box);

    if (row.h <= 0)
        return;
    mv_box_cut_left(&row, mv_ui_px(p->ui, 26));
    mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_START, text);
}

void mv_plot_other_key(mv_plot *p, mv_box *box)
{
    mv_scene *scene = &p->ui->scene;
    const char *texts[3], *text;
    mv_box row;

    if (!p->other)
        return;
    mv_plot_key_line(p, box, p->ui->theme->compared, false, name_of(p));
    say(p, box, peak_text(p));
    say(p, box, mv_scene_format(scene, "at the cursor %s", value_at(p, p->view->now->cursor)));
    row = mv_plot_key_row(p, box);
    if (row.h <= 0)
        return;
    mv_box_cut_left(&row, mv_ui_px(p->ui, 26 - MV_UI_PAD));
    texts[2] = mv_scene_format(scene, "by %s", mv_align_name(p->to.by));
    texts[1] = mv_scene_format(scene, "aligned %s", texts[2]);
    texts[0] = mv_scene_format(scene, "%s%s", texts[1],
                               p->view->now->align == MV_ALIGN_AUTO ? " (auto)" : "");
    text = mv_ui_longest(p->ui, MV_UI_TEXT, row.w - 2 * mv_ui_px(p->ui, MV_UI_PAD), texts, 3);
    row.w =
        fminf(row.w, mv_ui_text_width(p->ui, MV_UI_TEXT, text) + 2 * mv_ui_px(p->ui, MV_UI_PAD));
    mv_ui_button(p->ui, row, p->ui->has_no_buttons, MV_DO_next_align, 0, text);
}
