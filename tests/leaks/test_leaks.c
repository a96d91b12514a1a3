#include "analyze/leaks/leaks.h"

#include "analyze/thin/thin.h"
#include "tests/fixture/fixture_json.h"
#include "tests/leaks/fixture_leaks.h"
#include "tests/leaks/fixture_server.h"

#include "analyze/lives/lives_window.h"

/* Ten steps, with parameters, an activation that is freed, and `kept` bytes that are not freed. */
static mvt_trace *ten_steps(uint64_t kept, const char *stack)
{
    mvt_trace *t = mvt_run_new();
    uint64_t next = 0x30000000;

    mvt_alloc(t, .addr = 0x10000000, .bytes = 1 << 20, .stack = "build:model.py:5");
    for (int i = 0; i < 10; i++) {
        mvt_alloc(t, .addr = 0x20000000, .bytes = 2 << 20, .stack = "train:train.py:20");
        if (kept) {
            mvt_alloc(t, .addr = next, .bytes = kept, .stack = stack);
            next += (kept + 511) / 512 * 512;
        }
        mvt_free(t, .addr = 0x20000000);
        mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
    }
    mvt_final_heap(t);
    return t;
}

/* Twelve steps, each of which keeps 1 MiB and replaces an older block of 3 MiB with a smaller one
 * from the same line, or once with a larger one. */
static mv_leaks steps_that_free(uint64_t smaller, bool rises_once)
{
    mvt_trace *t = mvt_run_new();

    for (uint64_t i = 0; i < 12; i++)
        mvt_alloc(t, .addr = 0x30000000 + (i << 23), .bytes = 3 * MIB, .stack = "fetch:data.py:3");
    for (uint64_t i = 0; i < 12; i++) {
        mvt_alloc(t, .addr = 0x18000000, .bytes = 5 * MIB, .stack = "train:train.py:19");
        mvt_alloc(t, .addr = 0x20000000 + (i << 20), .bytes = MIB, .stack = "train:train.py:20");
        mvt_free(t, .addr = 0x30000000 + (i << 23));
        if (smaller)
            mvt_alloc(t, .addr = 0x30000000 + (i << 23),
                      .bytes = rises_once && i == 6 ? 4 * MIB : smaller,
                      .stack = "fetch:data.py:3");
        mvt_free(t, .addr = 0x18000000);
        mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
    }
    return mvt_leaks_of_run(t);
}

Test(leaks, shrinking_lines_do_not_hide_a_growing_one)
{
    mv_leaks freed = steps_that_free(0, false), shrunk = steps_that_free(MIB / 2, false);
    mv_leaks rises = steps_that_free(MIB / 2, true);

    cr_expect_eq(freed.verdict, MV_VERDICT_UNKNOWN);
    cr_expect_str_eq(freed.why, "train.py:20 train keeps memory step after step (12.0 MiB in 12 "
                                "blocks), hidden from the floor because other lines hold less and "
                                "less");
    cr_expect_eq(shrunk.verdict, MV_VERDICT_UNKNOWN);
    cr_expect_eq(rises.verdict, MV_VERDICT_CLEAN);
    cr_expect_str_eq(rises.why, "train.py:20 train keeps memory step after step (12.0 MiB in 12 "
                                "blocks), but as much is freed elsewhere");
}

/* Captures for each of 32 batch sizes, which keep their outputs in a pool. An optional second round
 * replaces the outputs with larger ones. The sizes change in the direction of `by`, or not at
 * all. */
static mv_leaks captures(int by, uint32_t rounds, uint64_t pool)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 29, .stack = "main:serve.py:1");
    mvt_segment_alloc(t, .addr = 0x30000000, .bytes = 1 << 29, .stack = "main:serve.py:2",
                      .pool_b = pool);
    for (uint64_t i = 0; i < 32 * rounds; i++) {
        uint64_t n = by > 0   ? 1 + i % 32
                     : by < 0 ? 32 - i % 32
                              : 16,
                 at = 0x30000000 + i % 32 * MIB;

        mvt_alloc(t, .addr = 0x20000000, .bytes = n * 200000, .stack = "warm:run.py:7;main:s.py:3");
        mvt_alloc(t, .addr = at + i / 32 % 2 * (MIB / 2), .bytes = n * 8192 + i / 32 * 100000,
                  .stack = "capture:graph.py:30;main:s.py:4", .pool_b = pool);
        if (i >= 32)
            mvt_free(t, .addr = at + (1 - i / 32 % 2) * (MIB / 2));
        mvt_free(t, .addr = 0x20000000);
    }
    return mvt_leaks_of_run(t);
}

