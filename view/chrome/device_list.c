/* The list of files and their devices. Each row shows a curve of the device's memory, and the
 * peak. */

#include <math.h>

#include "base/size.h"
#include "view/chrome/chrome.h"
#include "view/frame/device_rows.h"
#include "viz/scene/axis.h"

enum { ROW = 34, SPARKS = 96 };

/* ---- painting ---------------------------------------------------------------------------- */

/* Paints memory over time, as the height in each of SPARKS equal parts of the trace. */
static void sparks(mv_ui *ui, mv_box box, const mv_document_device *d, uint64_t most)
{
    uint32_t events = d->lives.events.count;
    mv_pyramid_reader reader;

    if (most == 0)
        return;
    mv_pyramid_reader_init(&reader, &d->pyramid);
    for (uint32_t i = 0; i < SPARKS; i++) {
        uint32_t from = (uint32_t)((uint64_t)events * i / SPARKS);
        uint32_t to = (uint32_t)((uint64_t)events * (i + 1) / SPARKS);
        mv_extent part = mv_pyramid_range(&reader, from ? from - 1 : MV_BEFORE, to);
        float h = box.h * (float)((double)part.most.allocated / (double)most);
        mv_scene_point(&ui->scene, box.x + box.w * (float)i / SPARKS, box.y + box.h - h);
        mv_scene_point(&ui->scene, box.x + box.w * (float)(i + 1) / SPARKS, box.y + box.h);
    }
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_RECTS, .fill = mv_site_colour(0)});
}

static const char *state_text(mv_view *view, const mv_device_row *r)
{
    char count[MV_TICK_TEXT];
    int stage = atomic_load_explicit(&r->document->stage, memory_order_acquire);

    if (stage == MV_DOCUMENT_FAILED)
        return r->document->why;
    if (stage != MV_DOCUMENT_OPENED)
        return stage == MV_DOCUMENT_READING ? "reading ..." : "waiting";
    if (r->device == MV_NO_ROW)
        return "no GPU memory";
    return mv_scene_format(&view->ui.scene, "device %u \xc2\xb7 %s events%s",
                           r->document->devices[r->device].device,
                           mv_axis_exact(r->document->devices[r->device].events, count),
                           r->shown ? "" : " \xc2\xb7 not ready yet");
}

static void badge(mv_ui *ui, mv_box *box, const char *text)
{
    mv_box at = mv_box_cut_right(box, mv_ui_px(ui, 52));

    at = (mv_box){at.x, at.y + mv_ui_px(ui, 8), at.w - mv_ui_px(ui, 8), at.h - mv_ui_px(ui, 16)};
    mv_ui_frame(ui, at, ui->theme->alarm);
    mv_ui_text(ui, at, MV_UI_SMALL, ui->theme->alarm, MV_ANCHOR_MIDDLE, text);
}

static void paint_row(mv_view *view, mv_box box, const mv_device_row *r, uint64_t most,
                      bool is_chosen)
{
    mv_ui *ui = &view->ui;
    bool is_shown = r->file == view->now->file && r->device == view->now->device;
    char peak[MV_SIZE_TEXT];
    mv_box graph, upper;

    if (is_chosen || mv_ui_is_hot(ui, box))
        mv_ui_fill(ui, box, is_chosen ? ui->theme->grid : ui->theme->plot);
    if (r->device != MV_NO_ROW)
        mv_ui_zone(ui, box, MV_DO_choose_device, (uint64_t)r->file << MV_FILE_SHIFT | r->device,
                   "");
    mv_box_cut_left(&box, mv_ui_px(ui, 8));
    graph = mv_box_cut_left(&box, fminf(mv_ui_px(ui, 100), roundf(box.w / 6)));
    graph.y += mv_ui_px(ui, 3);
    graph.h -= mv_ui_px(ui, 6);
    if (r->shown)
        sparks(ui, graph, r->shown, most);
    mv_box_cut_left(&box, mv_ui_px(ui, 10));
    if (r->shown && r->shown->trace_marks.oom_count)
        badge(ui, &box, "OOM");
    if (r->shown) {
        const char *text = mv_size_text(peak, r->peak);
        mv_box at = mv_box_cut_right(&box, ceilf(mv_ui_text_width(ui, MV_UI_TEXT, text)) +
                                               mv_ui_px(ui, 16));
        mv_box_cut_right(&at, mv_ui_px(ui, 8));
        mv_ui_text(ui, at, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_END, text);
    }
    upper = mv_box_cut_top(&box, box.h / 2);
    mv_ui_text(ui, upper, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START,
               is_shown ? mv_scene_format(&ui->scene, "%s (shown)", r->name) : r->name);
    mv_ui_text(ui, box, MV_UI_SMALL, ui->theme->faint_text, MV_ANCHOR_START, state_text(view, r));
}

void mv_device_list_paint(mv_view *view, mv_box box)
{
    mv_ui *ui = &view->ui;
    mv_chrome *c = view->chrome;
    uint32_t count, shown;
    mv_device_row *rows = mv_device_rows_by_peak(view, &count);
    float height = mv_ui_px(ui, ROW);
    mv_box sheet = mv_chrome_sheet(view, box, 620, 60 + (float)(count < 12 ? count : 12) * ROW,
                                   view->desk->is_choosing_other ? "Compare with"
                                                                 : "Files and devices, by peak");

    if (!rows)
        return;
    shown = (uint32_t)(sheet.h / height);
    mv_chrome_list_follow(view, count, shown);
    mv_ui_scroll(ui, sheet, count, shown, &c->first);
    mv_box_cut_right(&sheet, mv_ui_px(ui, 12));
    for (uint32_t i = c->first; i < count && i < c->first + shown; i++)
        paint_row(view, mv_box_cut_top(&sheet, height), &rows[i], count ? rows[0].peak : 0,
                  i == c->row);
}
