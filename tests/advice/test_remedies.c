/* Changes that reach a target: each is what whatif replays for the same options. */
#include <string.h>

#include "analyze/advice/remedies.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

#define MIB ((uint64_t)1 << 20)

static cJSON *target_of(const char *size, const char *file)
{
    cJSON *report = mvt_json_here(0, "$MEMVIZ whatif --json --target %s %s", size, file);

    return cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(report, "devices"), 0),
                               "target");
}

static const cJSON *first_of(const cJSON *target)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(target, "remedies"), 0);
}

Test(remedies, a_setting_that_reaches_the_target_is_cheapest)
{
    cJSON *target = target_of("200MiB", "$SNAPS/frag_pinned_by_small.pickle");

    cr_expect(cJSON_IsFalse(cJSON_GetObjectItem(target, "met")));
    cr_expect_str_eq(mvt_json_text(first_of(target), "setting"), "expandable_segments:True");
    cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(first_of(target), "reaches")));
    cr_expect_leq(mvt_json_number(first_of(target), "peak_reserved"), 200 * (double)MIB);
}

Test(remedies, where_no_setting_can_a_change_of_the_code_is_named)
{
    cJSON *target = target_of("1000MiB", "$SNAPS/gpt_train.pickle"), *row;
    bool has_reached = true;

    cr_expect(strstr(mvt_json_text(target, "verdict"), "no setting reaches"), "%s",
              mvt_json_text(target, "verdict"));
    cr_expect_str_neq(mvt_json_text(first_of(target), "change"), "");
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(target, "remedies"))
    {
        bool reaches = cJSON_IsTrue(cJSON_GetObjectItem(row, "reaches"));
        cr_expect(has_reached || !reaches, "those that reach it come first");
        has_reached = reaches;
        if (reaches)
            cr_expect_leq(mvt_json_number(row, "peak_reserved"), 1000 * (double)MIB);
    }
}

LongTest(remedies, a_change_is_what_its_option_replays)
{
    cJSON *target = target_of("1MiB", "$SNAPS/gpt_train.pickle"), *row;
    uint32_t compared = 0;

    cr_expect(strstr(mvt_json_text(target, "verdict"), "none of the changes tried reaches"));
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(target, "remedies"))
    {
        const char *change = mvt_json_text(row, "change");
        if (!*change)
            continue;
        cJSON *report =
            mvt_json_here(0, "$MEMVIZ whatif --json %s $SNAPS/gpt_train.pickle", change);
        cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "runs"), 0);
        cr_expect_eq(mvt_json_number(run, "peak_reserved"), mvt_json_number(row, "peak_reserved"),
                     "%s", change);
        compared++;
    }
    cr_expect_gt(compared, 1);
}

Test(remedies, a_target_above_the_peak_is_met)
{
    cJSON *target = target_of("64GiB", "$SNAPS/gpt_train.pickle");

    cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(target, "met")));
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(target, "remedies")), 0);
}
