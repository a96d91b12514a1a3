/* The memory timeline by pool, as a scene: each envelope is a small timeline of its own. */
#include "analyze/filter/isolate.h"
#include "base/size.h"
#include "viz/pictures/envelopes.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"

enum {
    RIGHT = 362, /* the legend */
    LABEL = 20,  /* above an envelope */
    LEAST = 26,  /* pixels of an envelope */
    MOST = 9,    /* envelopes */
    NAME_SIZE = 160
};

typedef struct {
    mv_painter p;             /* of the whole; its lives are the rows that are drawn one by one */
    const mv_lives *all;      /* every row */
    const mv_lives *matching; /* those that match */
    mv_envelopes layout;
    mv_envelope_place *places;
    uint32_t drawn;
} pools_picture;

/* ---- where ------------------------------------------------------------------------------- */

/* Pixels of each envelope: one scale for all, but none lower than LEAST. What the raised ones take
 * is missing from the others. */
static void share_height(pools_picture *s, float height)
{
    float left = height;
    double bytes = 0;
    bool is_raised = true;

    for (uint32_t i = 0; i < s->layout.count; i++)
        bytes += (double)s->layout.envelopes[i].high;
    for (uint32_t i = 0; i < s->layout.count; i++)
        s->places[i].box.h = 0;
    while (is_raised) {
        is_raised = false;
        for (uint32_t i = 0; i < s->layout.count; i++) {
            double high = (double)s->layout.envelopes[i].high;
            if (s->places[i].box.h > 0 || (double)left * high >= LEAST * bytes)
                continue;
            s->places[i].box.h = LEAST;
            left -= LEAST;
            bytes -= high;
            is_raised = true;
        }
    }
    for (uint32_t i = 0; i < s->layout.count; i++)
        if (s->places[i].box.h == 0)
            s->places[i].box.h = left * (float)((double)s->layout.envelopes[i].high / bytes);
}

/* From the bottom up. */
static void place_envelopes(pools_picture *s)
{
    float y = s->p.y + s->p.h;

    share_height(s, s->p.h - LABEL * (float)s->layout.count);
    for (uint32_t i = 0; i < s->layout.count; i++) {
        mv_box *box = &s->places[i].box;
        y -= box->h;
        *box = (mv_box){s->p.x, y, s->p.w, box->h};
        s->places[i].envelope = s->layout.envelopes[i];
        y -= LABEL;
    }
}

/* ---- labels ------------------------------------------------------------------------------ */

static const char *name_of(pools_picture *s, const mv_envelope *e)
{
    const mv_pools *pools = &s->p.trace->pools;
    uint32_t row = e->pool.row;

    if (e->pools > 1)
        return mv_scene_format(s->p.scene, "%u more pools", e->pools);
    if (row >= pools->count)
        return "pool not recorded";
    if (pools->a[row] == 0 && pools->b[row] == 0)
        return "default pool";
    return mv_scene_format(s->p.scene, "private pool (%llu, %llu)",
                           (unsigned long long)pools->a[row], (unsigned long long)pools->b[row]);
}

/* How much higher it is than on the common scale, which is that of the highest envelope. */
static double raise_of(const pools_picture *s, uint32_t at)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < s->layout.count; i++)
        if (s->layout.envelopes[i].high > s->layout.envelopes[best].high)
            best = i;
    return (double)s->places[at].box.h / (double)s->layout.envelopes[at].high /
           ((double)s->places[best].box.h / (double)s->layout.envelopes[best].high);
}

static void paint_label(pools_picture *s, uint32_t at)
{
    const mv_envelope *e = &s->layout.envelopes[at];
    const mv_box *box = &s->places[at].box;
    char held[MV_SIZE_TEXT], used[MV_SIZE_TEXT];
    double raise = raise_of(s, at);
    const char *text = mv_scene_format(
        s->p.scene, "%s \xc2\xb7 at most %s held, at most %s in use%s", name_of(s, e),
        mv_size_text(held, e->held), mv_size_text(used, e->allocated),
        raise > 1.05 ? mv_scene_format(s->p.scene, " \xc2\xb7 drawn %.*f times as high",
                                       raise < 10 ? 1 : 0, raise)
                     : "");

    text = mv_text_fit(s->p.scene, text, 12, box->w);
    mv_scene_text(s->p.scene, box->x, box->y - 6, 12, s->p.theme->text, MV_ANCHOR_START, text);
    /* Keeps callouts away from it. */
    mv_callouts_take(&s->p.callouts,
                     (mv_box){box->x, box->y - LABEL, mv_text_width(text, 12), LABEL});
}

