/* The timeline by pool: an envelope for each pool, with its reserved and allocated bytes. */
#include <math.h>

#include "base/size.h"
#include "view/document/level_calls.h"
#include "view/timeline/plot.h"
#include "viz/pictures/state_scene.h"
#include "viz/scene/axis.h"

enum {
    LABEL = 20, /* height of the label above an envelope, in pixels */
    LEAST = 26, /* minimum height of an envelope */
    MOST = 9,   /* envelopes */
    TICK = 15   /* minimum distance between two labels of an axis */
};

typedef struct {
    mv_plot *p;
    const mv_pools_answer *a;
    bool is_current;     /* whether the columns of the result are the plot's pixels */
    mv_box box[MOST];    /* box of each envelope */
    uint64_t high[MOST]; /* bytes at the top of each envelope */
} pools;

/* ---- the query --------------------------------------------------------------------------- */

mv_pools_query mv_plot_pools_query(const mv_plot *p)
{
    const mv_view_state *now = p->view->now;
    mv_pools_query q;

    memset(&q, 0, sizeof q);
    q.document = p->document;
    q.device = p->device;
    q.x = p->at.x;
    q.dx = p->at.dx;
    q.first = p->shown.first;
    q.end = p->shown.end;
    q.columns = (uint32_t)p->plot.w;
    q.envelopes = (uint32_t)fminf(fmaxf(p->plot.h / mv_ui_px(p->ui, LABEL + LEAST), 1), MOST);
    q.clock = p->rows->scale.clock;
    q.mode = now->colour;
    q.is_evaluated = mv_view_is_evaluated(p->view);
    if (p->view->sheet) {
        q.only = p->view->sheet->opts.only;
        q.top = p->view->sheet->opts.top;
    } else if (*now->search && now->show != MV_SHOW_ALL) {
        q.show = now->show;
        memcpy(q.search, now->search, sizeof q.search);
    }
    return q;
}

/* ---- where ------------------------------------------------------------------------------- */

/* Shares out the height. All envelopes have the same scale, but no envelope is lower than LEAST.
 * The height that raised envelopes gain is taken from the other envelopes. */
static void share_height(pools *s, float height)
{
    float left = height, least = mv_ui_px(s->p->ui, LEAST);
    uint32_t count = s->a->pools.count;
    double bytes = 0;
    bool is_raised = true;

    for (uint32_t i = 0; i < count; i++)
        bytes += (double)s->high[i];
    while (is_raised) {
        is_raised = false;
        for (uint32_t i = 0; i < count; i++) {
            if (s->box[i].h > 0 || (double)left * (double)s->high[i] >= (double)least * bytes)
                continue;
            s->box[i].h = least;
            left -= least;
            bytes -= (double)s->high[i];
            is_raised = true;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (s->box[i].h == 0)
            s->box[i].h = (float)((double)left * (double)s->high[i] / bytes);
}

/* Places the envelopes from the bottom up. */
static void place_envelopes(pools *s)
{
    const mv_box *plot = &s->p->plot;
    float y = plot->y + plot->h, label = mv_ui_px(s->p->ui, LABEL);

    for (uint32_t i = 0; i < s->a->pools.count; i++) {
        s->high[i] = s->a->pools.envelopes[i].high;
        for (uint32_t c = 0; c < s->a->levels.columns; c++) {
            const mv_pool_level *l = mv_pool_level_of(&s->a->levels, i, c);
            s->high[i] = l->held > s->high[i] ? l->held : s->high[i];
            s->high[i] = l->allocated > s->high[i] ? l->allocated : s->high[i];
        }
    }
    share_height(s, plot->h - label * (float)s->a->pools.count);
    for (uint32_t i = 0; i < s->a->pools.count; i++) {
        float high = s->box[i].h;
        y = roundf(y - high);
        s->box[i] = (mv_box){plot->x, y, plot->w, high};
        y -= label;
    }
}

static float x_of(const pools *s, uint32_t column)
{
    uint32_t first;

    if (s->is_current)
        return s->p->plot.x + (float)column;
    if (column >= s->a->levels.columns)
        return mv_viewport_x(&s->p->at, s->a->columns[column - 1].end);
    first = s->a->columns[column].first;
    return mv_viewport_x(&s->p->at, first == MV_BEFORE ? 0 : first);
}

static float y_of(const pools *s, uint32_t at, uint64_t bytes)
{
    const mv_box *box = &s->box[at];
    float y = box->y + box->h - box->h * (float)((double)bytes / (double)s->high[at]);

    return (float)(int)(y * 10 + 0.5f) / 10;
}

/* ---- labels ------------------------------------------------------------------------------ */

static const char *name_of(const pools *s, const mv_pool_envelope *e)
{
    const char *of_level = mv_state_level_name(&s->p->ui->scene, s->p->trace);
    char label[MV_GROUP_LABEL];

    if (of_level)
        return of_level;
    if (e->pools > 1)
        return mv_scene_format(&s->p->ui->scene, "%u more pools", e->pools);
    mv_pool_label(s->p->trace, e->pool, label);
    return mv_scene_format(
        &s->p->ui->scene, "%s%s",
        e->pool.row < s->p->trace->pools.count && e->pool.row != MV_DEFAULT_POOL.row ? "private "
                                                                                     : "",
        label);
}

/* Returns how many times higher an envelope is than it would be on the common scale, which is the
 * scale of the highest envelope. */
static double raise_of(const pools *s, uint32_t at)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < s->a->pools.count; i++)
        if (s->high[i] > s->high[best])
            best = i;
    return (double)s->box[at].h / (double)s->high[at] /
           ((double)s->box[best].h / (double)s->high[best]);
}

