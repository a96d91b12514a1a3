/* What the colours and lines mean, with the bytes of each. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "view/timeline/plot.h"
#include "viz/scene/distinct_texts.h"
#include "viz/scene/fullness_scale.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    PART = 20000,
    ROW = 19,
    SWATCH = 11,
    SHARE = 40,
    AMOUNT = 64,
    LEAST = 200,
    USUAL = 262,
    WIDE = 440
};

float mv_legend_width(const mv_view *view, float pane)
{
    float scale = view->ui.scale, chosen = (float)view->desk->legend_width;
    float width = chosen > 0 ? chosen : fminf(fmaxf(0.23f * pane / scale, USUAL), WIDE);

    width = roundf(fmaxf(width, LEAST) * scale);
    return pane >= 3.2f * USUAL * scale ? fminf(width, roundf(pane / 2)) : 0;
}

/* ---- counting ----------------------------------------------------------------------------- */

static uint64_t search_key(const mv_view *view)
{
    if (!view->matches)
        return 0;
    return XXH3_64bits(view->now->search, strlen(view->now->search)) | 1;
}

/* What the tiles of the window are; 0: it is moving. */
static uint64_t tiles_key(const mv_plot *p)
{
    uint64_t key = 1;

    if (p->pane->is_easing || p->pane->is_zooming || p->tiles.missing > 0)
        return 0;
    for (uint32_t i = 0; i < p->tiles.count; i++) {
        const mv_tile_quad *q = &p->tiles.quads[i];
        struct {
            uint64_t serial;
            float x, y, w, h;
        } part = {q->tile->serial, q->from_x, q->from_y, q->from_w, q->from_h};
        key = XXH3_64bits_withSeed(&part, sizeof part, key);
    }
    return key | 1;
}

static bool is_in_window(const mv_plot *p, uint32_t event)
{
    return event == MV_BEFORE ? p->shown.first == 0
                              : event >= p->shown.first && event < p->shown.end;
}

/* A window that moves keeps what was counted for it, so that rows do not flicker. */
static mv_legend_ask ask_of(const mv_plot *p)
{
    const mv_legend_ask *last = &p->pane->legend.ask;
    mv_legend_ask ask;

    memset(&ask, 0, sizeof ask);
    ask.device = p->device;
    ask.colours = mv_view_colour_key(p->view);
    ask.search = search_key(p->view);
    ask.event = ask.high = p->view->now->cursor;
    if (!p->rows)
        return ask;
    ask.only = p->rows->only ? p->rows->ask.id : 0;
    ask.tiles = tiles_key(p);
    ask.high = p->most.allocated_event;
    if (!is_in_window(p, ask.event))
        ask.event = ask.high;
    if (ask.tiles == 0 && p->pane->legend.is_done && last->device == ask.device &&
        last->colours == ask.colours && last->only == ask.only) {
        ask.tiles = last->tiles;
        ask.high = last->high;
    }
    return ask;
}

static bool is_of(const mv_legend *l, const mv_legend_ask *ask)
{
    return memcmp(&l->ask, ask, sizeof *ask) == 0;
}

static void update(mv_plot *p, const mv_colouring *colouring)
{
    mv_timeline_pane *pane = p->pane;
    mv_legend_ask ask = ask_of(p);
    uint32_t part = p->view->opts.is_threaded ? PART : UINT32_MAX;
    mv_legend_source from = {.colouring = *colouring,
                             .index = &p->device->index,
                             .only = p->rows ? p->rows->only : NULL,
                             .matches = p->view->matches,
                             .tiles = p->rows ? &p->tiles : NULL,
                             .spikes = p->spike_of,
                             .spike_count = p->rows ? (uint32_t)p->plot.w : 0};
    mv_legend shown;

    if (pane->legend.is_done && is_of(&pane->legend, &ask))
        return;
    if (!is_of(&pane->counting, &ask) &&
        !mv_legend_begin(&pane->counting, &pane->arena, &ask, colouring))
        return;
    if (!mv_legend_count(&pane->counting, &pane->arena, &from, part)) {
        p->ui->is_animating = true;
        return;
    }
    shown = pane->legend;
    pane->legend = pane->counting;
    pane->counting = shown;
    pane->counting.ask.device = NULL;
}

/* ---- rows --------------------------------------------------------------------------------- */

static const char *share_of(mv_plot *p, uint64_t bytes, uint64_t all)
{
    double share = all ? 100.0 * (double)bytes / (double)all : 0;

    return bytes > 0 && share < 1 ? "<1 %" : mv_scene_format(&p->ui->scene, "%.0f %%", share);
}