/* Thirty training steps, each with a larger batch, which lives until the next one is loaded. The
 * activations either grow with the batch or stay the same; `others` of them never grow. */
static mv_leaks larger_batches(uint64_t activations, uint64_t others)
{
    mvt_trace *t = mvt_run_new();

    mvt_alloc(t, .addr = 0x10000000, .bytes = 64 * MIB, .stack = "load:train.py:5");
    for (uint64_t i = 0; i < 30; i++) {
        mvt_alloc(t, .addr = 0x40000000 + (i % 2 << 28), .bytes = (i + 1) * MIB,
                  .stack = "collate:data.py:9;train:train.py:20");
        if (i > 0)
            mvt_free(t, .addr = 0x40000000 + ((i + 1) % 2 << 28));
        mvt_alloc(t, .addr = 0x80000000, .bytes = (8 + activations * i) * MIB,
                  .stack = "forward:model.py:7;train:train.py:21");
        if (others) {
            mvt_alloc(t, .addr = (uint64_t)3 << 32, .bytes = others,
                      .stack = "forward:model.py:17;train:train.py:21");
            mvt_free(t, .addr = (uint64_t)3 << 32);
        }
        mvt_alloc(t, .addr = (uint64_t)1 << 33, .bytes = MIB,
                  .stack = "backward:/v/lib/python3.12/site-packages/torch/_tensor.py:600;"
                           "train:train.py:22");
        mvt_free(t, .addr = 0x80000000);
        mvt_free(t, .addr = (uint64_t)1 << 33);
        mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
    }
    return mvt_leaks_of_run(t);
}

Test(leaks, batches_that_grow_are_not_a_leak)
{
    mv_leaks found = larger_batches(6, 0);

    cr_expect_eq(found.verdict, MV_VERDICT_UNKNOWN, "%s", found.why);
    cr_expect(strstr(found.why, "data.py:9 collate is larger in each step"), "%s", found.why);
    found = larger_batches(0, 0);
    cr_expect_eq(found.verdict, MV_VERDICT_LEAK, "%s", found.why);
    found = larger_batches(1, 0);
    cr_expect_eq(found.verdict, MV_VERDICT_UNKNOWN, "as much as the batch: %s", found.why);
    found = larger_batches(1, 20 * MIB);
    cr_expect_eq(found.verdict, MV_VERDICT_UNKNOWN, "most of the work grows: %s", found.why);
    found = larger_batches(1, 60 * MIB);
    cr_expect_eq(found.verdict, MV_VERDICT_LEAK, "most of the work does not: %s", found.why);
}

/* Forty steps that keep the outputs of the last five, each larger than the one before; the
 * temporary memory of a step grows with its output, or does not. */
static mv_leaks larger_outputs(bool grows)
{
    mvt_trace *t = mvt_run_new();

    for (uint64_t i = 0; i < 40; i++) {
        uint64_t out = 0x20000000 + (i % 6 << 28), size = (20 + i) * MIB;

        mvt_alloc(t, .addr = (uint64_t)1 << 33, .bytes = grows ? 2 * size : 40 * MIB,
                  .stack = "forward:model.py:7;run:run.py:21");
        mvt_alloc(t, .addr = out, .bytes = size, .stack = "head:model.py:9;run:run.py:21");
        mvt_free(t, .addr = (uint64_t)1 << 33);
        if (i >= 5)
            mvt_free(t, .addr = 0x20000000 + ((i + 1) % 6 << 28));
        mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
    }
    return mvt_leaks_of_run(t);
}

Test(leaks, a_window_of_growing_outputs_is_not_a_leak)
{
    mv_leaks grows = larger_outputs(true), same = larger_outputs(false);

    cr_expect_eq(grows.verdict, MV_VERDICT_UNKNOWN, "%s", grows.why);
    cr_expect(strstr(grows.why, "model.py:9 head is larger in each step"), "%s", grows.why);
    cr_expect_eq(same.verdict, MV_VERDICT_LEAK, "%s", same.why);
}

