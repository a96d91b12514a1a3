/* The replay of whole traces: real snapshots with their recorded settings, and with other settings
 * for which PyTorch's own counters are known. */
#include "analyze/replay/replay_script.h"

#include <inttypes.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

static double stat_of(const cJSON *truth, const char *key)
{
    const cJSON *stats = cJSON_GetObjectItemCaseSensitive(truth, "stats");
    const cJSON *stat = cJSON_GetObjectItemCaseSensitive(stats, key);

    cr_assert_not_null(stat, "%s", key);
    return stat->valuedouble;
}

static cJSON *truth_of(const char *name)
{
    return mvt_json_file("snapshots/%s.truth.json", name);
}

static void expect_truth(const char *name, const mv_levels *peak)
{
    cJSON *truth = truth_of(name);

    if (!truth)
        return; /* a dump made within a failing call has no counters */
    cr_expect_eq(peak->allocated, (uint64_t)stat_of(truth, "allocated_bytes.all.peak"), "%s", name);
    cr_expect_eq(peak->active, (uint64_t)stat_of(truth, "active_bytes.all.peak"), "%s", name);
    cr_expect_eq(peak->requested, (uint64_t)stat_of(truth, "requested_bytes.all.peak"), "%s", name);
    cr_expect_eq(peak->reserved, (uint64_t)stat_of(truth, "reserved_bytes.all.peak"), "%s", name);
}

static void expect_all_predicted(const mv_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < mv_trace_devices(trace); i++) {
        mv_lives lives = mvt_lives(mvt_memory(), trace, i);
        mv_replay_fidelity f;
        mvt_ok(mv_replay_verify(mvt_memory(), trace, &lives, NULL, &f, mvt_err()));
        cr_expect_eq(f.segment_matched, f.segment_events, "%s: %u of %u segment events", name,
                     f.segment_matched, f.segment_events);
        cr_expect_eq(f.allocs_matched, f.allocs, "%s: %u of %u allocs; event %u: %s", name,
                     f.allocs_matched, f.allocs, f.first_difference, f.why);
        cr_expect_eq(f.exact, lives.history == MV_HISTORY_COMPLETE, "%s", name);
        cr_expect_eq(f.first_difference, MV_NEVER, "%s: event %u", name, f.first_difference);
        if (f.exact && i == 0)
            expect_truth(name, &f.peak);
    }
}

EachSnapshot(replay, every_event_of_every_snapshot_is_predicted, expect_all_predicted);

typedef struct {
    const char *recorded, *conf;
    uint64_t limit;
    const char *truth; /* recorded from the same work under that conf */
} comparison;

static const comparison comparisons[] = {
    {"gpt_train", "expandable_segments:True", 0, "gpt_train_expandable"},
    {"gpt_train_expandable", "", 0, "gpt_train"},
    {"frag_pinned_by_small", "expandable_segments:True", 0, "frag_pinned_by_small_expandable"},
    {"frag_pinned_by_small_expandable", "", 0, "frag_pinned_by_small"},
    {"frag_varying_batch", "expandable_segments:True", 0, "frag_varying_batch_expandable"},
    {"frag_varying_batch_expandable", "", 0, "frag_varying_batch"},
    {"gc_limit", "", 0, "gc_limit_off"},
    {"gc_limit", "garbage_collection_threshold:0.6", (uint64_t)3 << 30, "gc_limit"},
    {"gc_limit_off", "garbage_collection_threshold:0.6", (uint64_t)3 << 30, "gc_limit"},
    {"retry_release", "", (uint64_t)2 << 30, "retry_release"},
    {"expandable_empty", "expandable_segments:True", 0, "expandable_empty"},
    {"late_start", "", 0, "late_start"},
    {"streams", "", 0, "streams"},
    {"graphs", "", 0, "graphs"},
};

static void expect_run(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const comparison *c, bool strange)
{
    cJSON *truth = truth_of(c->truth);
    mv_replay_opts opts = {.limit = c->limit, .strange_addresses = strange};
    mv_replay_result result;
    char why[128];

    cr_assert_not_null(truth);
    cr_assert(mv_alloc_conf_parse(c->conf, &opts.conf, why, sizeof why), "%s", why);
    mvt_ok(mv_replay_run(arena, trace, lives, opts, &result, mvt_err()));
    cr_expect_eq(result.peak.reserved, (uint64_t)stat_of(truth, "reserved_bytes.all.peak"),
                 "%s as %s: reserved %" PRIu64, c->recorded, c->truth, result.peak.reserved);
    cr_expect_eq(result.peak.allocated, (uint64_t)stat_of(truth, "allocated_bytes.all.peak"),
                 "%s as %s: allocated %" PRIu64, c->recorded, c->truth, result.peak.allocated);
    cr_expect_eq(result.counts.ooms, 0);
}

