/* JSON reports: the members of the contract, exact integers, any text. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

Test(report, trace_has_the_members_of_the_contract)
{
    cJSON *report = mvt_json(0, "$MEMVIZ trace --json $SNAPS/gpt_train.pickle");
    const cJSON *events = mvt_member(report, "events"), *stacks = mvt_member(report, "stacks"),
                *event;
    int at = 0;

    cr_expect_str_eq(mvt_json_text(report, "command"), "trace");
    cr_expect_eq(cJSON_GetArraySize(events), 6562);
    cJSON_ArrayForEach(event, events)
    {
        mvt_json_has(event, "event action addr size stream time_us stack");
        cr_expect_eq(mvt_json_number(event, "event"), at);
        cr_assert_lt(mvt_json_number(event, "stack"), cJSON_GetArraySize(stacks));
        at++;
    }
    mvt_json_has(cJSON_GetArrayItem(cJSON_GetArrayItem(stacks, 0), 0), "function file line");
}

Test(report, one_thing_is_counted_as_one)
{
    mvt_run trace = mvt_sh("$MEMVIZ trace $SNAPS/state_only.pickle");

    cr_expect(strstr(trace.out, "device 0: 1 event\n"), "%s", trace.out);
}

Test(report, trace_stacks_are_those_of_its_events)
{
    cJSON *report = mvt_json(0, "$MEMVIZ trace --json --limit 2 $SNAPS/gpt_train.pickle");

    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "events")), 2);
    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "stacks")), 1);
    report = mvt_json(0, "$MEMVIZ trace --json --device 1 $SNAPS/two_devices.pickle");
    cr_expect_eq(mvt_json_number(cJSON_GetArrayItem(mvt_member(report, "events"), 0), "device"), 1);
}

Test(report, oom_has_free_bytes_in_place_of_an_address)
{
    cJSON *report = mvt_json(0, "$MEMVIZ trace --json $SNAPS/oom.pickle");
    const cJSON *event;
    int ooms = 0;

    cJSON_ArrayForEach(event, mvt_member(report, "events"))
    {
        if (strcmp(mvt_json_text(event, "action"), "oom") != 0)
            continue;
        ooms++;
        cr_expect(cJSON_IsNull(mvt_member(event, "addr")));
        cr_expect_gt(mvt_json_number(event, "device_free"), 0);
    }
    cr_expect_eq(ooms, 1);
}

Test(report, info_has_the_members_of_the_contract)
{
    cJSON *report = mvt_json(0, "$MEMVIZ info --json $SNAPS/annotated.pickle");
    const cJSON *device = cJSON_GetArrayItem(mvt_member(report, "devices"), 0);

    mvt_json_has(report, "format devices history annotations settings notes");
    mvt_json_has(device, "device events segments first_us last_us stacks events_with_stack");
    cr_expect_str_eq(mvt_json_text(report, "format"), "pickle");
    cr_expect_str_eq(mvt_json_text(report, "history"), "complete");
    cr_expect_gt(mvt_json_number(report, "annotations"), 0);
    cr_expect_eq(mvt_json_number(mvt_member(report, "settings"), "max_split_size"), -1);
    cr_expect(
        cJSON_IsObject(mvt_member(mvt_member(report, "settings"), "roundup_power2_divisions")));
    cr_expect_eq(mvt_json_number(report, "protocol"), 4);
    report = mvt_json(0, "printf junk | cat $SNAPS/oom.pickle - | $MEMVIZ info --json -");
    const cJSON *note = cJSON_GetArrayItem(mvt_member(report, "notes"), 0);
    mvt_json_has(note, "code count text");
    cr_expect_str_eq(mvt_json_text(note, "code"), "trailing_bytes");
}

/* The figures themselves are test_totals.c's; here they must arrive in the report. */
Test(report, stats_has_the_members_of_the_contract)
{
    cJSON *report = mvt_json(0, "$MEMVIZ stats --json $SNAPS/gpt_train.pickle");
    const cJSON *device = cJSON_GetArrayItem(mvt_member(report, "devices"), 0);
    const cJSON *pool = cJSON_GetArrayItem(mvt_member(device, "pools"), 0);
    cJSON *truth = mvt_json(0, "printf '{\"memviz\":0,\"command\":0,\"file\":0,\"truth\":';"
                               "cat $SNAPS/gpt_train.truth.json; echo '}'");

    mvt_json_has(device, "device current peak total pools audit");
    mvt_json_has(mvt_member(device, "current"),
                 "allocated active requested reserved segments allocations");
    mvt_json_has(mvt_member(device, "peak"), "allocated active requested reserved allocated_event "
                                             "active_event requested_event reserved_event");
    mvt_json_has(mvt_member(device, "total"), "allocated freed");
    mvt_json_has(mvt_member(device, "audit"), "exact residual notes");
    mvt_json_has(pool, "pool pool_id current peak");
    cr_expect_eq(cJSON_GetArraySize(mvt_member(pool, "pool_id")), 2);
    cr_expect_eq(mvt_json_number(mvt_member(device, "current"), "allocated"),
                 mvt_json_number(mvt_member(truth, "truth"), "allocated"));
    cr_expect_eq(mvt_json_number(mvt_member(device, "peak"), "reserved"),
                 mvt_json_number(mvt_member(truth, "truth"), "max_reserved"));
}