/* Steps of which some, marked 1, add an entry of 1 MiB to a cache. */
static mv_leaks steps_with_cache(const char *entries)
{
    mvt_trace *t = mvt_run_new();

    for (uint64_t i = 0; entries[i]; i++) {
        mvt_annotate(t, mvt_format("ProfilerStep#%u", (unsigned)i), true, 0);
        mvt_alloc(t, .addr = 0x20000000, .bytes = 2 * MIB, .stack = "train:train.py:20");
        if (entries[i] == '1')
            mvt_alloc(t, .addr = 0x30000000 + (i << 20), .bytes = MIB,
                      .stack = "cached:rotary.py:44");
        mvt_free(t, .addr = 0x20000000);
    }
    return mvt_leaks_of_run(t);
}

Test(leaks, a_cache_that_fills_is_not_a_leak)
{
    mv_leaks fills = steps_with_cache("1111111111.11.111.11..1.1.11.1..1...1.1.");
    mv_leaks leaks = steps_with_cache("1.1.11..1.11.1.11...1.111.1.1.11.11.1.11");

    cr_expect_eq(fills.verdict, MV_VERDICT_UNKNOWN, "%s", fills.why);
    cr_expect(strstr(fills.why, "rotary.py:44 cached keeps fewer and fewer blocks"), "%s",
              fills.why);
    cr_expect_eq(leaks.verdict, MV_VERDICT_LEAK, "%s", leaks.why);
}

static uint64_t rate_of_cache(const char *entries)
{
    mv_leaks found = steps_with_cache(entries);

    cr_assert_eq(found.verdict, MV_VERDICT_LEAK, "%s", found.why);
    return found.leaks[0].bytes_per_step;
}

/* The steps before such a leak began do not make it slower. */
Test(leaks, even_growth_has_the_rate_between_its_births)
{
    cr_expect_eq(rate_of_cache("................111111111111111111111111"), MIB);
    cr_expect_eq(rate_of_cache("........................1111111111111111"), MIB);
    cr_expect_eq(rate_of_cache("...1...1...1...1...1...1...1...1...1...1"), MIB / 4);
    cr_expect_eq(rate_of_cache(".......1.......1.......1.......1.......1"), MIB / 8);
}

Test(leaks, uneven_growth_is_the_mean_of_all_steps)
{
    uint64_t rate = rate_of_cache("1.1.11..1.11.1.11...1.111.1.1.11.11.1.11");

    cr_expect_geq(rate, MIB * 21 / 40);
    cr_expect_leq(rate, MIB * 24 / 40);
}

/* The youngest block of such a line may be a passing one, but in a line that keeps a block in each
 * step it counts, also if the line began to do so late. */
Test(leaks, a_late_leak_includes_its_youngest_block)
{
    mvt_trace *t = mvt_run_new();

    for (uint64_t i = 0; i < 30; i++) {
        uint64_t loss = 0x30000000 + (i << 20);

        mvt_annotate(t, mvt_format("ProfilerStep#%u", (unsigned)i), true, 0);
        mvt_alloc(t, .addr = 0x20000000, .bytes = 2 * MIB, .stack = "train:train.py:20");
        mvt_alloc(t, .addr = loss, .bytes = 512, .stack = "train:train.py:21");
        mvt_free(t, .addr = 0x20000000);
        if (i > 0 && i <= 16)
            mvt_free(t, .addr = loss - MIB);
    }
    mv_leaks found = mvt_leaks_of_run(t);
    cr_assert_eq(found.verdict, MV_VERDICT_LEAK, "%s", found.why);
    cr_expect_eq(found.leaks[0].blocks, 14);
    cr_expect_eq(found.leaks[0].bytes_per_step, 512);
}

