#include "analyze/ranks/ranks.h"

#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

enum { MOST = 6, STEPS = 10 };

/* The peculiarities of a rank. If all are zero, the rank is like the others. */
typedef struct {
    uint64_t batch; /* factor of the activation sizes; 0: 1 */
    bool leaks;     /* keeps the loss of each step */
    uint64_t own;   /* number of bytes allocated on a line that no other rank has */
    /* number of bytes allocated on another such line, in two calls of the line */
    uint64_t own_too;
    bool no_stacks;    /* has one block, without a stack */
    bool other_order;  /* calls through another line in step 3 */
    bool stops;        /* dumped after six steps */
    uint64_t late;     /* bytes allocated in the ninth step */
    uint64_t reserves; /* bytes of a segment that is never used */
} habits;

typedef struct {
    mvt_trace *made[MOST];
    mv_summary summary[MOST];
    const mv_summary *ranks[MOST];
    uint32_t count;
    mv_ranks found;
} party;

static party p;

#define TORCH "/v/lib/python3.12/site-packages/torch/"

static void make_step(mvt_trace *t, habits h, int step, uint64_t *kept)
{
    uint64_t batch = h.batch ? h.batch : 1;

    mvt_alloc(t, .addr = 0x20000000, .bytes = 2 * MIB * batch,
              .stack = h.other_order && step == 3
                           ? "forward:" TORCH "nn/modules/linear.py:134;other:train.py:70"
                           : "forward:" TORCH "nn/modules/linear.py:134;forward:train.py:62");
    mvt_alloc(t, .addr = 0x28000000, .bytes = 8 * MIB * batch, .stack = "forward:train.py:63");
    mvt_alloc(t, .addr = 0x30000000, .bytes = 3 * MIB, .stack = "");
    if (h.leaks)
        mvt_alloc(t, .addr = *kept += 4 * MIB, .bytes = MIB, .stack = "log:train.py:77");
    mvt_free(t, .addr = 0x20000000);
    mvt_free(t, .addr = 0x28000000);
    mvt_free(t, .addr = 0x30000000);
    mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
}

static mvt_trace *make_rank(habits h)
{
    mvt_trace *t = mvt_new();
    uint64_t kept = 0x38000000;

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30);
    if (h.no_stacks) {
        mvt_alloc(t, .addr = 0x10000000, .bytes = 16 * MIB);
        mvt_final_heap(t);
        return t;
    }
    if (h.reserves)
        mvt_segment_alloc(t, .addr = 0x90000000, .bytes = h.reserves);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 16 * MIB, .stack = "build:model.py:5");
    if (h.own)
        mvt_alloc(t, .addr = 0x12000000, .bytes = h.own, .stack = "ema:train.py:33");
    if (h.own_too) {
        mvt_alloc(t, .addr = 0x16000000, .bytes = h.own_too / 2, .stack = "f:own.py:1;a:own.py:2");
        mvt_alloc(t, .addr = 0x1a000000, .bytes = h.own_too / 2, .stack = "f:own.py:1;a:own.py:3");
    }
    for (int step = 0; step < (h.stops ? 6 : STEPS); step++) {
        if (h.late && step == 8)
            mvt_alloc(t, .addr = 0x12000000, .bytes = h.late, .stack = "ema:train.py:33");
        make_step(t, h, step, &kept);
    }
    mvt_final_heap(t);
    return t;
}

static void compare(const habits *h, uint32_t count)
{
    p.count = count;
    for (uint32_t i = 0; i < count; i++) {
        p.made[i] = make_rank(h[i]);
        mvt_ok(mv_summary_make(mvt_arena(p.made[i]), mvt_done(p.made[i]), 0, MV_ALL_EVENTS,
                               MV_SUMMARY_POINTS, "rank", &p.summary[i], mvt_err()));
        p.ranks[i] = &p.summary[i];
    }
    mvt_ok(mv_ranks_compare(mvt_arena(p.made[0]), p.ranks, count, (mv_rank_grid){0}, &p.found,
                            mvt_err()));
}

