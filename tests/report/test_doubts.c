/* Reports on memory over time show where the events are insufficient, and which figures are lower
 * bounds. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

#define TRUNCATED "\n  history is truncated: the true peak may be earlier and higher\n"
#define LATE      "\n  history is late: the true peak may be earlier and higher\n"
#define NONE      "\n  no events: only the memory alive when the file was written is known\n"

/* Memory from before the events is uncertain at a peak, but certain at the end, because the end is
 * in the file. */
LongTest(doubts, doubts_are_in_each_report_with_a_peak)
{
    static const struct {
        const char *command, *says; /* NULL: no text about history */
        const char *history;
    } all[] = {
        {"peak $SNAPS/ring.pickle", TRUNCATED, "truncated"},
        {"lines $SNAPS/ring.pickle", TRUNCATED, "truncated"},
        {"lines --by annotation $SNAPS/ring.pickle", TRUNCATED, "truncated"},
        {"memory --at peak $SNAPS/ring.pickle", TRUNCATED, "truncated"},
        {"memory --at reserved-peak $SNAPS/ring.pickle", TRUNCATED, "truncated"},
        {"memory --at 3 $SNAPS/ring.pickle", NULL, "truncated"},
        {"memory $SNAPS/ring.pickle", NULL, "truncated"},
        {"lines $SNAPS/late_start.pickle", LATE, "late"},
        {"lines $SNAPS/no_history.pickle", NONE, "none"},
        {"memory --at peak $SNAPS/no_history.pickle", NONE, "none"},
        {"lines $SNAPS/gpt_train.pickle", NULL, "complete"},
        {"memory --at peak $SNAPS/gpt_train.pickle", NULL, "complete"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run run = mvt_here_or_sh("$MEMVIZ %s", all[i].command);
        const cJSON *device =
            mvt_member(mvt_json(0, "$MEMVIZ %s --json", all[i].command), "devices.0");
        bool is_said = strstr(run.out, "\n  history is ") || strstr(run.out, "\n  no events");

        cr_expect_eq(is_said, all[i].says != NULL, "%s: %s", all[i].command, run.out);
        cr_expect(!all[i].says || strstr(run.out, all[i].says), "%s: %s", all[i].command, run.out);
        cr_expect_str_eq(mvt_json_text(device, "history"), all[i].history, "%s", all[i].command);
        mvt_json_has(device, "residual inexact_blocks");
    }
}

/* Lines without events in the file may still have allocated memory. */
Test(doubts, lines_mark_lower_bounds)
{
    static const mvt_expected_run all[] = {
        {"$SNAPS/late_start.pickle", 0, "most at once >= 181 MiB by", ""},
        {NULL, 0, ">= 181 MiB            -   65.0 MiB       -           -           -", NULL},
        {NULL, 0, ">= 350 MiB        0 B  >= 366  >= 234 MiB  >= 270 MiB", NULL},
        {"$SNAPS/no_history.pickle", 0,
         ">= 29.1 MiB          -   29.1 MiB       -          -          -", ""},
        {"--from 100 $SNAPS/ring.pickle", 0, ">= 87.2 MiB   29.1 MiB   58.1 MiB      53    210 MiB",
         ""},
        {"$SNAPS/gpt_train.pickle", 0, "!>=", ""}};
    const cJSON *report = mvt_json(0, "$MEMVIZ lines --json $SNAPS/no_history.pickle");

    MVT_EXPECT_RUNS("$MEMVIZ lines %s", all);
    cr_expect_eq(mvt_json_number(report, "lines.0.total_bytes"), 0);
    cr_expect(cJSON_IsNull(mvt_member(report, "lines.0.active_bytes")));
    cr_expect(cJSON_IsNull(mvt_member(report, "lines.0.reserved_bytes")));
}

/* The marks on lines must equal those in stats. Without frees, a figure may be too high; without
 * segment events, the level of reserved memory is unknown. */
Test(doubts, lines_mark_upper_bounds)
{
    static const mvt_expected_run all[] = {
        {"no_free_requested", 0, "<= 80.0 MiB    180 MiB        0 B       3   88.0 MiB    200 MiB",
         ""},
        {"no_free_completed", 0, "80.0 MiB    180 MiB        0 B       3  >= 88.0 MiB    200 MiB",
         ""},
        {"no_frees", 0, "~ 180 MiB   ~ 180 MiB        0 B       3   ~ 188 MiB    200 MiB", ""},
        {"no_final_heap", 0, ">= 80.0 MiB   >= 180 MiB       >= 0 B    >= 3  >= 88.0 MiB  >= 200",
         ""}};

    MVT_EXPECT_RUNS("$MEMVIZ lines $SNAPS/../skipped/%s.pickle", all);
}

/* A heap that was empty before the first event, in segments that have stacks. */
Test(doubts, without_segment_events_reserved_memory_is_unknown)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x200000, .bytes = 2 << 20, .stack = "f:a.py:1");
    mvt_free(t, .addr = 0x200000);
    mvt_alloc(t, .addr = 0x2000000, .bytes = 2 << 20, .stack = "f:a.py:1");
    mvt_segment(t, .addr = 0x200000, .bytes = 20 << 20, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 20 << 20);
    mvt_segment(t, .addr = 0x2000000, .bytes = 20 << 20, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 2 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 18 << 20);
    const char *file = mvt_temp_file(mvt_pickle_bytes(t, false));
    mvt_run run = mvt_here_or_sh("$MEMVIZ lines %s", file);
    cr_expect(strstr(run.out, "~ 40.0 MiB"), "%s", run.out);
    run = mvt_here_or_sh("$MEMVIZ peak %s", file);
    cr_expect(strstr(run.out, "file contains no segment events"), "%s", run.out);
    run = mvt_here_or_sh("$MEMVIZ memory --at end %s", file);
    cr_expect_null(strstr(run.out, "file contains no segment events"), "%s", run.out);
}

/* A block that was split off before event 0 and is freed within the events. All that is known is
 * that it is at least as large as its request. */
Test(doubts, a_block_of_unknown_size_is_one)
{
    mvt_trace *t = mvt_new();

    mvt_free(t, .addr = 0x200000, .bytes = 2 << 20, .stack = "f:a.py:1");
    mvt_segment(t, .addr = 0x200000, .bytes = 20 << 20);
    mvt_block(t, .bytes = 20 << 20);
    const char *file = mvt_temp_file(mvt_pickle_bytes(t, false));
    mvt_run run = mvt_sh("$MEMVIZ lines %s; $MEMVIZ peak %s", file, file);
    cr_expect(strstr(run.out, "\n  1 block size from before the events is a lower bound\n"), "%s",
              run.out);
    cr_expect_null(strstr(run.out, "1 block sizes"), "%s", run.out);
}
