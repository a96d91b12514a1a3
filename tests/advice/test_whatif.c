/* The settings that whatif tries, its confidence, its advice, and the command itself. */
#include "analyze/advice/whatif.h"

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

typedef struct {
    const mv_trace *trace;
    mv_lives lives;
    mv_sites sites;
    mv_whatif found;
} question;

static question ask_trace(const mv_trace *trace, mv_whatif_opts opts)
{
    question q = {.trace = trace, .lives = mvt_lives(mvt_memory(), trace, 0)};

    mvt_ok(mv_sites_find(mvt_memory(), trace, &q.sites, mvt_err()));
    mvt_ok(mv_whatif_find(mvt_memory(), trace, &q.lives, &q.sites, opts, &q.found, mvt_err()));
    return q;
}

static question ask(const char *name, mv_whatif_opts opts)
{
    mv_trace *trace = mv_push_struct(mvt_memory(), mv_trace);

    *trace = mvt_load(mvt_memory(), name);
    return ask_trace(trace, opts);
}

Test(whatif, built_in_set_is_ranked_and_names_the_best)
{
    question q = ask("frag_pinned_by_small", (mv_whatif_opts){0});

    cr_expect(q.found.ranked);
    cr_assert_gt(q.found.run_count, 5);
    cr_expect_str_eq(q.found.runs[0].conf, "expandable_segments:True");
    cr_expect_eq(q.found.runs[0].result.peak.reserved, 146800640);
    for (uint32_t i = 1; i < q.found.run_count; i++)
        cr_expect_geq(q.found.runs[i].result.peak.reserved,
                      q.found.runs[i - 1].result.peak.reserved);
    cr_expect_eq(q.found.trials.trust, MV_TRUST_EXACT);
    cr_assert_eq(q.found.advice_count, 2);
    cr_expect_str_eq(q.found.advice[0].setting, "expandable_segments:True");
    cr_expect_eq(q.found.advice[0].saves, 673185792 - 146800640);
    cr_expect_neq(q.found.advice[1].stack.row, MV_NO_STACK.row, "and the line that pins");
    cr_expect(strstr(q.found.advice[1].text, "frag_pinned_by_small"), "%s", q.found.advice[1].text);
}

Test(whatif, given_settings_stay_in_order)
{
    static const char *const confs[] = {"max_split_size_mb:64", "", "expandable_segments:True"};
    static const uint64_t reserved[] = {2627731456, 1468006400, 1371537408};
    question q = ask("whatif_0", (mv_whatif_opts){.conf_count = 3, .conf = confs});

    cr_expect_not(q.found.ranked);
    cr_assert_eq(q.found.run_count, 3);
    for (int i = 0; i < 3; i++) {
        cr_expect_str_eq(q.found.runs[i].conf, confs[i]);
        cr_expect_eq(q.found.runs[i].result.peak.reserved, reserved[i]);
        cr_expect_eq(q.found.runs[i].saves, 1468006400 - (int64_t)reserved[i]);
    }
    cr_expect(q.found.runs[1].is_recorded);
}

/* A max_split_size larger than every block is not replayed again, because the result would be the
 * same. */
Test(whatif, settings_without_effect_give_the_same_result)
{
    static const char *const confs[] = {"", "max_split_size_mb:200"};
    mv_replay_opts opts = {.conf = mv_alloc_conf_default()};
    mv_replay_result result;
    question q = ask("whatif_0", (mv_whatif_opts){.conf_count = 2, .conf = confs});

    opts.conf.rules.max_split = 200 * MIB;
    mvt_ok(mv_replay_run(mvt_memory(), q.trace, &q.lives, opts, &result, mvt_err()));
    cr_expect_eq(memcmp(&result.peak, &q.found.runs[1].result.peak, sizeof result.peak), 0);
    cr_expect_eq(memcmp(&result.counts, &q.found.runs[1].result.counts, sizeof result.counts), 0);
}

