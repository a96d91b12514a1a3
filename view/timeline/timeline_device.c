/* The lane of the whole device. Stacked areas show what holds its memory, and a line shows the use
 * that NVML sampled. The bytes held by calls are known at every moment. The use is known only at
 * samples, which are marked with ticks, and after a sample for as long as the bytes held by calls
 * do not change. At all other times the line is dashed, and no memory is shown as unexplained. */
#include <math.h>
#include <xxhash.h>

#include "base/size.h"
#include "view/timeline/device_lane.h"
#include "view/timeline/plot.h"
#include "viz/scene/axis.h"

enum {
    GAP = 6,
    HEAD = 15,
    ROW = 13,
    HEIGHT = 140,
    BELOW = 8,
    LEAST_PANE = 250,
    TICK = 4,
    COLUMN = 170, /* minimum width of a column in the legend below the lane */
    MOST_COLUMNS = 4
};

#define SHARE 0.3f /* largest fraction of the pane */

float mv_plot_device_height(const mv_plot *p, float pane)
{
    const char *level = p->trace->origin.level;
    bool is_wanted = p->view->sheet ? level && strcmp(level, mv_level_name(MV_LEVEL_ALL)) == 0 &&
                                          !p->view->sheet->opts.only
                                    : p->view->now->shows_device;

    return is_wanted && !p->of_ranks && pane >= mv_ui_px(p->ui, LEAST_PANE) &&
                   mv_device_lane_is_there(p->document, p->device)
               ? roundf(fminf(mv_ui_px(p->ui, HEIGHT), pane * SHARE))
               : 0;
}

static uint32_t key_columns(const mv_plot *p, float width)
{
    return (uint32_t)fminf(fmaxf(width / mv_ui_px(p->ui, COLUMN), 1), MOST_COLUMNS);
}

float mv_plot_device_keys(const mv_plot *p, float width)
{
    uint32_t columns = key_columns(p, width), most = p->pane->device_keys;
    uint32_t rows = ((most ? most : MV_DEVICE_PARTS + 1) + columns - 1) / columns;

    return (float)rows * mv_ui_px(p->ui, ROW) + mv_ui_px(p->ui, 2 * GAP);
}

/* ---- answers ----------------------------------------------------------------------------- */

static const mv_device_lane *lane_of(mv_plot *p)
{
    const mv_device_lane *lane;
    mv_device_lane_query q;
    bool is_current;

    memset(&q, 0, sizeof q);
    q.x = p->at.x;
    q.dx = p->at.dx;
    q.document = p->document;
    q.device = p->device;
    q.first = p->shown.first;
    q.end = p->shown.end;
    q.columns = (uint32_t)p->device_lane.w;
    q.clock = p->rows->scale.clock;
    lane = mv_slot_query(p->pane->device_slot, &q, &is_current);
    return lane && lane->ask.device == p->device ? lane : NULL;
}

static const mv_ledger_answer *ledger_of(mv_slot *slot, mv_ledger_question q)
{
    const mv_ledger_answer *a;
    bool is_current;

    a = mv_slot_query(slot, &q, &is_current);
    return a && is_current ? a : NULL;
}

/* ---- colours ----------------------------------------------------------------------------- */

static uint32_t paler(uint32_t colour, uint32_t ground)
{
    uint32_t out = 0xff;

    for (int shift = 8; shift < 32; shift += 8)
        out |= ((colour >> shift & 0xff) * 2 + (ground >> shift & 0xff) * 3) / 5 << shift;
    return out;
}

/* Returns an unused colour for a library. This is the colour that the library's name selects,
 * unless that colour is already used. */
static uint32_t library_colour(const char *name, uint32_t *used)
{
    uint32_t libraries = MV_HOLDER_COLOURS - 1;
    uint32_t i = (uint32_t)(XXH3_64bits(name, strlen(name)) % libraries);
    for (uint32_t tries = 0; tries < libraries && *used >> i & 1; tries++)
        i = (i + 1) % libraries;
    *used |= 1u << i;
    return mv_holder_colour(1 + i);
}