/* There must be exactly one outlier, with this rank, reason and line. */
static void expect_lone(uint32_t rank, mv_rank_reason reason, const char *line)
{
    const mv_rank_outlier *o = &p.found.outliers[0];
    char label[80];

    cr_assert_eq(p.found.count, 1, "%u outliers", p.found.count);
    cr_expect_eq(o->rank, rank, "rank %u", o->rank);
    cr_expect_eq(o->reason, reason, "%s", mv_rank_reason_name(o->reason));
    mv_culprit_label(p.ranks[o->code_of]->code, NULL, o->stack, label, sizeof label);
    cr_expect_str_eq(label, line);
}

#define COMPARE(...)                                        \
    do {                                                    \
        const habits all[] = {__VA_ARGS__};                 \
        compare(all, (uint32_t)(sizeof all / sizeof *all)); \
    } while (0)

Test(ranks, equal_ranks_have_no_outlier)
{
    COMPARE({0}, {0}, {0}, {0});
    cr_expect_eq(p.found.count, 0);
    cr_expect_eq(p.found.first, MV_NO_ROW);
    cr_expect_eq(p.found.leaks, 0);
}

Test(ranks, a_larger_batch_is_named)
{
    COMPARE({0}, {0}, {.batch = 2}, {0});
    expect_lone(2, MV_RANK_LARGER_BATCH, "train.py:63 forward");
    cr_expect_float_eq(p.found.outliers[0].factor, 2, 0.001);
    cr_expect_eq(p.found.outliers[0].bytes, 10 * MIB);
    cr_expect_eq(p.found.first, 2);
    cr_expect_eq(p.found.apart[2].first, 1);
    cr_expect_eq(p.found.apart[2].last, 1);
}

Test(ranks, a_smaller_batch_is_named)
{
    COMPARE({.batch = 4}, {.batch = 4}, {.batch = 1});
    expect_lone(2, MV_RANK_SMALLER_BATCH, "train.py:63 forward");
    cr_expect_float_eq(p.found.outliers[0].factor, 0.25, 0.001);
}

Test(ranks, a_leak_on_one_rank_is_named)
{
    COMPARE({0}, {.leaks = true}, {0});
    expect_lone(1, MV_RANK_LEAK, "train.py:77 log");
    cr_expect_eq(p.found.outliers[0].bytes, STEPS * MIB);
    cr_expect_eq(p.found.leaks, 1);
}

Test(ranks, a_leak_of_all_ranks_is_not_a_difference)
{
    COMPARE({.leaks = true}, {.leaks = true}, {.leaks = true});
    cr_expect_eq(p.found.count, 0);
    cr_expect_eq(p.found.leaks, 3);
}

Test(ranks, memory_that_one_rank_alone_holds_is_named)
{
    COMPARE({.own = 20 * MIB}, {0}, {0});
    expect_lone(0, MV_RANK_OWN_SITES, "train.py:33 ema");
    cr_expect_eq(p.found.outliers[0].bytes, 20 * MIB);
    COMPARE({.own = 20 * MIB}, {0}, {.own = 20 * MIB}, {.own = 20 * MIB});
    expect_lone(1, MV_RANK_MISSING_SITES, "train.py:33 ema");
}

/* Of the bytes at all places that only this rank has, a line must be charged only for those of its
 * calls. */
Test(ranks, one_line_is_not_given_the_bytes_of_all)
{
    COMPARE({.own = 20 * MIB, .own_too = 48 * MIB}, {0}, {0});
    expect_lone(0, MV_RANK_OWN_SITES, "own.py:1 f");
    cr_expect_eq(p.found.outliers[0].bytes, 68 * MIB);
    cr_expect_eq(p.found.outliers[0].at_stack, 48 * MIB);
    cr_expect(strstr(p.found.outliers[0].text, "68.0 MiB, 48.0 MiB of it at own.py:1 f"), "%s",
              p.found.outliers[0].text);
    COMPARE({.own = 20 * MIB, .own_too = 48 * MIB}, {0}, {.own = 20 * MIB, .own_too = 48 * MIB},
            {.own = 20 * MIB, .own_too = 48 * MIB});
    expect_lone(1, MV_RANK_MISSING_SITES, "own.py:1 f");
    cr_expect_eq(p.found.outliers[0].at_stack, 48 * MIB);
}

