#include "analyze/steps/steps.h"

#include "tests/fixture/fixture.h"

#include "analyze/code/culprit.h"

static mv_steps steps_of_device(mvt_trace *t, uint32_t device)
{
    const mv_trace *trace = mvt_done(t);
    mv_steps steps;
    mv_lives lives = mvt_lives(mvt_arena(t), trace, device);

    mvt_ok(mv_steps_find(mvt_arena(t), trace, &lives, &steps, mvt_err()));
    return steps;
}

static mv_steps steps_of(mvt_trace *t)
{
    return steps_of_device(t, 0);
}

static void expect_steps(mvt_trace *t, mv_steps_source source, uint32_t count)
{
    mv_steps s = steps_of(t);

    cr_expect_eq(s.source, source);
    cr_expect_eq(s.count, count);
}

/* An allocation that is freed at once. */
static void work(mvt_trace *t, uint64_t bytes, const char *stack)
{
    mvt_alloc(t, .addr = 0x10000000, .bytes = bytes, .stack = stack);
    mvt_free(t, .addr = 0x10000000);
}

static void annotate(mvt_trace *t, const char *format, int number)
{
    const char *name = mvt_format(format, number);

    mvt_annotate(t, name, true, 0);
}

/* An optimizer's step, which ends the step of the program. */
static void optimize(mvt_trace *t, const char *name)
{
    mvt_annotate(t, name, true, 0);
    mvt_annotate(t, name, false, 0);
}

/* A trace that begins with a large segment. */
static mvt_trace *with_heap(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30, .stack = "f:a.py:1");
    return t;
}

Test(steps, optimizer_marks_are_steps)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 5; i++) {
        annotate(t, "Optimizer.zero_grad#AdamW.zero_grad", 0);
        for (int k = 0; k < 3; k++)
            work(t, 1024, "f:a.py:2");
        optimize(t, "Optimizer.step#AdamW.step");
        work(t, 1024, "f:a.py:3");
    }
    mv_steps s = steps_of(t);
    cr_expect_eq(s.source, MV_STEPS_ANNOTATION);
    cr_expect_str_eq(s.name, "Optimizer.step#AdamW.step");
    cr_assert_eq(s.count, 5);
    cr_expect_eq(s.at[0], 1 + 9, "an event after the segment and three allocations");
    cr_expect_eq(s.at[1], s.at[0] + 12);
    cr_expect_eq(mv_steps_bin(&s, s.at[0] - 1), 0);
    cr_expect_eq(mv_steps_bin(&s, s.at[0]), 1);
    cr_expect_eq(mv_steps_bin(&s, UINT32_MAX), 5);
}

#define MODULE "_call_impl:/v/site-packages/torch/nn/modules/module.py:1790;"

Test(steps, the_current_step_begins_where_the_last_one_ended)
{
    mvt_trace *t = with_heap();

    work(t, 1024, "f:a.py:2");
    optimize(t, "Optimizer.step#AdamW.step");
    work(t, 1024, "f:a.py:2");
    mv_steps s = steps_of(t);
    cr_expect_eq(s.count, 0, "one mark shows no step");
    cr_expect_eq(s.under_way, 4);
}

/* Three steps of one line, each of which is a pass through four layers that have separate
 * ranges. */
static mvt_trace *passes(const char *range, const char *collective)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 8; i++) {
        work(t, 4096, "train:train.py:19;main:train.py:90");
        work(t, 512, "forward:model.py:4;" MODULE "train:train.py:20;main:train.py:90");
        for (int layer = 0; layer < 4; layer++) {
            annotate(t, range, layer);
            work(t, 1024, "forward:model.py:5;" MODULE "train:train.py:20;main:train.py:90");
        }
        work(t, 2048, "train:train.py:21;main:train.py:90");
        for (int k = 0; k < 3; k++) {
            annotate(t, collective, 0);
            work(t, 2048, "train:train.py:22;main:train.py:90");
        }
    }
    return t;
}

Test(steps, loops_within_a_call_and_collectives_are_not_layers)
{
    static const char *const collectives[] = {"ncclAllGather", "nccl:all_reduce",
                                              "FullyShardedDataParallel.forward", "aten::mm"};

    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        mvt_trace *t = passes("## block %d ##", collectives[i]);
        mv_steps s = steps_of(t);

        cr_expect_eq(s.source, MV_STEPS_INFERRED, "%s: %s", collectives[i], s.name);
        cr_expect_eq(s.count, 8, "%s: %u", collectives[i], s.count);
        cr_expect_not(s.is_of_lines);
    }
}

