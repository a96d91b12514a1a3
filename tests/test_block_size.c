#include "analyze/block_size.h"

#include <criterion/criterion.h>

#include "tests/fixture.h"

static mv_block_rules rules_with(uint64_t divisions)
{
    mv_block_rules rules = {.max_split = UINT64_MAX};

    for (uint32_t i = 0; i < MV_ROUNDUP_STEPS; i++)
        rules.divisions[i] = divisions;
    return rules;
}

Test(block_size, rounds_to_512_bytes_by_default)
{
    mv_block_rules rules = rules_with(0);

    cr_expect_eq(mv_round_request(&rules, 1), 512);
    cr_expect_eq(mv_round_request(&rules, 512), 512);
    cr_expect_eq(mv_round_request(&rules, 513), 1024);
    cr_expect_eq(mv_round_request(&rules, 1048577), 1049088);
    cr_expect_eq(mv_round_request(&rules, 10485759), 10485760);
    cr_expect_eq(mv_round_request(&rules, 10485761), 10486272);
}

Test(block_size, divisions_round_to_parts_of_a_power_of_two)
{
    static const uint64_t bytes[] = {2049, 5000, 3 * 1048576 + 1, 4096};
    static const uint64_t rounded[3][4] = {
        {3072, 6144, 4194304, 4096}, {2560, 5120, 3670016, 4096}, {2560, 5120, 3407872, 4096}};

    for (uint32_t d = 0; d < 3; d++) {
        mv_block_rules rules = rules_with((uint64_t)2 << d);
        for (uint32_t i = 0; i < 4; i++)
            cr_expect_eq(mv_round_request(&rules, bytes[i]), rounded[d][i]);
    }
}

Test(block_size, each_size_class_has_its_own_divisions)
{
    mv_block_rules rules = rules_with(0);

    rules.divisions[1] = 4; /* 2 to 4 MiB */
    cr_expect_eq(mv_round_request(&rules, 1048577), 1049088);
    cr_expect_eq(mv_round_request(&rules, 2 * 1048576 + 1), 2 * 1048576 + 524288);
    cr_expect_eq(mv_round_request(&rules, 4 * 1048576 + 1), 4 * 1048576 + 512);
}

Test(block_size, rest_is_split_off_when_it_is_worth_it)
{
    mv_block_rules rules = rules_with(0);

    cr_expect(mv_should_split(&rules, 1024, 512, true));
    cr_expect(!mv_should_split(&rules, 1024, 0, true));
    cr_expect(!mv_should_split(&rules, 19922944, 1048576, false));
    cr_expect(mv_should_split(&rules, 19922432, 1049088, false));
    rules.max_split = 19922432;
    cr_expect(!mv_should_split(&rules, 19922432, 1049088, false));
}

Test(block_size, rules_come_from_the_settings)
{
    mvt_trace *t = mvt_new();
    mv_block_rules rules;

    mvt_setting_int(t, "max_split_size", 64 << 20);
    rules = mv_block_rules_of(mvt_done(t));
    cr_expect_eq(rules.max_split, 64 << 20);
    cr_expect(!rules.expandable);
    mvt_drop(t);

    t = mvt_new();
    mvt_setting_int(t, "max_split_size", -1);
    mvt_setting_int(t, "expandable_segments", 1);
    rules = mv_block_rules_of(mvt_done(t));
    cr_expect_eq(rules.max_split, UINT64_MAX);
    cr_expect(rules.expandable);
    mvt_drop(t);
}

Test(block_size, real_settings_are_read)
{
    mv_budget budget = {.limit = (uint64_t)1 << 30};
    mv_arena arena;
    mv_trace trace;
    mv_block_rules rules;

    mv_arena_init(&arena, &budget);
    mvt_load(&arena, "whatif_4", &trace);
    rules = mv_block_rules_of(&trace);
    cr_expect_eq(rules.divisions[0], 4);
    cr_expect_eq(rules.divisions[MV_ROUNDUP_STEPS - 1], 4);
    mv_arena_release(&arena);
}
