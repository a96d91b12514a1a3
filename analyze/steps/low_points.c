#include "analyze/steps/low_points.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/lives/alive.h"
#include "base/size.h"
#include "base/sort.h"

mv_code mv_low_points_find(mv_arena *arena, const mv_floor *floor, mv_low_points *out, mv_err *err)
{
    *out = (mv_low_points){.event = mv_push_array(arena, uint32_t, floor->bins),
                           .bytes = mv_push_array(arena, uint64_t, floor->bins)};
    if (!out->event || !out->bytes)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "low points");
    for (uint32_t bin = 1; bin + 1 < floor->bins; bin++) {
        out->event[out->count] = floor->moment[bin] ? floor->moment[bin] - 1 : MV_BEFORE;
        out->bytes[out->count++] = floor->least[bin];
    }
    return MV_OK;
}

static bool pick(const mv_low_points *points, uint64_t number, uint32_t first, uint32_t end,
                 uint32_t *event, char *why, uint32_t why_size)
{
    uint64_t seen = 0;

    for (uint32_t i = 0; i < points->count; i++) {
        if (points->event[i] + 1 < first || points->event[i] + 1 > end) /* MV_BEFORE + 1 is 0 */
            continue;
        *event = points->event[i];
        if (++seen == number)
            return true;
    }
    if (seen > 0 && number == 0)
        return true;
    if (seen == 0)
        snprintf(why, why_size,
                 "no low points: the run has no complete steps (memviz leaks shows its steps)");
    else
        snprintf(why, why_size, "no such low point: low#%" PRIu64 "; the last one is low#%" PRIu64,
                 number, seen);
    return false;
}

bool mv_low_point_read(mv_budget *budget, const mv_trace *trace, uint32_t device, uint64_t number,
                       uint32_t first, uint32_t end, uint32_t *event, char *why, uint32_t why_size)
{
    mv_low_points points;
    mv_err err = {0};
    mv_arena scratch;
    mv_steps steps;
    mv_floor floor;
    mv_lives lives;
    bool is_found = false;

    mv_arena_init(&scratch, budget);
    if (mv_lives_find(&scratch, trace, device, &lives, &err) == MV_OK &&
        mv_steps_find(&scratch, trace, &lives, &steps, &err) == MV_OK &&
        mv_floor_find(&scratch, &lives, &steps, &floor, &err) == MV_OK &&
        mv_low_points_find(&scratch, &floor, &points, &err) == MV_OK)
        is_found = pick(&points, number, first, end, event, why, why_size);
    else
        snprintf(why, why_size, "%s", mv_code_text(err.code));
    mv_arena_release(&scratch);
    return is_found;
}

/* ---- memory held at all low points ----------------------------------------------------------- */

/* A change of a line's bytes that is in effect at one low point and all later ones. */
typedef struct {
    uint32_t group, at;
    uint32_t alloc;
    int64_t bytes;
} low_change;

typedef struct {
    low_change *rows; /* [count] changes sorted by group, then by low point */
    uint64_t count;
} low_changes;

/* Returns the first low point at or after event `event` - 1. (With this offset, MV_BEFORE is passed
 * as 0.) */
static uint32_t first_from(const mv_low_points *points, uint64_t event)
{
    mv_bisect b = mv_bisect_over(0, points->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, (uint64_t)(uint32_t)(points->event[b.middle] + 1) < event);
    return (uint32_t)b.low;
}

static bool find_changes(mv_arena *scratch, const mv_sites *sites, const mv_lives *lives,
                         const mv_floor *floor, const mv_low_points *points, mv_low_line *of_group,
                         low_changes *out)
{
    const mv_alloc_lives *a = &lives->allocs;

    uint32_t from = 0, to, group;

    out->rows = mv_push_array(scratch, low_change, 2 * (uint64_t)floor->lasting.count);
    for (uint32_t k = 0; out->rows && k < floor->lasting.count; k++) { /* in order of birth */
        uint32_t i = floor->lasting.row[k];

        while (from < points->count && points->event[from] + 1 < a->birth[i] + 1)
            from++;
        if (from == points->count || !mv_alloc_is_allocated(lives, i, points->event[from]))
            continue;
        to =
            a->freed[i] == MV_NEVER ? points->count : first_from(points, (uint64_t)a->freed[i] + 1);
        group = sites->group[mv_site_of(sites, a->stack[i])];
        out->rows[out->count++] = (low_change){group, from, i, (int64_t)a->block[i]};
        if (to < points->count)
            out->rows[out->count++] = (low_change){group, to, i, -(int64_t)a->block[i]};
        if (from == 0 && to == points->count)
            of_group[group].staying += a->block[i];
    }
    if (out->rows)
        mv_sort_rows(scratch, out->rows, out->count, MV_RISING(low_change, group),
                     MV_RISING(low_change, at), MV_RISING(low_change, alloc));
    return out->rows != NULL;
}