/* NVTX ranges as captures name them. CuPy's time_range uses the default domain; JAX uses TSL's,
 * among XLA's own marks. */
Test(steps, ranges_that_users_of_jax_and_cupy_name_are_steps)
{
    static const struct {
        const char *own, *library; /* NULL: no steps */
    } names[] = {{"TSL: train:#step_num=%d,_r=1#", "TSL: Thunk:#hlo_op=dot.%d#"},
                 {"TSL: train step", "TSL: XlaModule:#hlo_module=jit_step#"},
                 {"solve iteration", "cupy.fft"},
                 {"iteration %d", "NCCL: ncclAllReduce"},
                 {NULL, "TSL: XlaModule:#hlo_module=jit_step,program_id=%d#"},
                 {NULL, "TSL: PjRtStreamExecutor::step"},
                 {NULL, "NCCL: ncclAllReduce"}};

    for (unsigned n = 0; n < sizeof names / sizeof *names; n++) {
        mvt_trace *t = with_heap();
        for (int i = 0; i < 9; i++) {
            if (names[n].own)
                annotate(t, names[n].own, i);
            for (int k = 0; k < 3; k++) {
                annotate(t, names[n].library, 3 * i + k);
                work(t, 1024, "f:a.py:2");
            }
        }
        mv_steps s = steps_of(t);
        if (names[n].own) {
            cr_assert_eq(s.source, MV_STEPS_ANNOTATION, "%s", names[n].own);
            cr_assert_eq(s.count, 9, "%s: %u by %s", names[n].own, s.count, s.name);
        } else {
            cr_assert_neq(s.source, MV_STEPS_ANNOTATION, "%s", s.name);
        }
    }
}

Test(steps, parts_of_one_pass_are_not_layers)
{
    mvt_trace *t = with_heap();

    work(t, 4096, "train:train.py:19;main:train.py:90");
    for (int layer = 0; layer < 12; layer++)
        mvt_alloc(t, .addr = 0x11000000 + 4096 * (uint64_t)layer, .bytes = 4096,
                  .stack = "forward:model.py:5;" MODULE "train:train.py:20;main:train.py:90");
    mv_steps s = steps_of(t);
    cr_expect_eq(s.source, MV_STEPS_NONE);
    cr_expect_eq(s.under_way, 4, "the call is under way");
}

Test(steps, lists_that_are_built_at_set_up_are_not_leaks)
{
    mvt_trace *t = with_heap();

    for (uint64_t i = 0; i < 10; i++) {
        mvt_alloc(t, .addr = 0x11000000 + 8192 * i, .bytes = 4096, .stack = "main:train.py:5");
        mvt_alloc(t, .addr = 0x20000000 + 8192 * i, .bytes = 4096, .stack = "main:train.py:5");
        mvt_free(t, .addr = 0x11000000 + 8192 * i);
    }
    cr_expect_eq(steps_of(t).source, MV_STEPS_NONE);
}

Test(steps, profiler_marks_come_before_those_of_the_optimizer)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 9; i++) {
        annotate(t, "ProfilerStep#%d", i);
        work(t, 1024, "f:a.py:2");
        optimize(t, "Optimizer.step#SGD.step");
        work(t, 1024, "f:a.py:3");
    }
    mv_steps s = steps_of(t);
    cr_expect_str_eq(s.name, "ProfilerStep#N");
    cr_expect_eq(s.count, 9);
}

Test(steps, a_last_mark_without_events_after_it_counts)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 3; i++) {
        work(t, 1024, "f:a.py:2");
        optimize(t, "Optimizer.step#SGD.step");
    }
    mv_steps s = steps_of(t);
    cr_assert_eq(s.count, 3);
    cr_expect_eq(s.at[2], mv_trace_events(mvt_done(t), 0).count);
}

Test(steps, numbered_ranges_are_steps_and_numbered_layers_are_not)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 4; i++) {
        annotate(t, "## step %d ##", i);
        for (int layer = 0; layer < 3; layer++) {
            annotate(t, "layer %d", layer);
            work(t, 1024, "f:a.py:2");
        }
    }
    mv_steps s = steps_of(t);
    cr_expect_str_eq(s.name, "## step N ##");
    cr_expect_eq(s.count, 4);
}