Test(leaks, outputs_of_graphs_captured_once_for_each_size_are_undecided)
{
    mv_leaks falling = captures(-1, 1, 0), rising = captures(1, 1, 7);

    cr_expect_gt(falling.steps.count, 0);
    cr_expect_eq(falling.verdict, MV_VERDICT_UNKNOWN);
    cr_expect_not_null(strstr(falling.why, "and such a loop ends"), "%s", falling.why);
    cr_expect_eq(rising.verdict, MV_VERDICT_UNKNOWN);
    cr_expect_not_null(strstr(rising.why, "captures CUDA graphs in private pools"), "%s",
                       rising.why);
    rising = captures(1, 1, 0);
    cr_expect_not_null(strstr(rising.why, "a loop over parameters, layers or batch sizes"), "%s",
                       rising.why);
    cr_expect_eq(captures(0, 1, 7).verdict, MV_VERDICT_LEAK);
    cr_expect_eq(captures(-1, 3, 0).verdict, MV_VERDICT_LEAK);
}

Test(leaks, growth_is_reported_and_the_rest_is_retained)
{
    mvt_trace *t = ten_steps(1000, "log:train.py:77;train:train.py:21");
    mv_leaks found = mvt_leaks(t);
    char label[64];

    cr_assert_eq(found.verdict, MV_VERDICT_LEAK);
    cr_assert_eq(found.count, 1);
    cr_expect_eq(found.leaks[0].blocks, 10);
    cr_expect_eq(found.leaks[0].bytes, 10 * 1024);
    cr_expect_eq(found.leaks[0].bytes_per_step, 1024);
    cr_expect_eq(found.leaks[0].first_event, 3);
    cr_expect_eq(found.leaks[0].last_event, 3 + 9 * 4);
    cr_expect_str_eq(mv_culprit_label(mvt_done(t), NULL, found.leaks[0].stack, label, sizeof label),
                     "train.py:77 log");
    cr_expect(strstr(found.leaks[0].advice, "train.py:77 log"), "%s", found.leaks[0].advice);
    cr_assert_eq(found.retained_count, 1);
    cr_expect_eq(found.retained[0].bytes, 1 << 20);
    cr_expect_eq(found.live_bytes, (1 << 20) + 10 * 1024);
}

/* The run is recorded with skip_actions, so that blocks in the final heap belong to no event. */
Test(leaks, without_allocations_nothing_is_clean)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 << 20);
    mvt_segment_alloc(t, .addr = 0x800000, .bytes = 2 << 20);
    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 1 << 20);
    mvt_segment(t, .addr = 0x800000, .bytes = 2 << 20, .small = true);
    mvt_block(t, .bytes = 2 << 20);
    mv_leaks found = mvt_leaks(t);
    cr_expect_eq(found.verdict, MV_VERDICT_UNKNOWN);
    cr_expect(strstr(found.why, "allocations were not recorded"), "%s", found.why);
}

Test(leaks, healthy_steps_are_clean)
{
    mvt_trace *t = ten_steps(0, NULL);
    mv_leaks found = mvt_leaks(t);

    cr_expect_eq(found.verdict, MV_VERDICT_CLEAN);
    cr_expect_eq(found.count, 0);
    cr_expect_eq(found.retained_bytes, 1 << 20);
}

/* Eight times, a line makes a block that stays, and another line makes a block that a second stream
 * still uses after it is freed. */
static mv_leak_verdict with_waiting_blocks(bool waits, bool is_marked)
{
    mvt_trace *t = mvt_run_new();

    for (uint64_t i = 0; i < 8; i++) {
        uint64_t gathered = 0x10000000 + (i << 20), kept = 0x20000000 + (i << 20);

        if (is_marked)
            mvt_annotate(t, mvt_format("ProfilerStep#%u", (unsigned)i), true, 0);
        mvt_alloc(t, .addr = gathered, .bytes = 1 << 20,
                  .stack = "all_gather:fsdp.py:55;main:train.py:1");
        mvt_alloc(t, .addr = kept, .bytes = 1 << 20,
                  .stack = "forward:model.py:20;main:train.py:1");
        mvt_free_requested(t, .addr = gathered);
        if (!waits)
            mvt_free_completed(t, .addr = gathered);
    }
    return mvt_leaks_of_run(t).verdict;
}