/* Finds the colours. In every picture, a library has the colour that its name selects. */
static void find_colours(mv_plot *p, const mv_device_lane *lane, uint32_t out[MV_DEVICE_PARTS])
{
    const mv_theme *theme = p->ui->theme;
    uint32_t used = 0;

    out[MV_DEVICE_ALLOCATED] = mv_holder_colour(0);
    out[MV_DEVICE_UNUSED] = paler(mv_holder_colour(0), theme->plot);
    for (uint32_t i = MV_DEVICE_LIBRARY; i < MV_DEVICE_OTHERS; i++) {
        const char *name = mv_device_part_name(lane, (mv_device_part)i);
        out[i] = name ? library_colour(name, &used) : 0;
    }
    out[MV_DEVICE_OTHERS] = mv_muted_colour(0);
    out[MV_DEVICE_CONTEXT] = theme->unknown;
    out[MV_DEVICE_UNEXPLAINED] = paler(theme->reserved, theme->plot);
}

/* ---- the picture ------------------------------------------------------------------------- */

typedef struct {
    mv_plot *p;
    const mv_device_lane *lane;
    mv_box box; /* box of the areas */
    double most;
    uint32_t colours[MV_DEVICE_PARTS];
} device_frame;

static float x_of(const device_frame *f, uint32_t border)
{
    float x = mv_viewport_x(&f->p->at, f->lane->border[border]);

    return fminf(fmaxf(x, f->box.x), f->box.x + f->box.w);
}

/* Returns the y of a number of bytes, rounded to half a pixel so that columns with equal heights
 * form one shape. */
static float y_of(const device_frame *f, double bytes)
{
    float y = f->box.y + f->box.h * (float)(1 - bytes / f->most);

    return (float)(int)(y * 2 + 0.5f) / 2;
}

static double bytes_at(const mv_device_lane *lane, uint32_t c, uint32_t part)
{
    int64_t bytes = lane->parts[c].bytes[part];
    bool is_known = part != MV_DEVICE_UNEXPLAINED || lane->found.columns[c].is_measured;

    return is_known && bytes > 0 ? (double)bytes : 0;
}

static double height_of(const mv_device_lane *lane, uint32_t c, uint32_t end)
{
    double sum = 0;

    for (uint32_t i = 0; i < end; i++)
        sum += bytes_at(lane, c, i);
    return sum;
}

static double most_of(const mv_device_lane *lane)
{
    double most = 1;

    for (uint32_t c = 0; c < lane->ask.columns; c++) {
        const mv_ledger_column *column = &lane->found.columns[c];
        most = fmax(most, height_of(lane, c, MV_DEVICE_PARTS));
        if (column->most_used != MV_NO_BYTES)
            most = fmax(most, (double)column->most_used);
    }
    return most;
}

static void paint_part(device_frame *f, uint32_t part)
{
    mv_scene *scene = &f->p->ui->scene;
    float from = -1, to = -1, left = f->box.x;
    bool has_any = false;

    for (uint32_t c = 0; c < f->lane->ask.columns; c++)
        has_any = has_any || bytes_at(f->lane, c, part) > 0;
    for (uint32_t c = 0; has_any && c <= f->lane->ask.columns && !scene->failed; c++) {
        bool is_end = c == f->lane->ask.columns;
        uint32_t at = is_end ? c - 1 : c;
        float low = y_of(f, height_of(f->lane, at, part));
        float high = y_of(f, height_of(f->lane, at, part + 1));
        if (c > 0 && !is_end && low == from && high == to)
            continue;
        if (c > 0) { /* where the run ends */
            float right = x_of(f, c);
            mv_scene_point(scene, left, to);
            mv_scene_point(scene, left, from);
            mv_scene_point(scene, right, to);
            mv_scene_point(scene, right, from);
            left = right;
        }
        from = low;
        to = high;
    }
    if (has_any)
        mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = f->colours[part]});
}

/* Paints the columns from `c` up to the next column in which the use changes from measured to not
 * measured, or back. Returns that column. */
