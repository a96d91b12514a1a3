#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/sweeps.h"

static uint32_t sweep_in(const mv_trace *trace, uint32_t device, uint32_t spans, const char *name)
{
    const char *what = mvt_sweep_difference(mvt_memory(), trace, device, &spans);

    cr_expect_null(what, "%s: %s", name, what);
    return spans;
}

static void sweep_snapshot(const mv_trace *trace, uint32_t device, const char *name)
{
    cr_expect_eq(sweep_in(trace, device, 2, name), 2);
    cr_expect_eq(sweep_in(trace, device, 7, name), 7);
}

EachDevice(lives_spans, spans_of_real_snapshots_have_the_same_lives, sweep_snapshot);

/* A segment with a block of `bytes` bytes, some events, and an alloc in the second half of the
 * events. */
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

/* Finds the lives piece by piece, compares them with those found at once, and returns the number of
 * pieces. */
static uint32_t find_in_pieces(const mv_trace *trace, uint32_t device, uint32_t events,
                               const char *name)
{
    mv_arena *arena = mvt_memory();
    mv_lives whole, found;
    mv_lives_search *search = mv_lives_search_begin(arena, trace, device, &found);
    uint32_t pieces = 0;

    mvt_ok(mv_lives_find(arena, trace, device, &whole, mvt_err()));
    for (bool again = true; again; pieces++)
        mvt_ok(mv_lives_search_some(search, events, &again, mvt_err()));
    mv_lives_search_end(search);
    cr_expect_null(mvt_lives_difference(&whole, &found), "%s: %s", name,
                   mvt_lives_difference(&whole, &found));
    cr_expect_eq(whole.history, found.history, "%s", name);
    cr_expect_not_null(found.ranks);
    return pieces;
}

static void find_snapshot_in_pieces(const mv_trace *trace, uint32_t device, const char *name)
{
    find_in_pieces(trace, device, 101, name);
}

EachDevice(lives_spans, pieces_of_real_snapshots_have_the_same_lives, find_snapshot_in_pieces);

/* Addresses, their ranks, and the sweep are done in pieces. Done only once are the steps backwards
 * in time, the beginning, the comparison with the final heap, and the history. */
Test(lives_spans, a_piece_is_about_as_many_events_as_asked)
{
    mvt_trace *t = mvt_new();
    const mv_trace *trace;

    for (uint64_t i = 0; i < 100; i++)
        mvt_alloc(t, .addr = 0x10000 + i * 512, .bytes = 512);
    trace = mvt_done(t);
    cr_expect_eq(find_in_pieces(trace, 0, 10, "made"), 3 * 10 + 4);
    cr_expect_eq(find_in_pieces(trace, 0, 1000, "made"), 3 + 4);
}

Test(lives_spans, a_search_may_end_before_its_last_piece)
{
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train");

    for (uint32_t pieces = 0; pieces < 8; pieces++) {
        mv_lives found;
        mv_lives_search *search = mv_lives_search_begin(mvt_memory(), &trace, 0, &found);
        bool again = true;
        for (uint32_t i = 0; i < pieces && again; i++)
            mvt_ok(mv_lives_search_some(search, 1000, &again, mvt_err()));
        mv_lives_search_end(search);
    }
}
