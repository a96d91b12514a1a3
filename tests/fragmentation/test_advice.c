/* Settings that reports recommend. Each saves, to the byte, what its replay predicts, and on no
 * real snapshot do reports contradict each other. */
#include "analyze/advice/whatif.h"
#include "analyze/fragmentation/fragmentation.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

typedef struct {
    mv_lives lives;
    mv_sites sites;
    mv_fragmentation found;
    mv_whatif all;
} reports;

static const mv_trial *run_of(const mv_whatif *w, const char *conf)
{
    for (uint32_t i = 0; i < w->run_count; i++)
        if (strcmp(w->runs[i].conf, conf) == 0)
            return &w->runs[i];
    return NULL;
}

/* Returns the result of --conf for one setting. */
static void expect_gain(const mv_trace *trace, const reports *r, const mv_advice *advice,
                        const char *name)
{
    mv_whatif_opts opts = {.conf_count = 1, .conf = &advice->setting};
    mv_whatif one;

    mvt_ok(mv_whatif_find(mvt_memory(), trace, &r->lives, &r->sites, opts, &one, mvt_err()));
    cr_expect(advice->is_replayed, "%s: %s", name, advice->setting);
    cr_expect_gt(advice->saves, 0, "%s: %s", name, advice->setting);
    cr_expect_eq(advice->saves, one.runs[0].saves, "%s: %s", name, advice->setting);
    cr_expect_eq(advice->bytes, (uint64_t)advice->saves);
    cr_expect(strstr(advice->text, "replayed"), "%s", advice->text);
}

static void report_on(reports *r, const mv_trace *trace, uint32_t device)
{
    mv_fragmentation_opts opts = {.window = MV_ALL_EVENTS};

    r->lives = mvt_lives(mvt_memory(), trace, device);
    mvt_ok(mv_sites_find(mvt_memory(), trace, &r->sites, mvt_err()));
    mvt_ok(mv_fragmentation_find(mvt_memory(), trace, &r->lives, &r->sites, opts, &r->found,
                                 mvt_err()));
}

static void check_device(const mv_trace *trace, uint32_t device, const char *name)
{
    uint32_t settings = 0;
    reports r;

    report_on(&r, trace, device);
    cr_expect(!r.found.is_replayed || !r.found.not_replayed);
    for (uint32_t i = 0; i < r.found.advice_count; i++) {
        cr_expect(!r.found.advice[i].setting || r.found.is_replayed, "%s", name);
        if (!r.found.advice[i].setting)
            continue;
        expect_gain(trace, &r, &r.found.advice[i], name);
        settings++;
    }
    if (settings) {
        mvt_ok(mv_whatif_find(mvt_memory(), trace, &r.lives, &r.sites, (mv_whatif_opts){0}, &r.all,
                              mvt_err()));
        /* The built-in set contains every recommended setting, in the same order, and none of them
         * is worse than no change. */
        const mv_trial *last = NULL;
        for (uint32_t j = 0; j < r.found.advice_count; j++) {
            const mv_advice *advice = &r.found.advice[j];
            if (!advice->setting)
                continue;
            const mv_trial *run = run_of(&r.all, advice->setting);
            cr_assert(run, "%s: whatif does not try %s", name, advice->setting);
            cr_expect(mv_trials_helps(&r.all.trials, run), "%s: %s", name, advice->setting);
            cr_expect(!last || mv_trial_order(last, run) <= 0, "%s: %s", name, advice->setting);
            cr_assert_gt(r.all.advice_count, 0, "%s: whatif says that nothing helps", name);
            cr_expect_eq(strstr(advice->text, "within the trace") != NULL,
                         r.lives.allocs.preexisting > 0, "%s: %s", name, advice->text);
            last = run;
        }
    }
}

EachDevice(advice, every_setting_saves_the_bytes_of_its_replay, check_device);

/* Here roundup_power2_divisions:8 costs 114 MiB, as does padding, while expandable segments save
 * 288 MiB. */
LongTest(advice, a_setting_that_costs_memory_is_not_advised)
{
    cJSON *report =
        mvt_json(0, "$MEMVIZ fragmentation --json $SNAPS/frag_varying_batch.pickle.zst");
    const cJSON *advice = cJSON_GetObjectItem(report, "advice"),
                *row = cJSON_GetArrayItem(advice, 0);

    cr_assert_eq(cJSON_GetArraySize(advice), 1);
    cr_expect_str_eq(mvt_json_text(row, "setting"), "expandable_segments:True");
    cr_expect_eq(mvt_json_number(row, "saves"), 301989888);
    cr_expect(strstr(mvt_json_text(row, "text"), "288 MiB less"), "%s", mvt_json_text(row, "text"));
    cr_expect_not(strstr(mvt_json_text(row, "text"), "2.91 GiB"));
}

/* The recommended setting text keeps the recorded settings. */
Test(advice, the_users_other_settings_stay)
{
    cJSON *report = mvt_json(0, "$MEMVIZ fragmentation --json $SNAPS/gc_limit.pickle");

    cr_expect_str_eq(mvt_json_text(report, "advice.0.setting"),
                     "garbage_collection_threshold:0.6,expandable_segments:True");
}

/* Reports promise nothing for an incomplete trace, or if the allocator is not PyTorch's. */
Test(advice, settings_that_cannot_be_replayed_are_not_promised)
{
    mvt_trace *t = mvt_new();
    reports r;

    /* each allocation is at the top of a separate segment, so this is not PyTorch's allocator */
    for (uint64_t i = 0; i < 16; i++) {
        uint64_t at = 0x100000000 + (i << 28);
        mvt_segment_alloc(t, .addr = at, .bytes = 20 << 20);
        mvt_alloc(t, .addr = at + (18 << 20), .bytes = 2 << 20);
    }
    mvt_final_heap(t);
    report_on(&r, mvt_done(t), 0);
    cr_expect(r.found.fragmented);
    cr_expect_not(r.found.is_replayed);
    cr_assert(r.found.not_replayed);
    cr_expect(strstr(r.found.not_replayed, "does not match the recording"), "%s",
              r.found.not_replayed);
    for (uint32_t i = 0; i < r.found.advice_count; i++)
        cr_expect_null(r.found.advice[i].setting);
}

/* The same program also failed under the limit with expandable segments, so no report recommends
 * them. */
LongTest(advice, settings_are_not_advised_without_enough_memory)
{
    static const char *const names[] = {"images1_cap", "images2_cap", "varlen1_cap", "varlen2_cap"};

    for (int i = 0; i < 4; i++) {
        cJSON *report =
            mvt_json(0, "$MEMVIZ fragmentation --json %s/oom/%s.pickle.zst", MV_TESTDATA, names[i]);
        const cJSON *row;
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(report, "advice"))
            cr_expect_not(cJSON_HasObjectItem(row, "setting"), "%s", names[i]);
    }
}

/* Without events, the memory that was needed is unknown. */
Test(advice, facts_without_an_event_are_not_claimed)
{
    mvt_run run = mvt_here_or_sh("$MEMVIZ fragmentation $SNAPS/no_history.pickle");

    cr_expect_not(strstr(run.out, "was needed at another moment of the run"), "%s", run.out);
}
