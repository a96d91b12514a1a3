/* --format md and junit: gates and report as a page for CI. */
#include "tests/cli/fixture_runs.h"

Test(gate_page, junit_has_a_case_for_each_gate)
{
    static const mvt_expected_run all[] = {
        {"leaks --fail-on any $SNAPS/leak_cycle.pickle", 3,
         "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\"", ""},
        {NULL, 3, "name=\"leak\">\n    <failure message=\"", ""},
        {NULL, 3, "name=\"unknown\"/>", ""},
        {NULL, 3, "<system-out>LEAK  train.py:125", ""},
        {NULL, 3, "-&gt; objects created in", ""},
    };

    MVT_EXPECT_RUNS("$MEMVIZ --format junit %s", all);
}

Test(gate_page, junit_distinguishes_unknown_met_and_waived)
{
    static const mvt_expected_run all[] = {
        {"leaks --fail-on leak $SNAPS/ring.pickle", 4, "failures=\"0\" errors=\"1\" skipped=\"0\"",
         ""},
        {NULL, 4, "<error message=\"", ""},
        {"leaks --fail-on leak,known $SNAPS/ring.pickle", 0,
         "failures=\"0\" errors=\"0\" skipped=\"1\"", ""},
        {NULL, 0, "<skipped message=\"", ""},
        {"stats --fail-on 'peak>70GiB' $SNAPS/gpt_train.pickle", 0, "name=\"peak&gt;70.0 GiB\"/>",
         ""},
    };

    MVT_EXPECT_RUNS("$MEMVIZ --format junit %s", all);
}

/* A rank that was not read must not count as passed, whatever tool reads the results file. */
Test(gate_page, a_file_that_cannot_be_read_is_an_error)
{
    static const mvt_expected_run all[] = {
        {"junit --fail-on leak none.pickle $SNAPS/leak_cycle.pickle", 1,
         "tests=\"2\" failures=\"1\" errors=\"1\"", NULL},
        {NULL, 1, "name=\"files\">", NULL},
        {"md --fail-on leak none.pickle $SNAPS/gpt_train.pickle", 1,
         "triage: a file could not be read\n", NULL},
        {"junit leaks --fail-on leak none.pickle", 1, NULL, NULL},
    };

    MVT_EXPECT_RUNS("$MEMVIZ --format %s 2>no", all);
}

Test(gate_page, markdown_has_a_row_for_each_reason)
{
    mvt_run r =
        mvt_here("$MEMVIZ --format md --fail-on any $SNAPS/leak_cycle.pickle $SNAPS/ring.pickle");

    cr_expect_eq(r.status, 3);
    cr_expect(strstr(r.out, "### memviz triage: a gate is met\n\n| gate |") == r.out, "%s", r.out);
    cr_expect(strstr(r.out, "| `leak` | **met** | ` "), "%s", r.out);
    cr_expect(strstr(r.out, "| `unknown` | **unknown** | ` "), "%s", r.out);
    cr_expect(strstr(r.out, "| `oom` | passes | |\n"), "%s", r.out);
    cr_expect(strstr(r.out, "\n    LEAK  "), "%s", r.out);
    for (const char *line = strstr(r.out, "\n\n    "); line && line[1];
         line = strchr(line + 1, '\n'))
        cr_expect(line[1] == '\n' || line[1] == 0 || strncmp(line + 1, "    ", 4) == 0, "%s", line);
}

/* Without gates, only the report is printed. */
Test(gate_page, markdown_needs_no_gate)
{
    mvt_run r = mvt_here("$MEMVIZ --format md stats $SNAPS/gpt_train.pickle");

    cr_expect_eq(r.status, 0);
    cr_expect(strstr(r.out, "### memviz stats: report\n\n    device 0") == r.out, "%s", r.out);
}

/* File names are not trusted. */
Test(gate_page, names_are_not_markup)
{
    static const char line[] = "N='a`|<b>&\"``.pickle'; cp $SNAPS/leak_cycle.pickle \"$N\"; "
                               "$MEMVIZ leaks --fail-on leak --format %s \"$N\"";
    mvt_run r = mvt_sh(line, "md");

    cr_expect(strstr(r.out, "| ``` a`\\|<b>&\"``.pickle: device 0: 1 leak"), "%s", r.out);
    r = mvt_sh(line, "junit");
    cr_expect(strstr(r.out, "message=\"a`|&lt;b&gt;&amp;&quot;``.pickle: device 0"), "%s", r.out);
    cr_expect_null(strstr(r.out, "<b>"));
}

Test(gate_page, conflicting_options_are_wrong_usage)
{
    static const mvt_expected_run all[] = {
        {"leaks --format junit a", 2, NULL,
         "--format junit reports gates: name them with --fail-on"},
        {"leaks --format md --json a", 2, NULL, "--format cannot be combined with --json or --csv"},
        {"leaks --format md --csv a", 2, NULL, "--format cannot be combined with --json or --csv"},
        {"leaks --format html a", 2, NULL, "expected one of: md junit"},
        {"diff --format md -o x.svg a b", 2, NULL,
         "x.svg: the output is --format, which does not match"},
        {"info --format md a", 2, NULL, "unknown option --format"},
    };

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}
