/* Drawn sets, their clock and outlines, compared with a literal model: a stack that every event
 * rearranges, row by row, as PyTorch's viewer does. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/polygon.h"

typedef struct {
    uint32_t event;
    uint64_t tick;   /* at which the slide begins */
    uint64_t offset; /* after it */
} slide;

typedef struct {
    bool is_drawn;
    uint64_t begin_tick, end_tick, offset;
    slide *slides;
    uint32_t slide_count;
} row;

typedef struct {
    mv_arena arena;
    const mv_index *x;
    row *rows;
    uint32_t *stack, height;
    uint64_t *tick_at; /* [events + 1] */
    uint64_t tick;
    bool *slid; /* [events] */
} model;

/* ---- the model ---------------------------------------------------------------------------- */

static uint64_t offset_of(const row *r)
{
    return r->slide_count ? r->slides[r->slide_count - 1].offset : r->offset;
}

static void push(model *m, uint32_t rank)
{
    row *r = &m->rows[rank];

    r->begin_tick = m->tick;
    for (uint32_t i = 0; i < m->height; i++)
        r->offset += m->x->bytes[m->stack[i]];
    m->stack[m->height++] = rank;
}

/* Takes every drawn row that ends away, then lets the others down by what was below them. */
static void take_ended(model *m, uint32_t event)
{
    uint32_t kept = 0;
    uint64_t gone = 0;
    bool any = false, slides = false;

    for (uint32_t i = 0; i < m->height; i++) {
        row *r = &m->rows[m->stack[i]];
        if (m->x->end[m->stack[i]] == event) {
            r->end_tick = m->tick + 1;
            gone += m->x->bytes[m->stack[i]];
            any = true;
            continue;
        }
        if (any) {
            slides = true;
            r->slides[r->slide_count] = (slide){event, m->tick + 1, offset_of(r) - gone};
            r->slide_count++;
        }
        m->stack[kept++] = m->stack[i];
    }
    m->height = kept;
    m->tick += slides ? 3 : 0;
    m->slid[event] = slides;
}

static bool is_any_ending(const mv_index *x, uint32_t event)
{
    for (uint32_t r = 0; r < x->count; r++)
        if (x->end[r] == event && mv_index_is_ever_alive(x, r))
            return true;
    return false;
}

static void do_event(model *m, uint32_t event)
{
    const mv_index *x = m->x;
    bool has_end = is_any_ending(x, event), has_birth = false;

    m->tick_at[event] = m->tick;
    if (has_end) {
        take_ended(m, event);
        m->tick++;
    }
    for (uint32_t r = x->preexisting; r < x->count; r++) {
        if (x->birth[r] != event || !mv_index_is_ever_alive(x, r))
            continue;
        has_birth = true;
        if (m->rows[r].is_drawn)
            push(m, r);
    }
    m->tick += has_birth && !has_end;
}

static void run_model(model *m, mv_budget *budget, const mv_index *x, const bool *is_drawn)
{
    bool something = false;

    *m = (model){.x = x};
    mv_arena_init(&m->arena, budget);
    m->rows = mv_push_array(&m->arena, row, x->count);
    m->stack = mv_push_array(&m->arena, uint32_t, x->count);
    m->tick_at = mv_push_array(&m->arena, uint64_t, x->events + 1);
    m->slid = mv_push_array(&m->arena, bool, x->events + 1);
    for (uint32_t r = 0; r < x->count; r++) {
        m->rows[r].slides = mv_push_array(&m->arena, slide, x->events);
        m->rows[r].is_drawn = is_drawn[r] && mv_index_is_ever_alive(x, r);
        something = something || (r < x->preexisting && mv_index_is_ever_alive(x, r));
        if (r < x->preexisting && m->rows[r].is_drawn)
            push(m, r);
    }
    for (uint32_t e = 0; e < x->events; e++)
        do_event(m, e);
    m->tick_at[x->events] = m->tick;
    if (m->tick == 0 && something)
        m->tick = 1;
    for (uint32_t i = 0; i < m->height; i++)
        m->rows[m->stack[i]].end_tick = m->tick;
}

