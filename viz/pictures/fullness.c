#include "viz/pictures/fullness.h"

#include "analyze/lives/alive.h"
#include "base/arena.h"
#include "base/rankset.h"
#include "base/search.h"
#include "base/sort.h"

/* Rows grouped by an event, such as the event that frees them, for a sweep over the events:
 *
 *     for (uint32_t i = freed.first[event]; i; i = freed.next[i - 1])
 *         ... row i - 1 ...
 *
 * In each group, the last row comes first. */
typedef struct {
    uint32_t *first; /* [events] a row of each event, plus 1; 0: none */
    uint32_t *next;  /* [rows] the next row of the same event, plus 1; 0: none */
} rows_by_event;

/* Groups rows by event. `at` contains the event of each row; rows whose event is `events` or later
 * (including MV_BEFORE and MV_NEVER) are left out. Returns false when out of memory. */
static bool group_rows(mv_arena *arena, const uint32_t *at, uint32_t rows, uint32_t events,
                       rows_by_event *out)
{
    out->first = mv_push_array(arena, uint32_t, events);
    out->next = mv_push_array(arena, uint32_t, rows);
    if (!out->first || !out->next)
        return false;
    for (uint32_t i = 0; i < rows; i++)
        if (at[i] < events) {
            out->next[i] = out->first[at[i]];
            out->first[at[i]] = i + 1;
        }
    return true;
}

enum { MOST_RANGES = 256 };

typedef struct {
    mv_arena scratch;
    const mv_lives *lives;
    uint32_t *row_of;           /* [segments.count] row of the timeline for each segment; MV_NO_ROW:
                                   not shown */
    uint32_t *by_place;         /* [segments.count] segments sorted by address */
    uint32_t *rank_of;          /* [segments.count] position of each segment in that order */
    mv_rankset held;            /* ranks of the segments that are reserved, which do not overlap */
    const uint32_t *element_of; /* [rows] entry of `used` that each row adds to; NULL: each row has
                                   a separate entry */
    uint64_t *used;
} fill_sweep;

/* ---- the segments of a block -------------------------------------------------------------- */

/* Returns the reserved segment that contains this byte; MV_NO_ROW: there is none. */
static uint32_t segment_at(const fill_sweep *f, uint64_t addr)
{
    const mv_segment_lives *s = &f->lives->segments;
    mv_bisect b = mv_bisect_over(0, s->count);
    uint32_t last;

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, s->addr[f->by_place[b.middle]] <= addr);
    last = b.low ? mv_rankset_prev(&f->held, (uint32_t)b.low - 1) : MV_NO_RANK;
    if (last == MV_NO_RANK || addr - s->addr[f->by_place[last]] >= s->size[f->by_place[last]])
        return MV_NO_ROW;
    return f->by_place[last];
}

static void add_to(fill_sweep *f, uint32_t segment, uint64_t bytes, bool is_added)
{
    uint32_t row = f->row_of[segment];

    if (row != MV_NO_ROW && f->element_of)
        row = f->element_of[row];
    if (row == MV_NO_ROW)
        return;
    if (is_added)
        f->used[row] += bytes;
    else
        f->used[row] -= bytes < f->used[row] ? bytes : f->used[row];
}

/* Adds a block to the segments that it overlaps, or removes it. */
static void change(fill_sweep *f, uint32_t alloc, bool is_added)
{
    const mv_alloc_lives *a = &f->lives->allocs;
    const mv_segment_lives *s = &f->lives->segments;
    uint64_t at = a->addr[alloc], left = a->block[alloc];

    for (int range = 0; left > 0 && range < MOST_RANGES; range++) {
        uint32_t segment = segment_at(f, at);
        uint64_t room, part;
        if (segment == MV_NO_ROW)
            return;
        room = s->size[segment] - (at - s->addr[segment]);
        part = left < room ? left : room;
        add_to(f, segment, part, is_added);
        at += part;
        left -= part;
    }
}

/* ---- preparation ------------------------------------------------------------------------- */

static bool prepare(fill_sweep *f, const mv_lives *rows)
{
    uint32_t segments = f->lives->segments.count;

    f->row_of = mv_push_array(&f->scratch, uint32_t, segments);
    f->by_place = mv_order_u64(&f->scratch, f->lives->segments.addr, segments);
    f->rank_of = mv_push_array(&f->scratch, uint32_t, segments);
    if (!f->row_of || !f->by_place || !f->rank_of ||
        !mv_rankset_init(&f->scratch, segments, &f->held))
        return false;
    for (uint32_t i = 0; i < segments; i++)
        f->row_of[i] = MV_NO_ROW;
    for (uint32_t i = 0; i < rows->allocs.count; i++)
        f->row_of[rows->allocs.segment[i]] = i;
    for (uint32_t i = 0; i < segments; i++)
        f->rank_of[f->by_place[i]] = i;
    return true;
}

static void hold_after(fill_sweep *f, uint32_t event)
{
    for (uint32_t i = 0; i < f->lives->segments.count; i++)
        if (mv_segment_is_held(f->lives, i, event))
            mv_rankset_add(&f->held, f->rank_of[i]);
}