Test(report, leaks_has_the_members_of_the_contract)
{
    cJSON *report = mvt_json(0, "$MEMVIZ leaks --json $SNAPS/leak_in_training.pickle");
    const cJSON *leak = cJSON_GetArrayItem(mvt_member(report, "leaks"), 0);

    cr_expect_str_eq(mvt_json_text(report, "verdict"), "leak");
    mvt_json_has(mvt_member(report, "steps"), "source count");
    mvt_json_has(leak, "bytes blocks bytes_per_step first_event last_event confidence kind frames "
                       "advice");
    mvt_json_has(cJSON_GetArrayItem(mvt_member(leak, "frames"), 0), "function file line");
    mvt_json_has(cJSON_GetArrayItem(mvt_member(report, "retained"), 0), "bytes blocks frames");
}

Test(report, fail_on_leak)
{
    static const struct {
        const char *name, *options;
        int status;
    } all[] = {
        {"leak_in_training", "--fail-on leak", 3}, {"leak_in_training", "", 0},
        {"gpt_train", "--fail-on leak", 0},        {"leak_in_training", "--fail-on leak --json", 3},
        {"gpt_train", "--fail-on fire", 2},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("$MEMVIZ leaks %s $SNAPS/%s.pickle", all[i].options, all[i].name);
        cr_expect_eq(r.status, all[i].status, "%s %s: %d", all[i].name, all[i].options, r.status);
        cr_expect_eq(r.out_length == 0, all[i].status == 2);
    }
}

/* A snapshot with texts and numbers that JSON finds hard, in a file. */
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

/* As JSON has those texts. */
#define HARD_JSON            \
    "a\\\\xed\\\\xb2\\\\x80" \
    "b\\\\xff\\\"\\\\\\n\xc3\xa9"

Test(report, integers_are_exact_and_texts_are_json)
{
    const char *path = write_hard_one();
    mvt_run r = mvt_sh("$MEMVIZ trace --json %s", path);

    cr_expect(strstr(r.out, "\"addr\":9223372036854775809"), "%s", r.out);
    cr_expect(strstr(r.out, "\"size\":9007199254740993"), "%s", r.out);
    cr_expect(strstr(r.out, HARD_JSON), "%s", r.out);
    r = mvt_sh("$MEMVIZ info --json %s", path);
    cr_expect(strstr(r.out, "{\"" HARD_JSON "\":\"" HARD_JSON), "%s", r.out);
    /* On a terminal nothing of it may act. */
    r = mvt_sh("$MEMVIZ trace %s; $MEMVIZ info %s; $MEMVIZ dump %s", path, path, path);
    cr_expect(strstr(r.out, "a\\xed\\xb2\\x80"
                            "b\\xff"),
              "%s", r.out);
    cr_expect(!strchr(r.out, '\xff'));
}

/* An implementation that is not ours reads the reports. */
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