static uint32_t paint_run(device_frame *f, uint32_t c)
{
    const mv_ledger_column *columns = f->lane->found.columns;
    mv_scene *scene = &f->p->ui->scene;
    bool is_measured = columns[c].is_measured, has_end = false;
    float last = y_of(f, (double)columns[c ? c - 1 : 0].most_used);

    mv_scene_point(scene, x_of(f, c), last);
    for (; c < f->lane->ask.columns && columns[c].is_measured == is_measured; c++) {
        float y = y_of(f, (double)columns[c].most_used);
        if (y == last && has_end && !scene->failed) {
            scene->points[scene->point_count - 1].x = x_of(f, c + 1);
            continue;
        }
        if (y != last)
            mv_scene_point(scene, x_of(f, c), y);
        mv_scene_point(scene, x_of(f, c + 1), y);
        has_end = true;
        last = y;
    }
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                   .stroke = f->p->ui->theme->outline,
                                   .width = 1.6f * f->p->ui->scale,
                                   .is_dashed = !is_measured});
    return c;
}

static void paint_used(device_frame *f)
{
    if (f->lane->found.series.count == 0)
        return;
    for (uint32_t c = 0; c < f->lane->ask.columns && !f->p->ui->scene.failed;)
        c = paint_run(f, c);
}

/* Marks the moments at which the device's use is known. */
static void paint_samples(device_frame *f)
{
    float y = f->box.y - mv_ui_px(f->p->ui, TICK);

    for (uint32_t c = 0; c < f->lane->ask.columns; c++)
        if (f->lane->found.columns[c].samples)
            mv_ui_fill(f->p->ui, (mv_box){roundf(x_of(f, c)), y, 1, mv_ui_px(f->p->ui, TICK) - 1},
                       f->p->ui->theme->faint_text);
}

static void paint_axis(device_frame *f)
{
    mv_ui *ui = f->p->ui;
    uint64_t step = mv_axis_byte_step((uint64_t)f->most);
    float line = mv_ui_px(ui, MV_UI_LINE);
    char text[MV_TICK_TEXT];

    while (f->box.h * (double)step / f->most < (double)line && step < UINT64_MAX / 2)
        step *= 2;
    for (uint32_t i = 0; i <= MV_BYTE_TICKS && (double)i * (double)step <= f->most; i++) {
        float y = roundf(f->box.y + f->box.h * (float)(1 - (double)i * (double)step / f->most));
        mv_box row = {f->p->scale.x, y - line / 2, f->p->scale.w - mv_ui_px(ui, MV_UI_PAD), line};
        if (i > 0)
            mv_ui_fill(ui, (mv_box){f->box.x, y, f->box.w, 1},
                       (ui->theme->faint_text & ~0xffu) | 0x28);
        mv_ui_text(ui, row, MV_UI_SMALL, ui->theme->text, MV_ANCHOR_END,
                   mv_axis_bytes(i * step, text));
    }
}

static void paint_head(device_frame *f, mv_box head)
{
    const mv_ledger_series *s = &f->lane->found.series;
    mv_scene *scene = &f->p->ui->scene;
    uint64_t most = 0;
    char size[MV_SIZE_TEXT];
    const char *texts[3];

    for (uint32_t c = 0; s->count && c < f->lane->ask.columns; c++)
        if (f->lane->found.columns[c].most_used > most)
            most = f->lane->found.columns[c].most_used;
    mv_size_text(size, most);
    texts[0] = s->count ? mv_scene_format(scene,
                                          "The whole device: up to %s in use here, sampled at the "
                                          "ticks; dashed: calls since then",
                                          size)
                        : "The whole device: memory held by calls; its use was not sampled";
    texts[1] = s->count ? mv_scene_format(scene, "The whole device: up to %s in use here", size)
                        : "The whole device: memory held by calls";
    texts[2] = "The whole device";
    mv_ui_text(f->p->ui, head, MV_UI_SMALL, f->p->ui->theme->faint_text, MV_ANCHOR_START,
               mv_ui_longest(f->p->ui, MV_UI_SMALL, head.w, texts, 3));
}

/* ---- the legend -------------------------------------------------------------------------- */

/* Returns the name, or the longest part of it that fits: "context, code (estimate)", "context,
 * code", "context"; "PyTorch: not in use", "not in use". */
static const char *short_name(const mv_ui *ui, mv_scene *scene, const char *name, float width)
{
    const char *end = strstr(name, ": ");
    const char *brief = mv_scene_format(scene, "%.*s", (int)strcspn(name, ","), name);
    const char *const texts[] = {name,
                                 mv_scene_format(scene, "%.*s", (int)strcspn(name, "("), name),
                                 brief, end ? end + 2 : brief};

    return mv_ui_longest(ui, MV_UI_SMALL, width, texts, sizeof texts / sizeof *texts);
}

