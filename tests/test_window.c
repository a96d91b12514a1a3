#include <criterion/criterion.h>

#include "cli/reuse.h"
#include "cli/window.h"
#include "tests/fixture.h"

/* Events 0 to 9 at 1000, 1010 ... 1090 microseconds. */
static mvt_trace *ten_events(void)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < 10; i++)
        mvt_alloc(t, .time_us = 1000 + 10 * i, .addr = 0x1000 * (i + 1), .bytes = 512);
    mvt_annotate(t, "step", true, 1015);
    mvt_annotate(t, "step", false, 1025);
    mvt_annotate(t, "step", true, 1050);
    mvt_annotate(t, "ProfilerStep#7", true, 1071);
    mvt_annotate(t, "late", true, 9999);
    return t;
}

Test(window, places)
{
    static const struct {
        const char *x;
        uint32_t event, behind;
    } good[] = {
        {"0", 0, 1},
        {"7", 7, 8},
        {"10", 10, 10},
        {"11", 10, 10},
        {"99999999999999999999", 10, 10},
        {"0s", 0, 1},
        {"0.00001s", 1, 2},
        {"11us", 2, 2},
        {"0.05ms", 5, 6},
        {"1.5s", 10, 10},
        {"99min", 10, 10},
        {"@step", 2, 2},
        {"@step#1", 2, 2},
        {"@step#2", 5, 5},
        {"@ProfilerStep#7", 8, 8},
        {"@late", 10, 10},
    };
    static const char *const bad[] = {
        "",        "x",       "-1",     "1.5",     "1 s",           "1h",    "@",    "@none",
        "@step#3", "@step#0", "@step#", "@step#x", "@ProfilerStep", "1e30s", "nans", "0x10"};
    mvt_trace *t = ten_events();
    const mv_trace *trace = mvt_done(t);
    mv_position at;
    char why[160];

    cr_assert_eq(mv_position_start_us(trace), 1000);
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect(mv_position_find(trace, 0, good[i].x, &at, why, sizeof why), "%s", good[i].x);
        cr_expect_eq(at.event, good[i].event, "%s: %u", good[i].x, at.event);
        cr_expect_eq(at.behind, good[i].behind, "%s: %u", good[i].x, at.behind);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        why[0] = 0;
        cr_expect(!mv_position_find(trace, 0, bad[i], &at, why, sizeof why), "%s", bad[i]);
        cr_expect(why[0] != 0);
    }
    mvt_drop(t);
}

Test(window, times_mean_nothing_without_times)
{
    mvt_trace *t = mvt_new();
    const mv_trace *trace;
    mv_position at;
    char why[160];

    mvt_alloc(t, .time_us = MV_NO_TIME, .addr = 0x1000, .bytes = 512);
    trace = mvt_done(t);
    cr_expect(!mv_position_find(trace, 0, "1s", &at, why, sizeof why), "%s", why);
    cr_expect(mv_position_find(trace, 0, "1", &at, why, sizeof why));
    mvt_drop(t);
}

Test(reuse, counts_each_address)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_arena arena;
    mv_reuse reuse;

    mv_arena_init(&arena, &budget);
    mv_reuse_init(&reuse, &arena);
    cr_expect_eq(mv_reuse_version(&reuse, 0), 0);
    for (uint32_t round = 1; round <= 3; round++)
        for (uint64_t addr = 0; addr < 20000; addr++)
            cr_assert(mv_reuse_add(&reuse, addr * 512));
    for (uint64_t addr = 0; addr < 20000; addr++)
        cr_assert_eq(mv_reuse_version(&reuse, addr * 512), 3);
    cr_expect_eq(mv_reuse_version(&reuse, 20000 * 512), 0);
    mv_arena_release(&arena);
}
