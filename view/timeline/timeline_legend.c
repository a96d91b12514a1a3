/* The legend, which explains colours and lines, and shows how many bytes each stands for. */
#include <math.h>

#include "base/size.h"
#include "view/timeline/plot.h"
#include "viz/pictures/fullness.h"
#include "viz/scene/axis.h"
#include "viz/scene/distinct_texts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    PART = 20000,
    ROW = 19,
    SWATCH = 11,
    SHARE = 40,
    AMOUNT = 58,
    NARROW = 250,
    LEAST = 200,
    USUAL = 262,
    WIDE = 440,
    BELOW = 230,       /* width of a column in a legend below the picture */
    LEAST_BELOW = 170, /* width of each of its two columns on a phone */
    MOST_BELOW = 6,    /* maximum number of rows in a legend below the picture */
    SHARE_BELOW = 30   /* maximum height of that legend as a percentage of the pane's height */
};

float mv_legend_width(const mv_view *view, float pane)
{
    float scale = view->ui.scale, chosen = (float)view->desk->legend_width;
    float width = chosen > 0 ? chosen : fminf(fmaxf(0.245f * pane / scale, USUAL), WIDE);

    width = roundf(fmaxf(width, LEAST) * scale);
    return pane >= 3.2f * USUAL * scale ? fminf(width, roundf(pane / 2)) : 0;
}

mv_box mv_legend_cut(const mv_view *view, mv_box *pane, uint32_t *columns)
{
    float width = mv_legend_width(view, pane->w), row = mv_ui_px(&view->ui, ROW);
    float rows = fminf(floorf(pane->h * SHARE_BELOW / 100 / row), MOST_BELOW), least, most;
    uint32_t lines = view->sheet ? 0 : view->timeline->legend_lines;
    mv_box cut;

    *columns = 1;
    if (width > 0)
        return mv_box_cut_right(pane, width);
    cut = mv_box_cut_bottom(pane, rows < 2 ? 0 : rows * row + mv_ui_px(&view->ui, MV_UI_PAD));
    mv_box_cut_bottom(&cut, mv_ui_px(&view->ui, MV_UI_PAD));
    least = cut.w < mv_ui_px(&view->ui, WIDE) && view->now->main != MV_MAIN_STATE ? 1 : 2;
    most = cut.w < 2 * mv_ui_px(&view->ui, LEAST_BELOW) ? 1 : 2;
    most = fmaxf(most, floorf(cut.w / mv_ui_px(&view->ui, BELOW)));
    if (lines && rows >= 2)
        most = fminf(most, fmaxf(least, ceilf((float)lines / rows))); /* in the state view, there
                                                                       * must also be room for the
                                                                       * signs */
    *columns = (uint32_t)most;
    return cut;
}

/* ---- rows in columns ---------------------------------------------------------------------- */

static float column_width(const mv_plot *p)
{
    return floorf(p->legend.w / (float)(p->legend_columns ? p->legend_columns : 1));
}

static mv_box first_column(const mv_plot *p)
{
    mv_box box = p->legend;

    box.w = column_width(p);
    return box;
}

static bool has_next_column(const mv_plot *p, const mv_box *box)
{
    return box->x + 2 * box->w <= p->legend.x + p->legend.w + 0.5f;
}

mv_box mv_plot_key_row(const mv_plot *p, mv_box *box)
{
    float high = mv_ui_px(p->ui, ROW);
    mv_box row;

    if (box->h < high && has_next_column(p, box))
        *box = (mv_box){box->x + box->w, p->legend.y, box->w, p->legend.h};
    row = mv_box_cut_top(box, box->h < high ? 0 : high);
    if (p->legend_columns > 1)
        mv_box_cut_right(&row, mv_ui_px(p->ui, MV_UI_PAD));
    return row;
}

/* Returns the number of rows that fit into this column and the next ones. */
static uint32_t rows_left(const mv_plot *p, mv_box box)
{
    float high = mv_ui_px(p->ui, ROW);
    uint32_t count = (uint32_t)fmaxf(0, box.h / high);

    for (; has_next_column(p, &box); box.x += box.w)
        count += (uint32_t)(p->legend.h / high);
    return count;
}

