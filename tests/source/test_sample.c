/* The recording inside the program. */
#include "tests/fixture/fixture_json.h"

Test(sample, every_command_reads_the_sample_by_name)
{
    mvt_run r = mvt_here("$MEMVIZ memviz:sample");
    mvt_run leaks = mvt_here("$MEMVIZ leaks --fail-on leak memviz:sample");

    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "LEAK           train.py:62 forward: 2.00 MiB a step"), "%s", r.out);
    cr_expect_eq(leaks.status, 3, "%s", leaks.err);
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
    mvt_run r =
        mvt_sh("$MEMVIZ view --sample --headless --shot x.png --size 800x600 && test -s x.png");
    mvt_run both = mvt_here("$MEMVIZ view --sample a.pickle");

    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect_eq(both.status, 2);
    cr_expect(strstr(both.err, "--sample opens the built-in recording"), "%s", both.err);
}