Test(whatif, a_recorded_failure_bounds_the_replay)
{
    question q = ask("oom_fragmented", (mv_whatif_opts){0});

    cr_expect_eq(q.found.trials.limit_source, MV_LIMIT_REFUSALS);
    cr_expect_eq(q.found.trials.limit, q.found.trials.recorded_reserved);
    cr_expect_str_eq(q.found.runs[0].conf, "expandable_segments:True");
    cr_expect(q.found.runs[0].fits);
    cr_expect_eq(q.found.runs[0].result.avoided_ooms, 1);
    cr_assert_gt(q.found.advice_count, 0);
    cr_expect(strstr(q.found.advice[0].text, "would have been met"));
    for (uint32_t i = 0; i < q.found.run_count; i++)
        if (q.found.runs[i].is_recorded)
            cr_expect_eq(q.found.runs[i].result.counts.ooms, 1, "as recorded, it fails again");
}

/* The request would have succeeded, but the next one would have failed. These programs were also
 * run under the limit with expandable segments, and failed as well (testdata/oom). */
LongTest(whatif, serving_the_failed_request_does_not_prove_that_the_run_continues)
{
    static const char *const names[] = {"images1_cap", "images2_cap", "varlen1_cap", "varlen2_cap"};

    for (int i = 0; i < 4; i++) {
        cJSON *o = mvt_json(0, "$MEMVIZ whatif --json %s/oom/%s.pickle.zst", MV_TESTDATA, names[i]);
        cr_expect_eq(cJSON_GetArraySize(mvt_member(o, "advice")), 0, "%s", names[i]);
    }
    for (int i = 1; i < 3; i++) {
        cJSON *o =
            mvt_json(0, "$MEMVIZ whatif --json %s/oom/varlen%d_frag.pickle.zst", MV_TESTDATA, i);
        cr_expect_str_eq(mvt_json_text(o, "advice.0.setting"), "expandable_segments:True");
    }
}

/* A request of 20 MiB fails although 512 MiB more had been reserved before. The limit was lowered
 * during the run, so without it the recorded settings can serve the request, too. */
static mvt_trace *lowered_limit(void)
{
    mvt_trace *t = mvt_new();

    mvt_full_segment(t, .addr = 0x40000000, .bytes = 64 * MIB);
    mvt_full_segment(t, .addr = 0x80000000, .bytes = 512 * MIB);
    mvt_free(t, .addr = 0x80000000);
    mvt_segment_free(t, .addr = 0x80000000, .bytes = 512 * MIB);
    mvt_oom(t, .addr = 4 * GIB, .bytes = 20 * MIB);
    mvt_final_heap(t);
    return t;
}

Test(whatif, a_request_refused_by_a_lowered_limit_is_unknown)
{
    mvt_trace *t = lowered_limit();
    const char *path = mvt_temp_file(mvt_pickle_bytes(t, false));
    const cJSON *run, *finding;
    question q = ask_trace(mvt_done(t), (mv_whatif_opts){0});

    cr_expect(mv_trials_are_conclusive(&q.found.trials), "%s", q.found.trials.trust_why);
    cr_expect_eq(q.found.trials.limit_source, MV_LIMIT_NONE);
    cr_expect(q.found.trials.unexplained);
    cr_expect_eq(q.found.advice_count, 0);
    cr_expect(strstr(q.found.verdict, "is unknown") && strstr(q.found.verdict, "--capacity"), "%s",
              q.found.verdict);
    cJSON_ArrayForEach(run,
                       cJSON_GetObjectItem(mvt_json(0, "$MEMVIZ whatif --json %s", path), "runs"))
        cr_expect(cJSON_IsNull(mvt_member(run, "avoids_recorded_oom")));
    cr_expect_not(strstr(mvt_here_or_sh("$MEMVIZ whatif %s", path).out, "is met"));
    cJSON_ArrayForEach(finding,
                       cJSON_GetObjectItem(mvt_json(0, "$MEMVIZ --json %s", path), "findings"))
        if (strcmp(mvt_json_text(finding, "report"), "whatif") == 0)
            cr_expect_str_eq(mvt_json_text(finding, "verdict"), "unknown");
}