/* ---- printed pictures -------------------------------------------------------------------- */

/* Returns which rows are drawn separately; NULL: all. */
static const uint64_t *shown_rows(const mv_plot *p)
{
    if (p->view->sheet && p->view->sheet->largest)
        return p->view->sheet->largest;
    return p->rows ? p->rows->only : NULL;
}

/* Whether all rows other than the largest are drawn as a band. */
static bool has_band(const mv_plot *p)
{
    return p->view->sheet && p->view->sheet->largest;
}

/* Returns the sum of the legend, which includes the counted bytes and the band. */
static uint64_t all_bytes(const mv_plot *p)
{
    const mv_legend *l = &p->pane->legend;
    mv_levels levels;

    if (!has_band(p))
        return l->all.bytes;
    levels = mv_pyramid_at(p->levels, p->view->now->cursor);
    return p->of_segments ? levels.reserved : levels.allocated;
}

/* ---- counting ----------------------------------------------------------------------------- */

static uint64_t search_key(const mv_view *view)
{
    if (!view->matches)
        return 0;
    return XXH3_64bits(view->now->search, strlen(view->now->search)) | 1;
}

/* Returns a key for the tiles of the window; 0: the window is moving. */
static uint64_t tiles_key(const mv_plot *p)
{
    uint64_t key = 1;

    if (p->of_pools)
        return p->pools ? XXH3_64bits(&p->pools->ask, sizeof p->pools->ask) | 1 : 0;
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

/* Returns the query. While the window moves, the last count is kept, so that rows do not
 * flicker. */
static mv_legend_query ask_of(const mv_plot *p)
{
    const mv_legend_query *last = &p->pane->legend.ask;
    mv_legend_query ask;

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

static bool is_of(const mv_legend *l, const mv_legend_query *ask)
{
    return memcmp(&l->ask, ask, sizeof *ask) == 0;
}

static void update(mv_plot *p, const mv_colouring *colouring)
{
    mv_timeline_pane *pane = p->pane;
    mv_legend_query ask = ask_of(p);
    uint32_t part = p->view->opts.is_threaded ? PART : UINT32_MAX;
    mv_legend_source from = {.colouring = *colouring,
                             .index = p->of_segments ? p->index : &p->device->index,
                             .only = shown_rows(p),
                             .matches = p->view->matches,
                             .tiles = p->rows ? &p->tiles : NULL,
                             .seen = p->seen,
                             .seen_count = p->seen_count,
                             .spikes = p->spike_of,
                             .spike_count = p->rows ? (uint32_t)p->plot.w : 0,
                             .rest = p->pools ? p->ui->theme->rest : 0};
    mv_legend shown;

    if (pane->legend.is_done && is_of(&pane->legend, &ask))
        return;
    if (!is_of(&pane->counting, &ask) && !mv_legend_begin(&pane->counting, &pane->arena, &ask))
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
    char size[MV_SIZE_TEXT], count[MV_TICK_TEXT];

    return mv_scene_format(&p->ui->scene, "%s: %s in %s block%s; click to search for %s",
                           row->label, mv_size_text(size, row->bytes),
                           mv_axis_exact(row->blocks, count), row->blocks == 1 ? "" : "s",
                           row->blocks == 1 ? "it" : "them");
}

/* Returns the width of the percentages. In a narrow legend, names take this space too. */
static float share_width(const mv_plot *p)
{
    return column_width(p) < mv_ui_px(p->ui, NARROW) ? 0 : mv_ui_px(p->ui, SHARE);
}

/* Returns the width of a label. If a row has no bytes, its name takes the space of the numbers
 * too. */
static float label_width(const mv_plot *p, mv_box box, bool has_bytes)
{
    float numbers = has_bytes ? share_width(p) + mv_ui_px(p->ui, AMOUNT) : 0;

    if (p->legend_columns > 1)
        numbers += mv_ui_px(p->ui, MV_UI_PAD);
    return box.w - mv_ui_px(p->ui, SWATCH + 6) - numbers - mv_ui_px(p->ui, 4);
}

/* Paints what is to the right of a swatch: a label, the bytes, and their share of all. */
static void paint_bytes(mv_plot *p, mv_box box, const char *label, uint64_t bytes)
{
    const mv_theme *theme = p->ui->theme;
    mv_box share = mv_box_cut_right(&box, share_width(p));
    mv_box amount = mv_box_cut_right(&box, mv_ui_px(p->ui, AMOUNT));
    char size[MV_SIZE_TEXT];

    mv_ui_text(p->ui, share, MV_UI_SMALL, theme->faint_text, MV_ANCHOR_END,
               share_of(p, bytes, all_bytes(p)));
    mv_ui_text(p->ui, amount, MV_UI_SMALL, theme->text, MV_ANCHOR_END, mv_size_text(size, bytes));
    mv_ui_text(p->ui, box, MV_UI_SMALL, theme->text, MV_ANCHOR_START, label);
}

static void paint_row(mv_plot *p, mv_box box, uint32_t index, const char *label)
{
    const mv_legend_row *row = &p->pane->legend_rows.row[index];
    bool is_hot = mv_ui_is_hot(p->ui, box);
    mv_box swatch;

    if (is_hot)
        mv_ui_fill(p->ui, box, p->ui->theme->grid);
    mv_ui_zone(p->ui, box, MV_DO_legend_row, index, is_hot ? row_tip(p, row) : "");
    swatch = mv_box_cut_left(&box, mv_ui_px(p->ui, SWATCH + 6));
    swatch.w = swatch.h = mv_ui_px(p->ui, SWATCH);
    swatch.y += roundf((box.h - swatch.h) / 2);
    if (row->colour)
        mv_ui_fill(p->ui, swatch, row->colour);
    if (row->bytes)
        paint_bytes(p, box, label, row->bytes);
    else
        mv_ui_text(p->ui, box, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START, label);
}

/* Paints the row for the grey band at the top, which contains the rows that are not drawn
 * separately. */
static void paint_band(mv_plot *p, mv_box box)
{
    const mv_paper_sheet *sheet = p->view->sheet;
    mv_box swatch = mv_box_cut_left(&box, mv_ui_px(p->ui, SWATCH + 6));
    uint64_t bytes = all_bytes(p) - p->pane->legend.all.bytes;
    char count[MV_TICK_TEXT];

    if (box.h <= 0)
        return;
    swatch.w = swatch.h = mv_ui_px(p->ui, SWATCH);
    swatch.y += roundf((box.h - swatch.h) / 2);
    mv_ui_fill(p->ui, swatch, p->ui->theme->rest);
    mv_axis_exact(sheet->others ? sheet->others : sheet->matches - sheet->opts.top, count);
    paint_bytes(p, box,
                mv_scene_format(&p->ui->scene, "%s other %s", count,
                                p->of_segments ? "segments" : "blocks"),
                bytes);
}

static void line(mv_plot *p, mv_box *box, uint32_t colour, const char *text)
{
    mv_box row = mv_plot_key_row(p, box);

    if (row.h > 0)
        mv_ui_text(p->ui, row, MV_UI_SMALL, colour, MV_ANCHOR_START, text);
}

/* Returns the first row without bytes at the legend's moment, if all such rows come last;
 * MV_NO_ROW: there is none. */
static uint32_t first_empty(const mv_legend_rows *rows, const mv_colouring *colouring)
{
    for (uint32_t i = 0; i < rows->count && !mv_colouring_steps(colouring); i++)
        if (rows->row[i].bytes == 0)
            return i;
    return MV_NO_ROW;
}

static void paint_rows(mv_plot *p, mv_box *box, const mv_colouring *colouring)
{
    mv_legend_rows *rows = &p->pane->legend_rows;
    uint32_t room = rows_left(p, *box), empty, full;
    const char *labels[MV_LEGEND_MOST];

    room -= room > 0 && has_band(p);
    mv_legend_choose(&p->pane->legend, colouring, p->ui->theme, &p->ui->scene, room, rows);
    empty = first_empty(rows, colouring);
    if (empty != MV_NO_ROW && rows->count == room) { /* a line is drawn above these rows */
        mv_legend_choose(&p->pane->legend, colouring, p->ui->theme, &p->ui->scene, room - 1, rows);
        empty = first_empty(rows, colouring);
    }
    for (uint32_t i = 0; i < rows->count; i++)
        labels[i] = rows->row[i].label;
    full = empty == MV_NO_ROW ? rows->count : empty;
    mv_labels_fit(&p->ui->scene, labels, full, MV_UI_SMALL * p->ui->scale,
                  label_width(p, *box, true));
    mv_labels_fit(&p->ui->scene, labels + full, rows->count - full, MV_UI_SMALL * p->ui->scale,
                  label_width(p, *box, false));
    for (uint32_t i = 0; i < rows->count; i++) {
        if (i == empty)
            line(p, box, p->ui->theme->faint_text, "in view at other moments:");
        paint_row(p, mv_plot_key_row(p, box), i, labels[i]);
    }
    if (has_band(p))
        paint_band(p, mv_plot_key_row(p, box));
}

/* ---- the moment --------------------------------------------------------------------------- */

/* Names the moment at which the bytes of the rows are counted, as in "at the peak". */
static const char *moment_of(const mv_plot *p)
{
    const mv_legend_query *ask = &p->pane->legend.ask;
    const mv_paper_sheet *sheet = p->view->sheet;

    if (p->device->lives.events.count == 0)
        return "in use";
    if (sheet && sheet->is_of_moment)
        return "at this moment";
    if (sheet && (sheet->opts.only || p->of_segments))
        return "at their peak";
    if (ask->event == p->device->peak_event)
        return "at the peak";
    return ask->event == p->view->now->cursor ? "at the cursor" : "at the highest in view";
}

/* Paints the title, which is the longest text that fits on one line. It is always one line,
 * whatever the search, so that a click on a row does not move the rows. */
static void paint_title(mv_plot *p, mv_box *box)
{
    static const char *const titles[] = {
#define MV_LEGEND_TITLE(name, text) "By " text,
        MV_COLOUR_LIST(MV_LEGEND_TITLE)
#undef MV_LEGEND_TITLE
    };
    const mv_legend *l = &p->pane->legend;
    const mv_legend_sum *hits = l->ask.only ? &l->all : &l->hits;
    mv_scene *scene = &p->ui->scene;
    char all[MV_SIZE_TEXT], some[MV_SIZE_TEXT], count[MV_TICK_TEXT];
    const char *when = moment_of(p), *texts[3];

    mv_size_text(all, all_bytes(p) + (p->view->sheet ? 0 : l->hidden.bytes));
    mv_size_text(some, hits->bytes);
    if (p->view->sheet) { /* the heading already names them */
        texts[0] = mv_scene_format(scene, "%s %s, by line", all, when);
        texts[1] = mv_scene_format(scene, "%s, by line", all);
        texts[2] = all;
    } else if (l->ask.search || l->ask.only) {
        texts[0] = mv_scene_format(scene, "hits: %s in %s block%s, of %s %s", some,
                                   mv_axis_exact(hits->blocks, count), hits->blocks == 1 ? "" : "s",
                                   all, when);
        texts[1] = mv_scene_format(scene, "hits: %s of %s %s", some, all, when);
        texts[2] = mv_scene_format(scene, "hits: %s of %s", some, all);
    } else {
        texts[0] = mv_scene_format(scene, "%s, %s %s",
                                   titles[p->view->now->colour % MV_COLOUR_COUNT], all, when);
        texts[1] = mv_scene_format(scene, "%s %s", all, when);
        texts[2] = all;
    }
    line(p, box, l->ask.search || l->ask.only ? p->ui->theme->text : p->ui->theme->faint_text,
         mv_ui_longest(p->ui, MV_UI_SMALL, box->w, texts, 3));
}

mv_colouring mv_plot_colouring(const mv_plot *p)
{
    mv_colouring colouring = mv_colouring_of(p->view);

    if (p->of_segments) {
        colouring.lives = p->lives;
        colouring.mode = MV_COLOUR_SITE;
        colouring.is_evaluated = false;
    }
    return colouring;
}

/* Counts the lines of a legend whose last row ends at `rest`, where `more` rows did not fit. */
static void count_lines(mv_plot *p, mv_box rest, uint32_t more)
{
    uint32_t lines = rows_left(p, first_column(p)) - rows_left(p, rest) + more;

    p->ui->is_animating = p->ui->is_animating || lines != p->pane->legend_lines;
    p->pane->legend_lines = lines;
}

/* Paints the colours. `before` is the number of lines in the columns to the left. */
static void paint_colours(mv_plot *p, mv_box box, uint32_t before)
{
    mv_colouring colouring = mv_plot_colouring(p);
    const mv_legend *l = &p->pane->legend;
    uint32_t shown;

    p->pane->legend_rows.count = 0;
    update(p, &colouring);
    if (!l->is_done || l->ask.device != p->device || l->ask.colours != mv_view_colour_key(p->view))
        return;
    paint_title(p, &box);
    paint_rows(p, &box, &colouring);
    shown = p->pane->legend_rows.count;
    count_lines(p, box, before + (l->count > shown ? l->count - shown : 0));
}

void mv_plot_colours(mv_plot *p, mv_box box, uint32_t columns)
{
    p->legend = box;
    p->legend_columns = columns;
    paint_colours(p, first_column(p), (uint32_t)(box.h / mv_ui_px(p->ui, ROW)));
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
    mv_box row = mv_plot_key_row(p, box);
    mv_box sign = mv_box_cut_left(&row, mv_ui_px(p->ui, 26));
    float y = roundf(sign.y + sign.h / 2);

    if (row.h <= 0)
        return;
    mv_scene_point(&p->ui->scene, sign.x, y);
    mv_scene_point(&p->ui->scene, sign.x + mv_ui_px(p->ui, 20), y);
    mv_scene_add(&p->ui->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                           .stroke = colour,
                                           .width = 2 * p->ui->scale,
                                           .is_dashed = is_dashed});
    mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START, text);
}

