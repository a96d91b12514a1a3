/* Which rows a timeline shows: the matches of a filter, and of those the largest. */
#include <string.h>

#include "analyze/filter/isolate.h"
#include "analyze/lives/alive.h"
#include "base/size.h"
#include "base/sort.h"
#include "viz/pictures/timeline_painter.h"
#include "viz/scene/axis.h"
#include "viz/scene/heading.h"

static uint32_t count_in_window(const mv_painter *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->count; i++)
        count += (a->birth[i] == MV_BEFORE || a->birth[i] < p->layout.to) && a->block[i] > 0 &&
                 a->freed[i] >= p->layout.from;
    return count;
}

/* Shows only the rows in `kept`, with their leaks. */
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

/* Bytes that exist from one event to another. */
static void add_life(uint64_t *changes, uint64_t *before, uint32_t birth, uint32_t end,
                     uint64_t bytes)
{
    if (birth == MV_BEFORE)
        *before += bytes;
    else
        changes[birth] += bytes;
    if (end != MV_NEVER)
        changes[end] -= bytes;
}

/* From changes at events to levels after them. */
static void add_up(uint64_t *levels, uint32_t count, uint64_t before)
{
    for (uint32_t i = 0; i < count; i++)
        levels[i] = before += levels[i];
}

void mv_shown_levels(mv_painter *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    mv_series *s = &p->series;

    memset(s->allocated, 0, s->count * sizeof *s->allocated);
    memset(s->active, 0, s->count * sizeof *s->active);
    s->before.allocated = s->before.active = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        if (p->of_segments || !mv_alloc_was_pending(p->lives, i))
            add_life(s->allocated, &s->before.allocated, a->birth[i], a->freed[i], a->block[i]);
        add_life(s->active, &s->before.active, a->birth[i], a->completed[i], a->block[i]);
    }
    add_up(s->allocated, s->count, s->before.allocated);
    add_up(s->active, s->count, s->before.active);
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

/* ---- the blocks of a moment -------------------------------------------------------------- */

static int largest_first(const void *left, const void *right, const void *blocks)
{
    const uint64_t *bytes = blocks;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (bytes[a] < bytes[b]) - (bytes[a] > bytes[b]);
}

mv_code mv_shown_blocks(mv_arena *scratch, mv_painter *p, uint32_t event,
                        const mv_filter_bits *only, uint32_t top, mv_heading_part *part,
                        mv_err *err)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    mv_filter_bits *bits = mv_push_struct(scratch, mv_filter_bits);
    uint32_t count = 0;
    mv_alive alive;
    mv_code code = mv_alive_allocs(scratch, p->lives, event, MV_ALIVE_ALLOCATED, &alive, err);

    if (code != MV_OK || (!only && !top))
        return code;
    if (bits)
        bits->words = mv_push_array(scratch, uint64_t, (uint64_t)a->count / 64 + 1);
    if (!bits || !bits->words)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    part->rows = alive.count;
    for (uint32_t i = 0; i < alive.count; i++) {
        uint32_t row = alive.row[i];
        part->all += a->block[row];
        if (only && !mv_filter_has(only, row))
            continue;
        part->bytes += a->block[row];
        alive.row[count++] = row;
    }
    part->matches = count;
    mv_sort_by(scratch, alive.row, count, sizeof *alive.row, largest_first, a->block);
    if (top && top < count)
        count = top;
    bits->rows = a->count;
    for (bits->matches = 0; bits->matches < count; bits->matches++)
        bits->words[alive.row[bits->matches] >> 6] |= UINT64_C(1)
                                                      << (alive.row[bits->matches] & 63);
    p->coloured = bits;
    p->shown.has_others = count < alive.count;
    p->shown.matches = alive.count;
    p->shown.largest = count;
    return MV_OK;
}

/* ---- what is said ------------------------------------------------------------------------ */

uint64_t mv_shown_others(const mv_painter *p)
{
    uint64_t drawn = 0;

    for (uint32_t i = 0; i < p->callers.count; i++)
        drawn += p->callers.callers[i].bytes;
    return drawn < p->peak ? p->peak - drawn : 0;
}

/* Bytes of the matches at the moment when most is allocated. */
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
    mv_heading_part part = {p->opts->filter ? p->opts->filter : "", p->shown.matches, p->shown.rows,
                            matches_at_peak(p), p->shown.peak};

    return mv_heading_part_line(p->scene, part, rows, "the peak of");
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
