/* Reports on files that are larger than the memory limit: the rest is on disk, and the reports are
 * the same. */
#include <sys/vfs.h>

#include "tests/cli/fixture_runs.h"

#define FOLDER "/var/tmp"

enum { TMPFS = 0x01021994 };

static const char *const reports[] = {
    "info",  "stats", "leaks",  "leaks --json", "peak",   "lines", "fragmentation",
    "floor", "oom",   "whatif", "memory",       "triage", "trace", "fragmentation --json",
    "dump"};
static const char *const writers[] = {
    "trace_plot -o x.svg", "trace_plot -o x.png", "trace_plot -o x.html", "segment_plot -o x.svg",
    "segments -o x.svg",   "memory -o x.svg",     "export -o x.csv",      "export -o x.sqlite"};

static void need_disk(void)
{
    struct statfs fs;

    if (statfs(FOLDER, &fs) != 0 || fs.f_type == TMPFS)
        mvt_skip(FOLDER " is not on a disk");
}

static void check_report(const char *report, const char *memory, const char *file)
{
    mvt_run whole = mvt_here("$MEMVIZ %s %s", report, file);
    mvt_run is = mvt_here("$MEMVIZ %s --max-memory %s %s", report, memory, file);

    cr_expect_eq(whole.status, is.status, "%s: %s", report, is.err);
    mvt_same_text(whole.out, is.out, "%s", report);
    cr_expect(strstr(is.err, "did not fit into the memory limit"), "%s: %s", report, is.err);
}

LongTest(larger, reports_on_disk_are_the_same)
{
    need_disk();
    for (unsigned i = 0; i < sizeof reports / sizeof *reports; i++)
        check_report(reports[i], "1M", "$SNAPS/gpt_train.pickle");
}

/* Containers without LIVING chunks, so that no report can take pieces. */
LongTest(larger, containers_on_disk_give_the_same_reports)
{
    need_disk();
    mvt_run made = mvt_here("$MEMVIZ convert $SNAPS/resnet_all.pickle x.bin");
    cr_assert_eq(made.status, 0, "%s", made.err);
    for (unsigned i = 1; i < sizeof reports / sizeof *reports; i++)
        if (strcmp(reports[i], "oom") != 0) /* reads no events */
            check_report(reports[i], "1M", "x.bin");
}

LongTest(larger, files_that_are_written_are_the_same)
{
    need_disk();
    for (unsigned i = 0; i < sizeof writers / sizeof *writers; i++) {
        const char *name = strstr(writers[i], "x.");
        size_t whole_bytes, bytes;
        mvt_here("$MEMVIZ %s $SNAPS/gpt_train.pickle", writers[i]);
        char *whole = mvt_take(name, &whole_bytes);
        mvt_run r = mvt_here("$MEMVIZ %s --max-memory 2M $SNAPS/gpt_train.pickle", writers[i]);
        char *is = mvt_take(name, &bytes);
        cr_assert(whole && is, "%s: %s", writers[i], r.err);
        cr_expect(strstr(r.err, "did not fit"), "%s: %s", writers[i], r.err);
        cr_expect_eq(bytes, whole_bytes, "%s", writers[i]);
        cr_expect(memcmp(is, whole, bytes) == 0, "%s", writers[i]);
    }
}

/* The file is created before the process is confined, so it needs no rights afterwards. */
Test(larger, disk_can_be_limited)
{
    static const mvt_expected_run refused[] = {
        {"0", 1, NULL, "memory limit reached (see --max-memory, --max-disk)"},
        {NULL, 0, NULL, "!did not fit"},
        {"1M 2>&1", 1, "memory limit reached (see --max-memory, --max-disk)", NULL}};

    need_disk();
    mvt_run r = mvt_sh("$MEMVIZ leaks --max-memory 1M $SNAPS/gpt_train.pickle >one && "
                       "$MEMVIZ leaks -q --max-memory 1M $SNAPS/gpt_train.pickle >two && "
                       "cmp one two; ls");
    cr_expect_eq(r.status, 0);
    cr_expect_str_eq(r.out, "one\ntwo\n");
    cr_expect(strstr(r.err,
                     " MiB did not fit into the memory limit of 1.00 MiB, and went to a file "
                     "in "),
              "%s", r.err);
    cr_expect_eq(strchr(r.err, '\n')[1], 0, "-q prints no line: %s", r.err);
    MVT_EXPECT_RUNS("$MEMVIZ leaks $SNAPS/gpt_train.pickle --max-memory 1M --max-disk %s", refused);
}

Test(larger, the_file_is_in_tmpdir)
{
    need_disk();
    mvt_run r = mvt_sh("mkdir " FOLDER "/mv$$ && TMPDIR=" FOLDER "/mv$$ $MEMVIZ leaks "
                       "--max-memory 1M $SNAPS/gpt_train.pickle >report; rmdir " FOLDER "/mv$$");
    cr_expect_eq(r.status, 0, "it is empty afterwards: %s", r.err);
    cr_expect(strstr(r.err, "in " FOLDER "/mv"), "%s", r.err);
}
