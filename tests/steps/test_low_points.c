/* Low points: --at low, and the memory that stays through all of them. */
#include "analyze/oom/refused_calls.h"
#include "analyze/steps/low_points.h"
#include "tests/fixture/fixture.h"

#define KEEP "dispatch:/w/dispatcher.py:5;main:/w/train.py:9"
#define WORK "step:/w/train.py:7;main:/w/train.py:9"

enum { STEPS = 6 };

/* Each step is a range that allocates 8 KiB and frees them. One block of `KEEP` bytes stays through
 * all steps, another is replaced in each step, and a block of `WORK` bytes exists until the last
 * complete step. */
static mvt_trace *offloading(void)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x100000, .bytes = 0x3000, .stack = KEEP);
    mvt_alloc(t, .addr = 0x200000, .bytes = 0x1000, .stack = WORK);
    mvt_alloc(t, .addr = 0x410000, .bytes = 0x1000, .stack = KEEP);
    for (uint32_t i = 0; i < STEPS; i++) {
        const char *name = mvt_format("ProfilerStep#%u", i);
        mvt_annotate(t, name, true, 0);
        mvt_alloc(t, .addr = 0x300000, .bytes = 0x2000, .stack = WORK);
        mvt_alloc(t, .addr = 0x400000 + i % 2 * 0x10000, .bytes = 0x1000, .stack = KEEP);
        mvt_free(t, .addr = 0x400000 + (i + 1) % 2 * 0x10000);
        mvt_free(t, .addr = 0x300000);
        mvt_annotate(t, name, false, 0);
    }
    mvt_free(t, .addr = 0x200000); /* after the last whole step */
    return t;
}

static uint32_t event_of(const mv_trace *trace, const char *at, mv_window window, const char *why)
{
    static mv_budget budget = {.limit = 1 << 28};
    mv_moment_query ask;
    char said[200] = "";

    if (!mv_failure_moment_read(&budget, trace, 0, at, window, &ask, said, sizeof said)) {
        cr_expect(why && strstr(said, why), "%s: %s", at, said);
        return MV_NEVER - 1;
    }
    cr_expect_null(why, "%s", at);
    return ask.event;
}

static uint64_t level_at(mvt_trace *t, uint32_t event)
{
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);

    return mv_moment_levels(&lives, event).allocated;
}

static mv_floor floor_of(mvt_trace *t, const mv_trace *trace, const mv_lives *lives)
{
    mv_floor floor;
    mv_steps steps;

    mvt_ok(mv_steps_find(mvt_arena(t), trace, lives, &steps, mvt_err()));
    mvt_ok(mv_floor_find(mvt_arena(t), lives, &steps, &floor, mvt_err()));
    return floor;
}

Test(low_points, low_is_the_floor_of_the_last_whole_step)
{
    mvt_trace *t = offloading();
    const mv_trace *trace = mvt_done(t);
    uint32_t last = event_of(trace, "low", MV_ALL_EVENTS, NULL);
    mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);
    mv_floor floor = floor_of(t, trace, &lives);
    mv_low_points points;

    mvt_ok(mv_low_points_find(mvt_arena(t), &floor, &points, mvt_err()));
    cr_assert_geq(points.count, 4);
    cr_expect_eq(last, points.event[points.count - 1]);
    cr_expect_eq(event_of(trace, "low#1", MV_ALL_EVENTS, NULL), points.event[0]);
    for (uint32_t i = 0; i < points.count; i++)
        cr_expect_eq(level_at(t, points.event[i]), points.bytes[i]);
    cr_expect_eq(points.bytes[points.count - 1], 0x5000);
    event_of(trace, "low#99", MV_ALL_EVENTS, "the last one is low#");
    event_of(trace, "low", (mv_window){0, 2}, "no complete steps");
}

Test(low_points, other_texts_do_not_name_low_points)
{
    static const char *const bad[] = {"low#", "low#0", "low#x", "lower", "low "};
    uint64_t number;

    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(!mv_moment_is_low(bad[i], &number) && !mv_moment_is_valid(bad[i]), "%s", bad[i]);
    cr_expect(mv_moment_is_low("low", &number) && number == 0);
    cr_expect(mv_moment_is_low("low#12", &number) && number == 12);
}

static mv_low_held held_of(mvt_trace *t)
{
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);
    mv_floor floor = floor_of(t, trace, &lives);
    mv_low_held held;

    mvt_ok(mv_low_held_find(mvt_arena(t), trace, &lives, &floor, UINT32_MAX, &held, mvt_err()));
    return held;
}

Test(low_points, memory_held_at_every_low_point_is_listed_by_line)
{
    mvt_trace *t = offloading();
    mv_low_held held = held_of(t);
    char text[MV_LOW_TEXT];

    cr_assert_eq(held.count, 2);
    cr_expect_eq(held.bytes, 0x5000, "with the block that each step replaces");
    cr_expect_eq(held.lines[0].bytes, 0x4000);
    cr_expect_eq(held.lines[0].staying, 0x3000);
    cr_expect_eq(held.lines[1].bytes, 0x1000);
    cr_expect_eq(held.lines[1].staying, 0x1000);
    mv_low_held_text(mvt_done(t), mv_frame_kinds(mvt_arena(t), mvt_done(t)), &held, text);
    cr_expect_str_eq(text, "20.0 KiB is held at every low point, 16.0 KiB of it by "
                           "dispatcher.py:5 dispatch");
}

Test(low_points, a_run_without_steps_has_none)
{
    mvt_trace *t = mvt_new();
    char text[MV_LOW_TEXT];

    mvt_alloc(t, .addr = 0x100000, .bytes = 0x3000, .stack = KEEP);
    mv_low_held held = held_of(t);
    cr_expect_eq(held.points, 0);
    cr_expect_str_eq(mv_low_held_text(mvt_done(t), NULL, &held, text), "");
    event_of(mvt_done(t), "low", MV_ALL_EVENTS, "no complete steps");
}