LongTest(replay, other_settings_give_the_figures_of_pytorch_under_them)
{
    mv_arena *arena = mvt_memory();

    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        mv_trace trace = mvt_load(arena, comparisons[i].recorded);
        mv_lives lives = mvt_lives(arena, &trace, 0);
        expect_run(arena, &trace, &lives, &comparisons[i], false);
        if (lives.history == MV_HISTORY_COMPLETE)
            expect_run(arena, &trace, &lives, &comparisons[i], true);
    }
}

LongTest(replay, one_workload_under_six_settings_each_predicts_the_others)
{
    const char *confs[6], *names[6];
    mv_arena *arena = mvt_memory();

    for (int i = 0; i < 6; i++) {
        names[i] = mvt_format("whatif_%d", i);
        confs[i] = mvt_json_text(truth_of(names[i]), "conf");
    }
    for (int i = 0; i < 6; i++) {
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);
        for (int j = 0; j < 6; j++)
            expect_run(arena, &trace, &lives, &(comparison){names[i], confs[j], 0, names[j]},
                       false);
    }
}

Test(replay, a_failed_request_fails_again_at_a_named_place)
{
    mv_arena *arena = mvt_memory();
    mv_replay_result result;
    mv_replay_opts opts = {.conf = mv_alloc_conf_default(), .limit = (uint64_t)2 << 30};
    mv_trace trace = mvt_load(arena, "oom_fragmented");
    mv_lives lives = mvt_lives(arena, &trace, 0);

    mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &result, mvt_err()));
    cr_expect_eq(result.recorded_ooms, 1);
    cr_expect_eq(result.avoided_ooms, 0);
    cr_expect_eq(result.counts.ooms, 1);
    cr_expect_eq(lives.events.action[result.first_oom], MV_ACTION_OOM);

    opts.conf.rules.expandable = true;
    mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &result, mvt_err()));
    cr_expect_eq(result.avoided_ooms, 1);
    cr_expect_eq(result.counts.ooms, 0);
    cr_expect_eq(result.first_oom, MV_NEVER);
}

LongTest(replay, block_sizes_suffice_for_reserved_memory)
{
    static const char *const names[] = {"gpt_train", "whatif_0", "whatif_2", "streams"};
    mv_arena *arena = mvt_memory();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_replay_result requests, blocks;
        mv_replay_fidelity f;
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);
        mv_replay_opts opts = (mv_replay_opts){.conf = mv_alloc_conf_default()};
        opts.conf.rules.expandable = true;
        mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &requests, mvt_err()));
        /* A capture's data contains the sizes of its blocks. */
        mv_events *ev = &trace.devices[0].events;
        uint64_t *size = mv_push_array(arena, uint64_t, ev->count);
        cr_assert_not_null(size);
        for (uint32_t j = 0; j < ev->count; j++) {
            bool of_block = !mv_is_segment_action(ev->action[j]) && lives.alloc_of[j] != MV_NO_ROW;
            size[j] = of_block ? lives.allocs.block[lives.alloc_of[j]] : ev->size[j];
        }
        ev->size = size;
        lives = mvt_lives(arena, &trace, 0);
        mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &blocks, mvt_err()));
        mvt_ok(mv_replay_verify(arena, &trace, &lives, NULL, &f, mvt_err()));
        cr_expect(f.exact, "%s: event %u: %s", names[i], f.first_difference, f.why);
        cr_expect_eq(blocks.peak.reserved, requests.peak.reserved, "%s", names[i]);
        cr_expect_geq(blocks.peak.allocated, requests.peak.allocated, "%s", names[i]);
    }
}

/* A replay that stops at one event after another must have the same figures as new replays up to
 * each event. */
Test(replay, a_replay_in_pieces_is_the_same)
{
    static const char *const names[] = {"oom_fragmented", "streams", "late_start"};
    mv_arena *arena = mvt_memory();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);
        mv_replay_opts opts = {.conf = mv_alloc_conf_default(), .limit = (uint64_t)2 << 30};
        mv_replay_result some, whole;
        mv_replay *replay;
        mvt_ok(mv_replay_open(arena, &trace, &lives, opts, &replay, mvt_err()));
        for (uint32_t k = 1; k <= 5; k++) {
            opts.end = (uint32_t)((uint64_t)lives.events.count * k / 5);
            while (k == 2 && lives.events.action[opts.end] != MV_ACTION_FREE_COMPLETED)
                opts.end++; /* between the two events of a free */
            mvt_ok(mv_replay_until(replay, opts.end, &some, mvt_err()));
            mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &whole, mvt_err()));
            cr_expect_eq(some.peak.reserved, whole.peak.reserved, "%s, %u", names[i], k);
            cr_expect_eq(some.peak.allocated, whole.peak.allocated, "%s, %u", names[i], k);
            cr_expect_eq(some.counts.segment_allocs, whole.counts.segment_allocs);
            cr_expect_eq(some.avoided_ooms, whole.avoided_ooms);
            cr_expect_eq(some.first_oom, whole.first_oom);
        }
        mv_replay_close(replay);
    }
}