/* Whether the recorded settings fail again depends on the limit that the user gives. */
Test(whatif, a_given_limit_decides_which_requests_fail)
{
    question q = ask_trace(mvt_done(lowered_limit()), (mv_whatif_opts){.capacity = 80 * MIB});

    cr_expect_not(q.found.trials.unexplained);
    cr_expect_str_eq(q.found.verdict, "none of the settings tried meets the request that failed");
    q = ask_trace(mvt_done(lowered_limit()), (mv_whatif_opts){.capacity = GIB});
    cr_expect(q.found.trials.unexplained);
    cr_expect(strstr(q.found.verdict, "recorded settings meet the request"), "%s", q.found.verdict);
}

/* With an 8 GiB limit, the recorded settings peak at 3.58 GiB and expandable segments at 1.72 GiB.
 * The recorded run itself reserved 2 GiB. */
Test(whatif, within_a_given_limit_savings_are_from_the_recorded_settings_within_it)
{
    question q = ask("retry_release", (mv_whatif_opts){.capacity = 8 * GIB});
    const mv_whatif_advice *a = &q.found.advice[0];

    cr_assert_geq(q.found.advice_count, 1);
    cr_expect_str_eq(a->setting, "expandable_segments:True");
    cr_expect_eq(a->saves, (int64_t)(q.found.trials.recorded_reserved -
                                     q.found.runs[0].result.peak.reserved));
    cr_expect_eq(a->gain, (int64_t)(q.found.trials.self.peak.reserved -
                                    q.found.runs[0].result.peak.reserved));
    cr_expect_gt(a->gain, 1800 * (int64_t)MIB);
    cr_expect_not_null(strstr(q.found.verdict, "within 8.00 GiB"), "%s", q.found.verdict);
    cr_expect_not_null(strstr(q.found.verdict, "would save 1.86 GiB of 3.58 GiB"), "%s",
                       q.found.verdict);
}

LongTest(whatif, settings_that_fit_within_a_given_limit_are_reported)
{
    static const char *const confs[] = {"roundup_power2_divisions:4", "expandable_segments:True"};
    question q = ask("whatif_0", (mv_whatif_opts){.capacity = GIB});

    cr_expect_eq(q.found.advice_count, 0);
    cr_expect_str_eq(q.found.verdict, "none of the settings tried fits within 1.00 GiB");
    q = ask("whatif_0", (mv_whatif_opts){.capacity = 1310 * MIB, .conf_count = 2, .conf = confs});
    cr_assert_eq(q.found.advice_count, 1);
    cr_expect_not_null(strstr(q.found.verdict, "would fit within 1.28 GiB"), "%s", q.found.verdict);
    q = ask("whatif_0", (mv_whatif_opts){.capacity = 8 * GIB, .conf_count = 1, .conf = confs});
    cr_expect_str_eq(q.found.verdict,
                     "within 8.00 GiB, none of the settings tried saves 1% or more");
}

/* Garbage collection is tried only under a limit. */
Test(whatif, a_sum_contains_settings_tried_on_every_device)
{
    mv_trial of_a[] = {{.conf = "", .result.peak.reserved = 3},
                       {.conf = "gc", .result.peak.reserved = 2},
                       {.conf = "split", .result.peak.reserved = 5}};
    mv_trial of_b[] = {{.conf = "split", .result.peak.reserved = 70},
                       {.conf = "", .result.peak.reserved = 40}};
    mv_trials refused = {.limit = 10, .limit_source = MV_LIMIT_REFUSALS};
    mv_whatif found[2] = {{.run_count = 3, .runs = of_a, .trials = refused},
                          {.run_count = 2, .runs = of_b, .trials.limit = UINT64_MAX}};
    mv_whatif sum;

    mvt_ok(mv_whatif_sum(mvt_memory(), found, 2, &sum, mvt_err()));
    cr_assert_eq(sum.run_count, 2);
    cr_expect_str_eq(sum.runs[0].conf, "");
    cr_expect_eq(sum.runs[0].result.peak.reserved, 43);
    cr_expect_str_eq(sum.runs[1].conf, "split");
    cr_expect_eq(sum.runs[1].result.peak.reserved, 75);
    cr_expect_eq(sum.trials.limit, UINT64_MAX, "the devices have different limits");
    cr_expect_eq(sum.trials.limit_source, MV_LIMIT_REFUSALS);
    cr_expect_eq(found[0].run_count, 3);
}