/* A rank without stacks may have all of the places. */
Test(ranks, places_are_not_known_without_stacks)
{
    COMPARE({.own = 20 * MIB}, {.no_stacks = true});
    expect_lone(0, MV_RANK_LARGER_UNPLACED, "(no stack)");
    COMPARE({.own = 40 * MIB}, {0}, {.no_stacks = true}, {0}, {0});
    cr_assert_eq(p.found.count, 2);
    cr_expect_eq(p.found.outliers[0].reason, MV_RANK_OWN_SITES);
    cr_expect(strstr(p.found.outliers[0].text, "unknown for 1 without stacks"), "%s",
              p.found.outliers[0].text);
    cr_expect_eq(p.found.outliers[1].reason, MV_RANK_SMALLER_UNPLACED);
}

Test(ranks, another_order_is_named)
{
    COMPARE({0}, {0}, {0}, {.other_order = true});
    expect_lone(3, MV_RANK_DIFFERENT_STACKS, "train.py:70 other");
    cr_expect_eq(p.found.apart[3].first, 1 + 3 * 3);
    cr_expect_eq(p.found.apart[0].first, MV_NO_DIVERGENCE);
}

Test(ranks, more_reserved_memory_is_named)
{
    COMPARE({0}, {.reserves = 256 * MIB}, {0});
    expect_lone(1, MV_RANK_RESERVED, "(no stack)");
    cr_expect_eq(p.found.outliers[0].bytes, 256 * MIB);
}

Test(ranks, an_early_dump_is_not_a_difference)
{
    COMPARE({0}, {.stops = true}, {0});
    cr_expect_eq(p.found.count, 0);
    cr_expect_eq(p.found.first, MV_NO_ROW);
}

/* What the other ranks allocate later is not a difference, either. */
Test(ranks, an_early_dump_may_have_a_lower_peak)
{
    COMPARE({.late = 20 * MIB}, {.late = 20 * MIB, .stops = true}, {.late = 20 * MIB});
    cr_expect_eq(p.found.count, 0);
    COMPARE({.late = 20 * MIB}, {.batch = 2, .stops = true}, {.late = 20 * MIB});
    cr_expect_eq(p.found.count, 1);
}

/* The first and the last rank may be odd without being stages in a pipeline. */
Test(ranks, the_first_and_the_last_rank_are_named)
{
    COMPARE({.batch = 2}, {0}, {0}, {0}, {0}, {.batch = 4});
    cr_assert_eq(p.found.count, 2);
    cr_expect_eq(p.found.outliers[0].rank, 0);
    cr_expect_eq(p.found.outliers[1].rank, 5);
}

Test(ranks, no_rank_is_an_outlier_if_all_differ)
{
    COMPARE({.own = MIB}, {.own = 20 * MIB}, {.own = 40 * MIB}, {.own = 60 * MIB});
    cr_expect_eq(p.found.count, 0);
}

Test(ranks, the_larger_of_two_is_named)
{
    COMPARE({.batch = 3}, {0});
    expect_lone(0, MV_RANK_LARGER_BATCH, "train.py:63 forward");
    cr_expect_eq(mv_rank_reference(&p.found, 0), 1);
    COMPARE({.own = 40 * MIB}, {.leaks = true});
    cr_expect_eq(p.found.count, 2);
}

static mvt_trace *random_rank(uint64_t seed, uint32_t count, uint32_t odd)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30);
    for (uint32_t i = 0; i < count; i++) {
        const char *stack = mvt_format("f:a.py:%u", 1 + mvt_random(&seed, 9) + (i == odd ? 50 : 0));
        mvt_alloc(t, .addr = 0x10000000 + (uint64_t)i * 4096,
                  .bytes = 512 * (1 + mvt_random(&seed, 8)), .stack = stack);
    }
    mvt_final_heap(t);
    return t;
}

