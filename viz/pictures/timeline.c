#include "viz/pictures/timeline.h"

#include "viz/pictures/timeline_painter.h"
#include "viz/scene/heading.h"

enum {
    WIDTH = 1400,
    HEIGHT = 760,
    LEAST_WIDTH = 800, /* below this width the legend leaves no room for the plot */
    LEAST_HEIGHT = 360,
    LEFT = 88,
    RIGHT = 362, /* the legend */
    TITLES = 74,
    VERDICT = 22,
    LANES = 34,
    MARKS = 13,
    BOTTOM = 78,
    HOVER_BYTES = 1400000,
    ONE_BY_ONE = 4000 /* up to this many, small ones also have a shape each */
};

const char *mv_painter_hover(mv_painter *p, const char *text)
{
    return mv_hover_take(&p->hover_bytes, text);
}

void mv_painter_peaks(mv_painter *p)
{
    const mv_series *s = &p->series;
    uint32_t from = p->layout.from, to = p->layout.to;
    bool is_start = from == 0 || to == from;

    p->peak = is_start ? s->before.allocated : 0;
    p->peak_reserved = is_start ? s->before.reserved : 0;
    if (to == from && from > 0) {
        p->peak = s->allocated[from - 1];
        p->peak_reserved = s->reserved[from - 1];
    }
    p->peak_event = p->reserved_event = MV_BEFORE;
    for (uint32_t e = from; e < to; e++) {
        if ((p->peak_event == MV_BEFORE && !is_start) || s->allocated[e] > p->peak) {
            p->peak = s->allocated[e];
            p->peak_event = e;
        }
        if ((p->reserved_event == MV_BEFORE && !is_start) || s->reserved[e] > p->peak_reserved) {
            p->peak_reserved = s->reserved[e];
            p->reserved_event = e;
        }
    }
}

static void place_plot(mv_painter *p)
{
    bool has_reserved = !p->shown.is_part && p->peak_reserved > p->peak;
    uint64_t most = has_reserved ? p->peak_reserved : p->peak;
    bool has_line = p->shown.is_part || p->shown.has_others;

    for (uint32_t e = p->layout.from; e < p->layout.to; e++) {
        if (p->series.active[e] > most)
            most = p->series.active[e];
        /* Every free is pending for one event; only longer waits are worth a curve. */
        if (e > p->layout.from && p->series.active[e] != p->series.allocated[e] &&
            p->series.active[e - 1] != p->series.allocated[e - 1])
            p->has_pending = true;
    }
    p->has_lane = mv_lanes_any(p);
    p->has_marks = mv_lanes_marks(p);
    p->x = LEFT;
    p->y = TITLES + (has_line ? VERDICT : 0) + (p->opts->verdict || p->opts->leaks ? VERDICT : 0) +
           (p->has_lane || p->has_marks ? LANES : 0) + (p->has_marks ? MARKS : 0);
    p->w = p->scene->width - LEFT - RIGHT;
    p->h = p->scene->height - p->y - BOTTOM;
    p->most = most < UINT64_MAX / 2 ? most + most / 16 : most;
    if (p->most == 0)
        p->most = 1;
}

/* What --top leaves out is alive too: the stack is as high as all that match. */
static void raise_columns(mv_painter *p)
{
    mv_layout *l = &p->layout;
    const mv_series *s = &p->series;

    for (uint32_t c = 0; c < l->column_count; c++)
        l->allocated[c] =
            l->instant[c] == MV_BEFORE ? s->before.allocated : s->allocated[l->instant[c]];
}