/* Returns the fewest bytes that the line of rows [first, end) holds at any low point. */
static uint64_t least_held(const low_change *rows, uint64_t first, uint64_t end)
{
    int64_t level = 0, least = INT64_MAX;

    if (rows[first].at > 0)
        return 0;
    for (uint64_t i = first; i < end; i++) {
        level += rows[i].bytes;
        if (i + 1 == end || rows[i + 1].at != rows[i].at)
            least = level < least ? level : least;
    }
    return (uint64_t)least;
}

static bool add_lines(mv_arena *arena, mv_arena *scratch, const mv_sites *sites,
                      const mv_lives *lives, const mv_floor *floor, const mv_low_points *points,
                      mv_low_held *out)
{
    low_changes changes = {0};

    out->lines = mv_push_array(arena, mv_low_line, sites->groups);
    if (!out->lines || !find_changes(scratch, sites, lives, floor, points, out->lines, &changes))
        return false;
    for (uint64_t first = 0, end; first < changes.count; first = end) {
        const low_change *row = &changes.rows[first];
        mv_low_line line = {.staying = out->lines[row->group].staying,
                            .stack = lives->allocs.stack[row->alloc]};
        for (end = first + 1; end < changes.count && changes.rows[end].group == row->group;)
            end++;
        line.bytes = least_held(changes.rows, first, end);
        out->bytes += line.bytes;
        if (line.bytes > 0)
            out->lines[out->count++] = line; /* the index is at most the row of its group, so no row
                                              * is overwritten before it is read */
    }
    mv_sort_rows(scratch, out->lines, out->count, MV_FALLING(mv_low_line, bytes),
                 MV_RISING(mv_low_line, stack.row));
    return true;
}

mv_code mv_low_held_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_floor *floor, uint32_t most, mv_low_held *out, mv_err *err)
{
    mv_low_points points;
    mv_arena scratch;
    mv_sites sites;
    mv_code code;

    *out = (mv_low_held){0};
    mv_arena_init(&scratch, arena->budget);
    code = mv_low_points_find(&scratch, floor, &points, err);
    if (code == MV_OK && points.count > most) {
        points.event += points.count - most;
        points.count = most;
    }
    if (code == MV_OK && points.count >= 2) {
        out->points = points.count;
        code = mv_sites_find(&scratch, trace, &sites, err);
        if (code == MV_OK && !add_lines(arena, &scratch, &sites, lives, floor, &points, out))
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "lines at low points");
    }
    mv_arena_release(&scratch);
    return code;
}

const char *mv_low_held_text(const mv_trace *trace, const uint8_t *kinds, const mv_low_held *held,
                             char out[MV_LOW_TEXT])
{
    char all[MV_SIZE_TEXT], most[MV_SIZE_TEXT], label[512];

    *out = '\0';
    if (held->points == 0)
        return out;
    if (held->count == 0)
        snprintf(out, MV_LOW_TEXT, "no line holds memory at every low point");
    else if (held->lines[0].stack.row == MV_NO_ROW)
        snprintf(out, MV_LOW_TEXT, "%s is held at every low point, %s of it without a stack",
                 mv_size_text(all, held->bytes), mv_size_text(most, held->lines[0].bytes));
    else
        snprintf(out, MV_LOW_TEXT, "%s is held at every low point, %s of it by %.500s",
                 mv_size_text(all, held->bytes), mv_size_text(most, held->lines[0].bytes),
                 mv_culprit_label(trace, kinds, held->lines[0].stack, label, sizeof label));
    return out;
}