/* The `most` largest by sorting: of equals, those that PyTorch's list of elements has first. */
static uint64_t naming(const mv_index *x, uint32_t rank)
{
    if (rank >= x->preexisting)
        return (uint64_t)x->birth[rank] << 32 | UINT32_MAX;
    return (uint64_t)x->end[rank] << 32 | (x->count - rank);
}

static int by_size(const void *left, const void *right, void *index)
{
    const mv_index *x = index;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    if (x->bytes[a] != x->bytes[b])
        return x->bytes[a] > x->bytes[b] ? -1 : 1;
    if (naming(x, a) != naming(x, b))
        return naming(x, a) < naming(x, b) ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void pick_largest(mv_arena *arena, mv_index *x, uint32_t most, bool *is_drawn)
{
    uint32_t *order = mv_push_array(arena, uint32_t, x->count), count = 0;

    for (uint32_t r = 0; r < x->count; r++) {
        is_drawn[r] = false;
        if (mv_index_is_ever_alive(x, r))
            order[count++] = r;
    }
    qsort_r(order, count, sizeof *order, by_size, x);
    for (uint32_t i = 0; i < most && i < count; i++)
        is_drawn[order[i]] = true;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static int64_t x_of(const model *m, mv_clock clock, uint32_t event, uint64_t tick)
{
    uint32_t last = m->x->events ? m->x->events - 1 : 0;

    if (clock == MV_CLOCK_TICKS)
        return (int64_t)tick;
    if (clock == MV_CLOCK_EVENTS)
        return event;
    return m->x->events ? m->x->lives->events.time_us[event < last ? event : last] : 0;
}

/* The points of a row within [from, to), from the model's record of its life. */
static uint32_t expect_points(const model *m, mv_clock clock, uint32_t rank, uint32_t from,
                              uint32_t to, mv_polygon_point *points)
{
    const row *r = &m->rows[rank];
    uint32_t birth = m->x->birth[rank], end = m->x->end[rank], n = 0;
    bool is_whole = from == 0 || (birth != MV_BEFORE && birth >= from), ends = end < to;
    uint64_t offset = r->offset, slanted = clock == MV_CLOCK_TICKS;

    if (!r->is_drawn || end < from || (birth != MV_BEFORE && birth >= to))
        return 0;
    for (uint32_t i = 0; i < r->slide_count && r->slides[i].event < from; i++)
        offset = r->slides[i].offset;
    if (is_whole)
        points[n++] = (mv_polygon_point){
            x_of(m, clock, birth == MV_BEFORE ? 0 : birth, r->begin_tick), offset};
    else
        points[n++] = (mv_polygon_point){x_of(m, clock, from, m->tick_at[from]), offset};
    for (uint32_t i = 0; i < r->slide_count; i++) {
        const slide *s = &r->slides[i];
        if (s->event < from || s->event >= to)
            continue;
        points[n++] = (mv_polygon_point){x_of(m, clock, s->event, s->tick), offset};
        offset = s->offset;
        points[n++] = (mv_polygon_point){x_of(m, clock, s->event, s->tick + 3 * slanted), offset};
    }
    if (ends)
        points[n++] = (mv_polygon_point){x_of(m, clock, end, r->end_tick), offset};
    else if (to == m->x->events)
        points[n++] = (mv_polygon_point){x_of(m, clock, to, m->tick), offset};
    else
        points[n++] = (mv_polygon_point){x_of(m, clock, to, m->tick_at[to]), offset};
    return n;
}

static void check_outline(model *m, const mv_drawn *d, mv_clock clock, uint32_t rank, uint32_t from,
                          uint32_t to)
{
    mv_polygon_point *want =
        mv_push_array(&m->arena, mv_polygon_point, 2 * (uint64_t)m->x->events + 2);
    uint32_t count = expect_points(m, clock, rank, from, to, want);
    mv_polygon found;

    mvt_ok(mv_polygon_find(&m->arena, d, clock, rank, from, to, &found, mvt_err()));
    cr_assert_eq(found.count, count, "row %u: %u points, not %u", rank, found.count, count);
    cr_assert_eq(mv_polygon_count(d, rank, from, to, UINT32_MAX), count);
    cr_assert_eq(mv_polygon_count(d, rank, from, to, 3), count < 3 ? count : 3);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(found.point[i].x, want[i].x, "row %u, point %u: x %ld, not %ld", rank, i,
                     (long)found.point[i].x, (long)want[i].x);
        cr_assert_eq(found.point[i].offset, want[i].offset, "row %u, point %u", rank, i);
    }
    if (count)
        cr_assert_eq(found.bytes, m->x->bytes[rank]);
}

/* Ticks, and what is where after each event: the drawn rows lie one on the other, and with the
 * others they are all that is alive. */
static void check_moments(const model *m, const mv_drawn *d)
{
    const mv_index *x = m->x;

    cr_assert_eq(mv_drawn_ticks(d), m->tick);
    for (uint32_t e = 0; e <= x->events; e++) {
        cr_assert_eq(mv_drawn_tick(d, e), m->tick_at[e]);
        if (e < x->events)
            cr_assert_eq(mv_bitmap_has(&d->slides, e), m->slid[e]);
    }
    for (uint32_t i = 0; i <= x->events; i += 1 + x->events / 40) {
        uint32_t e = i - 1; /* MV_BEFORE first */
        uint64_t drawn = 0, others = 0;
        for (uint32_t r = 0; r < x->count; r++) {
            if (!mv_index_is_alive(x, r, e))
                continue;
            if (m->rows[r].is_drawn)
                cr_assert_eq(mv_drawn_offset(d, r, e), drawn);
            *(m->rows[r].is_drawn ? &drawn : &others) += x->bytes[r];
        }
        cr_assert_eq(mv_drawn_bytes(d, e), drawn, "event %u", e);
        cr_assert_eq(drawn + others, mv_index_bytes(x, x->count, e));
    }
}

static void check_drawn(mv_budget *budget, const mv_index *x, const mv_drawn *d,
                        const bool *is_drawn, uint64_t *random)
{
    uint32_t count = 0, from = x->events ? mvt_random(random, x->events) : 0;
    uint32_t to = from + mvt_random(random, x->events - from + 1);
    model m;

    run_model(&m, budget, x, is_drawn);
    check_moments(&m, d);
    for (uint32_t r = 0; r < x->count; r++) {
        count += m.rows[r].is_drawn;
        cr_assert(!m.rows[r].is_drawn || mv_drawn_has(d, r), "row %u", r);
        for (int c = MV_CLOCK_TICKS; c <= MV_CLOCK_TIME; c++) {
            check_outline(&m, d, (mv_clock)c, r, 0, x->events);
            check_outline(&m, d, (mv_clock)c, r, from, to);
        }
    }
    cr_assert_eq(d->count, count);
    mv_arena_release(&m.arena);
}

static void check_lives(mv_arena *arena, const mv_lives *lives, mv_index_measure measure,
                        uint64_t seed)
{
    static const uint32_t most[] = {0, 1, 15, 100};
    uint64_t random = seed, *rows;
    bool *is_drawn;
    mv_index x;
    mv_drawn d;

    mvt_ok(mv_index_make(arena, lives, measure, &x, mvt_err()));
    is_drawn = mv_push_array(arena, bool, x.count);
    rows = mv_push_array(arena, uint64_t, x.count / 64 + 1);
    memset(is_drawn, 1, x.count);
    mvt_ok(mv_drawn_all(arena, &x, &d, mvt_err()));
    check_drawn(arena->budget, &x, &d, is_drawn, &random);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        pick_largest(arena, &x, most[i], is_drawn);
        mvt_ok(mv_drawn_largest(arena, &x, most[i], &d, mvt_err()));
        check_drawn(arena->budget, &x, &d, is_drawn, &random);
    }
    for (uint32_t r = 0; r < x.count; r++) {
        is_drawn[r] = mvt_random(&random, 3) > 0;
        rows[r >> 6] |= (uint64_t)is_drawn[r] << (r & 63);
    }
    mvt_ok(mv_drawn_some(arena, &x, rows, &d, mvt_err()));
    check_drawn(arena->budget, &x, &d, is_drawn, &random);
}

