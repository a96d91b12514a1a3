/* Blocks that different lines make only once raise the floor several times without a trend. If one
 * line does so repeatedly, that is a trend. */
#include "tests/leaks/fixture_leaks.h"

enum { STEPS = 60 };

/* In every seventh step, a block is made that stays. `lines` lines take turns. */
static mv_leaks run(uint32_t lines)
{
    mvt_trace *t = mvt_run_new();
    uint64_t next = 0x40000000;

    for (uint32_t step = 0; step < STEPS; step++) {
        mvt_annotate(t, mvt_format("ProfilerStep#%u", step), true, 0);
        mvt_alloc(t, .addr = 0x20000000, .bytes = MIB, .stack = "work:/w/a.py:9;main:/w/a.py:2");
        mvt_free(t, .addr = 0x20000000);
        if (step % 7 == 3) {
            mvt_alloc(t, .addr = next, .bytes = MIB + step / 7 * 512,
                      .stack = mvt_format("make:/w/b.py:%u;main:/w/a.py:3", step / 7 % lines));
            next += 2 * MIB;
        }
    }
    mv_leaks found = mvt_leaks_of_run(t);
    cr_expect_eq(found.floor.last - found.floor.first, 8 * MIB + 28 * 512);
    return found;
}

Test(made_once, blocks_made_once_by_many_lines_are_not_a_trend)
{
    mv_leaks eight = run(8);

    cr_expect_eq(eight.verdict, MV_VERDICT_CLEAN);
    cr_expect_str_eq(eight.why, "no line keeps memory step after step; the floor rises by blocks "
                                "made once or twice by a line");
    cr_expect_eq(run(4).verdict, MV_VERDICT_CLEAN); /* each line twice */
}

Test(made_once, blocks_made_by_one_line_or_repeatedly_are_a_trend)
{
    mv_leaks often = run(2), one = run(1);

    cr_expect_eq(often.verdict, MV_VERDICT_UNKNOWN, "%s", often.why);
    cr_expect(often.floor.rises);
    cr_expect_neq(one.verdict, MV_VERDICT_CLEAN, "%s", one.why);
}