static void paint_label(pools *s, uint32_t at)
{
    mv_ui *ui = s->p->ui;
    const mv_pool_envelope *e = &s->a->pools.envelopes[at];
    float high = mv_ui_px(ui, LABEL);
    mv_box row = {s->box[at].x, s->box[at].y - high, s->box[at].w, high};
    char held[MV_SIZE_TEXT], used[MV_SIZE_TEXT];
    const char *name = name_of(s, e), *texts[4];
    double raise = raise_of(s, at);

    mv_size_text(held, e->held);
    mv_size_text(used, e->allocated);
    texts[1] = mv_scene_format(&ui->scene, "%s: at most %s reserved, at most %s allocated", name,
                               held, used);
    texts[0] = raise > 1.05 ? mv_scene_format(&ui->scene, "%s, drawn %.*f times as high", texts[1],
                                              raise < 10 ? 1 : 0, raise)
                            : texts[1];
    texts[2] = mv_scene_format(&ui->scene, "%s: %s reserved, %s allocated", name, held, used);
    texts[3] = mv_scene_format(&ui->scene, "%s: %s reserved", name, held);
    if (!mv_level_reserves(s->p->trace))
        texts[0] = texts[1] = mv_scene_format(&ui->scene, "%s: at most %s", name, used);
    row.w = mv_ui_text(ui, row, MV_UI_SMALL, ui->theme->text, MV_ANCHOR_START,
                       mv_ui_longest(ui, MV_UI_SMALL, row.w, texts, 4));
    mv_callouts_take(&s->p->callouts, row);
}

/* Paints a label for 0 bytes and, if there is room, labels for round numbers above it. */
static void paint_axis(pools *s, uint32_t at)
{
    mv_ui *ui = s->p->ui;
    const mv_box *box = &s->box[at];
    uint64_t ticks[MV_BYTE_TICKS];
    uint32_t count = mv_axis_byte_ticks(s->high[at], ticks);
    float line = mv_ui_px(ui, TICK), before = 0, pad = mv_ui_px(ui, MV_UI_PAD);
    char text[MV_TICK_TEXT];

    for (uint32_t i = 0; i < count; i++) {
        float y = roundf(y_of(s, at, ticks[i])), up = box->y + box->h - y;
        if (i > 0 && up < before + line)
            continue;
        before = up;
        mv_ui_fill(ui, (mv_box){box->x, y, box->w, 1}, ui->theme->grid);
        mv_ui_text(ui, (mv_box){s->p->scale.x, y - line / 2, s->p->scale.w - pad, line},
                   MV_UI_SMALL, ui->theme->text, MV_ANCHOR_END,
                   mv_scene_format(&ui->scene, "%s", mv_axis_bytes(ticks[i], text)));
    }
}

/* ---- levels ------------------------------------------------------------------------------ */