LongTest(whatif, several_requests_that_failed_are_counted)
{
    question q = ask("../oom/nca-leakoom", (mv_whatif_opts){0});

    cr_assert_eq(q.found.trials.recorded_ooms, 3);
    cr_expect_not_null(strstr(q.found.verdict, "would have met all 3 requests that failed, but"),
                       "%s", q.found.verdict);
}

Test(whatif, memory_that_others_hold_counts)
{
    question q = ask("oom_outside", (mv_whatif_opts){0});

    cr_expect_gt(q.found.trials.limit, q.found.trials.recorded_reserved);
    cr_expect_lt(q.found.trials.limit, (uint64_t)2 << 30, "2 GiB was refused");
    cr_expect_eq(q.found.advice_count, 0);
}

Test(whatif, advice_is_refused_when_the_peak_is_from_before_the_events)
{
    question q = ask("ring", (mv_whatif_opts){0});

    cr_expect_eq(q.found.trials.trust, MV_TRUST_LOW);
    cr_expect_eq(q.found.run_count, 0);
    cr_expect_eq(q.found.advice_count, 0);
    cr_expect_not_null(q.found.advice_none);
}

/* Settings that the user names are replayed, however low the confidence. */
Test(whatif, a_figure_of_low_confidence_is_shown_but_not_advised)
{
    static const char *const confs[] = {"", "expandable_segments:True"};
    question q = ask("ring", (mv_whatif_opts){.conf_count = 2, .conf = confs});

    cr_expect_eq(q.found.trials.trust, MV_TRUST_LOW);
    cr_assert_eq(q.found.run_count, 2);
    cr_expect_eq(q.found.runs[1].saves, 40 * (int64_t)MIB);
    cr_expect_eq(q.found.advice_count, 0);
    cr_expect_str_eq(q.found.advice_none, "no advice: the replay is inconclusive");
}

/* When a block is freed does not affect the reserved bytes here, so a replay that lacks the time is
 * equally certain. */
Test(whatif, frees_of_one_event_do_not_lower_the_confidence)
{
    mv_trace trace = mvt_load(mvt_memory(), "ring");
    mv_events events = mv_trace_events(&trace, 0);
    question q;

    for (uint32_t i = 0; i < events.count; i++)
        if (events.action[i] == MV_ACTION_FREE_REQUESTED)
            events.action[i] = MV_ACTION_SNAPSHOT;
    q = ask_trace(&trace, (mv_whatif_opts){0});
    cr_expect_gt(q.lives.doubts.unrequested, 0);
    cr_expect_eq(q.found.trials.trust, MV_TRUST_LOW, "%s", q.found.trials.trust_why);
    cr_expect_eq(q.found.advice_count, 0);
    trace = mvt_load(mvt_memory(), "../skipped/no_free_requested");
    q = ask_trace(&trace, (mv_whatif_opts){0});
    cr_expect_eq(q.found.trials.trust, MV_TRUST_EXACT, "%s", q.found.trials.trust_why);
    trace = mvt_load(mvt_memory(), "../skipped/no_frees");
    q = ask_trace(&trace, (mv_whatif_opts){0});
    cr_expect_eq(q.found.trials.trust, MV_TRUST_FAIR, "%s", q.found.trials.trust_why);
}