/* Until the device has passed the first mark, unmarked steps may be layers. */
Test(leaks, layers_that_wait_for_a_stream_are_not_steps)
{
    cr_expect_eq(with_waiting_blocks(false, false), MV_VERDICT_LEAK);
    cr_expect_eq(with_waiting_blocks(true, false), MV_VERDICT_UNKNOWN);
    cr_expect_eq(with_waiting_blocks(true, true), MV_VERDICT_LEAK);
}

/* The frees at the end of a paused program are missing: the earlier steps are clean, but the run
 * may not be. A pause that ends does not hide a block that stays. */
Test(leaks, a_pause_to_the_end_leaves_the_verdict_open)
{
    for (int is_open = 0; is_open < 2; is_open++) {
        mvt_trace *t = mvt_new();
        mv_pause pause = {.to_us = is_open ? INT64_MAX : 0};
        mv_pauses pauses = {.count = 1, .pauses = &pause};
        mv_thinned thinned;

        mvt_server(t, (mvt_server_load){.steps = 60, .window = 2, .is_marked = true});
        const mv_trace *trace = mvt_done(t);
        const mv_events *e = &trace->devices[0].events;
        pause.from_us = e->time_us[e->count * (is_open ? 3 : 1) / 4];
        if (!is_open)
            pause.to_us = e->time_us[e->count / 2];
        mvt_ok(mv_thin_pauses(mvt_arena(t), trace, &pauses, &thinned, mvt_err()));
        cr_assert_gt(thinned.left_out, 0);
        mv_leaks found = mvt_leaks_of(mvt_arena(t), &thinned.trace);
        cr_expect_eq(found.verdict, is_open ? MV_VERDICT_UNKNOWN : MV_VERDICT_CLEAN, "%s",
                     found.why);
        cr_expect(!is_open || strstr(found.why, "paused until the end"), "%s", found.why);
    }
}

#define TORCH "/v/lib/python3.12/site-packages/torch/"

/* Native frames differ by kernel, but the layers are the same, so this is still one leak and one
 * entry. */
Test(leaks, one_leak_through_several_stacks_is_one_entry)
{
    static const char *const stacks[] = {
        "at::native::mm:a.cpp:0;forward:" TORCH "nn/modules/linear.py:134;train:train.py:30",
        "at::native::addmm:b.cpp:0;forward:" TORCH "nn/modules/linear.py:134;train:train.py:30",
        "gelu:" TORCH "nn/functional.py:9;train:train.py:30",
    };
    mvt_trace *t = mvt_run_new();
    uint64_t next = 0x20000000;

    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 3; k++) {
            if (k != i % 2)
                mvt_alloc(t, .addr = next, .bytes = 512, .stack = stacks[k]);
            next += 512;
        }
        mvt_annotate(t, "ProfilerStep#1", true, 0);
    }
    mv_leaks found = mvt_leaks_of_run(t);
    cr_assert_eq(found.count, 1);
    cr_expect_eq(found.leaks[0].blocks, 24);
}

/* A forward and a backward pass, with `count` activations that come and go, and, if `kept` is not
 * 0, an output that is kept. */
static void pass(mvt_trace *t, uint32_t count, uint64_t kept, const char *stack)
{
    for (uint32_t i = 0; i < count; i++)
        mvt_alloc(t, .addr = 0x20000000 + ((uint64_t)i << 20), .bytes = 1 << 20, .stack = stack);
    if (kept)
        mvt_alloc(t, .addr = kept, .bytes = 1 << 20, .stack = "keep:train.py:40");
    for (uint32_t i = 0; i < count; i++)
        mvt_free(t, .addr = 0x20000000 + ((uint64_t)i << 20));
}

static mvt_trace *of_passes(void)
{
    mvt_trace *t = mvt_run_new();

    mvt_alloc(t, .addr = 0x10000000, .bytes = 1 << 20, .stack = "build:model.py:5");
    return t;
}

#define PASS "_call_impl:" TORCH "nn/modules/module.py:1790;train:train.py:30"

static void expect_unknown(const mv_leaks *found, const char *lacks, const char *why,
                           const char *settle)
{
    cr_expect_eq(found->verdict, MV_VERDICT_UNKNOWN);
    cr_expect_str_eq(found->lacks, lacks);
    cr_expect(strstr(found->why, why), "%s", found->why);
    cr_expect(strstr(found->settle, settle), "%s", found->settle);
}

