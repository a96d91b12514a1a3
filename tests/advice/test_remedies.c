/* Changes that bring a run down to a target. Each must equal the replay of `whatif` with the same
 * options. */

#include "tests/fixture/fixture_json.h"

static const cJSON *target_of(const char *size, const char *file)
{
    return mvt_member(mvt_json_here(0, "$MEMVIZ whatif --json --target %s %s", size, file),
                      "devices.0.target");
}

static const cJSON *first_of(const cJSON *target)
{
    return mvt_member(target, "remedies.0");
}

Test(remedies, a_setting_that_reaches_the_target_is_cheapest)
{
    const cJSON *target = target_of("200MiB", "$SNAPS/frag_pinned_by_small.pickle");

    cr_expect(cJSON_IsFalse(mvt_member(target, "met")));
    cr_expect_str_eq(mvt_json_text(first_of(target), "setting"), "expandable_segments:True");
    cr_expect(cJSON_IsTrue(mvt_member(first_of(target), "reaches")));
    cr_expect_leq(mvt_json_number(first_of(target), "peak_reserved"), 200 * (double)MIB);
}

Test(remedies, a_code_change_is_named_where_no_setting_suffices)
{
    const cJSON *target = target_of("1000MiB", "$SNAPS/gpt_train.pickle"), *row;
    bool has_reached = true;

    cr_expect(strstr(mvt_json_text(target, "verdict"), "no setting reaches"), "%s",
              mvt_json_text(target, "verdict"));
    cr_expect_str_neq(mvt_json_text(first_of(target), "change"), "");
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(target, "remedies")) {
        bool reaches = cJSON_IsTrue(mvt_member(row, "reaches"));
        cr_expect(has_reached || !reaches, "those that reach it come first");
        has_reached = reaches;
        if (reaches)
            cr_expect_leq(mvt_json_number(row, "peak_reserved"), 1000 * (double)MIB);
    }
}

LongTest(remedies, a_change_equals_the_replay_of_its_option)
{
    const cJSON *target = target_of("1MiB", "$SNAPS/gpt_train.pickle"), *row;
    uint32_t compared = 0;

    cr_expect(strstr(mvt_json_text(target, "verdict"), "none of the changes tried reaches"));
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(target, "remedies")) {
        const char *change = mvt_json_text(row, "change");
        if (!*change)
            continue;
        const cJSON *run = mvt_member(
            mvt_json_here(0, "$MEMVIZ whatif --json %s $SNAPS/gpt_train.pickle", change), "runs.0");
        cr_expect_eq(mvt_json_number(run, "peak_reserved"), mvt_json_number(row, "peak_reserved"),
                     "%s", change);
        compared++;
    }
    cr_expect_gt(compared, 1);
}

static const cJSON *last_oom(const char *file)
{
    cJSON *ooms = cJSON_GetObjectItem(mvt_json_here(0, "$MEMVIZ oom --json %s", file), "ooms");

    return cJSON_GetArrayItem(ooms, cJSON_GetArraySize(ooms) - 1);
}

/* The decision depends on the failed request itself and on the forecast, or the growth, for the
 * rest of the run. */
Test(remedies, a_failed_request_is_a_target)
{
    const char *file = "$SNAPS/../oom/images1_cap.pickle.zst";
    const cJSON *target = target_of("oom", file), *row;
    const cJSON *forecast = cJSON_GetObjectItem(last_oom(file), "forecast");
    double rest = mvt_json_number(target, "rest");

    cr_expect_str_eq(mvt_json_text(target, "source"), "oom");
    cr_expect_gt(rest, 0);
    cr_expect_leq(rest, mvt_json_number(forecast, "peak"));
    cr_expect(cJSON_IsTrue(mvt_member(first_of(target), "reaches")));
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(target, "remedies")) {
        bool serves = cJSON_IsTrue(mvt_member(row, "serves"));
        bool reaches = cJSON_IsTrue(mvt_member(row, "reaches"));
        const char *setting = cJSON_GetStringValue(cJSON_GetObjectItem(row, "setting"));
        cr_expect_null(setting, "memory was too small, so settings are not tried");
        cr_expect_eq(reaches, serves && mvt_json_number(row, "spare") >= rest);
        if (serves)
            cr_expect_leq(mvt_json_number(row, "peak_reserved"), mvt_json_number(target, "bytes"));
    }
}

