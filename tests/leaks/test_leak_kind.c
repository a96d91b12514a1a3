/* The reason for a leak: each kind with just enough evidence, and with too little. */
#include "analyze/leaks/leak_words.h"

#include "tests/leaks/fixture_leaks.h"
#include "tests/oom/fixture_oom.h"

#define TORCH  "/v/lib/python3.12/site-packages/torch/"
#define MODULE "_call_impl:" TORCH "nn/modules/module.py:1790;"
#define HOOKED "inner:" TORCH "nn/modules/module.py:1850;" MODULE
#define LINEAR "forward:" TORCH "nn/modules/linear.py:134;" MODULE
#define LOOP   "train:train.py:20"
#define STEPS  12

/* Blocks that are kept in each of twelve steps: one for each stack, with these bytes. */
typedef struct {
    const char *stacks[6];
    uint64_t bytes;
    bool has_backward;
} habit;

static mvt_trace *train(const habit *h)
{
    mvt_trace *t = mvt_run_new();
    uint64_t next = 0x30000000;

    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; h->stacks[k]; k++) {
            mvt_alloc(t, .addr = next, .bytes = h->bytes, .stack = h->stacks[k]);
            next += (h->bytes + 511) / 512 * 512;
        }
        mvt_alloc(t, .addr = 0x20000000, .bytes = 1 << 20,
                  .stack = h->has_backward ? "" : "step:train.py:99");
        mvt_free(t, .addr = 0x20000000);
        mvt_annotate(t, "ProfilerStep#1", true, 0);
    }
    mvt_final_heap(t);
    return t;
}

Test(leak_kind, a_kind_is_named_only_on_evidence)
{
    static const struct {
        habit habit;
        mv_leak_kind kind;
    } cases[] = {
        {{{LOOP}, 4096, true}, MV_LEAK_UNKNOWN},
        {{{LINEAR LOOP}, 4096, true}, MV_LEAK_UNKNOWN},
        {{{LINEAR LOOP, LINEAR LOOP}, 4096, true}, MV_LEAK_UNKNOWN},
        {{{LINEAR LOOP, LINEAR LOOP, LINEAR LOOP}, 4096, true}, MV_LEAK_GRAPH},
        {{{LINEAR LOOP, LINEAR LOOP, LINEAR LOOP}, 4096, false}, MV_LEAK_NO_GRAD},
        {{{"forward:" TORCH "nn/modules/rnn.py:1100;" MODULE LOOP,
           "forward:" TORCH "nn/modules/rnn.py:1100;" MODULE LOOP,
           "forward:" TORCH "nn/modules/rnn.py:1100;" MODULE LOOP},
          4096,
          true},
         MV_LEAK_HIDDEN_STATE},
        {{{"cross_entropy:" TORCH "nn/functional.py:3500;" LOOP}, 4, true}, MV_LEAK_LOSS},
        {{{"cross_entropy:" TORCH "nn/functional.py:3500;" LOOP}, 4096, true}, MV_LEAK_UNKNOWN},
        {{{"relu:" TORCH "nn/functional.py:1700;" LOOP}, 4, true}, MV_LEAK_UNKNOWN},
        {{{"forward:" TORCH "nn/modules/linear.py:134;" HOOKED LOOP}, 4096, true}, MV_LEAK_HOOK},
        {{{"__init__:train.py:5;" LOOP}, 4096, true}, MV_LEAK_OBJECT},
        {{{"_init_group:" TORCH "optim/adam.py:170;" LOOP}, 4096, true}, MV_LEAK_OPTIMIZER},
        {{{"all_gather:" TORCH "distributed/distributed_c10d.py:4000;" LOOP}, 4096, true},
         MV_LEAK_COMMUNICATION},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_leak_kind kind = cases[i].kind;
        mv_leaks found = mvt_leaks(train(&cases[i].habit));
        cr_assert_eq(found.count, 1, "%s: %u entries", mv_leak_kind_name(kind), found.count);
        cr_expect_eq(found.leaks[0].kind, kind, "%s, not %s", mv_leak_kind_name(kind),
                     mv_leak_kind_name(found.leaks[0].kind));
        cr_expect((*found.leaks[0].evidence == 0) == (kind == MV_LEAK_UNKNOWN));
    }
}

/* Blocks that are kept, except that `bulks` times, six steps apart, the five newest are freed at one
 * moment, with this stack. */
static mv_leak_kind kind_after(int bulks, const char *freed_at)
{
    mvt_trace *t = mvt_run_new();
    uint64_t next = 0x30000000;

    for (int i = 0; i < 60; i++) {
        mvt_alloc(t, .addr = next, .bytes = 512, .stack = LOOP);
        next += 512;
        for (uint64_t k = 5; i % 6 == 4 && i / 6 < bulks && k > 0; k--)
            mvt_free(t, .addr = next - k * 512, .stack = freed_at);
        mvt_alloc(t, .addr = 0x20000000, .bytes = 1 << 20, .stack = "");
        mvt_free(t, .addr = 0x20000000);
        mvt_annotate(t, "ProfilerStep#1", true, 0);
    }
    mv_leaks found = mvt_leaks_of_run(t);
    cr_assert_eq(found.count, 1);
    return found.leaks[0].kind;
}

/* The garbage collector may have freed the blocks, unless the same line of the program did it each
 * time. */
Test(leak_kind, bursts_of_frees_are_cycles)
{
    cr_expect_eq(kind_after(1, NULL), MV_LEAK_CYCLE);
    cr_expect_eq(kind_after(1, "reset:metrics.py:15;" LOOP), MV_LEAK_CYCLE);
    cr_expect_eq(kind_after(3, NULL), MV_LEAK_CYCLE);
    cr_expect_eq(kind_after(3, "reset:metrics.py:15;" LOOP), MV_LEAK_UNKNOWN);
}