static void key_area(mv_plot *p, mv_box *box, mv_shape area, const char *text)
{
    mv_box row = mv_plot_key_row(p, box);
    mv_box sign = mv_box_cut_left(&row, mv_ui_px(p->ui, 26));

    if (row.h <= 0)
        return;
    sign.w = mv_ui_px(p->ui, 20);
    sign.y += mv_ui_px(p->ui, 4);
    sign.h -= mv_ui_px(p->ui, 8);
    if (area.is_hatched)
        mv_ui_fill(p->ui, sign, p->ui->theme->unknown);
    mv_scene_point(&p->ui->scene, sign.x, sign.y);
    mv_scene_point(&p->ui->scene, sign.x + sign.w, sign.y + sign.h);
    area.kind = MV_SHAPE_RECTS;
    mv_scene_add(&p->ui->scene, area);
    mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START, text);
}

static bool is_by_fullness(const mv_plot *p)
{
    return p->of_segments && !(p->view->sheet && p->view->sheet->opts.by_line);
}

/* Paints the keys of those areas of a printed picture that belong to no group. */
static void paint_area_keys(mv_plot *p, mv_box *box)
{
    const mv_theme *theme = p->ui->theme;

    if (!has_band(p) && p->has_rest)
        key_area(p, box, (mv_shape){.fill = theme->rest, .is_crisp = true},
                 p->of_segments ? "small segments together" : "small allocations together");
    if (p->has_hatch)
        key_area(p, box, (mv_shape){.is_hatched = true, .stroke = theme->hatch},
                 "from before the first event");
}

