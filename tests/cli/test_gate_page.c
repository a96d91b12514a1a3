/* --format md and junit: gates and report as a page for CI. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_program.h"

static mvt_run page_of(const char *format, const char *rest)
{
    return mvt_here("$MEMVIZ %s --format %s", rest, format);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

Test(gate_page, junit_has_a_case_for_each_gate)
{
    mvt_run r = page_of("junit", "leaks --fail-on any $SNAPS/leak_cycle.pickle");

    cr_expect_eq(r.status, 3);
    cr_expect(strstr(r.out, "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), "%s", r.out);
    cr_expect(strstr(r.out, "name=\"leak\">\n    <failure message=\""), "%s", r.out);
    cr_expect(strstr(r.out, "name=\"unknown\"/>"), "%s", r.out);
    cr_expect(strstr(r.out, "<system-out>LEAK  train.py:125"), "%s", r.out);
    cr_expect(strstr(r.out, "-&gt; objects created in"), "%s", r.out);
}

Test(gate_page, junit_distinguishes_unknown_met_and_waived)
{
    mvt_run r = page_of("junit", "leaks --fail-on leak $SNAPS/ring.pickle");
    mvt_run waived = page_of("junit", "leaks --fail-on leak,known $SNAPS/ring.pickle");
    mvt_run fine = page_of("junit", "stats --fail-on 'peak>70GiB' $SNAPS/gpt_train.pickle");

    cr_expect_eq(r.status, 4);
    cr_expect(strstr(r.out, "failures=\"0\" errors=\"1\" skipped=\"0\""), "%s", r.out);
    cr_expect(strstr(r.out, "<error message=\""), "%s", r.out);
    cr_expect_eq(waived.status, 0);
    cr_expect(strstr(waived.out, "failures=\"0\" errors=\"0\" skipped=\"1\""), "%s", waived.out);
    cr_expect(strstr(waived.out, "<skipped message=\""), "%s", waived.out);
    cr_expect_eq(fine.status, 0);
    cr_expect(strstr(fine.out, "name=\"peak&gt;70.0 GiB\"/>"), "%s", fine.out);
}

/* A rank that was not read must not count as passed, whatever tool reads the results file. */
Test(gate_page, a_file_that_cannot_be_read_is_an_error)
{
    mvt_run r = page_of("junit", "--fail-on leak none.pickle $SNAPS/leak_cycle.pickle");
    mvt_run md = page_of("md", "--fail-on leak none.pickle $SNAPS/gpt_train.pickle");
    mvt_run alone = page_of("junit", "leaks --fail-on leak none.pickle");

    cr_expect_eq(r.status, 1);
    cr_expect(strstr(r.out, "tests=\"2\" failures=\"1\" errors=\"1\""), "%s", r.out);
    cr_expect(strstr(r.out, "name=\"files\">"), "%s", r.out);
    cr_expect_eq(md.status, 1);
    cr_expect(strstr(md.out, "triage: a file could not be read\n"), "%s", md.out);
    cr_expect_eq(alone.status, 1);
    cr_expect_str_empty(alone.out);
}

Test(gate_page, markdown_has_a_row_for_each_reason)
{
    mvt_run r = page_of("md", "--fail-on any $SNAPS/leak_cycle.pickle $SNAPS/ring.pickle");

    cr_expect_eq(r.status, 3);
    cr_expect(begins(r.out, "### memviz triage: a gate is met\n\n| gate |"), "%s", r.out);
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
    mvt_run r = page_of("md", "stats $SNAPS/gpt_train.pickle");

    cr_expect_eq(r.status, 0);
    cr_expect(begins(r.out, "### memviz stats: report\n\n    device 0"), "%s", r.out);
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
