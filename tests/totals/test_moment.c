/* Moments and the blocks alive then, compared with a literal allocator. */
#include "analyze/lives/alive.h"
#include "analyze/totals/moment.h"
#include "tests/fixture/fixture_heap.h"

typedef struct {
    mvt_trace *t;
    const mv_trace *trace;
    mvt_heap_truth truth;
    mv_lives lives;
} run;

static run run_of(mvt_heap_opts opts)
{
    run r = {.t = mvt_new()};

    r.truth = mvt_heap_run(r.t, opts);
    r.trace = mvt_done(r.t);
    r.lives = mvt_lives(mvt_arena(r.t), r.trace, 0);
    return r;
}

/* Returns whether all block sizes in this run are known. A heap in use at the start may leave
 * doubts. */
static bool is_exact(const run *r)
{
    return r->lives.doubts.inexact_blocks == 0;
}

static mv_moment moment_of(const run *r, const char *at, mv_window window)
{
    mv_moment_query ask;
    mv_moment found;
    char why[200];

    cr_assert(mv_moment_read(r->trace, 0, at, window, &ask, why, sizeof why), "%s: %s", at, why);
    mvt_ok(mv_moment_find(mvt_arena(r->t), &r->lives, ask, &found, mvt_err()));
    return found;
}

static void expect_levels(const run *r, uint32_t event, mv_levels found)
{
    mv_levels truth = event == MV_BEFORE ? r->truth.before : r->truth.levels[event];

    cr_expect_eq(found.requested, truth.requested, "event %u", event);
    cr_expect_eq(found.reserved, truth.reserved, "event %u", event);
    if (!is_exact(r))
        return;
    cr_expect_eq(found.allocated, truth.allocated, "event %u", event);
    cr_expect_eq(found.active, truth.active, "event %u", event);
}

/* The sum of the live rows must give the same levels. */
static mv_levels sum_alive(const run *r, uint32_t event)
{
    const mv_alloc_lives *a = &r->lives.allocs;
    mv_alive allocated;
    mv_levels sum = {0};

    mvt_ok(mv_alive_allocs(mvt_arena(r->t), &r->lives, event, &allocated, mvt_err()));
    for (uint32_t i = 0; i < allocated.count; i++)
        sum.allocated += a->block[allocated.row[i]];
    for (uint32_t i = 0; i < a->count; i++)
        if (mv_alloc_is_active(&r->lives, i, event)) {
            sum.active += a->block[i];
            sum.requested += a->requested[i];
        }
    for (uint32_t i = 0; i < r->lives.segments.count; i++)
        if (mv_segment_is_held(&r->lives, i, event))
            sum.reserved += r->lives.segments.size[i];
    return sum;
}

static uint64_t height(mv_levels levels, bool reserved)
{
    return reserved ? levels.reserved : levels.allocated;
}

/* Finds the first highest moment in a window by a pass over all moments. */
static uint32_t slow_peak(const run *r, mv_window window, bool reserved)
{
    uint32_t best = window.first - 1;

    for (uint32_t i = window.first; i < window.end; i++)
        if (height(mv_moment_levels(&r->lives, i), reserved) >
            height(mv_moment_levels(&r->lives, best), reserved))
            best = i;
    return best;
}

Test(moment, levels_equal_the_sum_of_the_live_rows)
{
    for (uint32_t seed = 1; seed <= 24; seed++) {
        mvt_heap_opts opts = {.seed = seed,
                              .calls = 120,
                              .unrecorded = seed % 3 == 0 ? 40 : 0,
                              .expandable = seed % 4 == 1,
                              .drains = seed % 5 == 0};
        run r = run_of(opts);
        uint32_t count = r.truth.events;
        const mv_window windows[] = {
            {0, count}, {count / 3, count / 2}, {count / 2, count / 2}, {count, count}};
        for (uint32_t i = 0; i <= count; i++) {
            expect_levels(&r, i - 1, mv_moment_levels(&r.lives, i - 1));
            expect_levels(&r, i - 1, sum_alive(&r, i - 1));
        }
        for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++) {
            cr_expect_eq(moment_of(&r, "peak", windows[i]).event, slow_peak(&r, windows[i], false));
            cr_expect_eq(moment_of(&r, "reserved-peak", windows[i]).event,
                         slow_peak(&r, windows[i], true));
            cr_expect_eq(moment_of(&r, "end", windows[i]).event, windows[i].end - 1);
        }
    }
}

Test(moment, the_peak_equals_that_of_the_totals)
{
    run r = run_of((mvt_heap_opts){.seed = 7, .calls = 500});
    mv_window all = {0, r.truth.events};
    mv_moment peak = moment_of(&r, "peak", all), reserved = moment_of(&r, "reserved-peak", all);
    mv_totals totals;

    mvt_ok(mv_totals_find(mvt_arena(r.t), r.trace, &r.lives, &totals, mvt_err()));
    cr_expect_eq(peak.event, totals.peak.allocated_event);
    cr_expect_eq(peak.bytes.allocated, totals.peak.bytes.allocated);
    cr_expect_eq(reserved.event, totals.peak.reserved_event);
    cr_expect_eq(reserved.bytes.reserved, totals.peak.bytes.reserved);
}

