#include "analyze/steps/step_floor.h"

#include "tests/fixture/fixture.h"

#include "analyze/leaks/net_growth.h"

/* Steps of 100 KiB of work each; in each of them `keep` adds and drops what a test is about. */
typedef struct {
    mvt_trace *t;
    mv_lives lives;
    mv_steps steps;
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

/* A buffer of four: from the fifth step on another line replaces the oldest. */
static void keep_four(mvt_trace *t, uint32_t step)
{
    if (step >= 4)
        mvt_free(t, .addr = block_at(step - 4));
    mvt_alloc(t, .addr = block_at(step), .bytes = BLOCK,
              .stack = step < 4 ? "append:a.py:5" : "replace:a.py:7");
}

static void make(run *r, keep_fn *keep, uint64_t noise)
{
    r->t = mvt_new();
    mvt_segment_alloc(r->t, .addr = 0x10000000, .bytes = 1 << 30, .stack = "main:a.py:1");
    for (uint32_t i = 0; i < STEPS; i++) {
        mvt_annotate(r->t, "step", true, 0);
        /* Held over the end of the step, so that it is part of the next floor. */
        mvt_alloc(r->t, .addr = 0x10000000 + (uint64_t)(i % 2) * 0x1000000,
                  .bytes = 102400 + noise * (i * 7 % 5), .stack = "work:a.py:3");
        keep(r->t, i);
        if (i > 0)
            mvt_free(r->t, .addr = 0x10000000 + (uint64_t)((i + 1) % 2) * 0x1000000);
    }
    mvt_final_heap(r->t);
    r->lives = mvt_lives(mvt_arena(r->t), mvt_done(r->t), 0);
    mvt_ok(mv_steps_find(mvt_arena(r->t), mvt_done(r->t), &r->lives, &r->steps, mvt_err()));
    cr_assert_eq(r->steps.count, STEPS);
}

/* What `keep_all` and `keep_four` leave in each bin. */
static mv_floor_proof prove(run *r, mv_floor *floor)
{
    uint64_t kept[STEPS + 1];
    mv_floor_proof proof;

    for (uint32_t b = 0; b <= STEPS; b++)
        kept[b] = b > 0 ? BLOCK : 0;
    mvt_ok(mv_floor_find(mvt_arena(r->t), &r->lives, &r->steps, floor, mvt_err()));
    cr_assert(mv_floor_prove(mvt_arena(r->t), floor, kept, 2, &proof));
    return proof;
}

Test(floor, rises_by_what_is_kept)
{
    mv_floor floor;
    run r;

    make(&r, keep_all, 0);
    cr_expect_eq(prove(&r, &floor), MV_FLOOR_RISES);
    cr_expect_eq(floor.bins, STEPS + 1);
    for (uint32_t b = 3; b < STEPS; b++)
        cr_expect_eq(floor.least[b] - floor.least[b - 1], BLOCK, "step %u", b);
    cr_expect_gt(floor.most[5], floor.least[5]);
}

Test(floor, stays_where_blocks_are_replaced)
{
    mv_floor floor;
    run r;

    make(&r, keep_four, 0);
    cr_expect_eq(prove(&r, &floor), MV_FLOOR_STAYS);
}

Test(floor, proves_nothing_where_it_is_noisy)
{
    mv_floor floor;
    run r;

    make(&r, keep_four, 1 << 20);
    cr_expect_eq(prove(&r, &floor), MV_FLOOR_NOISY);
}

static bool grows_net(run *r)
{
    mv_kept_block kept[STEPS];
    uint8_t grows[1] = {1};

    for (uint32_t i = 0; i < STEPS; i++)
        kept[i] = (mv_kept_block){BLOCK, i + 1, 0};
    cr_assert(mv_net_growth(mvt_arena(r->t), &r->lives, &r->steps, kept, STEPS, 2, grows, 1));
    return grows[0];
}

Test(net_growth, what_is_not_given_back_grows)
{
    run r;

    make(&r, keep_all, 1 << 20);
    cr_expect(grows_net(&r));
}

Test(net_growth, what_another_line_gives_back_does_not)
{
    run r;

    make(&r, keep_four, 1 << 20);
    cr_expect_not(grows_net(&r));
}
