#include "analyze/top/top.h"

#include "analyze/totals/moment.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"

#define MINUTE INT64_C(60000000)

static mv_top find(const mv_trace *trace, const mv_lives *lives, mv_top_query ask)
{
    const uint8_t *kinds = mv_frame_kinds(mvt_memory(), trace);
    mv_top top;

    mvt_ok(mv_top_find(mvt_memory(), trace, lives, kinds, ask, &top, mvt_err()));
    return top;
}

static mv_top find_in(mvt_trace *t, mv_top_query ask)
{
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);

    return find(trace, &lives, ask);
}

static void expect_line(const mv_top *top, uint32_t i, uint64_t bytes, uint32_t blocks,
                        int64_t grown, int64_t age_us)
{
    cr_assert_lt(i, top->count);
    cr_expect_eq(top->lines[i].bytes, bytes);
    cr_expect_eq(top->lines[i].blocks, blocks);
    cr_expect_eq(top->lines[i].grown, grown);
    cr_expect_eq(top->lines[i].age_us, age_us);
}

/* a.py:1 keeps a block from minute 1. a.py:2 adds one in minutes 3 and 9, and in minute 8 frees the
 * one from minute 2. The last event is in minute 10. */
static mvt_trace *three_lines(void)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 4096, .stack = "f:a.py:1", .time_us = 1 * MINUTE);
    mvt_alloc(t, .addr = 0x2000, .bytes = 1024, .stack = "f:a.py:2", .time_us = 2 * MINUTE);
    mvt_alloc(t, .addr = 0x3000, .bytes = 2048, .stack = "f:a.py:2", .time_us = 3 * MINUTE);
    mvt_free(t, .addr = 0x2000, .time_us = 8 * MINUTE);
    mvt_alloc(t, .addr = 0x4000, .bytes = 512, .stack = "f:a.py:2;g:b.py:7", .time_us = 9 * MINUTE);
    mvt_alloc(t, .addr = 0x5000, .bytes = 512, .time_us = 10 * MINUTE);
    return t;
}

Test(top, lines_hold_and_have_grown)
{
    mv_top top =
        find_in(three_lines(), (mv_top_query){.now_us = MV_NO_TIME, .grown_us = 5 * MINUTE});

    cr_assert_eq(top.count, 3);
    expect_line(&top, 0, 4096, 1, 0, 9 * MINUTE);
    expect_line(&top, 1, 2560, 2, 512 - 1024, 7 * MINUTE);
    expect_line(&top, 2, 512, 1, 512, 0);
    cr_expect_eq(top.lines[2].stack.row, MV_NO_ROW);
    cr_expect_eq(top.allocated, 7168);
    cr_expect_eq(top.younger, 0);
    cr_expect_eq(top.grown, 0);
    cr_expect_eq(top.now_us - top.since_us, 5 * MINUTE);
}

Test(top, growth_counts_from_the_first_event_where_the_time_is_longer_than_the_recording)
{
    mv_top top =
        find_in(three_lines(), (mv_top_query){.now_us = MV_NO_TIME, .grown_us = 10 * MINUTE});

    cr_expect_eq(top.since_us, MV_NO_TIME);
    cr_expect_eq(top.grown, 7168);
    /* The window includes one more minute when the first event is at that minute's beginning. */
    top = find_in(three_lines(), (mv_top_query){.now_us = MV_NO_TIME, .grown_us = 9 * MINUTE});
    cr_expect_eq(top.grown, 7168 - 4096);
}

Test(top, blocks_age_while_nothing_happens)
{
    mv_top top =
        find_in(three_lines(), (mv_top_query){.now_us = 30 * MINUTE, .grown_us = 5 * MINUTE});

    expect_line(&top, 0, 4096, 1, 0, 29 * MINUTE);
    expect_line(&top, 2, 512, 1, 0, 20 * MINUTE);
}

