/* Forks in programs with threads, under the whole shim (tests/hooked/forking.c). No child may hang
 * in a hook, or in a call it makes to take a lock that a hook took in the parent. */
#include "tests/fixture/fixture_program.h"

/* Live files are enough, because finalising hundreds of them would only take time. */
static void expect_no_hang(const char *stacks, const char *more, const char *mode, unsigned forks)
{
    mvt_run run =
        mvt_sh("export LD_LIBRARY_PATH=" MV_HOOKED "; LD_PRELOAD=" MV_CAPTURE
               " MEMVIZ_OUT=$PWD/live MEMVIZ_STACKS=%s %s " MV_HOOKED "/forking %s %u; ls | wc -l",
               stacks, more, mode, forks);

    const char *want = mvt_format("%u forks, 0 hung, 0 failed\n", forks);
    cr_assert_eq(strncmp(run.out, want, strlen(want)), 0, "%s %s: %s%s", mode, stacks, run.out,
                 run.err);
    cr_assert_eq(run.status, 0);
    /* Each child must have recorded. */
    cr_assert_geq(strtoul(run.out + strlen(want), NULL, 10), forks + 1, "%s %s: %s", mode, stacks,
                  run.out);
}

LongTest(forks, children_do_not_hang_among_threads_that_call_cuda)
{
    expect_no_hang("none", "", "cuda", 100);
    expect_no_hang("python", "", "cuda", 150);
    expect_no_hang("native", "", "cuda", 150);
    expect_no_hang("all", "", "cuda", 150);
}

/* Without the shim, such a child hangs only if it calls the loader. */
LongTest(forks, children_that_inherit_the_loaders_lock_do_not_hang_in_the_shim)
{
    expect_no_hang("none", "", "loader", 50);
    expect_no_hang("python", "", "loader", 50);
    expect_no_hang("all", "", "loader", 50);
    expect_no_hang("all", "", "raw", 50);
    expect_no_hang("none", "", "raw", 50);
}

LongTest(forks, children_do_not_hang_among_threads_that_make_tensors)
{
    expect_no_hang("none", "MEMVIZ_CPU=1", "tensors", 150);
    expect_no_hang("python", "MEMVIZ_CPU=1", "tensors", 150);
}

/* The first fork waits for such a thread, and its children are not recorded. */
LongTest(forks, children_of_a_process_with_a_silent_thread_do_not_hang)
{
    expect_no_hang("none", "MEMVIZ_CPU=1", "asked", 100);
}
