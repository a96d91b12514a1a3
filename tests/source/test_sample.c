/* The recording inside the program. */
#include "tests/cli/fixture_runs.h"

Test(sample, every_command_reads_the_sample_by_name)
{
    static const mvt_expected_run all[] = {
        {"memviz:sample", 0, "LEAK           train.py:62 forward: 2.00 MiB a step", ""},
        {"leaks --fail-on leak memviz:sample", 3, "", ""}};

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

/* It equals that snapshot, in memviz's own format. */
Test(sample, the_sample_is_a_snapshot_of_testdata)
{
    mvt_run r = mvt_here("$MEMVIZ dump memviz:sample");
    mvt_run whole = mvt_here("$MEMVIZ dump $SNAPS/leak_in_training.pickle");

    cr_expect_eq(r.status, 0, "%s", r.err);
    mvt_same_text(whole.out, r.out, "the sample");
}

Test(sample, the_viewer_opens_the_sample_only_without_files)
{
    static const mvt_expected_run all[] = {
        {"--headless --shot x.png --size 800x600 && test -s x.png", 0, "", ""},
        {"a.pickle", 2, NULL, "--sample opens the built-in recording"}};

    MVT_EXPECT_RUNS("$MEMVIZ view --sample %s", all);
}
