#include "tests/fixture/fixture_json.h"

/* Runs `whatif` with these options on a recording, and returns the run with the changes (`changed`)
 * or the run without them. */
static cJSON *run_of(const char *options, bool changed)
{
    cJSON *report = mvt_json_here(0, "$MEMVIZ whatif --json %s $SNAPS/gpt_train.pickle", options);
    cJSON *runs = cJSON_GetObjectItem(report, "runs"), *run;

    cJSON_ArrayForEach(run, runs) {
        cJSON *changes = cJSON_GetObjectItem(run, "changes");
        cr_assert_eq(cJSON_GetArraySize(changes), cJSON_GetArraySize(mvt_member(run, "assumed")));
        if ((cJSON_GetArraySize(changes) > 0) == changed)
            return run;
    }
    cr_assert_fail("no such run");
    return NULL;
}

static double peak_of(const char *options, const char *measure)
{
    return mvt_json_number(run_of(options, true), measure);
}

Test(changes, without_any_allocation_nothing_is_allocated)
{
    cr_expect_eq(peak_of("--drop 'size>0'", "peak_allocated"), 0);
}

Test(changes, a_change_without_effect_gives_the_recorded_run)
{
    static const char *const idle[] = {"--scale 'size>0=1'", "--drop no_such_line",
                                       "--free-early no_such_line", "--one-stream"};

    for (uint32_t i = 0; i < 4; i++) {
        cJSON *plain = run_of(idle[i], false), *changed = run_of(idle[i], true);
        cr_expect_eq(mvt_json_number(plain, "peak_reserved"),
                     mvt_json_number(changed, "peak_reserved"), "%s", idle[i]);
        cr_expect_eq(mvt_json_number(plain, "peak_allocated"),
                     mvt_json_number(changed, "peak_allocated"), "%s", idle[i]);
    }
}

Test(changes, less_is_allocated_with_less_to_keep)
{
    double recorded = mvt_json_number(run_of("--one-stream", false), "peak_allocated");

    cr_expect_lt(peak_of("--half 'cat:activation'", "peak_allocated"), recorded);
    cr_expect_lt(peak_of("--cpu 'cat:activation'", "peak_allocated"), recorded);
    cr_expect_lt(peak_of("--zero 3 --ranks 8", "peak_allocated"), recorded);
    cr_expect_lt(peak_of("--zero 3 --ranks 8", "peak_allocated"),
                 peak_of("--zero 1 --ranks 8", "peak_allocated"));
    cr_expect_leq(peak_of("--empty-cache-each step", "peak_reserved"),
                  mvt_json_number(run_of("--one-stream", false), "peak_reserved"));
}

/* A program that does not name its steps and that really called empty_cache() at the end of each
 * step. Its peak rose, because the free pieces left by the first step had been the right size for
 * the second step. */
Test(changes, the_cache_is_emptied_where_a_step_holds_least)
{
    cJSON *report = mvt_json_here(0, "$MEMVIZ whatif --json --empty-cache-each step " MV_TESTDATA
                                     "/fit/lstm_64.pickle.zst");
    cJSON *runs = cJSON_GetObjectItem(report, "runs"), *run;

    cJSON_ArrayForEach(run, runs) {
        if (!cJSON_GetArraySize(mvt_member(run, "changes")))
            continue;
        cr_expect_eq(mvt_json_number(run, "peak_reserved"), 2241855488.0);
        cr_expect_eq(mvt_json_number(run, "peak_allocated"), 1737708544.0);
    }
}

Test(changes, all_changes_of_a_command_line_make_one_run_under_each_setting)
{
    cJSON *report =
        mvt_json_here(0, "$MEMVIZ whatif --json --drop no_such_line --half no_such_line --conf "
                         "expandable_segments:True $SNAPS/gpt_train.pickle");
    cJSON *runs = cJSON_GetObjectItem(report, "runs"), *run;
    uint32_t changed = 0;

    cJSON_ArrayForEach(run, runs)
        changed += cJSON_GetArraySize(mvt_member(run, "changes")) == 2;
    cr_expect_eq(changed, 2);
    cr_expect_eq(cJSON_GetArraySize(runs), 4);
}

Test(changes, invalid_values_are_wrong_usage)
{
    static const char *const bad[] = {"--scale abc",         "--scale abc=x", "--scale =2",
                                      "--zero 4 --ranks 2",  "--zero 1",      "--drop ''",
                                      "--prealloc 'life<x'", "--half '/(/'"};

    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mvt_run r = mvt_here("$MEMVIZ whatif %s $SNAPS/gpt_train.pickle", bad[i]);
        cr_expect_eq(r.status, 2, "%s", bad[i]);
    }
}