mv_code mv_painter_lay_out(mv_arena *scratch, mv_painter *p, mv_err *err)
{
    uint64_t pixel = (uint64_t)((double)p->most / (double)p->h);
    bool one_by_one = p->shown.has_others && p->shown.largest <= ONE_BY_ONE;
    mv_layout_opts layout = {.from = p->layout.from,
                             .to = p->layout.to,
                             .columns = (uint32_t)p->w,
                             .least = one_by_one ? 1 : pixel - pixel / 4 + 1,
                             .visible = pixel / 3 + 1,
                             .site_of = p->callers.of_alloc};
    mv_code code = mv_layout_find(scratch, p->lives, p->series.allocated, &layout, &p->layout, err);

    if (code == MV_OK && p->shown.has_others)
        raise_columns(p);
    return code;
}

static bool paint(mv_arena *scratch, mv_painter *p, uint32_t *drawn)
{
    mv_ruler_titles(p);
    mv_ruler_paint(p);
    mv_marker_outline(p);
    if (!(p->blocks ? mv_fullness_paint : mv_shapes_paint)(scratch, p, drawn))
        return false;
    mv_marker_curves(p);
    mv_lanes_paint(p);
    mv_marker_ooms(p);
    mv_marker_peaks(p);
    mv_callers_legend(scratch, p, p->scene->width - RIGHT + 24, p->y + 10, RIGHT - 48);
    return !p->scene->failed;
}

mv_code mv_painter_prepare(mv_arena *scratch, mv_painter *p, mv_err *err)
{
    p->frame_kinds = mv_frame_kinds(scratch, p->trace);
    mv_painter_peaks(p);
    if (!p->frame_kinds || !mv_callers_find(scratch, p))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
    place_plot(p);
    return MV_OK;
}

mv_code mv_painter_timeline(mv_arena *scratch, mv_painter *p, uint32_t *drawn, mv_err *err)
{
    mv_code code = mv_painter_prepare(scratch, p, err);

    if (code == MV_OK)
        code = mv_painter_lay_out(scratch, p, err);
    if (code != MV_OK)
        return code;
    if (!paint(scratch, p, drawn))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
    return MV_OK;
}

void mv_painter_open(mv_painter *p, mv_arena *arena)
{
    p->callouts.most = MV_PICTURE_CALLOUTS;
    const mv_timeline_opts *opts = p->opts;
    uint32_t events = p->lives->events.count;

    mv_scene_init_shown(p->scene, arena, opts->width ? opts->width : WIDTH,
                        opts->height ? opts->height : HEIGHT, LEAST_WIDTH, LEAST_HEIGHT,
                        p->theme->background);
    p->hover_bytes = HOVER_BYTES;
    p->layout.from = opts->from < events ? opts->from : events;
    p->layout.to = opts->to && opts->to < events ? opts->to : events;
    if (p->layout.to < p->layout.from)
        p->layout.to = p->layout.from;
}

mv_code mv_painter_choose(mv_arena *scratch, mv_painter *p, const mv_lives **matching, mv_err *err)
{
    mv_code code = mv_totals_series(scratch, p->lives, &p->series, err);

    if (code == MV_OK)
        code = mv_shown_filter(scratch, p, err);
    if (code == MV_OK && p->shown.is_part)
        mv_shown_levels(p);
    if (matching)
        *matching = p->lives;
    return code == MV_OK ? mv_shown_top(scratch, p, err) : code;
}

mv_code mv_timeline_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_timeline_opts *opts, mv_timeline *out, mv_err *err)
{
    mv_painter p = {.trace = trace,
                    .lives = lives,
                    .opts = opts,
                    .theme = mv_theme_of(opts->is_dark),
                    .scene = &out->scene};
    mv_arena scratch;
    mv_code code;

    *out = (mv_timeline){0};
    mv_painter_open(&p, arena);
    out->events = p.layout.to - p.layout.from;
    mv_arena_init(&scratch, arena->budget);
    code = mv_painter_choose(&scratch, &p, NULL, err);
    out->matches = p.shown.matches;
    if (code == MV_OK)
        code = mv_painter_timeline(&scratch, &p, &out->drawn, err);
    mv_arena_release(&scratch);
    return code;
}