/* Nearly all frees complete at once, so they are a single operation with their request. */
Test(replay, a_free_that_does_not_wait_is_one_operation)
{
    mvt_trace *t = mvt_new();
    mv_replay_script script;

    mvt_segment_alloc(t, .addr = 0x1000000, .bytes = 2 << 20);
    for (unsigned i = 0; i < 3; i++)
        mvt_alloc(t, .addr = 0x1000000 + 512 * i, .bytes = 512);
    mvt_free(t, .addr = 0x1000000, .bytes = 512);
    mvt_free_requested(t, .addr = 0x1000200, .bytes = 512);
    mvt_free(t, .addr = 0x1000400, .bytes = 512);
    mvt_free_completed(t, .addr = 0x1000200, .bytes = 512);
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);
    mvt_ok(mv_replay_script_make(mvt_arena(t), trace, &lives, &script, mvt_err()));
    cr_assert(mv_replay_script_list(mvt_arena(t), &script));
    cr_assert_eq(script.op_count, 7);
    cr_expect(script.ops[3].kind == MV_OP_COMPLETE && script.ops[3].is_request);
    cr_expect(script.ops[4].kind == MV_OP_FREE);
    cr_expect(script.ops[5].kind == MV_OP_COMPLETE && script.ops[5].is_request);
    cr_expect(script.ops[6].kind == MV_OP_COMPLETE && !script.ops[6].is_request);
}

/* The replay uses up the given steps, and says when none remain. */
Test(replay, a_replay_ends_when_no_steps_remain)
{
    mv_arena *arena = mvt_memory();
    mv_trace trace = mvt_load(arena, "gpt_train");
    mv_lives lives = mvt_lives(arena, &trace, 0);
    uint64_t left = 2 * (uint64_t)lives.events.count;
    mv_replay_opts opts = {.conf = mv_alloc_conf_default(), .left = &left};
    mv_replay_result result;

    mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &result, mvt_err()));
    cr_expect_not(result.gave_up);
    cr_expect_lt(left, 2 * (uint64_t)lives.events.count - lives.allocs.count);
    mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &result, mvt_err()));
    mvt_ok(mv_replay_run(arena, &trace, &lives, opts, &result, mvt_err()));
    cr_expect(result.gave_up);
    cr_expect_eq(left, 0);
}

/* The request for B waits for streams, which completes the free of A, and C gets A's row. When the
 * trace later completes A's free as well, C stays. The request for D is refused. */
Test(replay, a_free_that_was_waited_for_frees_nothing_later)
{
    mv_arena *arena = mvt_memory();
    mvt_trace *t = mvt_new();
    mv_replay_opts opts = {.conf = mv_alloc_conf_default(), .limit = 60 * MIB};
    mv_replay_result result;

    mvt_segment_alloc(t, .addr = 1 << 30, .bytes = 40 * MIB);
    mvt_alloc(t, .addr = 1 << 30, .bytes = 40 * MIB);
    mvt_free_requested(t, .addr = 1 << 30, .bytes = 40 * MIB);
    mvt_segment_alloc(t, .addr = 2ull << 30, .bytes = 50 * MIB);
    mvt_alloc(t, .addr = 2ull << 30, .bytes = 50 * MIB);
    mvt_segment_alloc(t, .addr = 3ull << 30, .bytes = 10 * MIB);
    mvt_alloc(t, .addr = 3ull << 30, .bytes = 10 * MIB);
    mvt_free_completed(t, .addr = 1 << 30, .bytes = 40 * MIB);
    mvt_segment_alloc(t, .addr = 4ull << 30, .bytes = 10 * MIB);
    mvt_alloc(t, .addr = 4ull << 30, .bytes = 10 * MIB);
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(arena, trace, 0);
    mvt_ok(mv_replay_run(arena, trace, &lives, opts, &result, mvt_err()));
    cr_expect_eq(result.counts.retries, 1);
    cr_expect_eq(result.counts.ooms, 1);
    cr_expect_eq(result.first_oom, 9);
}
