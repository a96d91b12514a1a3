/* How often the hooks read the loader's list of files and take its lock, in programs whose handlers
 * jump away (tests/hooked/leaving.c). Each read is counted (tests/hooked/watched_list.c). */
#include "tests/fixture/fixture_program.h"

static mvt_run leaving(const char *stacks, const char *more, const char *words)
{
    return mvt_sh(
        "export LD_LIBRARY_PATH=" MV_HOOKED "; LD_PRELOAD=" MV_CAPTURE ":" MV_HOOKED
        "/watched_list.so MEMVIZ_OUT=$PWD/live MEMVIZ_STACKS=%s %s timeout -s KILL 200 " MV_HOOKED
        "/leaving %s",
        stacks, more, words);
}

static unsigned reads_in(const mvt_run *run)
{
    unsigned reads = 0;

    cr_assert_eq(run->status, 0, "%s%s", run->out, run->err);
    cr_assert_eq(sscanf(run->out, "the list was read %u times", &reads), 1, "%s", run->out);
    cr_expect(strstr(run->out, "the list has files\n"), "%s", run->out);
    return reads;
}

/* Otherwise the other thread waits for the lock forever. */
Test(loader_list, a_handler_that_jumps_away_leaves_no_lock)
{
    static const char *const stacks[] = {"native", "all"};

    for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        mvt_run run = leaving(stacks[i], "WATCHED_RAISES=1", "500");
        cr_expect_gt(reads_in(&run), 0);
        cr_expect(strstr(run.out, "\njumped\n"), "%s", run.out);
    }
}

/* Of two thousand events, only the first few may read the list. */
Test(loader_list, events_do_not_read_the_list)
{
    mvt_run run = leaving("native", "", "1000");

    cr_expect_lt(reads_in(&run), 50, "%s", run.out);
    run = leaving("none", "", "1000");
    cr_expect_lt(reads_in(&run), 50, "%s", run.out);
}

/* A child reads the list without the lock only if another thread held the lock at the fork. */
Test(loader_list, a_child_reads_the_list_with_the_lock)
{
    mvt_run run = leaving("native", "", "1000 fork");

    cr_expect_gt(reads_in(&run), 0, "%s", run.out);
}
