/* What commands print for real snapshots, kept in testdata/golden and read in review. After a
 * change that is meant, MV_BLESS=1 in the environment rewrites them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fixture_program.h"

#define GOLDEN MV_TESTDATA "/golden"

/* Dumps of these are small enough to read; their reports as well. */
static const char *const small[] = {
    "graphs",      "leak_cycle", "leak_global_list", "leak_hidden_state",
    "mempool",     "mlp_train",  "no_history",       "oom",
    "oom_outside", "streams",    "two_devices",      "oom_fragmented",
};

static const char *const large[] = {
    "annotated",  "compiled",         "eval_without_no_grad", "expandable_empty", "gpt_train",
    "late_start", "leak_in_training", "leak_loss_list",       "no_leak_warmup",   "ring",
};

static void bless(const char *path, const mvt_run *run)
{
    FILE *file = fopen(path, "wb");

    cr_assert(file != NULL, "%s", path);
    cr_assert_eq(fwrite(run->out, 1, run->out_length, file), run->out_length);
    cr_assert_eq(fclose(file), 0);
}

static void check(const char *name, const char *command)
{
    char path[512];
    mvt_run run, diff;

    snprintf(path, sizeof path, GOLDEN "/%s.%s", name, command);
    run = mvt_sh("cd $SNAPS; $MEMVIZ %s %s.pickle", command, name);
    cr_assert_eq(run.status, 0, "%s %s: %s", command, name, run.err);
    cr_expect_str_eq(run.err, "");
    if (getenv("MV_BLESS"))
        bless(path, &run);
    diff = mvt_sh("cd $SNAPS; $MEMVIZ %s %s.pickle | diff '%s' - | head -20", command, name, path);
    cr_expect(diff.out_length == 0 && diff.err_length == 0, "%s %s (< expected, > now):\n%s%s",
              command, name, diff.out, diff.err);
    mvt_run_drop(&run);
    mvt_run_drop(&diff);
}

Test(golden, dump)
{
    for (unsigned i = 0; i < sizeof small / sizeof *small; i++)
        check(small[i], "dump");
}

static void check_all(const char *command)
{
    for (unsigned i = 0; i < sizeof small / sizeof *small; i++)
        check(small[i], command);
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        check(large[i], command);
}

Test(golden, info)
{
    check_all("info");
}

Test(golden, stats)
{
    check_all("stats");
}

Test(golden, leaks)
{
    check_all("leaks");
}
