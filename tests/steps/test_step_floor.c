
#include "tests/fixture/fixture.h"

#include "analyze/leaks/net_growth.h"

/* Steps with 100 KiB of work each, in which `keep` adds and drops the test's blocks. */
typedef struct {
    mvt_trace *t;
    mv_lives lives;
    mv_steps steps;
    mv_floor floor;
} run;

enum { STEPS = 12, BLOCK = 4096 };

static uint64_t block_at(uint32_t i)
{
    return 0x20000000 + (uint64_t)i * BLOCK;
}

typedef void keep_fn(mvt_trace *t, uint32_t step);

static void keep_all(mvt_trace *t, uint32_t step)
{
    mvt_alloc(t, .addr = block_at(step), .bytes = BLOCK, .stack = "append:a.py:5");
}

/* A buffer of four: from the fifth step on, another line replaces the oldest. */
static void keep_four(mvt_trace *t, uint32_t step)
{
    if (step >= 4)
        mvt_free(t, .addr = block_at(step - 4));
    mvt_alloc(t, .addr = block_at(step), .bytes = BLOCK,
              .stack = step < 4 ? "append:a.py:5" : "replace:a.py:7");
}

static run make(keep_fn *keep, uint64_t noise)
{
    run r = {.t = mvt_new()};
    mv_arena *arena = mvt_arena(r.t);

    mvt_segment_alloc(r.t, .addr = 0x10000000, .bytes = 1 << 30, .stack = "main:a.py:1");
    for (uint32_t i = 0; i < STEPS; i++) {
        mvt_annotate(r.t, "step", true, 0);
        /* The block is held past the end of the step, so it is part of the next floor. */
        mvt_alloc(r.t, .addr = 0x10000000 + (uint64_t)(i % 2) * 0x1000000,
                  .bytes = 102400 + noise * (i * 7 % 5), .stack = "work:a.py:3");
        keep(r.t, i);
        if (i > 0)
            mvt_free(r.t, .addr = 0x10000000 + (uint64_t)((i + 1) % 2) * 0x1000000);
    }
    mvt_final_heap(r.t);
    r.lives = mvt_lives(arena, mvt_done(r.t), 0);
    mvt_ok(mv_steps_find(arena, mvt_done(r.t), &r.lives, &r.steps, mvt_err()));
    cr_assert_eq(r.steps.count, STEPS);
    mvt_ok(mv_floor_find(arena, &r.lives, &r.steps, &r.floor, mvt_err()));
    return r;
}

/* The blocks that `keep_all` and `keep_four` leave in each bin. */
static mv_floor_proof prove(const run *r)
{
    uint64_t kept[STEPS + 1];
    mv_floor_proof proof;

    for (uint32_t b = 0; b <= STEPS; b++)
        kept[b] = b > 0 ? BLOCK : 0;
    cr_assert(mv_floor_prove(mvt_arena(r->t), &r->floor, kept, 2, &proof));
    return proof;
}

Test(floor, the_floor_rises_by_the_kept_bytes)
{
    run r = make(keep_all, 0);

    cr_expect_eq(prove(&r), MV_FLOOR_RISES);
    cr_expect_eq(r.floor.bins, STEPS + 1);
    for (uint32_t b = 3; b < STEPS; b++)
        cr_expect_eq(r.floor.least[b] - r.floor.least[b - 1], BLOCK, "step %u", b);
    cr_expect_gt(r.floor.most[5], r.floor.least[5]);
}

Test(floor, the_floor_stays_where_blocks_are_replaced)
{
    run r = make(keep_four, 0);

    cr_expect_eq(prove(&r), MV_FLOOR_STAYS);
}

Test(floor, a_noisy_floor_proves_nothing)
{
    run r = make(keep_four, 1 << 20);

    cr_expect_eq(prove(&r), MV_FLOOR_NOISY);
}

/* Each step keeps 1 KiB, and other memory falls by 192 KiB in most steps. If it comes back in the
 * other steps, as with objects that wait for a collector, the falls show nothing. */
Test(floor, falls_that_are_made_up_for_prove_nothing)
{
    for (uint32_t comes_back = 0; comes_back < 2; comes_back++) {
        uint64_t least[STEPS + 1], kept[STEPS + 1];
        mv_floor floor = {.bins = STEPS + 1, .least = least};
        mv_floor_proof proof;

        for (uint64_t b = 0; b <= STEPS; b++) {
            least[b] = (1 << 20) + 1024 * b +
                       (comes_back ? 65536 * ((10 + 4 * b) % 11) : 98304 * (STEPS - b));
            kept[b] = 1024;
        }
        cr_assert(mv_floor_prove(mvt_memory(), &floor, kept, 2, &proof));
        cr_expect_eq(proof, comes_back ? MV_FLOOR_NOISY : MV_FLOOR_STAYS);
    }
}

