#include <math.h>

#include "base/size.h"
#include "view/chrome/chrome.h"
#include "viz/scene/axis.h"

enum { COLUMN = 560, WIDE_COLUMN = 860, BAR = 6, MOST_LINES = 8 /* width of a text column */ };

/* ---- lines in the middle ----------------------------------------------------------------- */

static mv_box column(mv_view *view, mv_box box, float most, float lines)
{
    mv_ui *ui = &view->ui;
    float width = fminf(mv_ui_px(ui, most), box.w - 2 * mv_ui_px(ui, 16));
    float height = fminf(lines * mv_ui_px(ui, MV_UI_LINE + 4), box.h);

    return (mv_box){roundf(box.x + (box.w - width) / 2), roundf(box.y + (box.h - height) * 0.4f),
                    width, height};
}

static void line(mv_ui *ui, mv_box *box, float size, uint32_t colour, const char *text)
{
    const mv_ui_lines lines = {
        .size = size, .line = MV_UI_LINE + 4, .colour = colour, .most = MOST_LINES, .gap = " "};

    if (mv_ui_text_width(ui, size, text) > box->w) {
        *box = mv_ui_paragraph(ui, *box, &lines, text);
        return;
    }
    mv_ui_text(ui, mv_box_cut_top(box, mv_ui_px(ui, MV_UI_LINE + 4)), size, colour, MV_ANCHOR_START,
               text);
}

static void open_button(mv_ui *ui, mv_box *box)
{
    mv_box row = mv_box_cut_top(box, mv_ui_px(ui, MV_UI_LINE + 8));
    mv_box button = mv_box_cut_left(&row, mv_ui_px(ui, 150));

    mv_ui_frame(ui, button, ui->theme->faint_text);
    mv_ui_button(ui, button, false, MV_DO_open_file, 0, "Open a file ...");
    mv_box_cut_top(box, mv_ui_px(ui, 12));
}

/* ---- nothing is open --------------------------------------------------------------------- */

static void paint_empty(mv_view *view, mv_box box)
{
    static const char *const examples[] = {
        "memviz view snapshot.pickle",
        "memviz view rank0.pickle rank1.pickle",
        "memviz view --sample",
        "memviz run -o train.bin -- python train.py",
        "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")",
    };
    mv_ui *ui = &view->ui;
    mv_box at = column(view, box, COLUMN, 12);
    mv_box frame = {at.x - mv_ui_px(ui, 24), at.y - mv_ui_px(ui, 16), at.w + 2 * mv_ui_px(ui, 24),
                    at.h + 2 * mv_ui_px(ui, 16)};

    if (frame.w < box.w)
        mv_ui_frame(ui, frame, ui->theme->grid);
    line(ui, &at, 17, ui->theme->text, "Drop a memory snapshot here");
    line(ui, &at, MV_UI_TEXT, ui->theme->faint_text,
         "From PyTorch, memviz run, RMM, XLA or JAX; several become ranks, side by side.");
    mv_box_cut_top(&at, mv_ui_px(ui, 12));
    open_button(ui, &at);
    line(ui, &at, MV_UI_TEXT, ui->theme->faint_text, "On the command line:");
    for (int i = 0; i < 4; i++)
        line(ui, &at, MV_UI_TEXT, ui->theme->text, examples[i]);
    line(ui, &at, MV_UI_TEXT, ui->theme->faint_text, "In a program that records its history:");
    line(ui, &at, MV_UI_TEXT, ui->theme->text, examples[4]);
}

/* ---- while loading ----------------------------------------------------------------------- */

/* Returns a string such as "310 MiB/s, about 2 s more"; "" if the speed is unknown. */
static const char *speed_text(mv_view *view, uint64_t done, uint64_t all)
{
    double ms = view->ms - view->chrome->reading.ms, rate, left;
    char size[MV_SIZE_TEXT];

    if (view->chrome->reading.ms <= 0 || ms < 100 || done == 0)
        return "";
    rate = (double)done / ms * 1000;
    left = all > done ? (double)(all - done) / rate : 0;
    mv_size_text(size, (uint64_t)rate);
    if (all == 0)
        return mv_scene_format(&view->ui.scene, " \xc2\xb7 %s/s", size);
    return mv_scene_format(&view->ui.scene, " \xc2\xb7 %s/s \xc2\xb7 about %.0f s more", size,
                           ceil(left));
}

static void bar(mv_ui *ui, mv_box *box, double share)
{
    mv_box all = mv_box_cut_top(box, mv_ui_px(ui, BAR)), done = all;

    done.w = all.w * (float)fmin(1, share);
    mv_ui_fill(ui, all, ui->theme->grid);
    mv_ui_fill(ui, done, mv_site_colour(0));
    mv_box_cut_top(box, mv_ui_px(ui, 10));
}