/* Labels for 0 bytes and, if there is room, for round numbers above it. */
static void paint_axis(pools_picture *s, uint32_t at)
{
    const mv_envelope *e = &s->layout.envelopes[at];
    const mv_box *box = &s->places[at].box;
    uint64_t ticks[MV_BYTE_TICKS];
    uint32_t count = mv_axis_byte_ticks(e->high, ticks);
    char text[MV_TICK_TEXT];
    float before = 0;

    mv_scene_rect(s->p.scene, box->x, box->y, box->w, box->h, s->p.theme->plot);
    for (uint32_t i = 0; i < count; i++) {
        float up = box->h * (float)((double)ticks[i] / (double)e->high), y = box->y + box->h - up;
        if (i > 0 && up < before + 15)
            continue;
        before = up;
        mv_scene_line(s->p.scene, box->x, y, box->x + box->w, y, s->p.theme->grid, 1);
        mv_scene_text(s->p.scene, box->x - 8, y + 4, 12, s->p.theme->text, MV_ANCHOR_END,
                      mv_scene_format(s->p.scene, "%s", mv_axis_bytes(ticks[i], text)));
    }
}

/* ---- one envelope ------------------------------------------------------------------------ */

static bool rows_of(mv_arena *scratch, const pools_picture *s, const mv_lives *lives, uint32_t at,
                    mv_filter_bits *out)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t segments = lives->segments.count;

    if (!mv_filter_bits_init(scratch, a->count, out))
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t segment = a->segment[i] < segments ? a->segment[i] : segments;
        if (s->layout.of_segment[segment] != at)
            continue;
        mv_filter_bits_add(out, i);
    }
    return true;
}

/* The allocations of one envelope, and its segments: the others get no bytes. */
static mv_code cut(mv_arena *scratch, const pools_picture *s, const mv_lives *lives, uint32_t at,
                   mv_filter_bits *kept, mv_lives *out, mv_err *err)
{
    const mv_segment_lives *g = &lives->segments;
    uint64_t *size = mv_push_array(scratch, uint64_t, g->count);

    if (!size || !rows_of(scratch, s, lives, at, kept))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools");
    for (uint32_t i = 0; i < g->count; i++)
        size[i] = s->layout.of_segment[i] == at ? g->size[i] : 0;
    *out = *lives;
    if (kept->matches < kept->rows && mv_isolate_lives(scratch, lives, kept, out, err) != MV_OK)
        return err->code;
    out->segments.size = size;
    return MV_OK;
}

/* Call sites of rows that were cut. */
static bool cut_callers(mv_arena *scratch, const mv_painter *whole, const mv_filter_bits *kept,
                        mv_painter *p)
{
    uint32_t count = 0;

    p->callers = whole->callers;
    p->callers.of_alloc = mv_push_array(scratch, uint32_t, kept->matches);
    for (uint32_t i = 0; p->callers.of_alloc && i < kept->rows; i++)
        if (mv_filter_has(kept, i))
            p->callers.of_alloc[count++] = whole->callers.of_alloc[i];
    return p->callers.of_alloc != NULL;
}

/* As high as the pool ever was, wherever it holds anything. */
static bool paint_envelope(mv_arena *scratch, mv_painter *p, uint64_t high)
{
    const mv_layout *l = &p->layout;
    uint64_t *levels = mv_push_array(scratch, uint64_t, l->column_count);

    if (!levels)
        return false;
    for (uint32_t c = 0; c < l->column_count; c++) {
        uint64_t held = l->start[c] == l->start[c + 1] ? p->series.before.reserved : 0;
        for (uint32_t e = l->start[c]; e < l->start[c + 1]; e++)
            held |= p->series.reserved[e] | p->series.allocated[e];
        levels[c] = held || l->allocated[c] ? high : 0;
    }
    mv_shapes_area(p, levels,
                   (mv_shape){.kind = MV_SHAPE_POLYGON,
                              .fill = MV_ENVELOPE_FILL(p->theme),
                              .is_crisp = true,
                              .title = "envelope: the most that the pool ever held"});
    return true;
}

static mv_code paint_blocks(mv_arena *scratch, pools_picture *s, mv_painter *p, mv_err *err)
{
    mv_code code = mv_painter_lay_out(scratch, p, err);

    if (code != MV_OK)
        return code;
    if (!paint_envelope(scratch, p, p->most))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools");
    mv_marker_outline(p);
    if (!mv_shapes_paint(scratch, p, &s->drawn))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools");
    mv_marker_curves(p);
    s->p.hover_bytes = p->hover_bytes;
    return MV_OK;
}

static mv_code paint_pool(mv_arena *scratch, pools_picture *s, uint32_t at, mv_err *err)
{
    const mv_box *box = &s->places[at].box;
    mv_painter p = s->p;
    mv_filter_bits kept;
    mv_lives matching, drawn;
    mv_code code = cut(scratch, s, s->matching, at, &kept, &matching, err);

    /* If there is only one pool, its levels are the device's. */
    if (code == MV_OK && s->layout.count > 1)
        code = mv_totals_series(scratch, &matching, &p.series, err);
    if (code == MV_OK)
        code = cut(scratch, s, s->p.lives, at, &kept, &drawn, err);
    if (code != MV_OK)
        return code;
    if (!cut_callers(scratch, &s->p, &kept, &p))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools");
    p.lives = &drawn;
    p.parts = s->layout.count;
    p.y = box->y;
    p.h = box->h;
    p.most = s->layout.envelopes[at].high;
    p.shown.is_part = false; /* what the pool holds is shown next to it */
    return paint_blocks(scratch, s, &p, err);
}