static void check_random(uint64_t first, uint64_t last, uint32_t most_events, bool is_plain)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        mv_lives lives;
        mvt_random_lives(
            mvt_memory(),
            (mvt_lives_opts){.seed = seed, .most_events = most_events, .is_plain = is_plain},
            &lives);
        check_lives(mvt_memory(), &lives, (mv_index_measure)(seed % 3), seed);
    }
}

LongTest(polygon, equals_a_literal_stack_on_plain_tables)
{
    check_random(1, 600, 60, true);
}

LongTest(polygon, equals_a_literal_stack_on_odd_tables)
{
    check_random(1001, 1600, 60, false);
}

Test(polygon, equals_a_literal_stack_on_longer_tables)
{
    check_random(2001, 2012, 400, true);
    check_random(2013, 2024, 400, false);
}

/* More events than a span of `level` or a line of the directory has. */
Test(polygon, equals_a_literal_stack_over_several_spans)
{
    mv_arena *arena = mvt_arena_of((uint64_t)1 << 32);
    mv_lives lives = {0};
    mv_index x;
    mv_drawn d;
    model m;
    bool *is_drawn;

    for (uint64_t seed = 3; lives.events.count < 2500; seed++)
        mvt_random_lives(arena, (mvt_lives_opts){.seed = seed, .most_events = 3000}, &lives);
    mvt_ok(mv_index_make(arena, &lives, MV_INDEX_ACTIVE, &x, mvt_err()));
    is_drawn = mv_push_array(arena, bool, x.count);
    pick_largest(arena, &x, 500, is_drawn);
    mvt_ok(mv_drawn_largest(arena, &x, 500, &d, mvt_err()));
    run_model(&m, arena->budget, &x, is_drawn);
    check_moments(&m, &d);
    for (uint32_t r = 0; r < x.count; r += 7)
        check_outline(&m, &d, MV_CLOCK_TICKS, r, 0, x.events);
    mv_arena_release(&m.arena);
}

