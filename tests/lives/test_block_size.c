#include "analyze/lives/block_size.h"

#include "tests/fixture/fixture.h"

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

Test(block_size, a_large_enough_rest_is_split_off)
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

    mvt_setting_int(t, "max_split_size", 64 << 20);
    mv_block_rules rules = mv_block_rules_of(mvt_done(t));
    cr_expect_eq(rules.max_split, 64 << 20);
    cr_expect(!rules.expandable);

    t = mvt_new();
    mvt_setting_int(t, "max_split_size", -1);
    mvt_setting_int(t, "expandable_segments", 1);
    rules = mv_block_rules_of(mvt_done(t));
    cr_expect_eq(rules.max_split, UINT64_MAX);
    cr_expect(rules.expandable);
}

Test(block_size, real_settings_are_read)
{
    mv_trace trace = mvt_load(mvt_memory(), "whatif_4");
    mv_block_rules rules = mv_block_rules_of(&trace);

    cr_expect_eq(rules.divisions[0], 4);
    cr_expect_eq(rules.divisions[MV_ROUNDUP_STEPS - 1], 4);
}

Test(block_size, torch_npu_adds_32_bytes_first)
{
    static const uint64_t cases[][2] = {{1, 512},          {480, 512},         {481, 1024},
                                        {512, 1024},       {1048544, 1048576}, {1048576, 1049088},
                                        {2097152, 2097664}};
    mv_block_rules rules = {.max_split = UINT64_MAX, .pad = MV_NPU_PAD};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(mv_round_request(&rules, cases[i][0]), cases[i][1], "%lu",
                     (unsigned long)cases[i][0]);
        cr_expect_eq(mv_round_least(&rules, cases[i][0]), cases[i][1]);
        cr_expect_eq(mv_round_request(&rules, mv_request_of(&rules, cases[i][1])), cases[i][1]);
    }
    cr_expect_eq(mv_round_request(&rules, UINT64_MAX), MV_MOST_REQUEST);
    rules.divisions[0] = 4;
    cr_expect_eq(mv_round_request(&rules, 768 * 1024), 896 * 1024);
}

/* Blocks in an expandable segment: `npu` blocks of 1024 bytes, rounded as torch_npu does; `cuda`
 * blocks, rounded as PyTorch does; and `both` blocks of 700 bytes, which become 1024 either way. */
static mv_rounding rounding_of(uint32_t npu, uint32_t cuda, uint32_t both, const char *stack)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x10000000, .bytes = 20 << 20, .expandable = true);
    for (uint32_t i = 0; i < npu; i++)
        mvt_block(t, .bytes = 1536, .requested = 1024, .state = MV_BLOCK_ALLOCATED, .stack = stack);
    for (uint32_t i = 0; i < cuda; i++)
        mvt_block(t, .bytes = 1024, .requested = 1024, .state = MV_BLOCK_ALLOCATED, .stack = stack);
    for (uint32_t i = 0; i < both; i++)
        mvt_block(t, .bytes = 1024, .requested = 700, .state = MV_BLOCK_ALLOCATED, .stack = stack);
    mvt_block(t, .bytes = (20 << 20) - npu * 1536 - (cuda + both) * 1024);
    return mv_rounding_of(mvt_done(t));
}

Test(block_size, blocks_name_the_allocator_that_rounded)
{
    static const char npu[] = "f:/env/torch_npu/a.py:1";
    mv_rounding r = rounding_of(20, 0, 5, "f:a.py:1");

    cr_expect(r.is_npu);
    cr_expect_eq(r.blocks, 25);
    cr_expect_eq(r.npu_fits, 25);
    cr_expect_eq(r.cuda_fits, 5);
    cr_expect_not(rounding_of(0, 20, 5, "f:a.py:1").is_npu);
    cr_expect_not(rounding_of(3, 0, 5, "f:a.py:1").is_npu, "three blocks may be chance");
    cr_expect_not(rounding_of(0, 0, 50, "f:a.py:1").is_npu, "no block shows it");
    cr_expect_not(rounding_of(8, 8, 0, "f:a.py:1").is_npu, "as many speak against it");
    cr_expect(rounding_of(1, 0, 5, npu).is_npu);
    cr_expect(rounding_of(0, 0, 50, npu).is_npu, "the name decides where no block does");
    cr_expect_not(rounding_of(0, 3, 0, npu).is_npu, "blocks weigh more than a name");
}

/* Large blocks in cudaMalloc segments may keep an unsplit rest, so they prove nothing. */
Test(block_size, unsplit_rests_are_not_rounding)
{
    mvt_trace *t = mvt_new();

    for (uint64_t i = 0; i < 20; i++) {
        mvt_segment(t, .addr = 0x10000000 + (i << 24), .bytes = (2 << 20) + 512);
        mvt_block(t, .bytes = (2 << 20) + 512, .requested = 2 << 20, .state = MV_BLOCK_ALLOCATED);
    }
    cr_expect_eq(mv_rounding_of(mvt_done(t)).blocks, 0);
    cr_expect_not(mv_rounding_of(mvt_done(t)).is_npu);
}