static void paint_reading(mv_view *view, const mv_document *d, mv_box *at)
{
    uint64_t done = atomic_load_explicit(&d->bytes_done, memory_order_relaxed);
    uint64_t all = atomic_load_explicit(&d->bytes_all, memory_order_relaxed);
    mv_ui *ui = &view->ui;
    char part[MV_SIZE_TEXT], whole[MV_SIZE_TEXT];

    if (view->chrome->reading.document != d) {
        view->chrome->reading.document = d;
        view->chrome->reading.ms = view->ms;
    }
    line(ui, at, 17, ui->theme->text, mv_scene_format(&ui->scene, "Reading %s", d->name));
    bar(ui, at, all ? (double)done / (double)all : 0);
    mv_size_text(part, done);
    mv_size_text(whole, all);
    line(ui, at, MV_UI_TEXT, ui->theme->faint_text,
         all ? mv_scene_format(&ui->scene, "%s of %s%s", part, whole, speed_text(view, done, all))
             : mv_scene_format(&ui->scene, "%s%s", part, speed_text(view, done, all)));
}

static void paint_opened(mv_view *view, const mv_document *d, mv_box *at)
{
    mv_ui *ui = &view->ui;
    const mv_document_device *device =
        view->now->device < d->device_count ? &d->devices[view->now->device] : NULL;

    line(ui, at, 17, ui->theme->text, d->name);
    for (uint32_t i = 0; i < d->contents.count; i++)
        line(ui, at, MV_UI_TEXT, ui->theme->text, d->contents.lines[i]);
    if (d->device_count == 0)
        return;
    if (device && atomic_load_explicit(&device->stage, memory_order_acquire) == MV_DEVICE_FAILED)
        line(ui, at, MV_UI_TEXT, ui->theme->alarm,
             mv_scene_format(&ui->scene, "device %u: %s", device->device,
                             mv_code_text(device->failure.code)));
    else
        line(ui, at, MV_UI_TEXT, ui->theme->faint_text, "Finding lifetimes and memory levels ...");
}

/* ---- the outline ------------------------------------------------------------------------- */

/* Whether `s` is more likely than `than` to be the device that will be shown, which is the one in
 * --device, or the one with the most events. */
static bool is_better(const mv_view *view, const mv_outline *s, const mv_outline *than)
{
    uint32_t wish = view->chrome->has_start ? view->chrome->start.device : MV_NO_ROW;

    if (!than || (s->device == wish) != (than->device == wish))
        return !than || s->device == wish;
    return s->events > than->events;
}

const mv_outline *mv_view_outline(const mv_view *view)
{
    const mv_document *d = mv_view_document(view);
    const mv_outline *found = NULL;

    if (!d || mv_view_device(view) ||
        atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DOCUMENT_OPENED)
        return NULL;
    for (uint32_t i = 0; i < d->outline_count; i++)
        if (d->outlines[i].columns > 0 && is_better(view, &d->outlines[i], found))
            found = &d->outlines[i];
    return found;
}

static void outline_grid(mv_ui *ui, mv_box plot, uint64_t most)
{
    uint64_t ticks[MV_BYTE_TICKS];
    uint32_t count = mv_axis_byte_ticks(most, ticks);
    char text[MV_TICK_TEXT];

    for (uint32_t i = 0; i < count; i++) {
        float y = roundf(plot.y + plot.h * (float)(1 - (double)ticks[i] / (double)most));
        mv_ui_fill(ui, (mv_box){plot.x, y, plot.w, 1}, ui->theme->grid);
        mv_ui_text(ui,
                   (mv_box){plot.x - mv_ui_px(ui, 90), y - mv_ui_px(ui, 8), mv_ui_px(ui, 84),
                            mv_ui_px(ui, 16)},
                   MV_UI_SMALL, ui->theme->faint_text, MV_ANCHOR_END,
                   mv_axis_bytes(ticks[i], text));
    }
}

/* Paints one step for each column, from the column's upper edge down to its lower edge (`low`), or
 * to the bottom if `low` is NULL. */
static void outline_strip(mv_ui *ui, mv_box plot, const uint64_t *low, const uint64_t *most,
                          uint32_t columns, double high, uint32_t fill)
{
    double wide = plot.w / (double)columns;
    float bottom = plot.y + plot.h;

    for (uint32_t i = 0; i < 2 * columns; i++) {
        uint32_t inside = i / 2, edge = (i + 1) / 2;
        float x = plot.x + (float)(wide * edge);
        mv_scene_point(&ui->scene, x, bottom - (float)((double)most[inside] * high));
        mv_scene_point(&ui->scene, x, bottom - (float)(low ? (double)low[inside] * high : 0));
    }
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = fill});
}

/* Paints the allocated bytes, which are paler between the minimum and maximum of a column, and the
 * reserved bytes as a line. */
