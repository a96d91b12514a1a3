/* Lists that grow step by step, in recordings that hide a part of it. */
#include "tests/leaks/fixture_leaks.h"

/* Each step keeps a tensor in a list, and the model is dropped after the last one; so is the list,
 * if `clears`. */
static mv_leaks list_of_a_run_that_ends(bool clears)
{
    mvt_trace *t = mvt_run_new();
    uint64_t i;

    mvt_alloc(t, .addr = 0x10000000, .bytes = 64 * MIB, .stack = "build:model.py:5");
    mvt_alloc(t, .addr = 0x18000000, .bytes = MIB, .stack = "build:model.py:5");
    for (i = 0; i < 20; i++) {
        mvt_annotate(t, mvt_format("ProfilerStep#%u", (unsigned)i), true, 0);
        mvt_alloc(t, .addr = 0x20000000, .bytes = 2 * MIB, .stack = "train:train.py:20");
        mvt_alloc(t, .addr = 0x30000000 + (i << 20), .bytes = MIB, .stack = "log:train.py:21");
        mvt_free(t, .addr = 0x20000000);
    }
    while (clears && i-- > 0)
        mvt_free(t, .addr = 0x30000000 + (i << 20));
    mvt_free(t, .addr = 0x10000000);
    return mvt_leaks_of_run(t);
}

Test(kept_lists, a_model_that_is_dropped_at_the_end_does_not_hide_a_rise)
{
    mv_leaks kept = list_of_a_run_that_ends(false), cleared = list_of_a_run_that_ends(true);

    cr_assert_eq(kept.verdict, MV_VERDICT_LEAK, "%s", kept.why);
    cr_expect_eq(kept.floor.last - kept.floor.first, 17 * MIB);
    cr_expect(kept.floor.rises);
    cr_expect_eq(cleared.verdict, MV_VERDICT_CLEAN, "%s", cleared.why);
    cr_expect_not(cleared.floor.rises);
}

/* A recording with the stacks of live blocks only. A list is emptied in step `emptied` of 30. */
static mv_leaks list_without_stacks_of_frees(uint64_t emptied)
{
    mvt_trace *t = mvt_run_new();

    for (uint64_t i = 0; i < 30; i++) {
        mvt_annotate(t, mvt_format("ProfilerStep#%u", (unsigned)i), true, 0);
        mvt_alloc(t, .addr = 0x20000000, .bytes = 2 * MIB);
        mvt_alloc(t, .addr = 0x30000000 + (i << 20), .bytes = 512,
                  .stack = i < emptied ? NULL : "log:train.py:21");
        mvt_free(t, .addr = 0x20000000);
        for (uint64_t k = 0; i + 1 == emptied && k < emptied; k++)
            mvt_free(t, .addr = 0x30000000 + (k << 20));
    }
    return mvt_leaks_of_run(t);
}

Test(kept_lists, frees_without_stacks_may_be_of_any_line_that_keeps_their_size)
{
    mv_leaks emptied = list_without_stacks_of_frees(20), early = list_without_stacks_of_frees(2);
    mv_leaks never = list_without_stacks_of_frees(0);

    cr_expect_eq(emptied.verdict, MV_VERDICT_CLEAN, "%s", emptied.why);
    cr_expect_eq(early.verdict, MV_VERDICT_LEAK, "%s", early.why);
    cr_expect_eq(never.verdict, MV_VERDICT_LEAK, "%s", never.why);
}

/* A recording that begins while a list has `older` entries. The list is emptied in the fifth of 40
 * steps. */
static mv_leaks list_from_the_middle(uint64_t older)
{
    mvt_trace *t = mvt_new();

    for (uint64_t i = 0; i < 40; i++) {
        mvt_annotate(t, mvt_format("ProfilerStep#%u", (unsigned)i), true, 0);
        mvt_alloc(t, .addr = 0x20000000, .bytes = 2 * MIB, .stack = "train:train.py:20");
        mvt_alloc(t, .addr = 0x30000000 + (i << 20), .bytes = 512, .stack = "log:train.py:21");
        mvt_free(t, .addr = 0x20000000);
        for (uint64_t k = 0; i == 4 && k < older; k++)
            mvt_free(t, .addr = 0x40000000 + (k << 20), .bytes = 512, .stack = "main:train.py:9");
        for (uint64_t k = 0; i == 4 && k <= i; k++)
            mvt_free(t, .addr = 0x30000000 + (k << 20));
    }
    return mvt_leaks(t);
}

Test(kept_lists, a_list_may_be_as_long_as_when_it_was_emptied)
{
    mv_leaks longer = list_from_the_middle(0), shorter = list_from_the_middle(20);

    cr_expect_eq(longer.verdict, MV_VERDICT_LEAK, "%s", longer.why);
    cr_expect_eq(shorter.verdict, MV_VERDICT_UNKNOWN, "%s", shorter.why);
    cr_expect(strstr(shorter.why, "were freed all at once before"), "%s", shorter.why);
}
