/* memviz peak in scripts: the JSON contract, rules, targets and the gate. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

static double sum_members(const cJSON *object)
{
    const cJSON *item;
    double sum = 0;

    cJSON_ArrayForEach(item, object)
        sum += cJSON_GetNumberValue(item);
    return sum;
}

/* A file without ranges has one row, which only JSON and CSV contain. */
Test(peak_report, allocations_without_annotations_add_up)
{
    cJSON *r = mvt_json(0, "$MEMVIZ peak --json $SNAPS/late_start.pickle --at 0");
    mvt_run run = mvt_here_or_sh("$MEMVIZ peak --at 0 $SNAPS/late_start.pickle");

    cr_expect_eq(cJSON_GetArraySize(mvt_member(r, "annotations")), 1);
    cr_expect(cJSON_IsNull(mvt_member(r, "annotations.0.annotation")));
    cr_expect_eq(mvt_json_number(r, "annotations.0.bytes"), mvt_json_number(r, "at.allocated"));
    cr_expect_null(strstr(run.out, "allocated within"), "%s", run.out);
}

Test(peak_report, every_device_has_its_report)
{
    cJSON *r = mvt_json(0, "$MEMVIZ peak --json --limit 1 $SNAPS/two_devices.pickle");
    cJSON *first = mvt_json(0, "$MEMVIZ peak --json --device 0 $SNAPS/two_devices.pickle");

    cr_expect_eq(cJSON_GetArraySize(mvt_member(r, "devices")), 2);
    cr_expect_eq(mvt_json_number(r, "device"), 1, "the one that holds most");
    cr_expect_eq(cJSON_GetArraySize(mvt_member(r, "sites")), 1);
    cr_expect_eq(mvt_json_number(first, "device"), 0);
    cr_expect_eq(mvt_json_number(first, "at.allocated"),
                 mvt_json_number(r, "devices.0.at.allocated"));
}

Test(peak_report, moments_are_those_requested)
{
    cJSON *r = mvt_json(0, "$MEMVIZ peak --json --at oom $SNAPS/oom.pickle");

    cr_expect_gt(mvt_json_number(r, "at.event"), 0);
    r = mvt_json(0, "$MEMVIZ peak --json --at end $SNAPS/no_history.pickle");
    cr_expect(cJSON_IsNull(mvt_member(r, "at.event")), "the heap before the first event");
    r = mvt_json(0, "$MEMVIZ peak --json --from 10 --to 20 $SNAPS/gpt_train.pickle");
    cr_expect_leq(mvt_json_number(r, "at.event"), 19);
    cr_expect_geq(mvt_json_number(r, "at.event"), 9);
}

Test(peak_report, rules_name_categories)
{
    cJSON *r = mvt_json(0, "echo 'train\\.py:62 forward  mlp' >rules;"
                           "$MEMVIZ peak --json --rules rules $SNAPS/gpt_train.pickle");
    const cJSON *categories = mvt_member(r, "categories");

    cr_expect_geq(mvt_json_number(categories, "mlp"), 320 << 20);
    cr_expect_eq(sum_members(categories), mvt_json_number(r, "at.allocated"));
}

Test(peak_report, a_target_names_lines_to_shrink)
{
    cJSON *r = mvt_json(0, "$MEMVIZ peak --json --target 700MiB $SNAPS/gpt_train.pickle");
    const cJSON *target = mvt_member(r, "target"), *sites = mvt_member(target, "sites");

    mvt_json_has(target, "bytes reaches known least peak sites");
    cr_expect(cJSON_IsTrue(mvt_member(target, "known")));
    cr_expect(cJSON_IsTrue(mvt_member(target, "reaches")));
    cr_expect(cJSON_IsTrue(mvt_member(target, "least")));
    cr_expect_leq(mvt_json_number(target, "peak"), 700 << 20);
    cr_expect_eq(cJSON_GetArraySize(sites), 2);
    cr_expect_eq(mvt_json_number(r, "peak.allocated") - mvt_json_sum(sites, "fall"),
                 mvt_json_number(target, "peak"));
}

Test(peak_report, a_file_of_one_moment_has_no_peak)
{
    static const char *const one[] = {"no_history.pickle", "no_history.pickle --at peak",
                                      "state_only.pickle"};
    static const mvt_expected_run all[] = {
        {"--at peak $SNAPS/state_only.pickle", 0, "device 0: 181 MiB allocated; ", ""},
        {"$SNAPS/mlp_train.pickle", 0, " allocated at the peak; ", ""},
        {NULL, 0, "marginal", NULL}};

    for (unsigned i = 0; i < sizeof one / sizeof *one; i++) {
        const mvt_expected_run parts[] = {{one[i], 0, "MiB held when the file was written; ", ""},
                                          {NULL, 0, "!at the peak", NULL},
                                          {NULL, 0, "!the peak is", NULL},
                                          {NULL, 0, "!marginal", NULL}};
        MVT_EXPECT_RUNS("$MEMVIZ peak $SNAPS/%s", parts);
    }
    MVT_EXPECT_RUNS("$MEMVIZ peak %s", all);
}

