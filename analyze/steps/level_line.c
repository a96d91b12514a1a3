#include "analyze/steps/level_line.h"

#include "analyze/steps/steps.h"
#include "base/parallel_for.h"
#include "base/search.h"
#include "base/sort.h"

enum {
    LEAST_SHIFT = 16, /* with fewer events, a thread costs more than it saves */
    PIECES = 16,
    PIECE_ROWS = 1 << 16
};

/* Partial sums of the line, over some of the rows. */
typedef struct {
    uint64_t change[MV_LEVEL_PARTS + 1]; /* change of the level before each part */
    uint64_t ends;
} piece;

typedef struct {
    const mv_level_line *line;
    uint32_t count;
    piece pieces[PIECES];
} search;

/* Whether a walk learns of the end of a row only from mv_level_line.ends. */
static bool is_hidden_end(const mv_lives *lives, uint32_t row)
{
    uint32_t freed = lives->allocs.freed[row];

    return freed < lives->events.count && lives->alloc_of[freed] != row;
}

static uint32_t part_after(const mv_level_line *line, uint32_t event)
{
    return event < line->lives->events.count ? (event >> line->shift) + 1 : MV_NO_ROW;
}

static void look_at_rows(void *user, uint32_t nth)
{
    search *s = user;
    const mv_level_line *line = s->line;
    const mv_alloc_lives *a = &line->lives->allocs;
    uint32_t first = (uint32_t)((uint64_t)a->count * nth / s->count);
    uint32_t end = (uint32_t)((uint64_t)a->count * (nth + 1) / s->count);
    piece p = {.ends = 0};

    for (uint32_t i = first; i < end; i++) {
        uint32_t from = a->birth[i] == MV_BEFORE ? 0 : part_after(line, a->birth[i]);
        uint32_t to = part_after(line, a->freed[i]);

        p.ends += is_hidden_end(line->lives, i);
        if (from == to)
            continue;
        if (from != MV_NO_ROW)
            p.change[from] += a->block[i];
        if (to != MV_NO_ROW)
            p.change[to] -= a->block[i];
    }
    s->pieces[nth] = p;
}

static bool list_ends(mv_arena *arena, mv_level_line *line)
{
    uint64_t count = 0;

    line->ends = mv_push_array(arena, mv_level_end, line->end_count);
    for (uint32_t i = 0; line->ends && count < line->end_count; i++)
        if (is_hidden_end(line->lives, i))
            line->ends[count++] = (mv_level_end){line->lives->allocs.freed[i], i};
    if (line->ends)
        mv_sort_rows(arena, line->ends, count, MV_RISING(mv_level_end, event));
    return line->ends != NULL;
}

bool mv_level_line_find(mv_arena *arena, const mv_lives *lives, mv_level_line *out)
{
    uint32_t events = lives->events.count, pieces = 1 + lives->allocs.count / PIECE_ROWS;
    search s = {.line = out, .count = pieces < PIECES ? pieces : PIECES};

    *out = (mv_level_line){.lives = lives, .shift = LEAST_SHIFT};
    while (events > 0 && (events - 1) >> out->shift >= MV_LEVEL_PARTS)
        out->shift++;
    out->parts = events > 0 ? ((events - 1) >> out->shift) + 1 : 0;
    mv_parallel_for(s.count, 0, look_at_rows, &s);
    for (uint32_t i = 0; i < s.count; i++) {
        out->end_count += s.pieces[i].ends;
        for (uint32_t p = 0; p <= out->parts; p++)
            out->before[p] += s.pieces[i].change[p];
    }
    for (uint32_t p = 0; p < out->parts; p++)
        out->before[p + 1] += out->before[p];
    return list_ends(arena, out);
}

mv_level_walk mv_level_walk_at(const mv_level_line *line, uint32_t part)
{
    uint32_t event = part << line->shift;
    mv_bisect b = mv_bisect_over(0, line->end_count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, line->ends[b.middle].event < event);
    return (mv_level_walk){.line = line,
                           .event = event,
                           .row = mv_first_born_from(&line->lives->allocs, event),
                           .end = b.low,
                           .level = line->before[part]};
}
