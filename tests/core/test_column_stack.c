/* The stack at one instant, compared with a literal one, and the positions of events. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"
#include "tests/fixture/fixture_stack.h"

enum { MOST_ROWS = 300 };

static mv_instant some_instant(const mv_index *x, uint64_t *random)
{
    uint32_t event = mvt_random(random, x->events + 1) - 1; /* also MV_BEFORE */

    return (mv_instant){event, mvt_random(random, 2) ? MV_SLID : mvt_random(random, MV_SLID + 1)};
}

static void check_pixels(const mv_column_stack *c, uint64_t *random)
{
    uint64_t middle[MOST_ROWS], low = 0, offset = 0;
    uint32_t ids[MOST_ROWS], count, rows = 1 + mvt_random(random, MOST_ROWS - 1);
    uint64_t step = 1 + mv_column_stack_height(c) / (1 + mvt_random(random, 2 * MOST_ROWS));

    if (mvt_random(random, 2))
        low = mv_column_stack_height(c) / 3;
    for (uint32_t i = 0; i < rows; i++)
        middle[i] = low + i * step;
    count = mv_column_stack_fill(c, middle, rows, ids);
    cr_assert(count == rows || middle[count] >= mv_column_stack_height(c));
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(ids[i], mvt_row_at(c->index, c->drawn, c->now, middle[i], &offset));
}

static void check_rows(const mv_column_stack *c, uint64_t *random)
{
    uint64_t below = 0;
    mv_run run = {0}, at;

    for (uint32_t r = 0; r < c->index->count; r++) {
        bool is_open;
        uint64_t bytes = mvt_held(c->index, c->drawn, r, c->now, &is_open);
        if (bytes == 0)
            continue;
        cr_assert(mv_column_stack_find(c, below + mvt_random(random, 1 << 30) % bytes, &at));
        cr_assert(at.rank == r && at.offset == below && at.bytes == bytes && at.is_open == is_open);
        if (run.bytes) {
            cr_assert(mv_column_stack_next(c, &run));
            cr_assert(run.rank == at.rank && run.offset == at.offset && run.bytes == at.bytes &&
                      run.is_open == at.is_open);
        }
        run = at;
        below += bytes;
    }
    cr_assert_not(mv_column_stack_find(c, below, &at));
    cr_assert(!run.bytes || !mv_column_stack_next(c, &run));
}

LongTest(column_stack, every_row_of_random_tables_is_where_it_should_be)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        mv_lives lives = mvt_random_lives(mvt_memory(),
                                          (mvt_lives_opts){seed, seed % 50 ? 150 : 2000, seed % 2});
        mv_arena *arena = mvt_memory();
        uint64_t random = seed;
        mv_column_stack c;
        mv_index x;
        mvt_ok(mv_index_make(arena, &lives, (mv_index_measure)(seed % 3), &x, mvt_err()));
        mvt_ok(mv_column_stack_init(arena, &x, NULL, &c, mvt_err()));
        cr_assert_eq(mv_column_stack_height(&c), 0);
        for (int i = 0; i < 60; i++) {
            mv_instant instant = some_instant(&x, &random);
            if (i % 3 && c.now.event + 1 < x.events) /* a few events on */
                instant.event =
                    c.now.event + 1 + mvt_random(&random, 3) % (x.events - c.now.event - 1);
            if (i % 20 == 19)
                mv_column_stack_show(&c, i % 40 == 39 ? NULL
                                                      : mvt_random_bits(arena, x.count, &random));
            mv_column_stack_move(&c, instant);
            check_pixels(&c, &random);
            check_rows(&c, &random);
        }
    }
}

static void check_snapshot(const mv_trace *trace, uint32_t d, const char *name)
{
    (void)name;
    uint64_t random = d;
    mv_arena *arena = mvt_memory();
    mv_column_stack c;
    mv_index x;
    mv_lives lives = mvt_lives(arena, trace, d);
    mvt_ok(mv_index_make(arena, &lives, (mv_index_measure)(d % 3), &x, mvt_err()));
    mvt_ok(mv_column_stack_init(arena, &x, NULL, &c, mvt_err()));
    for (int i = 0; i < 5; i++) {
        mv_column_stack_move(&c, some_instant(&x, &random));
        check_pixels(&c, &random);
        check_rows(&c, &random);
    }
}

EachDevice(column_stack, every_row_of_real_snapshots_is_where_it_should_be, check_snapshot);

Test(column_stack, a_gap_held_open_by_a_slide_shrinks_to_nothing)
{
    uint64_t last = 1000003;

    cr_assert_eq(mv_instant_open(last, 0), last);
    for (uint32_t slid = 0; slid <= MV_SLID; slid += 64) {
        uint64_t open = mv_instant_open(1000003, slid);
        cr_assert_leq(open, last);
        cr_assert_lt((double)open - 1000003.0 * (MV_SLID - slid) / MV_SLID, 1.0);
        last = open;
    }
    cr_assert_eq(last, 0);
    cr_assert_eq(mv_instant_open(UINT64_MAX, MV_SLID), 0);
    cr_assert_eq(mv_instant_open(UINT64_MAX, 0), UINT64_MAX);
}

