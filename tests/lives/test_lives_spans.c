#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/sweeps.h"

static uint32_t sweep_in(const mv_trace *trace, uint32_t device, uint32_t spans, const char *name)
{
    const char *what = mvt_sweep_difference(mvt_memory(), trace, device, &spans);

    cr_expect_null(what, "%s: %s", name, what);
    return spans;
}

static void sweep_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++) {
        cr_expect_eq(sweep_in(trace, device, 2, name), 2);
        cr_expect_eq(sweep_in(trace, device, 7, name), 7);
    }
}

LongTest(lives_spans, spans_of_real_snapshots_have_the_same_lives)
{
    mvt_each_snapshot(sweep_snapshot);
}

/* A segment with a block of `bytes`, some events, and an alloc in their second half. */
static uint32_t sweep_halves(uint64_t bytes, uint64_t at, uint64_t later_bytes)
{
    enum { S = 0x10000000 };
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = S, .bytes = 20 * MIB);
    mvt_alloc(t, .addr = S, .bytes = bytes);
    for (int i = 0; i < 2; i++) {
        mvt_alloc(t, .addr = S + 16 * MIB, .bytes = 4 * MIB);
        mvt_free(t, .addr = S + 16 * MIB);
    }
    mvt_alloc(t, .addr = S + at, .bytes = later_bytes);
    return sweep_in(mvt_done(t), 0, 2, "halves");
}

Test(lives_spans, spans_that_do_not_know_what_was_before_are_swept_as_a_whole)
{
    cr_expect_eq(sweep_halves(4 * MIB, 4 * MIB, 4 * MIB), 2);
    cr_expect_eq(sweep_halves(4 * MIB, 0, 4 * MIB), 1, "the block was lost");
    cr_expect_eq(sweep_halves(4 * MIB, 2 * MIB, 4 * MIB), 1, "the block below was lost");
    cr_expect_eq(sweep_halves(512, 512, 4 * MIB), 1, "the segment is small");
}

Test(lives_spans, random_traces_have_the_same_lives)
{
    for (uint32_t seed = 1; seed <= 40; seed++) {
        mvt_trace *t = mvt_new();

        mvt_heap_run(t, (mvt_heap_opts){.seed = seed,
                                        .calls = 400,
                                        .unrecorded = seed % 3 * 100,
                                        .expandable = seed % 2,
                                        .drains = seed % 5 == 0});
        cr_expect_eq(sweep_in(mvt_done(t), 0, 5, "random"), 5, "seed %u", seed);
    }
}
