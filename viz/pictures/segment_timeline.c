#include "viz/pictures/segment_timeline.h"

#include "base/size.h"
#include "viz/core/segment_rows.h"
#include "viz/pictures/fullness.h"
#include "viz/pictures/timeline_painter.h"

/* ---- the picture ------------------------------------------------------------------------- */

/* How much of the highest reserved level was ever in use while it lasted. */
static const char *verdict(mv_painter *p)
{
    const mv_series *s = &p->series;
    uint32_t from = p->layout.from, to = p->layout.to, first = from - (from > 0 && to == from);
    uint64_t reserved = from ? s->allocated[first] : s->before.allocated;
    uint64_t used = from ? s->active[first] : s->before.active;
    char most[MV_SIZE_TEXT], part[MV_SIZE_TEXT];

    for (uint32_t e = from; e < to; e++) {
        if (s->allocated[e] > reserved) {
            reserved = s->allocated[e];
            used = s->active[e];
        } else if (s->allocated[e] == reserved && s->active[e] > used) {
            used = s->active[e];
        }
    }
    if (reserved == 0)
        return "nothing was reserved";
    return mv_scene_format(p->scene,
                           "%s was reserved at the peak; tensors used at most %s of it (%.0f %%)",
                           mv_size_text(most, reserved), mv_size_text(part, used),
                           100.0 * (double)used / (double)reserved);
}

/* What is drawn as the stack, and as the curve above it. */
static void turn_series(mv_series *series)
{
    mv_levels before = series->before;
    uint64_t *allocated = series->allocated;

    series->before.allocated = before.reserved;
    series->before.active = before.allocated;
    series->allocated = series->reserved;
    series->active = allocated;
}

/* ---- parts of it -------------------------------------------------------------------------- */

/* `only` names rows of lives->segments; the timeline's rows are in another order. */
static bool turn_bits(mv_arena *scratch, const mv_lives *rows, const mv_filter_bits *only,
                      mv_filter_bits *out)
{
    if (!mv_filter_bits_init(scratch, only->rows, out))
        return false;
    for (uint32_t i = 0; i < rows->allocs.count; i++)
        if (mv_filter_has(only, rows->allocs.segment[i]))
            mv_filter_bits_add(out, i);
    return true;
}

/* What the remaining segments hold, and how much of it tensors use. */
static mv_code level_part(mv_arena *scratch, const mv_lives *lives, mv_painter *p, mv_err *err)
{
    mv_series *series = &p->series;

    series->allocated = mv_push_array(scratch, uint64_t, series->count);
    series->active = mv_push_array(scratch, uint64_t, series->count);
    if (!series->allocated || !series->active)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "segment timeline");
    mv_shown_levels(p);
    series->active = mv_fullness_of_all(scratch, lives, p->lives, &series->before.active);
    if (!series->active)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "segment timeline");
    return MV_OK;
}

/* The rows that are shown: chosen as in timeline.c, but by segment. */
static mv_code choose_rows(mv_arena *scratch, const mv_lives *lives, mv_painter *p,
                           mv_timeline_opts *shown, mv_err *err)
{
    const mv_filter_bits *only = shown->only;
    mv_filter_bits *rows = mv_push_struct(scratch, mv_filter_bits);
    mv_code code;

    if (only && (!rows || !turn_bits(scratch, p->lives, only, rows)))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "segment timeline");
    shown->only = only ? rows : NULL;
    code = mv_shown_filter(scratch, p, err);
    if (code == MV_OK && only)
        code = level_part(scratch, lives, p, err);
    return code == MV_OK ? mv_shown_top(scratch, p, err) : code;
}

/* ---- all --------------------------------------------------------------------------------- */

mv_code mv_segment_timeline_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                 const mv_timeline_opts *opts, mv_timeline *out, mv_err *err)
{
    mv_timeline_opts shown = *opts;
    mv_lives segments;
    mv_painter p = {.trace = trace,
                    .lives = &segments,
                    .opts = &shown,
                    .of_segments = true,
                    .blocks = opts->by_line ? NULL : lives,
                    .theme = mv_theme_of(opts->is_dark),
                    .scene = &out->scene};
    mv_arena scratch;
    mv_code code;

    *out = (mv_timeline){0};
    shown.leaks = NULL;
    mv_arena_init(&scratch, arena->budget);
    code = mv_totals_series(&scratch, lives, &p.series, err);
    if (code == MV_OK)
        code = mv_segment_lives_as_allocs(&scratch, lives, &segments, err);
    if (code == MV_OK) {
        turn_series(&p.series);
        mv_painter_open(&p, arena);
        out->events = p.layout.to - p.layout.from;
        if (!shown.verdict)
            shown.verdict = verdict(&p);
        code = choose_rows(&scratch, lives, &p, &shown, err);
        out->matches = p.shown.matches;
    }
    if (code == MV_OK)
        code = mv_painter_timeline(&scratch, &p, &out->drawn, err);
    mv_arena_release(&scratch);
    return code;
}