static void check_scale(const mv_timescale *s, uint64_t *random)
{
    for (int i = 0; i < 40; i++) {
        double x = (mvt_random(random, 4000) - 200) * s->length / 3500;
        uint32_t from = 0, moment = MV_BEFORE;
        if (i % 3 == 0 && s->events)
            x = mv_timescale_at(s, mvt_random(random, s->events));
        while (from < s->events && mv_timescale_at(s, from) < x)
            from++;
        for (uint32_t e = 0; e < s->events; e++)
            moment = mv_timescale_at(s, e) <= x ? e : moment;
        cr_assert_eq(mv_timescale_from(s, x), from);
        cr_assert_eq(mv_timescale_moment(s, x), moment);
    }
    for (uint32_t e = 1; e <= s->events; e++)
        cr_assert_leq(mv_timescale_at(s, e - 1), mv_timescale_at(s, e));
    cr_assert_eq(mv_timescale_at(s, s->events), s->length);
    cr_assert_geq(s->length, 1);
}

Test(column_stack, events_are_in_order_on_every_clock)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        mv_timescale s;
        mv_bitmap slides;
        mv_arena *arena = mvt_memory();
        mv_index x;
        mv_lives lives = mvt_random_lives(arena, (mvt_lives_opts){seed, 150, seed % 2});
        if (seed % 3 == 0 && lives.events.count)
            lives.events.time_us[lives.events.count / 2] -= 30;
        mvt_ok(mv_index_make(arena, &lives, MV_INDEX_ALLOCATED, &x, mvt_err()));
        cr_assert(mv_bitmap_init(arena, x.events, &slides));
        for (uint32_t e = 0; e < x.events; e++)
            if (mv_bitmap_has(&x.ends, e) && mvt_random(&random, 2))
                mv_bitmap_set(&slides, e);
        mv_bitmap_tally(&slides);
        for (int clock = 0; clock < MV_CLOCKS; clock++) {
            mvt_ok(mv_timescale_make(arena, &x, (mv_clock)clock, &slides, &s, mvt_err()));
            check_scale(&s, &random);
        }
    }
}

/* Only pauses are shortened. All other distances are proportional to time. */
Test(column_stack, the_clock_of_busy_time_cuts_pauses)
{
    mv_arena *arena = mvt_memory();
    mv_timescale time, busy;
    uint64_t random = 5;
    int64_t at = 0;
    mv_index x;

    mv_lives lives = mvt_random_lives(arena, (mvt_lives_opts){9, 1200, false});
    cr_assert_gt(lives.events.count, 120);
    for (uint32_t e = 0; e < lives.events.count; e++)
        lives.events.time_us[e] = at += e == 40 ? 100000 : e == 90 ? 7000000 : (int64_t)e % 7;
    mvt_ok(mv_index_make(arena, &lives, MV_INDEX_ALLOCATED, &x, mvt_err()));
    mvt_ok(mv_timescale_make(arena, &x, MV_CLOCK_TIME, NULL, &time, mvt_err()));
    mvt_ok(mv_timescale_make(arena, &x, MV_CLOCK_BUSY, NULL, &busy, mvt_err()));
    cr_assert(time.cut_count == 0 && busy.cut_count == 1, "a pause of 1.4 %% stays");
    cr_assert(busy.cuts[0].event == 90 && busy.cuts[0].us == 7000000);
    cr_assert_lt(busy.length, time.length / 50);
    for (uint32_t e = 1; e < x.events; e++) {
        double width = mv_timescale_at(&busy, e) - mv_timescale_at(&busy, e - 1);
        if (e == 90)
            cr_assert_float_eq(width, busy.cuts[0].to - busy.cuts[0].from, 1e-9);
        else
            cr_assert_eq(width, mv_timescale_at(&time, e) - mv_timescale_at(&time, e - 1));
    }
    for (int i = 0; i < 400; i++) {
        double us = (double)mvt_random(&random, 7100000);
        double place = mv_timescale_place_of(&busy, us);
        cr_assert_float_eq(mv_timescale_us_at(&busy, place), us, 1e-3);
        cr_assert_eq(mv_timescale_place_of(&time, us), us);
    }
}

Test(column_stack, unknown_times_make_a_scale_of_events)
{
    mv_timescale s;
    mv_arena *arena = mvt_memory();
    mv_index x;

    mv_lives lives = mvt_random_lives(arena, (mvt_lives_opts){7, 300, true});
    lives.events.time_us[3] = MV_NO_TIME;
    mvt_ok(mv_index_make(arena, &lives, MV_INDEX_ALLOCATED, &x, mvt_err()));
    mvt_ok(mv_timescale_make(arena, &x, MV_CLOCK_TIME, NULL, &s, mvt_err()));
    cr_assert_eq(s.clock, MV_CLOCK_EVENTS);
}