/* Paints a row. `box` is what is left of a column, and becomes the next column when the column is
 * full. */
static void paint_row(device_frame *f, mv_box *box, const char *name, const char *bytes,
                      uint32_t colour, bool is_line)
{
    mv_ui *ui = f->p->ui;
    mv_box all = f->p->device_legend, row, sign, value;

    if (box->h < mv_ui_px(ui, ROW) && box->x + 2 * box->w <= all.x + all.w + 0.5f) {
        box->x += box->w;
        box->h += box->y - all.y - mv_ui_px(ui, GAP);
        box->y = all.y + mv_ui_px(ui, GAP);
    }
    if (box->h < mv_ui_px(ui, ROW))
        return;
    row = mv_box_cut_top(box, mv_ui_px(ui, ROW));
    row.w -= f->p->is_legend_below ? mv_ui_px(ui, MV_UI_PAD) : 0;
    sign = mv_box_cut_left(&row, mv_ui_px(ui, 17));
    value = mv_box_cut_right(&row, mv_ui_text_width(ui, MV_UI_SMALL, bytes) + mv_ui_px(ui, 4));
    sign = is_line ? (mv_box){sign.x, roundf(sign.y + sign.h / 2), mv_ui_px(ui, 11), 2}
                   : (mv_box){sign.x, sign.y + 2, mv_ui_px(ui, 11), sign.h - 4};
    mv_ui_fill(ui, sign, colour);
    mv_ui_text(ui, row, MV_UI_SMALL, ui->theme->text, MV_ANCHOR_START,
               short_name(ui, &ui->scene, name, row.w));
    mv_ui_text(ui, value, MV_UI_SMALL, ui->theme->text, MV_ANCHOR_END, bytes);
}

/* Formats bytes such as "-1.87 MiB". Estimated parts may be negative. */
static const char *bytes_text(device_frame *f, int64_t bytes)
{
    char size[MV_SIZE_TEXT];

    return mv_scene_format(&f->p->ui->scene, "%s", mv_size_signed_text(size, bytes));
}

/* Returns the moment that the timeline's legend shows, which is the cursor if it is in the window,
 * and otherwise the highest moment. */
static uint32_t moment_of(const mv_plot *p)
{
    uint32_t cursor = p->view->now->cursor;
    bool is_in = cursor == MV_BEFORE ? p->shown.first == 0
                                     : cursor >= p->shown.first && cursor < p->shown.end;

    if (is_in)
        return cursor;
    return p->of_segments ? p->most.reserved_event : p->most.allocated_event;
}

/* Notes the number of rows, for which the next frame leaves room. */
static void note_keys(device_frame *f)
{
    uint32_t count = f->lane->found.series.count > 0;

    for (uint32_t i = 0; i < MV_DEVICE_PARTS; i++)
        count += mv_device_part_name(f->lane, (mv_device_part)i) != NULL;
    f->p->ui->is_animating |= count != f->p->pane->device_keys;
    f->p->pane->device_keys = count;
}

/* Paints the legend, in the order of the areas from top to bottom, with the bytes at its moment. */
static void paint_legend(device_frame *f, mv_box box)
{
    mv_plot *p = f->p;
    uint32_t event = moment_of(p);
    mv_ledger_question q = mv_ledger_question_at(p->document, p->device, event);
    const mv_ledger_answer *a = ledger_of(p->pane->ledger_slot, q);
    mv_device_parts parts = {0};

    if (a)
        parts = mv_device_parts_of(f->lane, a,
                                   mv_document_unused(p->document, &p->view->levels, event));
    note_keys(f);
    if (f->lane->found.series.count)
        paint_row(f, &box, "in use, as sampled by NVML",
                  a && a->ledger.used != MV_NO_BYTES ? bytes_text(f, (int64_t)a->ledger.used) : "",
                  p->ui->theme->outline, true);
    for (uint32_t i = MV_DEVICE_PARTS; i-- > 0;) {
        const char *name = mv_device_part_name(f->lane, (mv_device_part)i);
        if (name)
            paint_row(f, &box, name, a ? bytes_text(f, parts.bytes[i]) : "", f->colours[i], false);
    }
}

/* ---- the pointer ------------------------------------------------------------------------- */