/* The lowest total of the last third is low only because, in the middle third, the backward pass
 * freed the forward pass's blocks. */
Test(leaks, freed_activations_do_not_make_a_step_clean)
{
    mvt_trace *t = of_passes();

    pass(t, 100, 0x11000000, PASS);
    mv_leaks found = mvt_leaks_of_run(t);
    expect_unknown(&found, "one step at most", "within one call of the model", "mark");
}

Test(leaks, freed_activations_do_not_make_two_steps_clean)
{
    mvt_trace *t = of_passes();

    pass(t, 50, 0, PASS);
    mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    pass(t, 200, 0x11000000, PASS);
    mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    mv_leaks found = mvt_leaks_of_run(t);
    cr_expect_eq(found.steps.count, 2);
    expect_unknown(&found, "only two steps", "only two steps ended", "seven steps");
}

/* The heap from before the events has stacks, which shows that older events were lost. */
Test(leaks, two_steps_are_too_few_where_older_events_are_lost)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x10000000, .bytes = 1 << 30, .stack = "main:train.py:1");
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "build:model.py:5");
    mvt_block(t, .bytes = (0x11000000 - 0x10100000), .state = MV_BLOCK_INACTIVE);
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "keep:train.py:40");
    mvt_block(t, .bytes = 0x50000000 - 0x11100000, .state = MV_BLOCK_INACTIVE);
    pass(t, 50, 0, PASS);
    mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    pass(t, 200, 0x11000000, PASS);
    mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    mv_leaks found = mvt_leaks(t);
    cr_expect_eq(found.steps.count, 2);
    expect_unknown(&found, "only two steps", "only two steps ended", "max_entries");
}

/* Temporary memory from one line, for `until` iterations, as in a server's loop. */
static void serve(mvt_trace *t, int until)
{
    for (int i = 0; i < 120; i++) {
        mvt_alloc(t, .addr = 0x20000000, .bytes = (uint64_t)(i * 37 % 50 + 1) << 9,
                  .stack = i < until ? "serve:serve.py:9" : NULL);
        if (i % 7 == 0 && i < 40)
            mvt_alloc(t, .addr = 0x30000000 + ((uint64_t)i << 12), .bytes = 512,
                      .stack = "set_up:serve.py:3");
        mvt_free(t, .addr = 0x20000000);
    }
}

/* Each iteration frees its blocks. If the line stops halfway, its iterations show nothing about the
 * later part of the run. */
Test(leaks, a_line_that_recurs_and_frees_its_blocks_is_clean)
{
    for (int until = 60; until <= 120; until += 60) {
        mvt_trace *t = of_passes();

        serve(t, until);
        mv_leaks found = mvt_leaks_of_run(t);
        cr_expect_eq(found.steps.count, 0);
        cr_expect_eq(found.verdict, until == 120 ? MV_VERDICT_CLEAN : MV_VERDICT_UNKNOWN, "%d: %s",
                     until, found.why);
    }
}

/* It may be a loop within a step whose beginning was lost. */
Test(leaks, a_line_that_recurs_is_not_clean_where_older_events_are_lost)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x10000000, .bytes = 1 << 30, .stack = "main:serve.py:1");
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "build:serve.py:2");
    mvt_block(t, .bytes = (1 << 30) - (1 << 20), .state = MV_BLOCK_INACTIVE);
    serve(t, 120);
    mv_leaks found = mvt_leaks(t);
    expect_unknown(&found, "too few steps", "older events are lost", "max_entries");
}

Test(leaks, without_events_the_verdict_is_unknown)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20);
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_INACTIVE);
    mv_leaks found = mvt_leaks(t);
    cr_expect_eq(found.verdict, MV_VERDICT_UNKNOWN);
    cr_expect_eq(found.preexisting_bytes, 1 << 20);
    cr_expect_eq(found.live_bytes, 1 << 20);
}