LongTest(whatif, late_history_lowers_the_stated_certainty)
{
    question q = ask("frag_varying_batch", (mv_whatif_opts){0});

    cr_expect_eq(q.found.trials.trust, MV_TRUST_HIGH);
    cr_expect(strstr(q.found.trials.trust_why, "before the trace"));
    cr_assert_eq(q.found.advice_count, 1);
    cr_expect_str_eq(q.found.advice[0].setting, "expandable_segments:True");
    cr_expect_not_null(strstr(q.found.verdict, "reserved within the trace"), "%s", q.found.verdict);
    cr_expect_null(strstr(q.found.verdict, "give or take"), "%s", q.found.verdict);
    q = ask("whatif_2", (mv_whatif_opts){0});
    cr_expect_null(strstr(q.found.verdict, "what the trace shows"), "%s", q.found.verdict);
}

/* The end of a run whose recorded heap takes much more memory than the same blocks need when they
 * are placed again. */
LongTest(whatif, figures_that_may_be_far_off_are_called_rough)
{
    mv_trace trace = mvt_load(mvt_memory(), "whatif_2");
    question q;

    mvt_drop_first(mvt_memory(), &trace, mv_trace_events(&trace, 0).count - 18753);
    q = ask_trace(&trace, (mv_whatif_opts){0});
    cr_assert_geq(q.found.advice_count, 1);
    cr_expect_gt(q.found.trials.start_error, 800 * MIB);
    cr_expect_not_null(strstr(q.found.verdict, "would save about 1.40 GiB of 2.45 GiB reserved "
                                               "within the trace, give or take 838 MiB"),
                       "%s", q.found.verdict);
    cr_expect_not_null(strstr(q.found.advice[0].text, "to about 1.04 GiB"), "%s",
                       q.found.advice[0].text);
}

Test(whatif, without_events_there_is_no_answer)
{
    question q = ask("no_history", (mv_whatif_opts){0});

    cr_expect_eq(q.found.trials.trust, MV_TRUST_NONE);
    cr_expect_eq(q.found.run_count, 0);
}

/* An allocator other than PyTorch's, which gives each allocation a separate address. */
Test(whatif, advice_is_refused_when_nothing_is_predicted)
{
    mvt_trace *t = mvt_new();
    question q;

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 64 * MIB);
    for (uint64_t i = 0; i < 32; i++)
        mvt_alloc(t, .addr = 0x10000000 + (31 - i) * 2 * MIB, .bytes = MIB / 2);
    mvt_final_heap(t);
    q = ask_trace(mvt_done(t), (mv_whatif_opts){0});
    cr_expect_eq(q.found.trials.trust, MV_TRUST_LOW);
    cr_expect_eq(q.found.advice_count, 0);
    cr_expect_not(q.found.trials.fidelity.exact);
    cr_expect_lt(q.found.trials.fidelity.allocs_matched, 8);
}

static mv_alloc_conf conf_of(const char *text)
{
    mv_alloc_conf c;
    char why[128] = "";

    cr_expect(mv_alloc_conf_parse(text, &c, why, sizeof why), "%s: %s", text, why);
    return c;
}

