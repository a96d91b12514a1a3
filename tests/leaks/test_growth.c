#include "analyze/leaks/growth.h"

#include <criterion/criterion.h>

enum { MOST = 256 };

/* A site drawn as text, with one column per bin. A digit means that this many blocks born in the
 * bin are alive. */
static mv_growth evaluate(const char *alive, bool sizes_recur, const uint32_t *lived,
                          uint32_t freed)
{
    uint32_t born[MOST], ages[MOST], count = 0, bins = (uint32_t)strlen(alive);
    mv_growth_site site = {
        .marks = bins - 1, .born = born, .freed = freed, .outlived = freed, .lived = ages};

    for (uint32_t bin = 0; bin < bins; bin++)
        for (int k = alive[bin] - '0'; k > 0 && alive[bin] != '.'; k--)
            born[count++] = bin;
    if (freed > 0)
        memcpy(ages, lived, freed * sizeof *lived);
    site.alive = count;
    site.sizes_recur = site.is_one_size = sizes_recur;
    return mv_growth_evaluate(&site);
}

static mv_growth_kind kind_of(const char *alive)
{
    return evaluate(alive, true, NULL, 0).kind;
}

Test(growth, a_block_in_every_step_is_growth)
{
    mv_growth g = evaluate("1111111111", true, NULL, 0);

    cr_expect_eq(g.kind, MV_GROWTH_STEADY);
    cr_expect_gt(g.confidence, 0.99);
    cr_expect_eq(g.first, 2);
    cr_expect_eq(g.last, 8);
    cr_expect_eq(g.most, 1);
    cr_expect_eq(g.bins, 7);
}

Test(growth, a_block_in_some_steps_is_growth)
{
    cr_expect_eq(kind_of("1......1......1......1......1...."), MV_GROWTH_STEADY);
    cr_expect_eq(kind_of(".....1....1....1....1....1"), MV_GROWTH_STEADY);
    cr_expect_eq(kind_of("1......1......1......1...."), MV_GROWTH_NONE, "four are too few");
    cr_expect_eq(kind_of("..1.1...11..1.1.1...1.11.1.."), MV_GROWTH_STEADY);
    cr_expect_eq(kind_of("........1111111111"), MV_GROWTH_STEADY, "sets in later");
}

Test(growth, warm_up_and_one_offs_are_not_growth)
{
    cr_expect_eq(kind_of("9..........."), MV_GROWTH_NONE, "parameters");
    cr_expect_eq(kind_of("99.........."), MV_GROWTH_NONE, "optimizer state");
    cr_expect_eq(kind_of("......9....."), MV_GROWTH_NONE, "a copy of the weights");
    cr_expect_eq(kind_of("9.....9....."), MV_GROWTH_NONE);
    cr_expect_eq(kind_of("..........91"), MV_GROWTH_NONE, "the last step's activations");
}

Test(growth, caches_fill_and_stop)
{
    cr_expect_eq(kind_of("11111111............"), MV_GROWTH_NONE);
    cr_expect_eq(kind_of("1111111111111111...."), MV_GROWTH_NONE);
    cr_expect_eq(kind_of("1111.11..1..1......1......"), MV_GROWTH_NONE, "new shapes");
}

Test(growth, a_cache_by_shape_has_no_size_twice)
{
    cr_expect_eq(evaluate("..1.1..1......1.....1....1..", false, NULL, 0).kind, MV_GROWTH_NONE);
    cr_expect_eq(evaluate("..1.1..1......1.....1....1..", true, NULL, 0).kind, MV_GROWTH_STEADY);
    cr_expect_eq(evaluate("1111111111", false, NULL, 0).kind, MV_GROWTH_STEADY, "varying batches");
    cr_expect_eq(evaluate("111111", false, NULL, 0).kind, MV_GROWTH_MAYBE,
                 "six shapes in six steps");
}

/* Entries of several sizes that are added now and then and rarely removed. Until the cache is full,
 * only its size in bytes distinguishes it from a leak. */
Test(growth, a_cache_by_key_fills_unevenly)
{
    uint32_t born[] = {1, 3, 4, 9, 11, 17, 18, 24, 26, 27}, lived[] = {0, 1, 0, 1};
    mv_growth_site site = {
        .marks = 30, .born = born, .alive = 10, .sizes_recur = true, .lived = lived};

    cr_expect_eq(mv_growth_evaluate(&site).kind, MV_GROWTH_NONE);
    site.freed = site.outlived = 2;
    cr_expect_eq(mv_growth_evaluate(&site).kind, MV_GROWTH_NONE);
    site.freed = site.outlived = 3;
    cr_expect_eq(mv_growth_evaluate(&site).kind, MV_GROWTH_STEADY,
                 "requests; most blocks are kept");
    site.freed = site.outlived = 0;
    site.is_one_size = true;
    cr_expect_eq(mv_growth_evaluate(&site).kind, MV_GROWTH_STEADY);
}