/* All blocks have stacks, but the window has no allocation. */
Test(leaks, a_window_without_allocations_has_no_line_to_evaluate)
{
    const mv_trace *trace = mvt_done(ten_steps(1000, "log:train.py:77;train:train.py:21"));
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0), window;
    mv_leaks found;

    mvt_ok(mv_lives_within(mvt_memory(), &lives, (mv_window){4, 6}, &window, mvt_err()));
    mvt_ok(mv_leaks_find(mvt_memory(), trace, &window, &found, mvt_err()));
    expect_unknown(&found, "no allocations", "nothing was allocated in these events",
                   "seven steps or more");
}

/* enabled='state': the heap with its stacks, and one event, a free. */
Test(leaks, a_state_has_no_history)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20);
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "build:model.py:5");
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_INACTIVE);
    mvt_free_completed(t, .addr = 0x300000, .bytes = 512);
    mv_leaks found = mvt_leaks(t);
    expect_unknown(&found, "no history", "enabled='state'", "_record_memory_history() before");
}

Test(leaks, new_blocks_without_stacks_leave_the_verdict_unknown)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 0x200000, .bytes = 2 << 20);
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "build:model.py:5");
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED);
    mvt_alloc(t, .addr = 0x300000, .bytes = 1 << 20);
    mv_leaks found = mvt_leaks(t);
    expect_unknown(&found, "no stacks", "the allocations in these events have no stacks",
                   "stacks='all'");
}

typedef struct {
    mv_trace trace;
    mv_leaks found;
} loaded;

/* Every byte that is allocated at the end must be in exactly one row. */
static void expect_sums(const loaded *l, const char *name)
{
    uint64_t leaked = 0, retained = 0, blocks = 0;

    for (uint32_t i = 0; i < l->found.count; i++) {
        leaked += l->found.leaks[i].bytes;
        cr_expect(i == 0 || l->found.leaks[i].bytes <= l->found.leaks[i - 1].bytes);
        cr_expect_geq(l->found.leaks[i].confidence, 0.5);
        cr_expect_leq(l->found.leaks[i].confidence, 1.0);
    }
    for (uint32_t i = 0; i < l->found.retained_count; i++)
        retained += l->found.retained[i].bytes;
    for (uint32_t i = 0; i < l->trace.segments.count; i++)
        if (l->trace.segments.device[i] == 0)
            blocks += l->trace.segments.allocated[i];
    cr_expect_eq(leaked, l->found.leaked_bytes, "%s", name);
    cr_expect_eq(retained, l->found.retained_bytes, "%s", name);
    cr_expect_eq(leaked + retained, l->found.live_bytes, "%s", name);
    cr_expect_eq(blocks, l->found.live_bytes, "%s", name);
}

static void load(loaded *l, const char *name)
{
    l->trace = mvt_load(mvt_memory(), name);
    l->found = mvt_leaks_of(mvt_memory(), &l->trace);
    expect_sums(l, name);
}

static bool passes_through(const loaded *l, uint32_t leak, const char *function)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(&l->trace, l->found.leaks[leak].stack, &count);

    for (uint32_t i = 0; i < count; i++)
        if (strcmp(mv_string_text(&l->trace, l->trace.frames.function[frames[i].row]), function) ==
            0)
            return true;
    return false;
}

typedef struct {
    const char *snapshot;
    uint32_t count;
    const char *label;    /* of the biggest leak */
    const char *function; /* lines on its stack */
    uint32_t blocks;
    uint64_t bytes;
    mv_leak_kind kind;
} known_leak;