/* Rectangles of adjacent equal columns, each from `low` to `high` bytes. */
typedef struct {
    pools *s;
    uint32_t at;
    float x0, x1, y0, y1; /* the current rectangle; y0 is its upper edge */
} run;

static void end_run(run *r)
{
    if (r->x1 > r->x0 && r->y1 > r->y0) {
        mv_scene_point(&r->s->p->ui->scene, r->x0, r->y0);
        mv_scene_point(&r->s->p->ui->scene, r->x1, r->y1);
    }
}

static void put(run *r, uint32_t column, uint64_t low, uint64_t high)
{
    float x0 = x_of(r->s, column), x1 = x_of(r->s, column + 1);
    float y0 = y_of(r->s, r->at, high), y1 = y_of(r->s, r->at, low);

    if (r->x1 > r->x0 && y0 == r->y0 && y1 == r->y1) {
        r->x1 = x1;
        return;
    }
    end_run(r);
    *r = (run){r->s, r->at, x0, x1, y0, y1};
}

static void paint_reserved(pools *s, uint32_t at)
{
    run r = {.s = s, .at = at};

    for (uint32_t c = 0; c < s->a->levels.columns; c++)
        put(&r, c, 0, mv_pool_level_of(&s->a->levels, at, c)->held);
    end_run(&r);
    mv_scene_add(&s->p->ui->scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                              .fill = (s->p->ui->theme->lane & ~0xffu) | 0x66,
                                              .is_crisp = true});
}

static void paint_group(pools *s, uint32_t at, uint32_t group, uint64_t *below, uint32_t colour,
                        const char *title)
{
    run r = {.s = s, .at = at};

    for (uint32_t c = 0; c < s->a->levels.columns; c++) {
        uint64_t bytes = mv_pool_stack_of(&s->a->levels, at, c)[group];
        put(&r, c, below[c], below[c] + bytes);
        below[c] += bytes;
    }
    end_run(&r);
    mv_scene_add(
        &s->p->ui->scene,
        (mv_shape){.kind = MV_SHAPE_RECTS, .fill = colour, .is_crisp = true, .title = title});
}

static void paint_groups(pools *s, uint32_t at, const mv_colouring *colouring)
{
    mv_ui *ui = s->p->ui;
    uint32_t groups = s->a->levels.groups;
    uint64_t *below = mv_push_array(ui->frame, uint64_t, s->a->levels.columns);
    char label[MV_GROUP_LABEL];

    for (uint32_t g = 0; below && g < groups; g++) {
        bool is_rest = g + 1 == groups;
        uint64_t key = is_rest ? 0 : s->a->group[g];
        const char *title = NULL;
        if (s->p->view->sheet)
            title = is_rest
                        ? "others"
                        : mv_scene_format(&ui->scene, "%s", mv_group_label(colouring, key, label));
        paint_group(s, at, g, below,
                    is_rest ? ui->theme->rest : mv_group_colour(colouring, ui->theme, key), title);
    }
}

static void paint_line(pools *s, uint32_t at, bool of_held, mv_shape shape)
{
    mv_scene *scene = &s->p->ui->scene;
    float last = -1;

    for (uint32_t c = 0; c < s->a->levels.columns && !scene->failed; c++) {
        const mv_pool_level *l = mv_pool_level_of(&s->a->levels, at, c);
        float y = y_of(s, at, of_held ? l->held : l->allocated), x1 = x_of(s, c + 1);
        if (c > 0 && y == last) {
            scene->points[scene->point_count - 1].x = x1;
            continue;
        }
        mv_scene_point(scene, x_of(s, c), y);
        mv_scene_point(scene, x1, y);
        last = y;
    }
    shape.kind = MV_SHAPE_LINE;
    mv_scene_add(scene, shape);
}

static void paint_envelope(pools *s, uint32_t at, const mv_colouring *colouring)
{
    const mv_theme *theme = s->p->ui->theme;
    float unit = s->p->ui->scale;

    paint_axis(s, at);
    mv_scene_clip(&s->p->ui->scene, s->box[at].x, s->box[at].y - 1, s->box[at].w, s->box[at].h + 2);
    paint_reserved(s, at);
    paint_groups(s, at, colouring);
    paint_line(s, at, false, (mv_shape){.stroke = (theme->outline & ~0xffu) | 0xa0, .width = unit});
    if (mv_level_reserves(s->p->trace))
        paint_line(s, at, true,
                   (mv_shape){.stroke = theme->reserved, .width = 1.6f * unit, .is_dashed = true});
    mv_scene_unclip(&s->p->ui->scene);
    paint_label(s, at);
}