/* As MV_ALL_EVENTS does, and as a window does that begins after the last event. */
Test(moment, a_window_may_be_longer_than_the_trace)
{
    static const char *const names[] = {"peak", "reserved-peak", "end"};
    run r = run_of((mvt_heap_opts){.seed = 11, .calls = 300});
    uint32_t count = r.truth.events;
    const mv_window windows[][2] = {{MV_ALL_EVENTS, {0, count}},
                                    {{count / 2, UINT32_MAX}, {count / 2, count}},
                                    {{count + 5, UINT32_MAX}, {count, count}}};
    mv_moment_query ask;
    char why[200];

    for (unsigned w = 0; w < sizeof windows / sizeof *windows; w++)
        for (unsigned n = 0; n < sizeof names / sizeof *names; n++) {
            mv_moment is = moment_of(&r, names[n], windows[w][0]);
            mv_moment want = moment_of(&r, names[n], windows[w][1]);
            cr_expect_eq(is.event, want.event, "%s: %u", names[n], is.event);
            cr_expect_eq(is.time_us, want.time_us);
            expect_levels(&r, want.event, is.bytes);
        }
    mvt_ok(mv_moment_find(mvt_arena(r.t), &r.lives,
                          (mv_moment_query){.kind = MV_MOMENT_PEAK, .window = MV_ALL_EVENTS},
                          &(mv_moment){0}, mvt_err()));
    cr_expect(!mv_moment_read(r.trace, 0, "oom#1000", MV_ALL_EVENTS, &ask, why, sizeof why));
}

Test(moment, names_of_moments_are_read)
{
    static const struct {
        const char *at;
        uint32_t event;
    } good[] = {
        {"0", 0},
        {"2", 2},
        {"5", 5},
        {"end", 5},
        {"oom", 2},
        {"oom#1", 2},
        {"oom#2", 4},
        {"@setup", MV_BEFORE},
        {"@step", 1},
        {"@step#2", 5},
        {"0us", 0},
        {"10us", 1},
        {"15us", 1},
        {"50us", 5},
        {"1ms", 5},
        {"peak", 3},
        {"reserved-peak", MV_BEFORE},
    };
    static const char *const bad[] = {
        "",       "oom#3", "oom#0",   "oom#", "oom#x", "PEAK", "peak ",
        "-1",     "@none", "@step#3", "1.5",  "0x10",  "ends", "oomph",
        "oom# 1", "1h",    "6",       "99",   "1min",  "2ms",  "99999999999999999999"};
    run r = {.t = mvt_new()};
    char why[200];

    mvt_alloc(r.t, .time_us = 1000, .addr = 0x1000, .bytes = 512);
    mvt_alloc(r.t, .time_us = 1010, .addr = 0x2000, .bytes = 512);
    mvt_oom(r.t, .time_us = 1020, .addr = 100, .bytes = 4096);
    mvt_alloc(r.t, .time_us = 1030, .addr = 0x3000, .bytes = 512);
    mvt_oom(r.t, .time_us = 1040, .addr = 100, .bytes = 4096);
    mvt_alloc(r.t, .time_us = 1050, .addr = 0x1000, .bytes = 512);
    mvt_annotate(r.t, "setup", true, 1000);
    mvt_annotate(r.t, "step", true, 1015);
    mvt_annotate(r.t, "step", true, 2000);
    r.trace = mvt_done(r.t);
    r.lives = mvt_lives(mvt_arena(r.t), r.trace, 0);
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect_eq(moment_of(&r, good[i].at, (mv_window){0, 6}).event, good[i].event, "%s: %u",
                     good[i].at, moment_of(&r, good[i].at, (mv_window){0, 6}).event);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        mv_moment_query ask;
        why[0] = 0;
        cr_expect(!mv_moment_read(r.trace, 0, bad[i], (mv_window){0, 6}, &ask, why, sizeof why),
                  "%s", bad[i]);
        cr_expect(why[0] != 0, "%s", bad[i]);
    }
    cr_expect_eq(moment_of(&r, "oom", (mv_window){3, 6}).event, 4);
    cr_expect_eq(moment_of(&r, "1", (mv_window){3, 6}).event, 1);
}

Test(moment, a_heap_without_events_has_one_moment)
{
    run r = {.t = mvt_new()};

    mvt_segment(r.t, .addr = 0x10000, .bytes = 2048);
    mvt_block(r.t, .bytes = 1536, .requested = 1500, .state = MV_BLOCK_ALLOCATED);
    mvt_block(r.t, .bytes = 512, .state = MV_BLOCK_PENDING_FREE);
    r.trace = mvt_done(r.t);
    r.lives = mvt_lives(mvt_arena(r.t), r.trace, 0);
    mv_moment end = moment_of(&r, "end", (mv_window){0, 0});
    mv_moment peak = moment_of(&r, "peak", (mv_window){0, 0});
    cr_expect_eq(end.event, MV_BEFORE);
    cr_expect_eq(end.time_us, MV_NO_TIME);
    cr_expect_eq(end.bytes.requested, 2012);
    cr_expect_eq(end.bytes.allocated, 1536);
    cr_expect_eq(end.bytes.active, 2048);
    cr_expect_eq(end.bytes.reserved, 2048);
    cr_expect_eq(peak.event, MV_BEFORE);
    cr_expect_eq(peak.bytes.active, 2048);
}