/* A cache that fills by key keeps fewer and fewer blocks. A leak of the same number of blocks, in
 * any order, or one that misses its last steps, does not. */
Test(growth, a_cache_that_fills_slows_down)
{
    static const struct {
        const char *alive;
        bool slows;
    } cases[] = {
        {"1111111111.11.111.11..1.1.11.1..1...1.1.", true},
        {"443444334233223322122112121101110101", true}, /* several keys a step */
        {"1.1.11..1.11.1.11...1.111.1.1.11.11.1.11", false},
        {"1..1.1.1...1.1..1.1.11.1.111.11111111111", false},
        {"1111111111111111111111.111111.111111.111", false}, /* hardly fewer */
        {"11111111111111", false},
        {"119111111111111111", false}, /* many at once */
    };

    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_growth g = evaluate(cases[i].alive, true, NULL, 0);

        cr_expect_eq(g.kind, MV_GROWTH_STEADY, "%s", cases[i].alive);
        cr_expect_eq(g.slows, cases[i].slows, "%s: %u, %u", cases[i].alive, g.first_third,
                     g.last_third);
    }
}

/* A pause ends growth only if it is longer than earlier pauses. Births that become rarer end growth
 * only if they almost stop. */
Test(growth, chance_does_not_end_growth)
{
    cr_expect_eq(kind_of("11111111111.....1111111111111111111111111111111....."), MV_GROWTH_STEADY);
    cr_expect_eq(kind_of("11111111111111111111111111111111111111111111111....."), MV_GROWTH_NONE);
    cr_expect_eq(kind_of("11111111111111111111111111111111.1.11.1.11.1.11.1.1.11.1.1.1.11"),
                 MV_GROWTH_STEADY);
    cr_expect_eq(kind_of("11111111111111111111111111111111.1..1....1......1........1....."),
                 MV_GROWTH_NONE);
}

/* Blocks that are too young to judge must not count as old ones. */
Test(growth, more_than_two_young_births_do_not_count)
{
    uint32_t born[] = {2, 3, 5, 7, 40, 42, 45, 50, 52, 55}, lived[64];
    mv_growth_site site = {.marks = 60,
                           .born = born,
                           .alive = 10,
                           .sizes_recur = true,
                           .freed = 12,
                           .outlived = 12,
                           .lived = lived};

    for (uint32_t i = 0; i < 12; i++)
        lived[i] = 45;
    site.is_one_size = true;
    cr_expect_eq(mv_growth_evaluate(&site).kind, MV_GROWTH_NONE);
}

Test(growth, windows_are_excused_by_their_frees)
{
    uint32_t three[64], mixed[64];

    for (uint32_t i = 0; i < 64; i++) {
        three[i] = 3;
        mixed[i] = i % 20;
    }
    cr_expect_eq(evaluate("................1111", true, three, 64).kind, MV_GROWTH_NONE);
    cr_expect_eq(evaluate("....................1111111111", true, mixed, 64).kind, MV_GROWTH_NONE,
                 "a list that is emptied now and then");
}

Test(growth, a_leak_among_temporaries_is_growth)
{
    uint32_t short_lives[64] = {0};

    cr_expect_eq(evaluate("..1111111111", true, short_lives, 64).kind, MV_GROWTH_STEADY);
    short_lives[5] = 9;
    cr_expect_eq(evaluate("11111111111111111111", true, short_lives, 64).kind, MV_GROWTH_STEADY,
                 "one stray block does not excuse twenty");
}

Test(growth, too_few_steps_are_doubtful)
{
    cr_expect_eq(kind_of("111"), MV_GROWTH_MAYBE);
    cr_expect_eq(kind_of("11111"), MV_GROWTH_MAYBE, "a window of five looks like that");
    cr_expect_eq(kind_of("111111"), MV_GROWTH_STEADY);
    cr_expect_eq(kind_of(".11."), MV_GROWTH_MAYBE);
    cr_expect_eq(kind_of("9...."), MV_GROWTH_NONE);
}

/* A line that frees ten blocks for each one that it keeps, none of them this late. */
Test(growth, a_line_that_keeps_a_block_now_and_then_is_doubtful)
{
    static const char *const four = ".....1......1.........1.....1....";
    static const char *const three = "............1.........1.....1....";
    uint32_t lived[40];

    for (int i = 0; i < 40; i++)
        lived[i] = 1;
    cr_expect_eq(evaluate(four, true, lived, 40).kind, MV_GROWTH_SELDOM);
    cr_expect_eq(evaluate(four, true, lived, 39).kind, MV_GROWTH_NONE,
                 "it keeps more than a tenth");
    cr_expect_eq(evaluate(three, true, lived, 40).kind, MV_GROWTH_NONE, "three may be chance");
    cr_expect_eq(evaluate(".1.1..1.1........................", true, lived, 40).kind,
                 MV_GROWTH_NONE, "it has stopped");
}