/* ---- the pointer ------------------------------------------------------------------------- */

/* Returns the bytes of the group at a height in a column, and its label in `out`. */
static const char *group_at(const pools *s, uint32_t at, uint32_t column, uint64_t bytes,
                            const mv_colouring *colouring)
{
    const uint64_t *stack = mv_pool_stack_of(&s->a->levels, at, column);
    char size[MV_SIZE_TEXT], label[MV_GROUP_LABEL] = "others";

    for (uint32_t g = 0; g < s->a->levels.groups; g++) {
        if (bytes >= stack[g]) {
            bytes -= stack[g];
            continue;
        }
        if (g + 1 < s->a->levels.groups)
            mv_group_label(colouring, s->a->group[g], label);
        return mv_scene_format(&s->p->ui->scene, "\n%s: %s", label, mv_size_text(size, stack[g]));
    }
    return "";
}

static void paint_tip(pools *s, uint32_t at, uint32_t column, const mv_colouring *colouring)
{
    mv_ui *ui = s->p->ui;
    const mv_box *box = &s->box[at];
    const mv_pool_level *l = mv_pool_level_of(&s->a->levels, at, column);
    mv_window of = s->a->columns[column];
    double up = (double)(box->y + box->h - ui->pointer_y) / (double)box->h;
    char used[MV_SIZE_TEXT], held[MV_SIZE_TEXT], asked[MV_SIZE_TEXT];
    const char *most = of.end - of.first > 1 ? "at most " : "";

    mv_ui_zone(
        ui, *box, MV_DO_NOTHING, 0,
        mv_scene_format(
            &ui->scene, "%s%s\n%s%s allocated, %s%s reserved\n%s%s requested\n%s",
            name_of(s, &s->a->pools.envelopes[at]),
            group_at(s, at, column, (uint64_t)(up * (double)s->high[at]), colouring), most,
            mv_size_text(used, l->allocated), most, mv_size_text(held, l->held), most,
            mv_size_text(asked, l->requested),
            mv_plot_moment(s->p, mv_call_last(s->p->trace, &s->p->lives->events, of.first))));
}

static void look(pools *s, const mv_colouring *colouring)
{
    mv_ui *ui = s->p->ui;
    uint32_t column = (uint32_t)fmaxf(0, ui->pointer_x - s->p->plot.x);

    for (uint32_t i = 0; s->is_current && i < s->a->pools.count; i++)
        if (mv_ui_is_hot(ui, s->box[i]) && column < s->a->levels.columns)
            paint_tip(s, i, column, colouring);
}

/* ---- all --------------------------------------------------------------------------------- */

void mv_plot_pools(mv_plot *p)
{
    mv_pools_query ask = mv_plot_pools_query(p);
    pools s = {.p = p};
    mv_colouring colouring = mv_plot_colouring(p);
    bool is_answered;

    s.a = mv_slot_query(p->pane->pools_slot, &ask, &is_answered);
    s.is_current = is_answered && ask.clock != MV_CLOCK_TICKS;
    if (s.a && s.a->ask.device != p->device)
        s.a = NULL;
    if (!s.a || s.a->pools.count == 0) {
        mv_ui_text(p->ui, p->plot, MV_UI_TEXT, p->ui->theme->faint_text, MV_ANCHOR_MIDDLE,
                   s.a           ? "nothing was reserved"
                   : is_answered ? "not enough memory for this picture"
                                 : "adding up the pools \xe2\x80\xa6");
        return;
    }
    if (p->view->sheet) {
        p->view->sheet->largest = s.a->largest;
        p->view->sheet->drawn = s.a->largest ? ask.top : p->view->sheet->matches;
    }
    p->pools = s.a;
    p->seen = s.a->row;
    p->seen_count = s.a->levels.groups - 1;
    place_envelopes(&s);
    for (uint32_t i = 0; i < s.a->pools.count; i++)
        paint_envelope(&s, i, &colouring);
    look(&s, &colouring);
}
