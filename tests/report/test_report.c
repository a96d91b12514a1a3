/* JSON reports: the members of the contract, exact integers, any text. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

Test(report, a_count_of_one_is_singular)
{
    mvt_run trace = mvt_here_or_sh("$MEMVIZ trace $SNAPS/state_only.pickle");

    cr_expect(strstr(trace.out, "device 0: 1 event\n"), "%s", trace.out);
}

Test(report, trace_stacks_equal_those_of_its_events)
{
    cJSON *report = mvt_json(0, "$MEMVIZ trace --json --limit 2 $SNAPS/gpt_train.pickle");

    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "events")), 2);
    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "stacks")), 1);
    report = mvt_json(0, "$MEMVIZ trace --json --device 1 $SNAPS/two_devices.pickle");
    cr_expect_eq(mvt_json_number(report, "events.0.device"), 1);
}

Test(report, oom_has_free_bytes_in_place_of_an_address)
{
    cJSON *report = mvt_json(0, "$MEMVIZ trace --json $SNAPS/oom.pickle");
    const cJSON *event;
    int ooms = 0;

    cJSON_ArrayForEach(event, mvt_member(report, "events")) {
        if (strcmp(mvt_json_text(event, "action"), "oom") != 0)
            continue;
        ooms++;
        cr_expect(cJSON_IsNull(mvt_member(event, "addr")));
        cr_expect_gt(mvt_json_number(event, "device_free"), 0);
    }
    cr_expect_eq(ooms, 1);
}

Test(report, a_leak_fails_the_gate)
{
    static const mvt_expected_run all[] = {
        {"leak_in_training.pickle --fail-on leak", 3, "LEAK", "--fail-on leak"},
        {"leak_in_training.pickle --fail-on leak --json", 3, "{", "--fail-on leak"},
        {"leak_in_training.pickle", 0, "LEAK", NULL},
        {"gpt_train.pickle --fail-on leak", 0, "", NULL},
        {"gpt_train.pickle --fail-on fire", 2, NULL, ""}};

    MVT_EXPECT_RUNS("$MEMVIZ leaks $SNAPS/%s", all);
}

/* A snapshot with texts and numbers that are difficult for JSON, in a file. */
static const char *write_hard_one(void)
{
    static const char odd[] = "a\xed\xb2\x80"
                              "b\xff\"\\\n\xc3\xa9";
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x8000000000000001u, .bytes = 9007199254740993u);
    mvt_alloc(t, .addr = 0x8000000000000001u, .bytes = 9007199254740993u, .metadata = odd,
              .stack = "f:a.py:7");
    mvt_setting_text(t, odd, odd);
    return mvt_temp_file(mvt_snapshot_bytes(t));
}

/* The same texts in JSON. */
#define HARD_JSON            \
    "a\\\\xed\\\\xb2\\\\x80" \
    "b\\\\xff\\\"\\\\\\n\xc3\xa9"

Test(report, integers_are_exact_and_texts_are_json)
{
    const char *path = write_hard_one();
    mvt_run r = mvt_here_or_sh("$MEMVIZ trace --json %s", path);

    cr_expect(strstr(r.out, "\"addr\":9223372036854775809"), "%s", r.out);
    cr_expect(strstr(r.out, "\"size\":9007199254740993"), "%s", r.out);
    cr_expect(strstr(r.out, HARD_JSON), "%s", r.out);
    r = mvt_here_or_sh("$MEMVIZ info --json %s", path);
    cr_expect(strstr(r.out, "{\"" HARD_JSON "\":\"" HARD_JSON), "%s", r.out);
    /* A terminal must not interpret any of it. */
    r = mvt_sh("$MEMVIZ trace %s; $MEMVIZ info %s; $MEMVIZ dump %s", path, path, path);
    cr_expect(strstr(r.out, "a\\xed\\xb2\\x80"
                            "b\\xff"),
              "%s", r.out);
    cr_expect(!strchr(r.out, '\xff'));
}

/* Another implementation reads the reports. */
Test(report, python_reads_them)
{
    static const char *const reports[] = {"info", "stats", "leaks", "trace"};
    mvt_run have = mvt_sh("/usr/bin/python3 -c 'import json'");
    const char *path = write_hard_one();

    for (unsigned i = 0; have.status == 0 && i < sizeof reports / sizeof *reports; i++) {
        mvt_run r =
            mvt_sh("set -e; for f in %s $SNAPS/two_devices.pickle $SNAPS/no_history.pickle; "
                   "do $MEMVIZ %s --json $f | /usr/bin/python3 -c "
                   "'import json, sys; json.load(sys.stdin)'; done",
                   path, reports[i]);
        cr_expect_eq(r.status, 0, "%s: %s", reports[i], r.err);
    }
}