/* ---- all --------------------------------------------------------------------------------- */

/* How much of private pools is idle. */
static const char *verdict(pools_picture *s)
{
    const mv_pools *pools = &s->p.trace->pools;
    uint64_t held = 0, used = 0;
    uint32_t count = 0;
    char most[MV_SIZE_TEXT], part[MV_SIZE_TEXT];

    for (uint32_t i = 0; i < s->layout.count; i++) {
        const mv_envelope *e = &s->layout.envelopes[i];
        uint32_t row = e->pool.row;
        if (e->pools == 1 && (row >= pools->count || (!pools->a[row] && !pools->b[row])))
            continue;
        count += e->pools;
        held += e->held;
        used += e->allocated;
    }
    if (s->layout.count == 0)
        return "nothing was held";
    if (count == 0 && s->layout.envelopes[0].pool.row == MV_NO_ROW)
        return "no pools are recorded: PyTorch before 2.1, or everything was released before the "
               "snapshot";
    if (count == 0 && s->layout.count > 1)
        return "no private pools are recorded; segments released before the snapshot have no "
               "pool";
    if (count == 0)
        return "no private pools: everything is in the default pool";
    return mv_scene_format(s->p.scene,
                           "%u private pool%s: at most %s held and %s in use; no one else can use "
                           "what is idle in %s",
                           count, count == 1 ? "" : "s", mv_size_text(most, held),
                           mv_size_text(part, used), count == 1 ? "it" : "them");
}

static mv_code paint_pools(mv_arena *arena, pools_picture *s, mv_err *err)
{
    mv_code code = MV_OK;

    for (uint32_t i = 0; i < s->layout.count && code == MV_OK; i++) {
        mv_arena scratch;
        mv_arena_init(&scratch, arena->budget);
        paint_axis(s, i);
        paint_label(s, i);
        code = paint_pool(&scratch, s, i, err);
        mv_arena_release(&scratch);
    }
    return code;
}

static mv_code paint(mv_arena *arena, mv_arena *scratch, pools_picture *s, mv_err *err)
{
    uint32_t most;
    mv_timeline_opts opts = *s->p.opts;
    mv_code code = mv_painter_prepare(scratch, &s->p, err);

    if (code != MV_OK)
        return code;
    most = (uint32_t)(s->p.h / (LABEL + LEAST));
    code = mv_envelopes_lay(scratch, s->p.trace, s->all, s->p.layout.from, s->p.layout.to,
                            most < MOST ? most : MOST, &s->layout, err);
    s->places = mv_push_array(arena, mv_envelope_place, s->layout.count);
    if (code != MV_OK || !s->places)
        return code != MV_OK ? code : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools");
    place_envelopes(s);
    opts.verdict = verdict(s);
    s->p.opts = &opts;
    mv_ruler_titles(&s->p);
    mv_ruler_times(&s->p);
    code = paint_pools(arena, s, err);
    if (code != MV_OK)
        return code;
    mv_lanes_paint(&s->p);
    mv_marker_ooms(&s->p);
    mv_callers_legend(scratch, &s->p, s->p.scene->width - RIGHT + 24, s->p.y + 10, RIGHT - 48);
    return s->p.scene->failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pools") : MV_OK;
}

mv_code mv_envelopes_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          const mv_timeline_opts *opts, mv_envelopes_picture *out, mv_err *err)
{
    mv_timeline_opts shown = *opts;
    pools_picture s = {.all = lives,
                       .p = {.trace = trace,
                             .lives = lives,
                             .opts = &shown,
                             .of_pools = true,
                             .theme = mv_theme_of(opts->is_dark),
                             .scene = &out->timeline.scene}};
    mv_arena scratch;
    mv_code code;

    *out = (mv_envelopes_picture){0};
    shown.verdict = ""; /* there will be one: its line needs room */
    mv_painter_open(&s.p, arena);
    out->timeline.events = s.p.layout.to - s.p.layout.from;
    mv_arena_init(&scratch, arena->budget);
    code = mv_painter_choose(&scratch, &s.p, &s.matching, err);
    if (code == MV_OK)
        code = paint(arena, &scratch, &s, err);
    out->timeline.matches = s.p.shown.matches;
    out->timeline.drawn = s.drawn;
    out->count = s.layout.count;
    out->places = s.places;
    mv_arena_release(&scratch);
    return code;
}
