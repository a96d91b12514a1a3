#include "viz/core/polygon.h"

/* The part of a row's life that is in the window. */
typedef struct {
    uint32_t begin; /* the first event after which it exists; MV_BEFORE: from the start */
    uint32_t end;   /* event of its end, or `to` */
    bool is_born;   /* its birth is in the window */
    bool is_ended;  /* its end is in the window */
} span;

static bool find_span(const mv_drawn *d, uint32_t rank, uint32_t from, uint32_t to, span *out)
{
    const mv_index *x = d->index;
    uint32_t birth = x->birth[rank], end = x->end[rank];

    if (!mv_drawn_has(d, rank) || !mv_index_is_ever_alive(x, rank))
        return false;
    *out = (span){.begin = birth, .end = end, .is_born = true, .is_ended = true};
    if (from > 0 && (birth == MV_BEFORE || birth < from))
        *out = (span){.begin = from - 1, .end = end, .is_ended = true};
    if (end >= to) {
        out->end = to;
        out->is_ended = false;
    }
    if (end < from || (birth != MV_BEFORE && birth >= to))
        return false;
    return true;
}

/* Its first offset. Only rows born in the same event can be above a new row. */
static uint64_t first_offset(const mv_drawn *d, uint32_t rank, const span *s)
{
    const mv_index *x = d->index;
    uint32_t born;
    uint64_t above = 0;

    if (!s->is_born || s->begin == MV_BEFORE)
        return mv_drawn_offset(d, rank, s->begin);
    born = mv_index_born(x, s->begin);
    for (uint32_t r = rank; r < born; r++)
        if (mv_drawn_has(d, r) && mv_index_is_alive(x, r, s->begin))
            above += x->bytes[r];
    return mv_drawn_bytes(d, s->begin) - above;
}

static bool is_end(const mv_drawn *d, uint32_t event)
{
    uint32_t state = 0;
    return mv_index_next_end(d->index, event, &state) != MV_NO_ROW;
}

/* A birth begins with its event; but if another row ends in that event, it begins when the slide is
 * over. */
static int64_t begin_at(const mv_drawn *d, mv_clock clock, const span *s, uint32_t from)
{
    uint32_t event = s->begin == MV_BEFORE || !s->is_born ? from : s->begin;

    if (clock != MV_CLOCK_TICKS)
        return mv_clock_at(d, clock, event);
    return (int64_t)mv_drawn_tick(d, event == s->begin && is_end(d, event) ? event + 1 : event);
}

static int64_t end_at(const mv_drawn *d, mv_clock clock, const span *s)
{
    return mv_clock_at(d, clock, s->end) + (s->is_ended && clock == MV_CLOCK_TICKS);
}

int64_t mv_clock_at(const mv_drawn *d, mv_clock clock, uint32_t event)
{
    const mv_index *x = d->index;

    if (clock == MV_CLOCK_TICKS)
        return (int64_t)(event < x->events ? mv_drawn_tick(d, event) : mv_drawn_ticks(d));
    if (clock == MV_CLOCK_EVENTS)
        return event;
    if (x->events == 0)
        return 0;
    return x->lives->events.time_us[event < x->events ? event : x->events - 1];
}

/* ---- points ------------------------------------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    mv_polygon *out;
    uint64_t capacity;
    bool failed;
} pen;

static void put(pen *p, int64_t x, uint64_t offset)
{
    if (p->out->count == p->capacity) {
        uint64_t more = p->capacity * 2;
        mv_polygon_point *grown =
            more < UINT32_MAX ? mv_arena_grow(p->arena, p->out->point, more * sizeof *grown) : NULL;
        p->failed = p->failed || !grown;
        if (p->failed)
            return;
        p->out->point = grown;
        p->capacity = more;
    }
    p->out->point[p->out->count++] = (mv_polygon_point){x, offset};
}

static uint32_t first_slide(const mv_drawn *d, const span *s, uint32_t rank)
{
    return mv_drawn_next_slide(d, s->begin + 1, s->end, rank); /* MV_BEFORE + 1 is 0 */
}

static void trace(pen *p, const mv_drawn *d, mv_clock clock, const span *s, uint64_t offset)
{
    uint32_t rank = p->out->rank;
    int64_t start = clock == MV_CLOCK_TICKS;

    for (uint32_t e = first_slide(d, s, rank); e < s->end && !p->failed;
         e = mv_drawn_next_slide(d, e + 1, s->end, rank)) {
        int64_t x = mv_clock_at(d, clock, e) + start;
        put(p, x, offset);
        offset -= mv_drawn_slide(d, e, rank);
        put(p, x + start * MV_SLIDE_TICKS, offset);
    }
    put(p, end_at(d, clock, s), offset);
}

mv_code mv_polygon_find(mv_arena *arena, const mv_drawn *d, mv_clock clock, uint32_t rank,
                        uint32_t from, uint32_t to, mv_polygon *out, mv_err *err)
{
    enum { FEW = 64 };
    pen p = {.arena = arena, .out = out};
    uint64_t offset;
    uint32_t points;
    span s;

    *out = (mv_polygon){.rank = rank};
    if (!find_span(d, rank, from, to, &s))
        return MV_OK;
    out->bytes = d->index->bytes[rank];
    offset = first_offset(d, rank, &s);
    points = mv_polygon_count(d, rank, from, to, FEW);
    p.capacity = points;
    out->point = points < FEW ? mv_push_array(arena, mv_polygon_point, points)
                              : mv_arena_grow(arena, NULL, points * sizeof *out->point);
    p.failed = !out->point;
    if (!p.failed) {
        put(&p, begin_at(d, clock, &s, from), offset);
        trace(&p, d, clock, &s, offset);
    }
    return p.failed ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "outline of %u points", out->count)
                    : MV_OK;
}

uint32_t mv_polygon_count(const mv_drawn *d, uint32_t rank, uint32_t from, uint32_t to,
                          uint32_t most)
{
    uint32_t count = 2;
    span s;

    if (!find_span(d, rank, from, to, &s))
        return 0;
    for (uint32_t e = first_slide(d, &s, rank); e < s.end && count < most;
         e = mv_drawn_next_slide(d, e + 1, s.end, rank))
        count += 2;
    return count < most ? count : most;
}