/* Returns whether the lines that keep blocks grow: bit 0 is append, bit 1 is replace. */
static uint32_t grow_net(keep_fn *keep)
{
    run r = make(keep, 1 << 20);
    const mv_trace *trace = mvt_done(r.t);
    const mv_alloc_lives *a = &r.lives.allocs;
    mv_kept_block kept[STEPS];
    uint32_t count = 0, found = 0;
    uint8_t grows[16];
    mv_sites sites;

    memset(grows, 1, sizeof grows);
    mvt_ok(mv_sites_find(mvt_arena(r.t), trace, &sites, mvt_err()));
    cr_assert_leq(sites.count, 16);
    for (uint32_t i = 0; i < a->count; i++)
        if (a->block[i] == BLOCK && a->freed[i] == MV_NEVER)
            kept[count++] = (mv_kept_block){i, mv_steps_bin(&r.steps, a->birth[i]),
                                            mv_site_of(&sites, a->stack[i]), BLOCK};
    cr_assert(mv_net_growth(mvt_arena(r.t), &r.lives, &sites, &r.floor, kept, count, 2, grows));
    for (uint32_t i = 0; i < count; i++) {
        mv_stack_id stack = a->stack[kept[i].row];
        uint32_t frames;
        mv_frame_id frame = mv_stack_frames(trace, stack, &frames)[0];
        bool replaces = trace->frames.line[frame.row] == 7;

        found |= grows[kept[i].site] ? 1u << replaces : 0;
    }
    return found;
}

Test(net_growth, memory_that_is_not_freed_grows)
{
    cr_expect_eq(grow_net(keep_all), 1);
}

Test(net_growth, blocks_that_another_line_frees_do_not_grow)
{
    cr_expect_eq(grow_net(keep_four), 0);
}

/* Each step drops the block from two steps ago, except every third step. In two of three bins a
 * block is dropped, and yet the line grows. */
static void keep_a_third(mvt_trace *t, uint32_t step)
{
    if (step >= 2 && step % 3 != 0)
        mvt_free(t, .addr = block_at(step - 2));
    mvt_alloc(t, .addr = block_at(step), .bytes = BLOCK, .stack = "append:a.py:5");
}

Test(net_growth, a_part_kept_next_to_temporary_blocks_grows)
{
    cr_expect_eq(grow_net(keep_a_third), 1);
}

/* A cache of four in one line: full from the fifth step on. */
static void keep_four_of_one_line(mvt_trace *t, uint32_t step)
{
    if (step >= 4)
        mvt_free(t, .addr = block_at(step - 4));
    mvt_alloc(t, .addr = block_at(step), .bytes = BLOCK, .stack = "append:a.py:5");
}

Test(net_growth, a_full_cache_does_not_grow)
{
    cr_expect_eq(grow_net(keep_four_of_one_line), 0);
}

static bool trend_of(uint64_t *least, uint32_t bins)
{
    mv_floor floor = {.bins = bins, .least = least};
    bool found, plainly;

    cr_assert(mv_floor_trend(mvt_memory(), &floor, 0, &found, &plainly));
    return found;
}

/* A floor drawn as text, with one digit per bin. The last digit is the part after the last mark. */
static bool rises(const char *drawn)
{
    uint64_t least[64];
    uint32_t bins = (uint32_t)strlen(drawn);

    for (uint32_t b = 0; b < bins; b++)
        least[b] = (uint64_t)(drawn[b] - '0');
    return trend_of(least, bins);
}

Test(floor_trend, a_trend_rises_to_the_end)
{
    cr_expect(rises("00112233445566778899"));
    cr_expect(rises("01234567899"));
    cr_expect(rises("01010212132323434354545656767879"), "besides temporary blocks");
    cr_expect(rises("000011112222333344445555666677"), "in one step of four");
    cr_expect(rises("012344"), "five steps");
}

/* Requests in progress: the minima of each three bins are in order, except for one pair of
 * neighbours. */
Test(floor_trend, a_trend_rises_in_noise)
{
    cr_expect(rises("0212431435876878989"));
    cr_expect_not(rises("0212431435878986879"), "two pairs out of order");
}

Test(floor_trend, a_trend_has_an_end)
{
    cr_expect_not(rises("01234567888888888888"));
    cr_expect_not(rises("00112233445566777777"), "full near the end");
    cr_expect_not(rises("0000000000000000555555555555"), "once, late");
    cr_expect_not(rises("0000555555555555555555556677"), "by more at first than later");
}

/* Makes stairs: `stairs` times, a rise after every `period` bins; then `rest` bins without one. */
static bool stairs_rise(uint32_t period, uint32_t stairs, uint32_t rest)
{
    uint64_t least[128];
    uint32_t bins = period * stairs + rest + 1;

    cr_assert_leq(bins, 128);
    for (uint32_t b = 0; b < bins; b++)
        least[b] = b / period < stairs ? b / period : stairs;
    return trend_of(least, bins);
}

/* Wherever the recording ends, nothing rises within a pause. */
Test(floor_trend, stairs_rise_until_a_pause_is_twice_as_long)
{
    for (uint32_t period = 2; period <= 9; period++)
        for (uint32_t stairs = 3; stairs <= 9; stairs++) {
            for (uint32_t rest = 1; rest <= period; rest++)
                cr_expect(stairs_rise(period, stairs, rest), "%u stairs of %u bins, then %u",
                          stairs, period, rest);
            cr_expect_not(stairs_rise(period, stairs, 2 * period + 1), "%u stairs of %u bins",
                          stairs, period);
        }
}

Test(floor_trend, a_trend_comes_back)
{
    cr_expect_not(rises("01234012340123401234"), "epochs");
    cr_expect_not(rises("01234567890000"), "given back at once");
    cr_expect_not(rises("0123456789990"), "given back after the last mark");
    cr_expect_not(rises("31415926535897932384"), "no trend at all");
    cr_expect_not(rises("55555555555555555555"));
    cr_expect_not(rises("0123"), "three steps");
    cr_expect_not(rises("01324354"), "few steps, with falls");
}