static void paint_keys(mv_plot *p, mv_box *box)
{
    const mv_theme *theme = p->ui->theme;
    bool has_reserve = mv_level_reserves(p->trace);
    const char *reserved = p->trace->origin.level ? "reserved" : "reserved by PyTorch";
    const char *held = has_reserve ? "allocated: in use" : mv_level_held(p->trace);

    if (p->of_segments &&
        mv_trace_is_missing_reserved(p->trace)) { /* reserved bytes are missing from the file */
        mv_plot_key_line(p, box, theme->outline, false, held);
    } else if (p->of_segments) {
        mv_plot_key_line(p, box, theme->outline, false, reserved);
        mv_plot_key_line(p, box, theme->active, true, "allocated: in use");
    } else {
        mv_plot_key_line(p, box, theme->outline, false, held);
        if (p->has_pending && !p->of_pools)
            mv_plot_key_line(p, box, theme->active, true, "active: a stream may use it");
        if (mv_plot_shows_requested(p))
            mv_plot_key_line(p, box, MV_REQUESTED_COLOUR, false, "requested by the program");
        if (!p->rows->only && has_reserve)
            mv_plot_key_line(p, box, theme->reserved, true, reserved);
    }
    if (p->view->sheet && !p->of_pools)
        paint_area_keys(p, box);
    mv_plot_other_key(p, box);
    mv_plot_whatif_key(p, box);
    if (!p->is_legend_below)
        mv_box_cut_top(box, mv_ui_px(p->ui, 6));
}