Test(ranks, sequences_diverge_at_the_right_event)
{
    for (uint64_t seed = 1; seed < 80; seed++) {
        uint64_t dice = seed;
        uint32_t count[2] = {1 + mvt_random(&dice, 200), 1 + mvt_random(&dice, 200)};
        uint32_t odd = mvt_random(&dice, 250), shorter = count[count[0] > count[1]];
        mv_summary s[2];
        mvt_trace *t[2] = {random_rank(seed, count[0], UINT32_MAX),
                           random_rank(seed, count[1], odd)};
        for (int i = 0; i < 2; i++)
            mvt_ok(mv_summary_make(mvt_arena(t[i]), mvt_done(t[i]), 0, MV_ALL_EVENTS,
                                   MV_SUMMARY_POINTS, "r", &s[i], mvt_err()));
        mv_divergence d = mv_sequences_compare(&s[0], &s[1], seed % 2);
        cr_assert_eq(d.first, odd < shorter ? odd : MV_NO_DIVERGENCE);
        cr_assert_eq(d.first, d.last);
        /* Thin out the points as for a long trace's curve: remove every second point until at
         * most 16 remain. */
        mv_summary *summary = &s[seed % 2];
        while (summary->points > 16) {
            summary->points /= 2;
            summary->stride++;
            for (uint32_t j = 0; j < summary->points; j++)
                summary->point[j] = summary->point[2 * j + 1];
        }
        d = mv_sequences_compare(&s[0], &s[1], seed % 2);
        if (d.first != MV_NO_DIVERGENCE)
            cr_assert(d.first <= odd && odd <= d.last, "%u in %u..%u", odd, (unsigned)d.first,
                      (unsigned)d.last);
        else
            cr_assert(odd >= shorter || odd >= shorter >> s[seed % 2].stride << s[seed % 2].stride);
        mvt_drop(t[0]);
        mvt_drop(t[1]);
    }
}

Test(ranks, devices_of_one_file_are_ranks)
{
    cJSON *report = mvt_json(0, "$MEMVIZ ranks --json $SNAPS/two_devices.pickle");
    const cJSON *first = mvt_member(report, "ranks.0"), *outlier = mvt_member(report, "outliers.0");

    cr_assert_eq(cJSON_GetArraySize(mvt_member(report, "ranks")), 2);
    mvt_json_has(first, "file device peak_allocated peak_reserved leak_verdict");
    cr_expect_eq(mvt_json_number(first, "peak_allocated"), 129353728);
    cr_expect_eq(mvt_json_number(first, "peak_reserved"), 148897792);
    mvt_json_has(outlier, "file reason bytes frames");
    cr_expect_eq(mvt_json_number(outlier, "device"), 1);
    cr_expect_str_eq(mvt_json_text(outlier, "reason"), "larger_batch");
    cr_expect_eq(mvt_json_number(outlier, "factor"), 2);
}

Test(ranks, broken_and_missing_files_do_not_lose_the_rest)
{
    cJSON *report =
        mvt_json(1, "head -c 4000 $SNAPS/gpt_train.pickle >cut.pickle; "
                    "$MEMVIZ ranks --json cut.pickle $SNAPS/mlp_train.pickle nowhere.pickle "
                    "$SNAPS/mlp_train.pickle 2>/dev/null");

    cr_assert_eq(cJSON_GetArraySize(mvt_member(report, "ranks")), 4);
    cr_expect_str_eq(mvt_json_text(report, "ranks.0.error.code"), "TRUNCATED");
    cr_expect(cJSON_IsNull(mvt_member(report, "ranks.1.error")));
    cr_expect_str_eq(mvt_json_text(report, "ranks.2.error.code"), "IO");
    cr_expect_gt(mvt_json_number(report, "ranks.3.peak_allocated"), 0);
}

Test(ranks, stages_are_reported)
{
    cJSON *report = mvt_json(0, "cp $SNAPS/mlp_train.pickle r2.pickle; cp $SNAPS/mlp_train.pickle "
                                "r10.pickle; cp $SNAPS/streams.pickle r11.pickle; "
                                "cp $SNAPS/streams.pickle r12.pickle; "
                                "$MEMVIZ ranks --json --groups tp=2,pp=2 r10.pickle r11.pickle "
                                "r12.pickle r2.pickle");
    static const mvt_expected_run refused[] = {
        {"2", 2, NULL, "--groups pp=2: the product does not divide the number of ranks, 1"},
        {"2 nowhere.pickle 2>&1", 1, "1 of 2 could not be read", NULL}};

    cr_assert_eq(cJSON_GetArraySize(mvt_member(report, "groups")), 2);
    cr_expect_eq(mvt_json_number(report, "groups.1.ranks"), 2);
    cr_expect_eq(mvt_json_number(report, "ranks.0.group"), 0);
    cr_expect_eq(mvt_json_number(report, "ranks.1.group"), 1);
    cr_expect_eq(mvt_json_number(report, "ranks.3.group"), 0);
    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "outliers")), 0);
    MVT_EXPECT_RUNS("$MEMVIZ ranks $SNAPS/mlp_train.pickle --groups pp=%s", refused);
}

