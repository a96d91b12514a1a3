/* Ticks of axes must be round, few, and never past the end, for axes of any length. */

#include "parse/model/sums.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/fixture_view.h"
#include "viz/scene/axis.h"

static uint64_t random_state = 7;

static uint64_t any_length(void)
{
    return mvt_random_next(&random_state) >> mvt_random(&random_state, 64);
}

static void check_ticks(uint64_t most)
{
    uint64_t ticks[MV_BYTE_TICKS], step = mv_axis_byte_step(most);
    uint32_t count = mv_axis_byte_ticks(most, ticks);

    cr_assert_gt(step, 0);
    cr_assert_eq(step & (step - 1), 0, "%llu of %llu", (unsigned long long)step,
                 (unsigned long long)most);
    cr_assert_leq(count, MV_BYTE_TICKS, "%llu", (unsigned long long)most);
    cr_assert(count >= 5 || most < 4, "%llu: %u ticks", (unsigned long long)most, count);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(ticks[i], i * step);
    cr_assert_leq(ticks[count - 1], most);
    cr_assert_lt(most - ticks[count - 1], step);
}

Test(axis, ticks_of_bytes_are_round_at_any_length)
{
    for (uint64_t most = 0; most < 1000; most++)
        check_ticks(most);
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t off = 0; off < 3; off++)
            check_ticks((UINT64_C(1) << bit) - 1 + off);
    for (int i = 0; i < 100000; i++)
        check_ticks(any_length());
    check_ticks(UINT64_MAX);
    check_ticks(UINT64_MAX - 1);
}

Test(axis, ticks_of_counts_are_round_at_any_length)
{
    for (uint32_t ticks = 0; ticks < 40; ticks++)
        for (int i = 0; i < 2000; i++) {
            uint64_t count = i == 0 ? UINT64_MAX : any_length();
            uint64_t step = mv_axis_count_step(count, ticks);
            cr_assert_gt(step, 0);
            cr_assert(ticks < 2 || count / step < ticks, "%llu in %u: %llu",
                      (unsigned long long)count, ticks, (unsigned long long)step);
        }
}

/* A heap of the largest size that a file may contain. */
static mvt_trace *largest_heap(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x1000, .bytes = MV_SUM_LIMIT - 0x100000);
    mvt_alloc(t, .addr = 0x1000, .bytes = MV_SUM_LIMIT - 0x200000, .stack = "f:a.py:1");
    mvt_done(t);
    return t;
}

LongTest(axis, axes_of_the_most_bytes_end)
{
    static const char *const commands[] = {"trace_plot -o x.svg",
                                           "trace_plot -o x.png",
                                           "trace_plot -o x.html",
                                           "trace_plot --view segments -o x.svg",
                                           "trace_plot --view pools -o x.svg",
                                           "trace_plot --view state -o x.svg",
                                           "segment_plot -o x.png",
                                           "view --headless --shot x.png"};
    const char *path = mvt_temp_file(mvt_pickle_bytes(largest_heap(), false));

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh("ulimit -t 20; $MEMVIZ %s -q %s", commands[i], path);
        cr_expect_eq(r.status, 0, "%s: %d: %s", commands[i], r.status, r.err);
    }
}

/* The viewer, zoomed in to a few bytes at the top of this heap. */
ViewTest(axis, the_viewer_zooms_in_on_the_most_bytes, mvt_view_of(largest_heap()))
{
    mvt_view_frame(view);
    for (int i = 0; i < 200; i++) {
        mv_view_input(
            view,
            &(mv_input){.kind = MV_INPUT_WHEEL, .mods = MV_MOD_CTRL, .x = 600, .y = 200, .dy = 3});
        mvt_view_frame(view);
    }
}