/* Two lines of a module and the loss, in one evaluation, are one entry, at the evaluation's call.
 * Another caller's graph is another entry. */
Test(leak_kind, a_graph_is_one_entry)
{
    static const habit h = {{LINEAR "forward:model.py:7;" MODULE "evaluate:train.py:30;" LOOP,
                             LINEAR "forward:model.py:8;" MODULE "evaluate:train.py:30;" LOOP,
                             "mse_loss:" TORCH "nn/functional.py:3900;evaluate:train.py:30;" LOOP,
                             LINEAR "forward:model.py:7;" MODULE "check:train.py:40;" LOOP},
                            4,
                            true};
    mvt_trace *t = train(&h);
    mv_leaks found = mvt_leaks(t);
    char label[64];

    cr_assert_eq(found.count, 2);
    cr_expect_eq(found.leaks[0].lines, 3);
    cr_expect_eq(found.leaks[0].blocks, 3 * found.leaks[1].blocks);
    cr_expect_geq(found.leaks[1].blocks, STEPS - 3u);
    mv_leak_label(mvt_done(t), NULL, &found.leaks[0], label, sizeof label);
    cr_expect_str_eq(label, "train.py:30 evaluate");
    cr_expect_eq(found.leaks[1].lines, 1);
    cr_expect_eq(found.leaked_bytes + found.retained_bytes, 4 * STEPS * 512);
}

Test(leak_kind, outlook_counts_the_steps_that_fit)
{
    static const habit h = {{LOOP}, 1 << 20, true};
    mvt_trace *t = train(&h);
    mv_leak_outlook outlook;
    mv_leaks found = mvt_leaks(t);
    mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);

    /* The peak of the last complete step: twelve kept blocks and the temporary one, 1 MiB each. */
    mvt_ok(
        mv_leaks_outlook(mvt_arena(t), mvt_done(t), &lives, &found, 33 * MIB, &outlook, mvt_err()));
    cr_expect_str_eq(outlook.source, "option");
    cr_expect_eq(outlook.steps, 20);
    cr_expect_gt(outlook.time_us, 0);
    mvt_ok(mv_leaks_outlook(mvt_arena(t), mvt_done(t), &lives, &found, MV_NO_BYTES, &outlook,
                            mvt_err()));
    cr_expect_eq(outlook.steps, MV_NO_BYTES);
    cr_expect_str_eq(outlook.source, "");
}

/* This equals the capacity in the out-of-memory report, which shows nothing about memory reserved
 * later. */
static void capacity_is_the_limit(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < trace->device_count; device++) {
        mv_lives lives = mvt_lives(mvt_memory(), trace, device);
        mv_leaks none = {0};
        mv_leak_outlook outlook;
        mv_ooms found = mvt_ooms_within(mvt_memory(), trace, &lives);
        const mv_oom *last = NULL;

        for (uint32_t i = 0; i < found.count; i++)
            if (found.ooms[i].api_call == MV_NO_ROW && found.ooms[i].device_free != MV_NO_BYTES)
                last = &found.ooms[i];
        mvt_ok(
            mv_leaks_outlook(mvt_memory(), trace, &lives, &none, MV_NO_BYTES, &outlook, mvt_err()));
        if (last)
            cr_expect_geq(outlook.capacity, last->outlook.limit_least, "%s", name);
        if (last && last->refused_by != MV_REFUSED_LIMIT)
            cr_expect_geq(outlook.capacity, last->bytes.reserved + last->device_free, "%s", name);
    }
}

EachSnapshot(leak_kind, capacity_is_the_limit_of_the_last_failure, capacity_is_the_limit);

/* Memory is released before a failure is recorded, so the limit is the reserved total before that
 * release. */
Test(leak_kind, capacity_is_the_most_reserved_before_a_refusal)
{
    mvt_trace *t = mvt_new();
    mv_leak_outlook outlook;
    mv_leaks none = {0};

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 60 << 20);
    mvt_segment_alloc(t, .addr = 0x20000000, .bytes = 40 << 20);
    mvt_segment_free(t, .addr = 0x20000000, .bytes = 40 << 20);
    mvt_oom(t, .addr = 4ull << 30, .bytes = 60 << 20);
    mvt_final_heap(t);
    mv_lives lives = mvt_lives(mvt_memory(), mvt_done(t), 0);
    mvt_ok(mv_leaks_outlook(mvt_memory(), mvt_done(t), &lives, &none, MV_NO_BYTES, &outlook,
                            mvt_err()));
    cr_expect_str_eq(outlook.source, "oom");
    cr_expect_eq(outlook.capacity, 100 << 20);
    cr_expect(outlook.is_least);
}

static void expect_words(uint64_t capacity, bool is_least, const char *words)
{
    mv_leak_outlook outlook = {.capacity = capacity, .is_least = is_least, .oom_event = 0};
    mvt_trace *t = mvt_new();
    char text[160];

    mvt_oom(t, .addr = 4ull << 30, .bytes = 60 << 20);
    mv_leak_outlook_text(mvt_done(t), 0, &outlook, text, sizeof text);
    cr_expect(strstr(text, "memory ran out at event 0"), "%s", text);
    cr_expect_str_eq(text + strlen(text) - strlen(words), words, "%s", text);
    cr_expect_eq(strstr(text, ", with") == NULL, capacity == MV_NO_BYTES, "%s", text);
}

Test(leak_kind, a_capacity_that_ran_out_is_a_bound_or_unknown)
{
    expect_words(100 << 20, false, ", with 100 MiB in all");
    expect_words(100 << 20, true, ", with at least 100 MiB in all");
    expect_words(MV_NO_BYTES, false, ")");
}