uint64_t *mv_fullness_after(mv_arena *arena, const mv_lives *lives, const mv_lives *rows,
                            uint32_t event)
{
    fill_sweep f = {.lives = lives, .used = mv_push_array(arena, uint64_t, rows->allocs.count)};
    bool is_ready;

    mv_arena_init(&f.scratch, arena->budget);
    is_ready = f.used && prepare(&f, rows);
    if (is_ready)
        hold_after(&f, event);
    for (uint32_t i = 0; is_ready && i < lives->allocs.count; i++)
        if (mv_alloc_is_allocated(lives, i, event))
            change(&f, i, true);
    mv_arena_release(&f.scratch);
    return is_ready ? f.used : NULL;
}

/* ---- over time --------------------------------------------------------------------------- */

/* Sorts the samples by column, by counting. Column c begins at first[c] in `order`. */
static bool order_samples(fill_sweep *f, const mv_layout *l, uint32_t **first, uint32_t **order)
{
    *first = mv_push_array(&f->scratch, uint32_t, (uint64_t)l->column_count + 2);
    *order = mv_push_array(&f->scratch, uint32_t, l->sample_count);
    if (!*first || !*order)
        return false;
    for (uint32_t i = 0; i < l->sample_count; i++)
        (*first)[l->samples[i].column + 2]++;
    for (uint32_t c = 2; c < l->column_count + 2; c++)
        (*first)[c] += (*first)[c - 1];
    for (uint32_t i = 0; i < l->sample_count; i++)
        (*order)[(*first)[l->samples[i].column + 1]++] = i;
    return true;
}

typedef struct {
    rows_by_event held, released, born, freed;
} agendas;

static bool make_agendas(fill_sweep *f, agendas *out)
{
    const mv_alloc_lives *a = &f->lives->allocs;
    const mv_segment_lives *s = &f->lives->segments;
    uint32_t events = f->lives->events.count;

    return group_rows(&f->scratch, s->birth, s->count, events, &out->held) &&
           group_rows(&f->scratch, s->death, s->count, events, &out->released) &&
           group_rows(&f->scratch, a->birth, a->count, events, &out->born) &&
           group_rows(&f->scratch, a->freed, a->count, events, &out->freed);
}

/* Applies an event. Ends are applied before beginnings, and blocks before their segments. */
static void apply(fill_sweep *f, const agendas *on, uint32_t event)
{
    uint32_t i;

    for (i = on->freed.first[event]; i; i = on->freed.next[i - 1])
        if (!mv_alloc_was_pending(f->lives, i - 1))
            change(f, i - 1, false);
    for (i = on->released.first[event]; i; i = on->released.next[i - 1])
        mv_rankset_drop(&f->held, f->rank_of[i - 1]);
    for (i = on->held.first[event]; i; i = on->held.next[i - 1])
        mv_rankset_add(&f->held, f->rank_of[i - 1]);
    for (i = on->born.first[event]; i; i = on->born.next[i - 1])
        change(f, i - 1, true);
}

static void begin(fill_sweep *f)
{
    hold_after(f, MV_BEFORE);
    for (uint32_t i = 0; i < f->lives->allocs.preexisting; i++)
        if (mv_alloc_is_allocated(f->lives, i, MV_BEFORE))
            change(f, i, true);
}

static void run(fill_sweep *f, const agendas *on, const mv_layout *l, const uint32_t *first,
                const uint32_t *order, uint64_t *out)
{
    uint32_t event = 0;

    begin(f);
    for (uint32_t c = 0; c < l->column_count; c++) {
        uint32_t until = l->instant[c] == MV_BEFORE ? 0 : l->instant[c] + 1;
        for (; event < until; event++)
            apply(f, on, event);
        for (uint32_t i = first[c]; i < first[c + 1]; i++)
            out[order[i]] = f->used[l->samples[order[i]].element];
    }
}

static uint32_t *elements_of_rows(mv_arena *arena, const mv_lives *rows, const mv_layout *l)
{
    uint32_t *of = mv_push_array(arena, uint32_t, rows->allocs.count);

    for (uint32_t i = 0; of && i < rows->allocs.count; i++)
        of[i] = MV_NO_ROW;
    for (uint32_t e = 0; of && e < l->element_count; e++)
        for (uint32_t i = 0; i < l->elements[e].count; i++)
            of[l->elements[e].first + i] = e;
    return of;
}

uint64_t *mv_fullness_of_samples(mv_arena *arena, const mv_lives *lives, const mv_lives *rows,
                                 const mv_layout *layout)
{
    uint64_t *out = mv_push_array(arena, uint64_t, layout->sample_count);
    fill_sweep f = {.lives = lives};
    agendas on;
    uint32_t *first, *order;
    bool is_ready;

    mv_arena_init(&f.scratch, arena->budget);
    f.used = mv_push_array(&f.scratch, uint64_t, layout->element_count);
    f.element_of = elements_of_rows(&f.scratch, rows, layout);
    is_ready = out && f.used && f.element_of && prepare(&f, rows) && make_agendas(&f, &on) &&
               order_samples(&f, layout, &first, &order);
    if (is_ready)
        run(&f, &on, layout, first, order, out);
    mv_arena_release(&f.scratch);
    return is_ready ? out : NULL;
}