/* Returns a tooltip with the ledger at the pointer's position. */
static const char *tip_of(device_frame *f, double event)
{
    mv_plot *p = f->p;
    mv_ledger_question q = mv_ledger_question_at(p->document, p->device, MV_LEDGER_OF_TIME);
    uint32_t last = (uint32_t)fmin(event, p->lives->events.count - 1);
    const mv_ledger_answer *a;
    mv_device_parts parts;
    char distance[MV_LEDGER_DISTANCE];
    const char *tip;

    q.time_us = mv_device_lane_time(p->document, p->device, event);
    a = ledger_of(p->pane->pointed_slot, q);
    if (!a)
        return "";
    parts = mv_device_parts_of(f->lane, a, mv_document_unused(p->document, &p->view->levels, last));
    tip = mv_scene_format(&p->ui->scene, "%s", mv_plot_moment(p, last));
    if (a->ledger.used != MV_NO_BYTES)
        tip = mv_scene_format(&p->ui->scene, "%s\n%s in use, sampled %s", tip,
                              bytes_text(f, (int64_t)a->ledger.used),
                              mv_ledger_distance(&a->ledger, distance));
    for (uint32_t i = MV_DEVICE_PARTS; i-- > 0;) {
        const char *name = mv_device_part_name(f->lane, (mv_device_part)i);
        if (name)
            tip = mv_scene_format(&f->p->ui->scene, "%s\n%s %s", tip, bytes_text(f, parts.bytes[i]),
                                  name);
    }
    return *a->ledger.residue ? mv_scene_format(&p->ui->scene, "%s\n%s", tip, a->ledger.residue)
                              : tip;
}

/* Handles the pointer. A click moves the cursor. */
static void paint_pointer(device_frame *f, mv_box whole)
{
    mv_plot *p = f->p;
    double event = p->view->now->cursor == MV_BEFORE ? 0 : p->view->now->cursor;
    float x = mv_plot_cursor_x(p);
    const char *tip = "";

    if (x >= f->box.x && x < f->box.x + f->box.w)
        mv_ui_fill(p->ui, (mv_box){x, f->box.y, 1, f->box.h}, p->ui->theme->outline);
    if (mv_ui_is_hot(p->ui, whole) && p->pane->drag.kind == MV_DRAG_NONE) {
        event = fmax(0, mv_viewport_event(&p->at, p->ui->pointer_x));
        tip = tip_of(f, event);
    }
    event = fmin(event, p->lives->events.count - 1);
    mv_ui_zone(p->ui, whole, MV_DO_go_to_event, (uint32_t)event, tip);
}

/* ---- all --------------------------------------------------------------------------------- */

void mv_plot_device(mv_plot *p)
{
    device_frame f = {.p = p, .box = p->device_lane};
    mv_ui *ui = p->ui;
    mv_box head;

    p->pane->device_shown = NULL;
    if (f.box.h <= 0)
        return;
    mv_box_cut_top(&f.box, mv_ui_px(ui, GAP));
    mv_box_cut_bottom(&f.box, mv_ui_px(ui, BELOW)); /* leaves room for half of the lowest label */
    head = mv_box_cut_top(&f.box, mv_ui_px(ui, HEAD));
    mv_box_cut_top(&f.box, mv_ui_px(ui, TICK));
    f.box.w = p->plot.w;
    mv_ui_fill(ui, f.box, ui->theme->plot);
    p->pane->device_shown = f.lane = lane_of(p);
    if (!f.lane)
        return;
    f.most = most_of(f.lane) * 1.06;
    find_colours(p, f.lane, f.colours);
    paint_head(&f, head);
    paint_samples(&f);
    for (uint32_t i = 0; i < MV_DEVICE_PARTS; i++)
        paint_part(&f, i);
    paint_axis(&f);
    paint_used(&f);
    if (p->device_legend.h > 0) {
        mv_box legend = p->device_legend;
        mv_box_cut_top(&legend, mv_ui_px(ui, GAP));
        if (p->is_legend_below)
            legend.w = floorf(legend.w / (float)key_columns(p, legend.w));
        paint_legend(&f, legend);
    }
    if (!p->view->sheet)
        paint_pointer(&f, (mv_box){f.box.x, head.y, f.box.w, f.box.y + f.box.h - head.y});
}