/* A line is called from two other lines, and each rank has one of these calls. */
Test(ranks, callers_that_differ_are_shown)
{
    static const char *const stacks[] = {"make:a.py:9;step:a.py:44;main:a.py:68",
                                         "make:a.py:9;step:a.py:44;main:a.py:80"};
    const char *path[2];

    for (int i = 0; i < 2; i++) {
        mvt_trace *t = mvt_new();
        mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30);
        mvt_alloc(t, .addr = 0x10000000, .bytes = 4096, .stack = stacks[i]);
        mvt_final_heap(t);
        path[i] = mvt_temp_file(mvt_pickle_bytes(t, false));
    }
    mvt_run run = mvt_sh("$MEMVIZ ranks %s %s | tr -s '\n ' '  '", path[0], path[1]);
    cr_expect(strstr(run.out, "a.py:68 main > a.py:9 make"), "%s", run.out);
    cr_expect(strstr(run.out, "a.py:80 main > a.py:9 make"), "%s", run.out);
}

/* The buffer of `ring` covered only half a step, so its peak may have been earlier and higher. A
 * window has a separate peak. */
Test(ranks, a_peak_that_may_have_been_earlier_is_a_lower_bound)
{
    static const mvt_expected_run all[] = {
        {"ring.pickle mlp_train.pickle", 0,
         "; ring.pickle may have peaked higher: history truncated", ""},
        {NULL, 0, " above mlp_train.pickle by the recorded events;", NULL},
        {NULL, 0, ">= 210 MiB", NULL},
        {NULL, 0, "!>= 124 MiB", NULL},
        {"ring.pickle ring.pickle", 0, "both may have peaked higher: no history is complete", ""},
        {"ring.pickle ring.pickle mlp_train.pickle gpt_train.pickle", 0,
         "2 of them may have peaked higher", ""},
        {NULL, 0, "!by the recorded events", NULL},
        {"mlp_train.pickle gpt_train.pickle", 0, "gpt_train.pickle peaks", ""},
        {NULL, 0, "!higher", NULL},
        {"ring.pickle mlp_train.pickle --from 10 --to 300", 0, "peaks", ""},
        {NULL, 0, "!higher", NULL},
        {NULL, 0, "!>= ", NULL}};

    MVT_EXPECT_RUNS("cd $SNAPS; $MEMVIZ ranks %s | tr -s '\n ' '  '", all);
}

/* If no free was recorded, blocks may have ended earlier, and segments may be older than the first
 * event. */
Test(ranks, a_peak_that_may_be_too_high_is_not_a_fact)
{
    static const mvt_expected_run all[] = {
        {"no_frees.pickle", 0, "above no_free_completed.pickle by the recorded events", ""},
        {NULL, 0, "no_frees.pickle may have peaked higher or lower: memviz stats shows", NULL},
        {NULL, 0, "~ 188 MiB +100 MiB >= 200 MiB", NULL}};

    MVT_EXPECT_RUNS("cd $SNAPS/../skipped; $MEMVIZ ranks no_free_completed.pickle %s | "
                    "tr -s '\n ' '  '",
                    all);
}

/* All files together exceed this budget, but no single file does. */
Test(ranks, files_share_the_memory)
{
    mvt_run run = mvt_here_or_sh("$MEMVIZ ranks --max-memory 48M $SNAPS/gpt_train.pickle "
                                 "$SNAPS/leak_loss_list.pickle $SNAPS/profiler_steps.pickle "
                                 "$SNAPS/annotated.pickle");

    cr_expect_eq(run.status, 0, "%s", run.err);
}

/* Sixty summaries exceed the limit, while each file with its summary stays far below it. */
LongTest(ranks, kept_summaries_count_against_the_memory_limit)
{
    mvt_run run = mvt_sh("set --; while test $# -lt 60; do set -- \"$@\" $SNAPS/gpt_train.pickle; "
                         "done; $MEMVIZ ranks -q --max-memory 12M --max-disk 0 \"$@\"");

    cr_expect_eq(run.status, 1);
    cr_expect(strstr(run.err, "memory limit reached"), "%s", run.err);
}