/* The true peak of ring is 245116928 B, most of them from before the first event in the file. */
LongTest(peak_report, a_target_is_as_uncertain_as_the_peak)
{
    static const struct {
        const char *target, *says;
        bool is_out_of_reach;
    } all[] = {
        {"225MiB",
         "target 225 MiB: as far as recorded the peak is not above it; the true one may be", false},
        {"200MiB", "target 200 MiB: without this one the recorded peak is 152 MiB; the true one",
         false},
        {"120MiB", "target 120 MiB: without these 2 the recorded peak is 119 MiB; the true one",
         false},
        {"20MiB", "target 20.0 MiB is out of reach: without these 5 the recorded peak is", true},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run run = mvt_here_or_sh("COLUMNS=200 $MEMVIZ peak --target %s $SNAPS/ring.pickle",
                                     all[i].target);
        cJSON *r = mvt_json(0, "$MEMVIZ peak --json --target %s $SNAPS/ring.pickle", all[i].target);
        const cJSON *target = mvt_member(r, "target");

        cr_expect(strstr(run.out, all[i].says), "%s: %s", all[i].target, run.out);
        cr_expect(cJSON_IsFalse(mvt_member(target, "known")));
        cr_expect(cJSON_IsFalse(mvt_member(target, "least")));
        cr_expect(all[i].is_out_of_reach ? cJSON_IsFalse(mvt_member(target, "reaches"))
                                         : cJSON_IsNull(mvt_member(target, "reaches")));
    }
    cr_expect(strstr(mvt_here_or_sh("$MEMVIZ peak --target 1GiB $SNAPS/no_history.pickle").out,
                     "as far as recorded the peak is not above it"));
}

/* Without free_requested events, blocks count for longer than they were in use. A target that is
 * met is certain; a target that is not met may have been met. */
Test(peak_report, a_peak_that_may_be_too_high_does_not_hide_a_higher_one)
{
    const char *file = "$SNAPS/../skipped/no_free_requested.pickle";
    mvt_run run = mvt_here_or_sh("COLUMNS=200 $MEMVIZ peak --target 90MiB %s", file);
    cJSON *met = mvt_json(0, "$MEMVIZ peak --json --target 90MiB %s", file);

    cr_expect(strstr(run.out, "target 90.0 MiB: the peak is not above it\n"), "%s", run.out);
    cr_expect(cJSON_IsTrue(mvt_member(met, "target.reaches")));
    cr_expect(cJSON_IsFalse(mvt_member(met, "target.known")));
    run = mvt_here_or_sh("COLUMNS=200 $MEMVIZ peak --target 60MiB %s", file);
    cr_expect(strstr(run.out, "; the true one may be lower\n"), "%s", run.out);
}

LongTest(peak_report, exit_statuses_follow_the_contract)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ peak --fail-on 'peak>1.2GiB' $SNAPS/gpt_train.pickle", 0, "", NULL},
        {"$MEMVIZ peak --fail-on 'peak>1239841792' $SNAPS/gpt_train.pickle", 0, "", NULL},
        {"$MEMVIZ peak --fail-on 'peak>1239841791' $SNAPS/gpt_train.pickle", 3, "",
         "peak allocated 1239841792 B, above 1239841791 B"},
        {"$MEMVIZ peak --at end --fail-on 'peak>1GiB' $SNAPS/gpt_train.pickle", 3, "",
         "peak allocated 1.15 GiB, above 1.00 GiB"},
        {"$MEMVIZ peak --fail-on leak $SNAPS/gpt_train.pickle", 2, "", "not a gate of peak"},
        {"$MEMVIZ peak --target much $SNAPS/gpt_train.pickle", 2, "",
         "--target much: expected SIZE"},
        {"$MEMVIZ peak --at noon $SNAPS/gpt_train.pickle", 2, "", "'noon' is not a valid --at"},
        {"$MEMVIZ peak --at oom $SNAPS/gpt_train.pickle", 1, "", "no such out-of-memory event"},
        {"$MEMVIZ peak --rules none $SNAPS/gpt_train.pickle", 1, "", "none: "},
        {"$MEMVIZ peak --rules . $SNAPS/gpt_train.pickle", 1, "", "not a regular file"},
        {"printf 'a b\\n[ c\\n' >r; $MEMVIZ peak --rules r $SNAPS/gpt_train.pickle", 1, "",
         "r: line 2: "},
    };

    MVT_EXPECT_RUNS("%s", all);
}

/* The share of one call must not be attributed to the line, which has the bytes of all calls. */
Test(peak_report, the_first_line_names_the_owner_of_the_share)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 60 * MIB, .stack = "make:util.py:5;a:run.py:3");
    mvt_alloc(t, .addr = 0x20000000, .bytes = 40 * MIB, .stack = "make:util.py:5;b:run.py:9");
    mvt_final_heap(t);
    const char *path = mvt_temp_file(mvt_pickle_bytes(t, false));
    mvt_run run = mvt_sh("$MEMVIZ peak %s | head -1", path);
    cr_expect(strstr(run.out, "60 % by run.py:3 a > util.py:5 make"), "%s", run.out);
    run = mvt_sh("$MEMVIZ peak --limit 1 %s | head -1", path);
    cr_expect(strstr(run.out, "60 % by run.py:3 a > util.py:5 make"), "%s", run.out);
}