static void outline_curves(mv_ui *ui, mv_box plot, const mv_outline *s, uint64_t most)
{
    double high = plot.h / (double)most, wide = plot.w / (double)s->columns;
    uint32_t paler = (ui->theme->background & 0xffffff00) | 0x60;

    outline_strip(ui, plot, NULL, s->most, s->columns, high, ui->theme->rest);
    outline_strip(ui, plot, s->least, s->most, s->columns, high, paler);
    for (uint32_t i = 0; i < 2 * s->columns; i++) {
        uint32_t inside = i / 2, edge = (i + 1) / 2;
        float x = plot.x + (float)(wide * edge);
        mv_scene_point(&ui->scene, x,
                       plot.y + plot.h - (float)((double)s->reserved[inside] * high));
    }
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                        .stroke = ui->theme->reserved,
                                        .width = 1.6f * ui->scale,
                                        .is_dashed = true});
}

static void paint_outline(mv_view *view, mv_box box, const mv_outline *s)
{
    mv_ui *ui = &view->ui;
    uint64_t most = s->most_reserved > s->peak ? s->most_reserved : s->peak;
    char count[MV_TICK_TEXT], peak[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];
    mv_box words = mv_box_cut_top(&box, mv_ui_px(ui, MV_UI_LINE + 10));

    mv_box_cut_left(&words, mv_ui_px(ui, 96));
    mv_ui_text(
        ui, words, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START,
        mv_scene_format(&ui->scene, "device %u, so far: up to %s requested, %s reserved; %s events",
                        s->device, mv_size_text(peak, s->peak),
                        mv_size_text(reserved, s->most_reserved), mv_axis_exact(s->events, count)));
    mv_box_cut_left(&box, mv_ui_px(ui, 96));
    mv_box_cut_right(&box, mv_ui_px(ui, 16));
    mv_box_cut_bottom(&box, mv_ui_px(ui, 16));
    if (most == 0 || box.w < 1 || box.h < 1)
        return;
    outline_curves(ui, box, s, most);
    outline_grid(ui, box, most);
}

/* Returns the box for the progress text above the outline. */
static mv_box head_of_outline(mv_view *view, mv_box *box)
{
    mv_ui *ui = &view->ui;
    mv_box at = mv_box_cut_top(box, 4 * mv_ui_px(ui, MV_UI_LINE + 4));

    mv_box_cut_top(&at, mv_ui_px(ui, 8));
    mv_box_cut_left(&at, mv_ui_px(ui, 96));
    mv_box_cut_right(&at, mv_ui_px(ui, 16));
    return at;
}

bool mv_loading_paint(mv_view *view, mv_box box)
{
    const mv_outline *outline = mv_view_outline(view);
    const mv_document *d = mv_view_document(view);
    mv_ui *ui = &view->ui;
    mv_box at;
    int stage;

    if (mv_view_device(view))
        return false;
    if (!d) {
        paint_empty(view, box);
        return true;
    }
    at = outline ? head_of_outline(view, &box)
                 : column(view, box, d->contents.count ? WIDE_COLUMN : COLUMN,
                          d->contents.count ? MV_RECORDING_LINES + 2 : 6);
    if (outline)
        paint_outline(view, box, outline);
    stage = atomic_load_explicit(&d->stage, memory_order_acquire);
    if (stage == MV_DOCUMENT_FAILED) {
        line(ui, &at, 17, ui->theme->text,
             mv_scene_format(&ui->scene, "%s was not opened", d->name));
        line(ui, &at, MV_UI_TEXT, ui->theme->alarm, d->why);
        mv_box_cut_top(&at, mv_ui_px(ui, 12));
        open_button(ui, &at);
    } else if (stage == MV_DOCUMENT_OPENED) {
        paint_opened(view, d, &at);
    } else {
        paint_reading(view, d, &at);
    }
    return true;
}

/* ---- files that could not be read -------------------------------------------------------- */

const mv_document *mv_loading_failure(const mv_view *view)
{
    uint32_t failed = 0;

    for (uint32_t i = 0; i < view->document_count; i++) {
        const mv_document *d = view->documents[i];
        if (atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DOCUMENT_FAILED)
            continue;
        if (failed++ >= view->chrome->banners_closed)
            return d;
    }
    return NULL;
}

void mv_loading_banner(mv_view *view, mv_box box)
{
    const mv_document *d = mv_loading_failure(view);
    mv_ui *ui = &view->ui;
    mv_box close;

    if (!d)
        return;
    mv_ui_fill(ui, box, ui->theme->plot);
    mv_ui_fill(ui, mv_box_cut_left(&box, mv_ui_px(ui, 4)), ui->theme->alarm);
    close = mv_box_cut_right(&box, mv_ui_px(ui, 70));
    mv_box_cut_left(&box, mv_ui_px(ui, 8));
    mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->alarm, MV_ANCHOR_START,
               mv_scene_format(&ui->scene, "not opened: %s", d->why));
    mv_ui_button(ui, close, false, MV_DO_cancel, 0, "Close");
}