/* Nothing is freed, or there are no events at all: a flat picture one tick wide. */
Test(polygon, a_heap_without_changes_is_one_tick_wide)
{
    uint64_t bytes[] = {512, 1024};
    uint32_t birth[] = {MV_BEFORE, MV_BEFORE}, end[] = {MV_NEVER, MV_NEVER}, alloc_of[2];
    mv_arena *arena = mvt_memory();

    for (uint32_t events = 0; events < 3; events += 2) {
        mv_lives lives = {.events.count = events,
                          .allocs = {.count = 2,
                                     .preexisting = 2,
                                     .block = bytes,
                                     .birth = birth,
                                     .completed = end},
                          .alloc_of = alloc_of};
        mv_polygon p;
        mv_index x;
        mv_drawn d;
        mvt_ok(mv_index_make(arena, &lives, MV_INDEX_ACTIVE, &x, mvt_err()));
        mvt_ok(mv_drawn_all(arena, &x, &d, mvt_err()));
        mvt_ok(mv_polygon_find(arena, &d, MV_CLOCK_TICKS, 1, 0, events, &p, mvt_err()));
        cr_assert_eq(p.count, 2);
        cr_expect(p.point[0].x == 0 && p.point[0].offset == 512);
        cr_expect(p.point[1].x == 1 && p.point[1].offset == 512);
    }
}

LongTest(polygon, fails_when_memory_is_out)
{
    mv_lives lives;
    mv_index x;

    mvt_random_lives(mvt_memory(), (mvt_lives_opts){.seed = 11, .most_events = 4000}, &lives);
    mvt_ok(mv_index_make(mvt_memory(), &lives, MV_INDEX_REQUESTED, &x, mvt_err()));
    for (mvt_limit l = {.step = 8192}; mvt_more_memory(&l);) {
        mv_drawn d;
        mv_polygon p;
        l.code = mv_drawn_largest(&l.arena, &x, x.count / 2, &d, mvt_err());
        for (uint32_t r = 0; r < x.count && l.code == MV_OK; r++)
            l.code = mv_polygon_find(&l.arena, &d, MV_CLOCK_TICKS, r, 0, x.events, &p, mvt_err());
    }
}