Test(steps, marks_in_metadata_are_steps)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 6; i++) {
        const char *text = mvt_format("step=%d", i);
        for (int k = 0; k < 2; k++) {
            mvt_alloc(t, .addr = 0x10000000, .bytes = 1024, .stack = "f:a.py:2", .metadata = text);
            mvt_free(t, .addr = 0x10000000, .metadata = text);
        }
    }
    mv_steps s = steps_of(t);
    cr_expect_eq(s.source, MV_STEPS_MARK);
    cr_expect_str_eq(s.name, "step=N");
    cr_expect_eq(s.count, 6);
}

/* A loop over layers inside the model does not make steps, but the loop around the model does. */
Test(steps, steps_are_inferred_from_a_recurring_line)
{
    mvt_trace *t = with_heap();
    char label[64];

    work(t, 4096, "build:a.py:3");
    for (int i = 0; i < 10; i++) {
        work(t, 2048, "train:a.py:7");
        for (int layer = 0; layer < 4; layer++)
            work(t, 1024, "forward:a.py:2;" MODULE "train:a.py:8");
        work(t, 512, "train:a.py:9");
    }
    mv_steps s = steps_of(t);
    cr_expect_eq(s.source, MV_STEPS_INFERRED);
    cr_expect_eq(s.count, 10);
    cr_expect_str_eq(mv_culprit_label(mvt_done(t), NULL, s.stack, label, sizeof label),
                     "a.py:7 train");
}

/* loss = model(randn(n)).square().mean(); loss.backward(): the line allocates before the call and
 * after it, and both belong to one step. */
Test(steps, a_statement_around_a_call_is_one_step)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 12; i++) {
        work(t, 4096, "train:a.py:7");
        for (int layer = 0; layer < 4; layer++)
            work(t, 1024, "forward:a.py:2;" MODULE "train:a.py:7");
        work(t, 4096, "train:a.py:7");
        for (int layer = 0; layer < 4; layer++)
            work(t, 1024, "");
    }
    expect_steps(t, MV_STEPS_INFERRED, 12);
}

/* Only y = model(x.cuda()): no two of the line's runs belong together. */
Test(steps, calls_with_nothing_else_in_between_are_not_paired)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 12; i++) {
        work(t, 512 * (uint64_t)(1 + i * 7 % 5), "serve:a.py:7");
        for (int layer = 0; layer < 4; layer++)
            work(t, 1024, "forward:a.py:2;" MODULE "serve:a.py:7");
    }
    mv_steps s = steps_of(t);
    cr_expect_eq(s.count, 12);
}

/* CUB's and Thrust's algorithms are not steps of the program. */
Test(steps, ranges_of_cub_are_not_steps)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 12; i++) {
        work(t, 1024, "f:a.py:2");
        for (int k = 0; k < 3; k++) {
            annotate(t, "CCCL: cub::DeviceScan::ExclusiveSum", 0);
            work(t, 1024, "g:a.py:3");
            annotate(t, "CCCL: thrust::sort", 0);
        }
    }
    expect_steps(t, MV_STEPS_INFERRED, 12);
}

/* Each iteration captures a graph and frees nothing. In a private pool it is a step; in a shared
 * pool it may be the layers of a model. */
static uint32_t captures(bool share)
{
    mvt_trace *t = mvt_new();
    uint64_t segment = (uint64_t)2 << 20;

    for (uint64_t i = 0; i < 12; i++) {
        uint64_t base = 0x20000000 + i * segment;

        mvt_segment_alloc(t, .addr = base, .bytes = segment, .stack = "turn:a.py:5");
        mvt_alloc(t, .addr = 0x10000000 + (i << 12), .bytes = 4096, .stack = "turn:a.py:4");
        for (uint64_t k = 0; k < 3; k++)
            mvt_alloc(t, .addr = base + (k << 12), .bytes = 4096,
                      .stack = "forward:a.py:2;" MODULE "turn:a.py:5");
    }
    for (uint64_t i = 0; i < 12; i++) {
        mvt_segment(t, .addr = 0x20000000 + i * segment, .bytes = segment,
                    .pool_a = share ? 1 : i + 1);
        for (int k = 0; k < 3; k++)
            mvt_block(t, .bytes = 4096, .state = MV_BLOCK_ALLOCATED);
        mvt_block(t, .bytes = segment - 3 * 4096, .state = MV_BLOCK_INACTIVE);
    }
    return steps_of(t).count;
}

Test(steps, graphs_that_are_captured_again_are_steps)
{
    cr_expect_eq(captures(false), 12);
    cr_expect_eq(captures(true), 0);
}

