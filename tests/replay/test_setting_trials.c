/* Trials of a setting: within a part of the trace, and within a limit. Also setting strings with
 * one change, and the order of trials. */
#include "analyze/replay/setting_trials.h"

#include "tests/fixture/fixture.h"

typedef struct {
    mv_trace trace;
    mv_lives lives;
    mv_trials trials;
} bench;

static bench b;

static void open_bench(const char *name, mv_trials_opts opts)
{
    b.trace = mvt_load(mvt_memory(), name);
    b.lives = mvt_lives(mvt_memory(), &b.trace, 0);
    mvt_ok(mv_trials_open(mvt_memory(), &b.trace, &b.lives, opts, &b.trials, mvt_err()));
}

static uint32_t first_oom(void)
{
    for (uint32_t i = 0; i < b.lives.events.count; i++)
        if (b.lives.events.action[i] == MV_ACTION_OOM)
            return i;
    return MV_NEVER;
}

Test(setting_trials, one_setting_changes_and_the_others_stay)
{
    static const struct {
        const char *text, *key, *value, *out;
    } rows[] = {
        {"", "expandable_segments", "True", "expandable_segments:True"},
        {"", "expandable_segments", NULL, ""},
        {"max_split_size_mb:64", "expandable_segments", "True",
         "max_split_size_mb:64,expandable_segments:True"},
        {"max_split_size_mb:64,backend:native", "max_split_size_mb", "128",
         "max_split_size_mb:128,backend:native"},
        {"max_split_size_mb:64, backend:native", "max_split_size_mb", NULL, "backend:native"},
        {"a:1,roundup_power2_divisions:[256:1,512:2,>:8],b:2", "roundup_power2_divisions", "4",
         "a:1,roundup_power2_divisions:4,b:2"},
        {"roundup_power2_divisions:[256:1,>:8],max_split_size_mb:64", "max_split_size_mb", "99",
         "roundup_power2_divisions:[256:1,>:8],max_split_size_mb:99"},
        {" max_split_size_mb : 64 ,", "max_split_size_mb", "128", "max_split_size_mb:128"},
        {"max_split_size_mb:64,max_split_size_mb:32", "max_split_size_mb", "128",
         "max_split_size_mb:128"},
        {"max_split_size_mb:64", "max_split", "1", "max_split_size_mb:64,max_split:1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_str_eq(
            mv_alloc_conf_change(mvt_memory(), rows[i].text, rows[i].key, rows[i].value),
            rows[i].out);
}

/* Up to any event, the recorded settings must reproduce the trace. */
LongTest(setting_trials, a_part_of_the_trace_is_replayed_to_the_byte)
{
    static const char *const names[] = {"gpt_train", "whatif_2", "frag_pinned_by_small", "streams"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint32_t parts = 1; parts < 5; parts++) {
            mv_trial trial;
            open_bench(names[i], (mv_trials_opts){0});
            mvt_ok(mv_trials_open(mvt_memory(), &b.trace, &b.lives,
                                  (mv_trials_opts){.end = b.lives.events.count / 5 * parts},
                                  &b.trials, mvt_err()));
            mvt_ok(mv_trials_try(&b.trials, b.trials.recorded_conf, &trial, mvt_err()));
            cr_expect_eq(trial.result.peak.reserved, b.trials.recorded_reserved, "%s %u", names[i],
                         parts);
            cr_expect_eq(trial.result.peak.allocated, b.trials.recorded_allocated);
            cr_expect_eq(trial.saves, 0);
        }
}

Test(setting_trials, a_failure_is_met_or_not_within_the_limit)
{
    mv_trial as_recorded, expandable;

    open_bench("oom_fragmented", (mv_trials_opts){0});
    uint32_t oom = first_oom();
    cr_assert_neq(oom, MV_NEVER);
    mvt_ok(mv_trials_open(mvt_memory(), &b.trace, &b.lives, (mv_trials_opts){.end = oom + 1},
                          &b.trials, mvt_err()));
    cr_expect_eq(b.trials.recorded_ooms, 1);
    cr_expect(mv_trials_are_conclusive(&b.trials));
    mvt_ok(mv_trials_try(&b.trials, "", &as_recorded, mvt_err()));
    cr_expect_not(as_recorded.fits);
    cr_expect_eq(as_recorded.result.first_oom, oom);
    cr_expect_eq(as_recorded.result.spare, MV_NO_BYTES);
    mvt_ok(mv_trials_try(&b.trials, "expandable_segments:True", &expandable, mvt_err()));
    cr_expect(expandable.fits);
    cr_expect_eq(expandable.result.first_oom, MV_NEVER);
    cr_expect_lt(expandable.result.spare, b.trials.limit);
    cr_expect(mv_trials_helps(&b.trials, &expandable));
    cr_expect_lt(mv_trial_order(&expandable, &as_recorded), 0);
    mvt_ok(mv_trials_open(mvt_memory(), &b.trace, &b.lives, (mv_trials_opts){.end = oom}, &b.trials,
                          mvt_err()));
    cr_expect_eq(b.trials.recorded_ooms, 0, "the failure is not in [0, end)");
}

/* The heap from before the trace is laid out again, under the limit that applied to the run.
 * Without the limit, requests that the run refused would count as doubts. */
LongTest(setting_trials, doubt_is_measured_within_the_limit)
{
    open_bench("frag_varying_batch", (mv_trials_opts){0});
    mv_trials free_one = b.trials;
    mvt_ok(mv_trials_open(mvt_memory(), &b.trace, &b.lives,
                          (mv_trials_opts){.capacity = b.trials.recorded_reserved / 2}, &b.trials,
                          mvt_err()));
    cr_expect_gt(b.trials.self.counts.ooms, 0);
    cr_expect_leq(b.trials.start_error, free_one.recorded_reserved / 10, "%llu",
                  (unsigned long long)b.trials.start_error);
}

LongTest(setting_trials, settings_of_a_set_are_distinct_and_in_order)
{
    static const char *const names[] = {"whatif_0", "whatif_1", "whatif_2",
                                        "whatif_3", "gc_limit", "frag_pinned_by_small_expandable"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_trial_list list;
        mv_alloc_conf a, c;
        char why[128];
        uint32_t recorded = 0;
        open_bench(names[i], (mv_trials_opts){0});
        mvt_ok(mv_trials_try_set(&b.trials, MV_TRY_ALL, &list, mvt_err()));
        for (uint32_t k = 0; k < list.count; k++) {
            cr_assert(mv_alloc_conf_parse(list.rows[k].conf, &a, why, sizeof why), "%s", why);
            recorded += list.rows[k].is_recorded;
            cr_expect(k == 0 || mv_trial_order(&list.rows[k - 1], &list.rows[k]) <= 0);
            for (uint32_t j = 0; j < k; j++)
                cr_expect(mv_alloc_conf_parse(list.rows[j].conf, &c, why, sizeof why) &&
                          !mv_alloc_conf_same(&a, &c));
        }
        cr_expect_eq(recorded, 1, "%s", names[i]);
    }
}

/* Trials run in parallel, but use up their steps in order, so that the list does not depend on
 * which trial ends first. */
Test(setting_trials, a_set_uses_the_steps_of_its_trials_in_order)
{
    enum { SET = MV_TRY_EXPANDABLE | MV_TRY_ROUNDUP | MV_TRY_SPLIT_LIMIT };
    const uint64_t plenty = mv_replay_most_work(1 << 20);
    mv_trial_list list;

    open_bench("whatif_0", (mv_trials_opts){0});
    *b.trials.left = plenty;
    mvt_ok(mv_trials_try_set(&b.trials, SET, &list, mvt_err()));
    cr_assert_gt(list.count, 3);
    uint64_t taken = plenty - *b.trials.left;
    for (uint32_t i = 0; i < list.count; i++) {
        mv_trial alone;
        *b.trials.left = plenty;
        mvt_ok(mv_trials_try(&b.trials, list.rows[i].conf, &alone, mvt_err()));
        cr_expect_eq(alone.result.peak.reserved, list.rows[i].result.peak.reserved);
        cr_expect_eq(alone.result.counts.segment_allocs, list.rows[i].result.counts.segment_allocs);
    }
    for (uint32_t missing = 0; missing < 2; missing++) {
        mv_trial_list some;
        *b.trials.left = taken - missing;
        mvt_ok(mv_trials_try_set(&b.trials, SET, &some, mvt_err()));
        cr_expect_eq(some.untried, missing);
        cr_expect_eq(some.count, list.count - missing);
        cr_expect_eq(*b.trials.left, 0);
    }
}
