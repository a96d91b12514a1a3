/* Which rows a timeline shows: the matches of a filter, and of those the largest. */
#include "analyze/size.h"
#include "viz/axis.h"
#include "viz/core/isolate.h"
#include "viz/painter.h"

static uint32_t count_in_window(const mv_painter *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->count; i++)
        count += (a->birth[i] == MV_BEFORE || a->birth[i] < p->layout.to) && a->block[i] > 0 &&
                 a->freed[i] >= p->layout.from;
    return count;
}

/* Shows the rows in `kept` alone, with their leaks. */
static mv_code cut(mv_arena *scratch, mv_painter *p, const mv_filter_bits *kept, mv_err *err)
{
    mv_lives *lives = mv_push_struct(scratch, mv_lives);
    mv_timeline_opts *opts = mv_push_struct(scratch, mv_timeline_opts);
    mv_leaks *leaks = mv_push_struct(scratch, mv_leaks);
    mv_code code;

    if (!lives || !opts || !leaks)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
    code = mv_isolate_lives(scratch, p->lives, kept, lives, err);
    if (code != MV_OK)
        return code;
    *opts = *p->opts;
    if (opts->leaks) {
        *leaks = *opts->leaks;
        leaks->is_leaked = mv_isolate_marks(scratch, kept, leaks->is_leaked);
        opts->leaks = leaks;
        if (!leaks->is_leaked)
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "timeline");
    }
    p->lives = lives;
    p->opts = opts;
    return MV_OK;
}

mv_code mv_shown_filter(mv_arena *scratch, mv_painter *p, mv_err *err)
{
    mv_code code;

    mv_painter_peaks(p);
    p->shown.peak = p->peak;
    p->shown.peak_event = p->peak_event;
    p->shown.rows = p->shown.matches = count_in_window(p);
    if (!p->opts->only)
        return MV_OK;
    p->shown.is_part = true;
    code = cut(scratch, p, p->opts->only, err);
    if (code == MV_OK)
        p->shown.matches = count_in_window(p);
    return code;
}

mv_code mv_shown_top(mv_arena *scratch, mv_painter *p, mv_err *err)
{
    mv_filter_bits kept;
    mv_code code;

    p->shown.largest = p->shown.matches;
    if (!p->opts->top || p->opts->top >= p->shown.matches)
        return MV_OK;
    p->shown.has_others = true;
    p->shown.largest = p->opts->top;
    code = mv_isolate_largest(scratch, p->lives, p->layout.from, p->layout.to, p->opts->top, &kept,
                              err);
    return code == MV_OK ? cut(scratch, p, &kept, err) : code;
}

uint64_t mv_shown_others(const mv_painter *p)
{
    uint64_t drawn = 0;

    for (uint32_t i = 0; i < p->callers.count; i++)
        drawn += p->callers.callers[i].bytes;
    return drawn < p->peak ? p->peak - drawn : 0;
}

/* Bytes of the matches where most of everything is allocated. */
static uint64_t matches_at_peak(const mv_painter *p)
{
    const mv_series *s = &p->series;
    uint32_t from = p->layout.from;

    if (p->shown.peak_event != MV_BEFORE)
        return s->allocated[p->shown.peak_event];
    return from > 0 && s->count > 0 ? s->allocated[from - 1] : s->before.allocated;
}

static const char *filter_line(mv_painter *p, const char *rows)
{
    const char *filter =
        mv_text_fit(p->scene, p->opts->filter ? p->opts->filter : "", 13, p->scene->width / 3);
    char matches[MV_TICK_TEXT], all[MV_TICK_TEXT], part[MV_SIZE_TEXT], peak[MV_SIZE_TEXT];
    uint64_t bytes = matches_at_peak(p);

    if (p->shown.matches == 0)
        return mv_scene_format(p->scene, "only %s: none of the %s %s matches", filter,
                               mv_axis_exact(p->shown.rows, all), rows);
    return mv_scene_format(p->scene, "only %s: %s of %s %s, %s (%.1f %%) of the peak of %s", filter,
                           mv_axis_exact(p->shown.matches, matches),
                           mv_axis_exact(p->shown.rows, all), rows, mv_size_text(part, bytes),
                           p->shown.peak ? 100.0 * (double)bytes / (double)p->shown.peak : 0,
                           mv_size_text(peak, p->shown.peak));
}

const char *mv_shown_line(mv_painter *p)
{
    const char *rows = p->of_segments ? "segments" : "allocations";
    const char *part = p->shown.is_part ? filter_line(p, rows) : NULL;
    char largest[MV_TICK_TEXT], all[MV_TICK_TEXT], bytes[MV_SIZE_TEXT];

    if (!p->shown.has_others)
        return part;
    mv_size_text(bytes, mv_shown_others(p));
    mv_axis_exact(p->shown.largest, largest);
    if (part)
        return mv_scene_format(p->scene, "%s \xc2\xb7 one by one the %s largest", part, largest);
    return mv_scene_format(p->scene,
                           "one by one the %s largest of %s %s; all others are the grey band on "
                           "top, %s of the peak",
                           largest, mv_axis_exact(p->shown.matches, all), rows, bytes);
}