/* A loop, then one pass through another line. */
Test(steps, a_last_pass_by_another_line_does_not_hide_the_loop)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 12; i++) {
        work(t, 2048, "predict:a.py:7");
        for (int layer = 0; layer < 8; layer++)
            work(t, 1024, "forward:a.py:2;" MODULE "predict:a.py:8");
    }
    for (int layer = 0; layer < 8; layer++)
        work(t, 1024, "forward:a.py:2;" MODULE "last:a.py:12");
    cr_expect_eq(steps_of(t).count, 12);
}

/* x = randn(n); r = x * 2; kept.append(r) on one line. */
Test(steps, steps_are_inferred_from_lifetimes_on_a_single_line)
{
    mvt_trace *t = with_heap();

    for (uint64_t i = 0; i < 12; i++) {
        uint64_t x = 0x10000000 + 0x1000 * (i % 2), r = 0x20000000 + 0x1000 * i;
        mvt_alloc(t, .addr = x, .bytes = 512, .stack = "train:a.py:7");
        if (i > 0)
            mvt_free(t, .addr = 0x10000000 + 0x1000 * ((i + 1) % 2));
        mvt_alloc(t, .addr = r, .bytes = 512, .stack = "train:a.py:7");
    }
    expect_steps(t, MV_STEPS_INFERRED, 12);
}

Test(steps, a_run_without_recurrence_has_no_steps)
{
    mvt_trace *t = with_heap();

    work(t, 1024, "f:a.py:1");
    work(t, 1024, "f:a.py:2");
    expect_steps(t, MV_STEPS_NONE, 0);
}

/* ---- several optimizers ------------------------------------------------------------------ */

#define OPTIMIZER "wrapper:/v/site-packages/torch/optim/optimizer.py:520;"

/* A model's forward pass and its optimizer's step, which is called on a line of train(). */
static void train_one(mvt_trace *t, int line, bool allocates)
{
    work(t, 1024, mvt_format("forward:a.py:2;" MODULE "train:a.py:%d", 200 + line));
    mvt_annotate(t, "Optimizer.step#Adam.step", true, 0);
    if (allocates)
        work(t, 4096,
             mvt_format("_multi_tensor_adam:/v/site-packages/torch/optim/adam.py:600;" OPTIMIZER
                        "train:a.py:%d;main:a.py:90",
                        line));
    mvt_annotate(t, "Optimizer.step#Adam.step", false, 0);
}

typedef struct {
    const char *lines; /* the lines of an iteration, a letter each */
    int iterations;
    bool allocates; /* the optimizers allocate in each step */
    bool loads;     /* each of them trains on a batch of its own */
    uint32_t steps; /* expected */
} optimizer_case;

/* PyTorch gives the steps of all optimizers of a class the same name. */
Test(steps, each_iteration_with_several_optimizers_is_one_step)
{
    static const optimizer_case cases[] = {
        {"DG", 12, true, false, 12},     /* a GAN */
        {"GD", 12, true, false, 12},     /* in another order */
        {"CCCCCG", 10, true, false, 10}, /* five steps of the critic for one of the generator */
        {"A", 20, true, false, 20},      /* a single optimizer */
        {"DG", 7, true, false, 14},      /* too few iterations: more marks are better */
        {"DG", 12, false, false, 24},    /* the lines are not known, as with fused optimizers */
        {"AAAAAAAAAB", 12, true, false, 120}, /* an optimizer that is stepped once in a while */
        {"DG", 12, true, true, 24},           /* the optimizers take turns */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const optimizer_case *c = &cases[i];
        mvt_trace *t = with_heap();

        for (int k = 0; k < c->iterations; k++)
            for (const char *line = c->lines; *line; line++) {
                if (c->loads)
                    work(t, 2048, "train:a.py:7");
                train_one(t, *line, c->allocates);
            }
        cr_expect_eq(steps_of(t).count, c->steps, "%s: %u", c->lines, steps_of(t).count);
    }
}

/* Warm-up epochs on one line and the others on another: each mark is a step. */
Test(steps, loops_one_after_another_keep_all_steps)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 30; i++)
        train_one(t, i < 12 ? 10 : 20, true);
    expect_steps(t, MV_STEPS_ANNOTATION, 30);
    t = with_heap();
    for (int i = 0; i < 20; i++) /* the discriminator is trained alone for most of the time */
        train_one(t, 10, true);
    for (int i = 0; i < 10; i++) {
        train_one(t, 10, true);
        train_one(t, 20, true);
    }
    expect_steps(t, MV_STEPS_ANNOTATION, 40);
}

