/* Finds names for allocations that have room for one, from the exact tiles. A name fits where the
 * same row keeps its height from sample to sample.
 *
 *     sample   │      │      │      │      │      │
 *              ├──────┴──────┴──────┤ rank 7: at one height over four samples
 *              │ train.py:58 attent │
 *              ├──────┬──────┬──────┤ */
#include <math.h>

#include "base/size.h"
#include "view/timeline/plot.h"
#include "viz/scene/heading.h"

enum { STEP = 12, LEAST_HEIGHT = 15, MOST_OPEN = 64, MOST_LABELS = 40, LABEL = 200 };

typedef struct {
    uint32_t rank;
    float x0, x1, top, bottom;
    bool is_seen; /* the row is in the current sample */
} flat;

typedef struct {
    mv_plot *p;
    uint32_t count;
    flat open[MOST_OPEN];
} labeller;

static bool is_dimmed(const mv_plot *p, uint32_t rank)
{
    const mv_view *view = p->view;

    return view->matches && view->now->show == MV_SHOW_HIGHLIGHT &&
           !mv_filter_has(view->matches, rank);
}

float mv_plot_label_height(const mv_plot *p)
{
    return mv_ui_px(p->ui, LEAST_HEIGHT);
}

void mv_plot_label(mv_plot *p, uint32_t rank, mv_box part, uint32_t fill)
{
    float pad = mv_ui_px(p->ui, 5), line = mv_plot_label_height(p);
    mv_box box = {part.x + pad, roundf(part.y + (part.h - line) / 2), 0, line};
    char name[LABEL], size[MV_SIZE_TEXT];
    const char *text;

    /* A name on a hatched or dimmed shape could not be read. */
    if (p->label_count == MOST_LABELS || part.h < line || rank < p->index->preexisting ||
        is_dimmed(p, rank))
        return;
    mv_culprit_label(p->trace, p->document->sites.kinds, p->lives->allocs.stack[rank], name,
                     sizeof name);
    text = mv_scene_format(&p->ui->scene, "%s \xc2\xb7 %s", name,
                           mv_size_text(size, p->index->bytes[rank]));
    box.w = ceilf(mv_ui_text_width(p->ui, MV_UI_SMALL, text)) + 2;
    if (box.w + 2 * pad > part.w || !mv_callouts_is_free(&p->callouts, p->plot, box))
        return;
    mv_callouts_take(&p->callouts, box);
    p->label_count++;
    mv_ui_text(p->ui, box, MV_UI_SMALL, mv_text_on(fill), MV_ANCHOR_START, text);
}

static void paint_label(labeller *l, const flat *f)
{
    uint32_t shade = mv_view_colour(l->p->view, f->rank);

    if (f->rank & 1) /* tiles show every other rank in this lighter shade (mv_tile_colour) */
        shade = mv_lighter(shade);
    mv_plot_label(l->p, f->rank, (mv_box){f->x0, f->top, f->x1 - f->x0, f->bottom - f->top}, shade);
}

/* Handles a row in a sample. The row continues a run or begins a new one. */
static void see(labeller *l, uint32_t rank, float x, float top, float bottom)
{
    float slack = 1.5f;

    for (uint32_t i = 0; i < l->count; i++) {
        flat *f = &l->open[i];
        if (f->rank != rank || f->is_seen)
            continue;
        if (fabsf(f->top - top) > slack || fabsf(f->bottom - bottom) > slack) {
            paint_label(l, f);
            *f = (flat){rank, x, x, top, bottom, true};
        }
        f->x1 = x;
        f->is_seen = true;
        return;
    }
    if (l->count < MOST_OPEN)
        l->open[l->count++] = (flat){rank, x, x, top, bottom, true};
}

static void end_sample(labeller *l)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < l->count; i++) {
        flat f = l->open[i];
        if (!f.is_seen) {
            paint_label(l, &f);
            continue;
        }
        f.is_seen = false;
        l->open[kept++] = f;
    }
    l->count = kept;
}

/* Finds the rows of one tile column that are high enough, from the top. */
static void sample(labeller *l, const mv_tile_quad *q, float x)
{
    const mv_tile *tile = q->tile;
    const uint32_t *ids = tile->ids + (uint64_t)(q->from_x + x - q->x) * tile->rows;
    float least = mv_plot_label_height(l->p);
    uint32_t high = (uint32_t)q->h, from = (uint32_t)q->from_y, begin = 0;

    for (uint32_t y = 1; y <= high && from + y <= tile->rows; y++) {
        uint32_t rank = ids[tile->rows - 1 - from - begin];
        bool goes_on = y < high && from + y < tile->rows && ids[tile->rows - 1 - from - y] == rank;
        if (goes_on)
            continue;
        if (rank != MV_NO_ROW && (float)(y - begin) >= least)
            see(l, rank, l->p->plot.x + x, l->p->plot.y + q->y + (float)begin,
                l->p->plot.y + q->y + (float)y);
        begin = y;
    }
}

void mv_plot_labels(mv_plot *p, const mv_tile_frame *frame)
{
    labeller l = {.p = p};

    if (p->of_segments || p->pane->is_easing || p->pane->is_zooming || frame->missing > 0)
        return;
    for (float x = 0; x < p->plot.w; x += STEP) {
        for (uint32_t i = 0; i < frame->count; i++) {
            const mv_tile_quad *q = &frame->quads[i];
            if (q->is_exact && q->tile->rows && x >= q->x && x < q->x + q->w)
                sample(&l, q, x);
        }
        end_sample(&l);
    }
    for (uint32_t i = 0; i < l.count; i++)
        paint_label(&l, &l.open[i]);
}