Test(remedies, the_report_on_a_failure_names_the_cheapest)
{
    static const char *const files[] = {"images1_cap", "gpt-oomforward", "checkpoints1_cap",
                                        "varlen1_frag"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *file = mvt_format("$SNAPS/../oom/%s.pickle.zst", files[i]);
        const cJSON *target = target_of("oom", file);
        const cJSON *remedy = cJSON_GetObjectItem(last_oom(file), "remedy");
        cr_expect_str_eq(mvt_json_text(remedy, "name"), mvt_json_text(first_of(target), "name"));
        cr_expect_eq(mvt_json_number(remedy, "saves"), mvt_json_number(first_of(target), "saves"));
        cr_expect_eq(mvt_json_number(remedy, "spare"), mvt_json_number(first_of(target), "spare"));
        cr_expect_gt(mvt_json_number(remedy, "saves"), 0);
    }
}

Test(remedies, a_leak_and_a_program_without_activations_have_no_remedy)
{
    cr_expect(
        cJSON_IsNull(mvt_member(last_oom("$SNAPS/../oom/resnet-leakoom.pickle.zst"), "remedy")));
    cr_expect(cJSON_IsNull(mvt_member(last_oom("$SNAPS/oom.pickle"), "remedy")));
    cr_expect(strstr(
        mvt_json_text(target_of("oom", "$SNAPS/../oom/resnet-leakoom.pickle.zst"), "verdict"),
        "a leak filled the memory"));
}

Test(remedies, a_file_without_a_failure_has_no_shortfall)
{
    mvt_warns("$MEMVIZ whatif --target oom $SNAPS/gpt_train.pickle", 1,
              "no request failed: pass --target SIZE");
    mvt_warns("$MEMVIZ whatif $SNAPS/gpt_train.pickle --target", 1, "no request failed");
    mvt_warns("$MEMVIZ peak $SNAPS/gpt_train.pickle --target", 2, "needs an argument");
    mvt_warns("$MEMVIZ whatif --target $SNAPS/gpt_train.pickle", 2, "at least 1048576; or oom");
}

/* A filter can name the lines of the sites in frag_pinned_by_small. */
Test(remedies, the_reserved_memory_of_a_site_is_what_dropping_it_saves)
{
    const cJSON *report =
        mvt_json_here(0, "$MEMVIZ peak --json $SNAPS/frag_pinned_by_small.pickle");
    const cJSON *site;
    uint32_t compared = 0;

    cJSON_ArrayForEach(site, cJSON_GetObjectItem(report, "sites")) {
        const char *culprit = mvt_json_text(site, "culprit");
        const char *where = mvt_format("%.*s", (int)strcspn(culprit, " "), culprit);
        const cJSON *whatif = mvt_json_here(
            0, "$MEMVIZ whatif --json --drop site:%s $SNAPS/frag_pinned_by_small.pickle", where);
        cr_expect_eq(mvt_json_number(whatif, "runs.0.saves"),
                     mvt_json_number(site, "marginal_reserved_bytes"), "%s", where);
        compared++;
    }
    cr_expect_geq(compared, 2);
}

Test(remedies, reserved_memory_without_a_site_is_unknown_after_a_failure)
{
    const cJSON *report = mvt_json_here(0, "$MEMVIZ peak --json $SNAPS/oom_fragmented.pickle");

    cr_expect_not(cJSON_HasObjectItem(mvt_member(report, "sites.0"), "marginal_reserved_bytes"));
}

/* A lower peak is not a saving if requests fail. */
Test(remedies, a_run_with_a_failed_request_saves_nothing)
{
    cJSON *report = mvt_json_here(0, "$MEMVIZ whatif --json $SNAPS/oom_fragmented.pickle"), *run;
    uint32_t failed = 0;

    cJSON_ArrayForEach(run, cJSON_GetObjectItem(report, "runs")) {
        bool fails = mvt_json_number(run, "oom_events") > 0;
        cr_expect_eq(cJSON_HasObjectItem(run, "saves"), !fails);
        failed += fails;
    }
    cr_expect_gt(failed, 0);
}

Test(remedies, a_target_above_the_peak_is_met)
{
    const cJSON *target = target_of("64GiB", "$SNAPS/gpt_train.pickle");

    cr_expect(cJSON_IsTrue(mvt_member(target, "met")));
    cr_expect_eq(cJSON_GetArraySize(mvt_member(target, "remedies")), 0);
}