/* ---- devices with few events ------------------------------------------------------------- */

static void mirror(mvt_trace *t, int step)
{
    uint64_t addr = 0x80000000 + (uint64_t)step * 4096;

    if (step % 3 == 2)
        mvt_alloc(t, .device = 1, .addr = addr, .bytes = 4096, .stack = "mirror:a.py:30");
}

/* Device 1 only receives a copy in every third step of device 0. */
Test(steps, a_device_without_ranges_has_all_marks_of_the_others)
{
    mvt_trace *t = with_heap();

    mvt_alloc(t, .device = 1, .addr = 0x70000000, .bytes = 4096, .stack = "main:a.py:1");
    for (int i = 0; i < 30; i++) {
        for (int k = 0; k < 3; k++)
            work(t, 1024, "train:a.py:2");
        optimize(t, "Optimizer.step#SGD.step");
        mirror(t, i);
    }
    expect_steps(t, MV_STEPS_ANNOTATION, 30);
    mv_steps s = steps_of_device(t, 1);
    cr_expect_eq(s.source, MV_STEPS_ANNOTATION);
    cr_expect_eq(s.count, 30);
}

/* ---- marks that end early ---------------------------------------------------------------- */

/* Three warm-up steps, then `replays` of a CUDA graph, for which only the input is allocated. */
static mvt_trace *captured(int replays)
{
    mvt_trace *t = with_heap();

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 30; k++)
            work(t, 1024, mvt_format("forward:a.py:%d;" MODULE "train:a.py:8", 50 + k));
        optimize(t, "Optimizer.step#SGD.step");
    }
    for (int i = 0; i < replays; i++) {
        work(t, 2048, "train:a.py:20");
        work(t, 512, "train:a.py:21");
    }
    return t;
}

Test(steps, replays_after_marked_steps_are_steps)
{
    expect_steps(captured(60), MV_STEPS_INFERRED, 60);
    expect_steps(captured(30), MV_STEPS_ANNOTATION, 3);
}

typedef struct {
    const char *snapshot;
    mv_steps_source source;
    uint32_t count;
    const char *name;
} known;

LongTest(steps, steps_of_real_snapshots_are_found)
{
    static const known cases[] = {
        {"gpt_train", MV_STEPS_ANNOTATION, 4, "Optimizer.step#AdamW.step"},
        {"mlp_train", MV_STEPS_ANNOTATION, 3, "Optimizer.step#SGD.step"},
        {"resnet_all", MV_STEPS_ANNOTATION, 2, "Optimizer.step#SGD.step"},
        {"no_leak_warmup", MV_STEPS_ANNOTATION, 12, "Optimizer.step#AdamW.step"},
        {"frag_varying_batch", MV_STEPS_ANNOTATION, 24, "Optimizer.step#AdamW.step"},
        {"annotated", MV_STEPS_ANNOTATION, 3, "## step N ##"},
        {"leak_hidden_state", MV_STEPS_INFERRED, 10, ""},
        {"leak_global_list", MV_STEPS_INFERRED, 12, ""},
        {"leak_cycle", MV_STEPS_INFERRED, 10, ""},
        {"eval_without_no_grad", MV_STEPS_INFERRED, 6, ""},
        {"generate", MV_STEPS_INFERRED, 12, ""},
        {"frag_pinned_by_small", MV_STEPS_INFERRED, 30, ""},
        {"streams", MV_STEPS_INFERRED, 40, ""},
        {"ring", MV_STEPS_NONE, 0, ""},
        {"no_history", MV_STEPS_NONE, 0, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_arena *arena = mvt_memory();
        mv_steps steps;
        mv_trace trace = mvt_load(arena, cases[i].snapshot);
        mv_lives lives = mvt_lives(arena, &trace, 0);

        mvt_ok(mv_steps_find(arena, &trace, &lives, &steps, mvt_err()));
        cr_expect_eq(steps.source, cases[i].source, "%s", cases[i].snapshot);
        cr_expect_eq(steps.count, cases[i].count, "%s: %u", cases[i].snapshot, steps.count);
        cr_expect_str_eq(steps.name, cases[i].name, "%s", cases[i].snapshot);
        for (uint32_t k = 1; k < steps.count; k++)
            cr_expect_gt(steps.at[k], steps.at[k - 1]);
    }
}