static const char *row_tip(mv_plot *p, const mv_legend_row *row)
{
    char size[MV_SIZE_TEXT];

    return mv_scene_format(&p->ui->scene, "%s: %s in %u blocks; click to search for %s", row->label,
                           mv_size_text(size, row->bytes), row->blocks,
                           row->blocks == 1 ? "it" : "them");
}

static float label_width(const mv_plot *p, mv_box box)
{
    return box.w - mv_ui_px(p->ui, SWATCH + 6) - mv_ui_px(p->ui, SHARE) - mv_ui_px(p->ui, AMOUNT) -
           mv_ui_px(p->ui, 4);
}

static void paint_row(mv_plot *p, mv_box box, uint32_t index, const char *label)
{
    const mv_legend_row *row = &p->pane->legend_rows.row[index];
    const mv_theme *theme = p->ui->theme;
    char size[MV_SIZE_TEXT];
    mv_box swatch, share, amount;

    if (mv_ui_is_hot(p->ui, box))
        mv_ui_fill(p->ui, box, theme->grid);
    mv_ui_zone(p->ui, box, MV_DO_legend_row, index,
               mv_ui_is_hot(p->ui, box) ? row_tip(p, row) : "");
    swatch = mv_box_cut_left(&box, mv_ui_px(p->ui, SWATCH + 6));
    share = mv_box_cut_right(&box, mv_ui_px(p->ui, SHARE));
    amount = mv_box_cut_right(&box, mv_ui_px(p->ui, AMOUNT));
    swatch.w = swatch.h = mv_ui_px(p->ui, SWATCH);
    swatch.y += roundf((box.h - swatch.h) / 2);
    if (row->colour)
        mv_ui_fill(p->ui, swatch, row->colour);
    if (row->bytes)
        mv_ui_text(p->ui, share, MV_UI_SMALL, theme->faint_text, MV_ANCHOR_END,
                   share_of(p, row->bytes, p->pane->legend.all.bytes));
    mv_ui_text(p->ui, amount, MV_UI_SMALL, row->bytes ? theme->text : theme->faint_text,
               MV_ANCHOR_END, mv_size_text(size, row->bytes));
    mv_ui_text(p->ui, box, MV_UI_SMALL, theme->text, MV_ANCHOR_START, label);
}

static void paint_rows(mv_plot *p, mv_box *box, const mv_colouring *colouring)
{
    mv_legend_rows *rows = &p->pane->legend_rows;
    float high = mv_ui_px(p->ui, ROW);
    const char *labels[MV_LEGEND_MOST];

    mv_legend_choose(&p->pane->legend, colouring, p->ui->theme, &p->ui->scene,
                     (uint32_t)fmaxf(0, box->h / high), rows);
    for (uint32_t i = 0; i < rows->count; i++)
        labels[i] = rows->row[i].label;
    mv_labels_fit(&p->ui->scene, labels, rows->count, MV_UI_SMALL * p->ui->scale,
                  label_width(p, *box));
    for (uint32_t i = 0; i < rows->count; i++)
        paint_row(p, mv_box_cut_top(box, high), i, labels[i]);
}

/* ---- what it tells about ------------------------------------------------------------------ */

static void line(mv_plot *p, mv_box *box, uint32_t colour, const char *text)
{
    mv_box row = mv_box_cut_top(box, mv_ui_px(p->ui, ROW));

    mv_ui_text(p->ui, row, MV_UI_SMALL, colour, MV_ANCHOR_START,
               mv_label_fit(&p->ui->scene, text, MV_UI_SMALL * p->ui->scale, row.w));
}

static const char *sum_text(mv_plot *p, const char *what, mv_legend_sum sum)
{
    char size[MV_SIZE_TEXT];

    return mv_scene_format(&p->ui->scene, "%s %s in %u block%s", what,
                           mv_size_text(size, sum.bytes), sum.blocks, sum.blocks == 1 ? "" : "s");
}

/* "at the peak": the moment whose bytes the rows have. */
static const char *moment_of(const mv_plot *p)
{
    const mv_legend_ask *ask = &p->pane->legend.ask;

    if (ask->event == p->device->peak_event)
        return "at the peak";
    return ask->event == p->view->now->cursor ? "at the cursor" : "at the highest in view";
}