/* Adds up the bytes of segments at the cursor by how full the segments are. Returns false if that
 * is unknown. */
static bool add_use(const mv_plot *p, uint64_t bytes[MV_FULLNESS_LEVELS])
{
    const mv_index *x = p->index;
    const uint64_t *shown = shown_rows(p), *used;
    uint32_t event = p->view->now->cursor;
    mv_arena scratch;

    mv_arena_init(&scratch, p->view->budget);
    used = p->view->sheet ? mv_fullness_after(&scratch, &p->device->lives, p->lives, event) : NULL;
    for (uint32_t i = 0; used && i < x->count; i++)
        if (mv_index_is_alive(x, i, event) && (!shown || shown[i >> 6] >> (i & 63) & 1))
            bytes[mv_fullness_level(used[i], x->bytes[i])] += x->bytes[i];
    mv_arena_release(&scratch);
    return used != NULL;
}

/* Paints how full segments are, with the colours from empty to full. Returns the number of lines for
 * which there was no room. */
static uint32_t paint_use(mv_plot *p, mv_box *box)
{
    mv_box title = mv_plot_key_row(p, box);
    uint64_t bytes[MV_FULLNESS_LEVELS] = {0};
    mv_legend_sum *all = &p->pane->legend.all;
    bool has_bytes = add_use(p, bytes);
    char size[MV_SIZE_TEXT];

    if (has_bytes) /* otherwise the legend keeps the sum that the coloured views show */
        *all = (mv_legend_sum){0};
    for (uint32_t level = 0; has_bytes && level < MV_FULLNESS_LEVELS; level++)
        all->bytes += bytes[level];
    if (title.h <= 0)
        return MV_FULLNESS_LEVELS + 1;
    mv_ui_text(p->ui, title, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_START,
               has_bytes ? mv_scene_format(&p->ui->scene, "%s %s, by how full",
                                           mv_size_text(size, all_bytes(p)), moment_of(p))
                         : "How full segments are");
    for (uint32_t level = MV_FULLNESS_LEVELS; level-- > 0;) {
        mv_box row = mv_plot_key_row(p, box);
        mv_box swatch = mv_box_cut_left(&row, mv_ui_px(p->ui, 26));
        if (row.h <= 0)
            return level + 1;
        swatch.w = mv_ui_px(p->ui, 20);
        swatch.y += 4;
        swatch.h -= 8;
        mv_ui_fill(p->ui, swatch, mv_fullness_colour(level, p->view->desk->is_dark));
        if (has_bytes)
            paint_bytes(p, row, mv_fullness_name(level), bytes[level]);
        else
            mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START,
                       mv_fullness_name(level));
    }
    if (has_band(p))
        paint_band(p, mv_plot_key_row(p, box));
    return 0;
}

void mv_plot_legend(mv_plot *p)
{
    mv_box box = first_column(p);

    p->pane->legend_rows.count = 0;
    if (box.w <= 0 || box.h <= 0)
        return;
    paint_keys(p, &box);
    if (is_by_fullness(p)) {
        uint32_t more = paint_use(p, &box);
        count_lines(p, box, more);
    } else {
        paint_colours(p, box, 0);
    }
}