Test(alloc_conf, settings_that_pytorch_accepts_are_accepted)
{
    mv_alloc_conf c = conf_of("");

    cr_expect_eq(c.rules.max_split, UINT64_MAX);
    c = conf_of(" max_split_size_mb : 128 , expandable_segments:True,");
    cr_expect_eq(c.rules.max_split, 128 * MIB);
    cr_expect(c.rules.expandable);
    c = conf_of("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
    cr_expect_eq(c.rules.divisions[0], 1);
    cr_expect_eq(c.rules.divisions[8], 1);
    cr_expect_eq(c.rules.divisions[9], 2);
    cr_expect_eq(c.rules.divisions[10], 4);
    cr_expect_eq(c.rules.divisions[11], 8);
    cr_expect_eq(c.rules.divisions[15], 8);
    c = conf_of("large_segment_size_mb:64,backend:native");
    cr_expect_eq(c.large_segment, 64 * MIB);
    cr_expect_eq(c.max_non_split_rounding, 64 * MIB, "follows unless it is named");
    c = conf_of("large_segment_size_mb:7699434716908923563,max_split_size_mb:7699434716908923563");
    cr_expect_eq(c.large_segment, (uint64_t)1 << 48, "the most that a device may have");
    cr_expect_eq(c.rules.max_split, UINT64_MAX, "no limit");
}

/* Every key in every release from 1.13 to 2.14, taken from PyTorch's documentation and parsers. */
Test(alloc_conf, every_key_of_every_release_is_accepted)
{
    static const char *const texts[] = {
        "max_split_size_mb:64",
        "max_non_split_rounding_mb:32",
        "large_segment_size_mb:48",
        "garbage_collection_threshold:0.6",
        "per_process_memory_fraction:0.5",
        "roundup_power2_divisions:4",
        "roundup_power2_divisions:[256:1,512:2,>:8]",
        "roundup_power2_divisions:4,roundup_bypass_threshold_mb:64",
        "expandable_segments:False",
        "backend:native",
        "release_lock_on_cudamalloc:True",
        "release_lock_on_hipmalloc:True",
        "pinned_use_cuda_host_register:True,pinned_num_register_threads:8",
        "pinned_use_hip_host_register:False",
        "pinned_use_background_threads:True",
        "pinned_reserve_segment_size_mb:1024",
        "pinned_max_round_threshold_mb:128,pinned_max_cached_size_mb:1",
        "pin_memory_expandable_segments:True",
        "pinned_free_catch_all:True",
        "graph_capture_record_stream_reuse:True",
        "throw_on_cudamalloc_oom:True",
        "PYTORCH_ALLOC_CONF=expandable_segments:True",
        "PYTORCH_CUDA_ALLOC_CONF=",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        conf_of(texts[i]);
}

Test(alloc_conf, keys_of_the_host_change_nothing_and_are_named)
{
    const char *keys[MV_MOST_IDLE_KEYS];
    mv_alloc_conf plain = conf_of("max_split_size_mb:64");
    mv_alloc_conf c = conf_of("pinned_max_cached_size_mb:1,max_split_size_mb:64,"
                              "pin_memory_expandable_segments:True");

    cr_expect(mv_alloc_conf_same(&c, &plain));
    cr_assert_eq(mv_alloc_conf_idle("pinned_max_cached_size_mb:1,max_split_size_mb:64, "
                                    "pin_memory_expandable_segments : True",
                                    keys),
                 2);
    cr_expect_str_eq(keys[0], "pinned_max_cached_size_mb");
    cr_expect_str_eq(keys[1], "pin_memory_expandable_segments");
    cr_expect_eq(mv_alloc_conf_idle("", keys), 0);
}

Test(alloc_conf, divisions_end_at_the_threshold_of_old_releases)
{
    mv_alloc_conf c = conf_of("roundup_bypass_threshold_mb:64,roundup_power2_divisions:4");

    cr_expect_eq(c.rules.divisions[5], 4);
    cr_expect_eq(c.rules.divisions[6], 0);
    cr_expect_eq(mv_round_request(&c.rules, (65 << 20) + 1), (65 << 20) + 512);
}

Test(alloc_conf, settings_that_pytorch_refuses_are_named)
{
    static const char *const rows[][2] = {
        {"max_split_size:128", "max_split_size: no such setting; did you mean max_split_size_mb?"},
        {"expandable_segment:True", "did you mean expandable_segments?"},
        {"gc:0.5", "gc: no such setting"},
        {"max_split_size_mb:19", "max_split_size_mb: must be at least 20"},
        {"max_split_size_mb:x", "max_split_size_mb: 'x' is not a whole number"},
        {"max_split_size_mb=128", "max_split_size_mb=128: expected ':'"},
        {"expandable_segments:true", "expandable_segments: expected True or False, not 'true'"},
        {"garbage_collection_threshold:1.0", "garbage_collection_threshold: '1.0'"},
        {"roundup_power2_divisions:3", "roundup_power2_divisions: 3 is not a power of two"},
        {"roundup_power2_divisions:[256:1,300:2]", "the edge '300' is not a power of two"},
        {"roundup_power2_divisions:[256:1", "expected ',' or ']'"},
        {"backend:cudaMallocAsync", "cudaMallocAsync is the driver's own allocator"},
        {"expandable_segments:True max_split_size_mb:64", "expected True or False"},
        {"pinned_num_register_threads:3", "must be a power of two up to 128"},
        {"pinned_reserve_segment_size_mb:0", "must be greater than 0"},
        {"pinned_max_cached_size_mb:True", "'True' is not a whole number"},
        {"roundup_bypass_threshold_mb:65", "only powers of two can be replayed"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mv_alloc_conf c;
        char why[128] = "";
        cr_expect_not(mv_alloc_conf_parse(rows[i][0], &c, why, sizeof why), "%s", rows[i][0]);
        cr_expect(strstr(why, rows[i][1]), "%s: %s", rows[i][0], why);
    }
}

Test(alloc_conf, the_parsed_expression_is_printed)
{
    static const char *const texts[] = {
        "",
        "expandable_segments:True",
        "max_split_size_mb:128,roundup_power2_divisions:8",
        "max_split_size_mb:64,max_non_split_rounding_mb:32,large_segment_size_mb:48",
        "roundup_power2_divisions:[1:2,2:4,4:8,>:16],garbage_collection_threshold:0.6",
        "per_process_memory_fraction:0.77777777777777772",
        "garbage_collection_threshold:0.1234567890123",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mv_alloc_conf first = conf_of(texts[i]), again;
        char text[512];
        mv_alloc_conf_print(&first, text, sizeof text);
        again = conf_of(text);
        cr_expect(mv_alloc_conf_same(&first, &again), "%s became %s", texts[i], text);
    }
}

Test(whatif_command, figures_of_devices_add_up)
{
    cJSON *o = mvt_json(0, "cd $SNAPS; $MEMVIZ whatif --json two_devices.pickle");
    const cJSON *devices = mvt_member(o, "devices");

    cr_assert_eq(cJSON_GetArraySize(devices), 2);
    cr_expect_eq(mvt_json_number(o, "recorded.peak_reserved"),
                 mvt_json_sum(devices, "recorded.peak_reserved"));
}

/* The program ran out of memory under a limit that is not in the file. The recorded run stays as it
 * was recorded; whether a request would fail in another run is unknown. */
Test(whatif, the_recorded_run_fails_where_the_recording_did)
{
    const char *file = "$SNAPS/../oom/gpt-oomopt.pickle.zst";
    cJSON *report = mvt_json(0, "$MEMVIZ whatif --json %s", file), *run;
    const cJSON *recorded = cJSON_GetObjectItem(report, "recorded");
    mvt_run text = mvt_sh("$MEMVIZ whatif %s", file);

    cr_assert_eq(mvt_json_number(recorded, "oom_events"), 1);
    cJSON_ArrayForEach(run, cJSON_GetObjectItem(report, "runs")) {
        if (cJSON_IsTrue(mvt_member(run, "recorded"))) {
            cr_expect_eq(mvt_json_number(run, "oom_events"), 1);
            cr_expect_eq(mvt_json_number(run, "segment_allocs"),
                         mvt_json_number(recorded, "segment_allocs"));
            cr_expect_eq(mvt_json_number(run, "peak_reserved"),
                         mvt_json_number(recorded, "peak_reserved"));
        } else {
            cr_expect(cJSON_IsNull(mvt_member(run, "oom_events")));
        }
    }
    cr_expect(strstr(text.out, " 0       1  '' (as recorded)\n"), "%s", text.out);
    cr_expect(strstr(text.out, " ?  max_split_size_mb:64\n"), "%s", text.out);
}