Test(top, only_old_live_blocks_are_listed)
{
    mv_top_query ask = {.now_us = MV_NO_TIME, .grown_us = MINUTE, .older_us = 7 * MINUTE};
    mv_top top = find_in(three_lines(), ask);

    cr_assert_eq(top.count, 2);
    expect_line(&top, 0, 4096, 1, 0, 9 * MINUTE);
    expect_line(&top, 1, 2048, 1, 0, 7 * MINUTE);
    cr_expect_eq(top.listed, 6144);
    cr_expect_eq(top.younger, 1024);
    ask.older_us++;
    top = find_in(three_lines(), ask);
    cr_expect_eq(top.count, 1);
    cr_expect_eq(top.listed + top.younger, 7168);
}

Test(top, a_block_from_before_the_first_event_has_a_least_age)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = "f:a.py:1", .time_us = MINUTE);
    mvt_alloc(t, .addr = 0x2000, .bytes = 512, .stack = "f:a.py:1", .time_us = 4 * MINUTE);
    mvt_segment(t, .addr = 0, .bytes = 0x3000);
    mvt_block(t, .bytes = 0x1000, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:9");
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 0xe00, .state = MV_BLOCK_INACTIVE);
    mvt_block(t, .bytes = 512, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 0xe00, .state = MV_BLOCK_INACTIVE);
    mv_top top = find_in(t, (mv_top_query){.now_us = MV_NO_TIME, .grown_us = MINUTE});
    cr_assert_eq(top.count, 2);
    expect_line(&top, 0, 0x1000, 1, 0, 3 * MINUTE);
    cr_expect(top.lines[0].is_least_age);
    cr_expect_not(top.lines[1].is_least_age);
}

/* Every byte must belong to one line, however old it is, and growth must be the difference of two
 * totals. */
static void check_sums(const mv_trace *trace, const mv_lives *lives)
{
    int64_t spans[] = {0, 1000, 100000, 10 * MINUTE};
    uint64_t allocated = mv_moment_levels(lives, lives->events.count - 1).allocated;

    for (unsigned i = 0; i < 4; i++) {
        mv_top_query ask = {.now_us = MV_NO_TIME, .grown_us = spans[i], .older_us = spans[3 - i]};
        mv_top top = find(trace, lives, ask);
        uint64_t listed = 0;
        for (uint32_t k = 0; k < top.count; k++) {
            listed += top.lines[k].bytes;
            cr_assert(k == 0 || top.lines[k - 1].bytes >= top.lines[k].bytes);
            cr_assert(ask.older_us == 0 || top.lines[k].age_us >= ask.older_us);
        }
        cr_assert_eq(listed, top.listed);
        cr_assert_eq(top.listed + top.younger, allocated);
    }
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    (void)name;
    for (uint32_t i = 0; i < mv_trace_devices(trace); i++) {
        mv_lives lives = mvt_lives(mvt_memory(), trace, i);
        check_sums(trace, &lives);
    }
}

EachSnapshot(top, every_byte_of_real_snapshots_belongs_to_a_line, check_snapshot);

Test(top, every_byte_of_random_lives_belongs_to_a_line)
{
    static const mv_trace none;

    for (uint64_t seed = 0; seed < 200; seed++) {
        mv_lives lives =
            mvt_random_lives(mvt_memory(), (mvt_lives_opts){.seed = seed, .most_events = 60});
        for (uint32_t i = 0; i < lives.allocs.count; i++)
            lives.allocs.stack[i] = MV_NO_STACK;
        check_sums(&none, &lives);
    }
}

Test(top, memory_may_run_out_at_any_point)
{
    const mv_trace *trace = mvt_done(three_lines());
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    const uint8_t *kinds = mv_frame_kinds(mvt_memory(), trace);
    mv_top top;

    for (mvt_limit l = {.step = 64}; mvt_more_memory(&l);) {
        mv_err err = {0};
        l.code = mv_top_find(&l.arena, trace, &lives, kinds, (mv_top_query){.now_us = MV_NO_TIME},
                             &top, &err);
    }
}