static void paint_title(mv_plot *p, mv_box *box)
{
    static const char *const titles[] = {
#define MV_LEGEND_TITLE(name, text) "By " text,
        MV_COLOUR_LIST(MV_LEGEND_TITLE)
#undef MV_LEGEND_TITLE
    };
    const mv_legend *l = &p->pane->legend;
    const mv_theme *theme = p->ui->theme;
    char size[MV_SIZE_TEXT];

    line(p, box, theme->faint_text,
         mv_scene_format(&p->ui->scene, "%s, %s %s", titles[p->view->now->colour % MV_COLOUR_COUNT],
                         mv_size_text(size, l->all.bytes), moment_of(p)));
    if (l->ask.only) {
        line(p, box, theme->text, sum_text(p, "hits:", l->all));
        line(p, box, theme->faint_text, sum_text(p, "others, hidden:", l->hidden));
    } else if (l->ask.search) {
        line(p, box, theme->text, sum_text(p, "hits:", l->hits));
    }
}

void mv_plot_colours(mv_plot *p, mv_box box)
{
    mv_colouring colouring = mv_colouring_of(p->view);

    p->pane->legend_rows.count = 0;
    update(p, &colouring);
    if (!p->pane->legend.is_done || p->pane->legend.ask.device != p->device ||
        p->pane->legend.ask.colours != mv_view_colour_key(p->view))
        return;
    paint_title(p, &box);
    paint_rows(p, &box, &colouring);
}

bool mv_legend_search(mv_view *view, uint64_t row, char out[MV_SEARCH_TEXT])
{
    const mv_legend_rows *rows = &view->timeline->legend_rows;
    mv_colouring colouring = mv_colouring_of(view);

    return row < rows->count && rows->device == colouring.device &&
           rows->colours == mv_view_colour_key(view) &&
           mv_legend_words(rows, &colouring, (uint32_t)row, out);
}

/* ---- lines -------------------------------------------------------------------------------- */

void mv_plot_key_line(mv_plot *p, mv_box *box, uint32_t colour, bool is_dashed, const char *text)
{
    mv_box row = mv_box_cut_top(box, mv_ui_px(p->ui, ROW));
    mv_box sign = mv_box_cut_left(&row, mv_ui_px(p->ui, 26));
    float y = roundf(sign.y + sign.h / 2);

    mv_scene_point(&p->ui->scene, sign.x, y);
    mv_scene_point(&p->ui->scene, sign.x + mv_ui_px(p->ui, 20), y);
    mv_scene_add(&p->ui->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                           .stroke = colour,
                                           .width = 2 * p->ui->scale,
                                           .is_dashed = is_dashed});
    mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START, text);
}

static void paint_keys(mv_plot *p, mv_box *box)
{
    const mv_theme *theme = p->ui->theme;

    if (p->of_segments) {
        mv_plot_key_line(p, box, theme->outline, false, "reserved by PyTorch");
        mv_plot_key_line(p, box, theme->active, true, "allocated: in use");
    } else if (!p->rows->only) {
        mv_plot_key_line(p, box, theme->outline, false, "allocated: in use");
        if (p->has_pending)
            mv_plot_key_line(p, box, theme->active, true, "active: a stream may use it");
        mv_plot_key_line(p, box, theme->reserved, true, "reserved by PyTorch");
    }
    mv_plot_other_key(p, box);
    mv_box_cut_top(box, mv_ui_px(p->ui, 6));
}

/* How full segments are: the colours from empty to full. */
static void paint_use(mv_plot *p, mv_box *box)
{
    mv_box title = mv_box_cut_top(box, mv_ui_px(p->ui, ROW));

    mv_ui_text(p->ui, title, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_START,
               "How full segments are");
    for (uint32_t level = MV_FULLNESS_LEVELS; level-- > 0;) {
        mv_box row = mv_box_cut_top(box, mv_ui_px(p->ui, ROW));
        mv_box swatch = mv_box_cut_left(&row, mv_ui_px(p->ui, 26));
        swatch.w = mv_ui_px(p->ui, 20);
        swatch.y += 4;
        swatch.h -= 8;
        mv_ui_fill(p->ui, swatch, mv_fullness_colour(level, p->view->desk->is_dark));
        mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START,
                   mv_fullness_name(level));
    }
}

void mv_plot_legend(mv_plot *p)
{
    mv_box box = p->legend;

    p->pane->legend_rows.count = 0;
    if (box.w <= 0)
        return;
    paint_keys(p, &box);
    if (p->of_segments)
        paint_use(p, &box);
    else
        mv_plot_colours(p, box);
}