Test(leaks, real_leaks_are_found)
{
    static const known_leak cases[] = {
        {"leak_loss_list", 1, "train.py:102 leak_loss_list", "cross_entropy", 10, 10 * 512,
         MV_LEAK_LOSS},
        {"leak_in_training", 1, "train.py:62 forward", "inner", 12, 12ull << 21, MV_LEAK_HOOK},
        {"leak_global_list", 1, "train.py:114 leak_global_list", "leak_global_list", 12, 49943552,
         MV_LEAK_UNKNOWN},
        {"leak_cycle", 1, "train.py:125 __init__", "leak_cycle", 10, 10ull << 24, MV_LEAK_OBJECT},
        {"leak_hidden_state", 1, "train.py:109 leak_hidden_state", "forward", 50, 34000384,
         MV_LEAK_HIDDEN_STATE},
        {"eval_without_no_grad", 1, "train.py:145 eval_without_no_grad", "forward", 354, 211411968,
         MV_LEAK_NO_GRAD},
        {"frag_pinned_by_small", 1, "train.py:159 frag_pinned_by_small", "frag_pinned_by_small", 30,
         45911552, MV_LEAK_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const known_leak *c = &cases[i];
        char label[128];
        loaded l;

        load(&l, c->snapshot);
        cr_expect_eq(l.found.verdict, MV_VERDICT_LEAK, "%s", c->snapshot);
        cr_assert_eq(l.found.count, c->count, "%s: %u", c->snapshot, l.found.count);
        mv_leak_label(&l.trace, NULL, &l.found.leaks[0], label, sizeof label);
        cr_expect_str_eq(label, c->label, "%s: %s", c->snapshot, label);
        cr_expect(passes_through(&l, 0, c->function), "%s", c->snapshot);
        cr_expect_eq(l.found.leaks[0].blocks, c->blocks, "%s", c->snapshot);
        cr_expect_eq(l.found.leaks[0].bytes, c->bytes, "%s", c->snapshot);
        cr_expect_eq(l.found.leaks[0].kind, c->kind, "%s", c->snapshot);
        cr_expect_gt(l.found.leaks[0].confidence, 0.9, "%s", c->snapshot);
    }
}

LongTest(leaks, real_training_is_clean)
{
    static const char *const names[] = {
        "mlp_train",
        "gpt_train",
        "gpt_train_expandable",
        "generate",
        "no_leak_warmup",
        "annotated",
        "no_leak_cache_growth",
        "streams",
        "compiled",
        "frag_varying_batch",
        "late_start",
        "frag_varying_batch_expandable",
        "gc_limit",
        "gc_limit_off",
        "expandable_empty",
        "mempool",
        "retry_release",
        "profiler_steps",
        "whatif_0",
        "whatif_1",
        "whatif_2",
        "two_devices",
        "oom_outside",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        loaded l;

        load(&l, names[i]);
        cr_expect_eq(l.found.verdict, MV_VERDICT_CLEAN, "%s: %s", names[i], l.found.why);
    }
}

Test(leaks, windows_too_short_are_undecided)
{
    static const char *const names[] = {"ring",       "no_history", "state_only",
                                        "resnet_all", "graphs",     "graph_trees"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        loaded l;

        load(&l, names[i]);
        cr_expect_eq(l.found.verdict, MV_VERDICT_UNKNOWN, "%s: %s", names[i], l.found.why);
    }
}

/* Returns whether a list of the runs in testdata/leaks (record.py) contains this number. */
static bool has_number(const cJSON *numbers, int64_t number)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, numbers)
        if ((int64_t)item->valuedouble == number)
            return true;
    return false;
}

LongTest(leaks, recorded_runs_name_the_leaking_lines)
{
    cJSON *truth = mvt_json_file("leaks/leaks.json");
    const cJSON *run;

    cr_assert_not_null(truth);
    cJSON_ArrayForEach(run, truth) {
        loaded l;

        const char *name = mvt_format("../leaks/%s", run->string);
        load(&l, name);
        cr_expect_eq((double)l.found.live_bytes, mvt_json_number(run, "allocated"), "%s", name);
        /* The leaking lines must be reported, and no others. */
        const cJSON *lines = cJSON_GetObjectItem(run, "lines");
        mv_leak_verdict verdict = cJSON_GetArraySize(lines) ? MV_VERDICT_LEAK : MV_VERDICT_CLEAN;
        if (cJSON_HasObjectItem(run, "verdict"))
            verdict = MV_VERDICT_UNKNOWN;
        cr_expect_eq(l.found.verdict, verdict, "%s: %s", name, l.found.why);
        for (uint32_t i = 0; i < l.found.count; i++) {
            mv_frame_id culprit = mv_culprit_frame(&l.trace, NULL, l.found.leaks[i].stack);
            int64_t line = l.trace.frames.line[culprit.row];
            cr_expect(has_number(lines, line), "%s: line %lld", name, (long long)line);
        }
        cr_expect_eq(l.found.count, (uint32_t)cJSON_GetArraySize(lines), "%s: %u leaks", name,
                     l.found.count);
    }
}
