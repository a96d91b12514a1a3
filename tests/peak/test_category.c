/* The purposes of allocations: each rule in a small loop, and whole training runs, both recorded
 * and random. */
#include "analyze/code/culprit.h"
#include "analyze/peak/category.h"
#include "tests/fixture/fixture_training.h"

#define TORCH "/venv/lib/python3.12/site-packages/torch/"
#define MAIN  "main:/w/train.py:9"
#define CALL  "_call_impl:" TORCH "nn/modules/module.py:1790;"
#define MODEL "forward:/w/model.py:5;" CALL MAIN

typedef struct {
    mv_lives lives;
    mv_categories found;
} run;

static run categories_of(mvt_trace *t, const char *rules_text)
{
    run r;
    const mv_trace *trace = mvt_done(t);
    mv_rules rules = {0};
    char why[200];

    if (rules_text)
        cr_assert(mv_rules_read(mvt_arena(t),
                                (mv_span){(const uint8_t *)rules_text, strlen(rules_text)}, &rules,
                                why, sizeof why),
                  "%s", why);
    r.lives = mvt_lives(mvt_arena(t), trace, 0);
    mvt_ok(mv_categories_find(mvt_arena(t), trace, &r.lives, mv_frame_kinds(mvt_arena(t), trace),
                              &rules, &r.found, mvt_err()));
    return r;
}

/* Returns the category of the nth allocation at an address, counting from 0. */
static const char *category_at(const run *r, uint64_t addr, uint32_t nth)
{
    for (uint32_t i = 0; i < r->lives.allocs.count; i++)
        if (r->lives.allocs.addr[i] == addr && nth-- == 0)
            return r->found.name[r->found.of_alloc[i]];
    return "(none)";
}

static void take(mvt_trace *t, uint64_t addr, const char *stack)
{
    mvt_alloc(t, .addr = addr * 0x1000, .bytes = 1024, .stack = stack);
}

static void drop(mvt_trace *t, uint64_t addr)
{
    mvt_free(t, .addr = addr * 0x1000);
}

/* One step, with input 10, activation 11, a temporary block 12 and loss 13; a backward pass with a
 * temporary block 14 and a gradient 15; and an optimizer with state 16 (the first time) and a
 * temporary block 17. */
static void step(mvt_trace *t, bool is_first)
{
    take(t, 10, MAIN);
    take(t, 12, MODEL);
    take(t, 11, MODEL);
    drop(t, 12);
    take(t, 13, "cross_entropy:" TORCH "nn/functional.py:3504;" MAIN);
    take(t, 18,
         "_make_grads:" TORCH "autograd/__init__.py:231;backward:" TORCH
         "autograd/__init__.py:374;" MAIN);
    take(t, 14, "");
    take(t, 15, "");
    drop(t, 11);
    drop(t, 14);
    drop(t, 18);
    if (is_first)
        take(t, 16, "_init_group:" TORCH "optim/adam.py:178;step:" TORCH "optim/adam.py:238;" MAIN);
    take(t, 17,
         "_multi_tensor_adam:" TORCH "optim/adam.py:791;step:" TORCH "optim/adam.py:238;" MAIN);
    drop(t, 17);
    drop(t, 13);
    drop(t, 10);
    drop(t, 15);
}

static mvt_trace *training(void)
{
    mvt_trace *t = mvt_new();

    take(t, 1,
         "convert:" TORCH "nn/modules/module.py:1370;_apply:" TORCH
         "nn/modules/module.py:965;to:" TORCH "nn/modules/module.py:1384;" MAIN);
    take(t, 2,
         "kaiming_uniform_:" TORCH "nn/init.py:500;reset_parameters:" TORCH
         "nn/modules/linear.py:120;" MAIN);
    drop(t, 2);
    step(t, true);
    step(t, false);
    take(t, 20, "all_gather:" TORCH "distributed/distributed_c10d.py:3000;" MAIN);
    take(t, 21,
         "send_to_device:/venv/lib/python3.12/site-packages/accelerate/utils/"
         "operations.py:150;" MAIN);
    mvt_alloc(t, .addr = 22 * 0x1000, .bytes = 1024);
    return t;
}

Test(category, every_allocation_of_a_training_loop_has_its_category)
{
    static const struct {
        uint64_t addr;
        const char *category;
    } all[] = {
        {1, "parameter"},        {2, "temporary"},   {10, "input"},     {11, "activation"},
        {12, "temporary"},       {13, "activation"}, {14, "temporary"}, {15, "gradient"},
        {16, "optimizer_state"}, {17, "temporary"},  {18, "temporary"}, {20, "communication"},
        {21, "input"},           {22, "unknown"},
    };
    run r = categories_of(training(), NULL);

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect_str_eq(category_at(&r, all[i].addr * 0x1000, 0), all[i].category, "%d: %s",
                         (int)all[i].addr, category_at(&r, all[i].addr * 0x1000, 0));
    cr_expect_str_eq(category_at(&r, 15 * 0x1000, 1), "gradient");
}

/* Blocks that the user's line makes before the first module call and frees long afterwards. In
 * which phase they are freed is chance. */
Test(category, a_block_that_stays_for_several_backward_passes_is_not_an_activation)
{
    for (int ends_in_backward = 0; ends_in_backward < 2; ends_in_backward++) {
        mvt_trace *t = mvt_new();

        take(t, 1, MAIN);
        for (int i = 0; i < 3; i++) {
            take(t, 11, MODEL);
            take(t, 14, "backward:" TORCH "autograd/__init__.py:1;" MAIN);
            drop(t, 11);
            drop(t, 14);
        }
        if (!ends_in_backward)
            take(t, 12, MODEL);
        drop(t, 1);
        run r = categories_of(t, NULL);
        cr_expect_str_eq(category_at(&r, 0x1000, 0), "input", "%d", ends_in_backward);
        cr_expect_str_eq(category_at(&r, 11 * 0x1000, 0), "activation");
    }
}

/* The trace ends in the middle of the third step. For the blocks that are alive then, the earlier
 * steps decide. */
Test(category, an_unfinished_step_is_compared_with_earlier_ones)
{
    mvt_trace *t = training();

    step(t, false);
    take(t, 30, MODEL);
    take(t, 31, "");
    take(t, 32, "");
    run r = categories_of(t, NULL);
    cr_expect_str_eq(category_at(&r, 30 * 0x1000, 0), "activation");
    cr_expect_str_eq(category_at(&r, 31 * 0x1000, 0), category_at(&r, 32 * 0x1000, 0));
}

/* The third forward pass fails. While the error unwinds, its blocks are freed like temporary ones.
 * A block that was freed before the failure is temporary. */
Test(category, frees_after_a_failure_are_compared_with_earlier_steps)
{
    mvt_trace *t = mvt_new();

    for (int i = 0; i < 3; i++) {
        take(t, 11, "forward:/w/model.py:6;" CALL MAIN);
        take(t, 12, MODEL);
        drop(t, 12);
        if (i == 2)
            mvt_oom(t, .addr = 1 << 20, .bytes = 1 << 30, .stack = MODEL);
        else
            take(t, 14, "backward:" TORCH "autograd/__init__.py:1;" MAIN);
        drop(t, 11);
        if (i < 2)
            drop(t, 14);
    }
    run r = categories_of(t, NULL);
    cr_expect_str_eq(category_at(&r, 11 * 0x1000, 1), "activation");
    cr_expect_str_eq(category_at(&r, 11 * 0x1000, 2), "activation");
    cr_expect_str_eq(category_at(&r, 12 * 0x1000, 2), "temporary");
}

Test(category, rules_come_first)
{
    run r = categories_of(training(), "model\\.py mixture\nadam\\.py parameter\nmodel never\n");

    cr_expect_str_eq(category_at(&r, 11 * 0x1000, 0), "mixture");
    cr_expect_str_eq(category_at(&r, 12 * 0x1000, 0), "mixture");
    cr_expect_str_eq(category_at(&r, 16 * 0x1000, 0), "parameter");
    cr_expect_eq(r.found.count, MV_CATEGORY_COUNT + 2);
}

/* Without a backward pass and without optimizers, empty stacks mean nothing. */
Test(category, empty_stacks_alone_decide_nothing)
{
    mvt_trace *t = mvt_new();

    take(t, 1, "");
    take(t, 2, "f:/w/a.py:1");
    take(t, 3, "empty:/w/torch_tools/optim/adam.py:7");
    drop(t, 2);
    run r = categories_of(t, NULL);
    for (uint64_t i = 1; i <= 3; i++)
        cr_expect_str_eq(category_at(&r, i * 0x1000, 0), "unknown");
}

/* cuBLAS allocates its workspace during the first product. */
Test(category, workspaces_are_recognised)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 4096,
              .stack = "forward:" TORCH "nn/modules/linear.py:134;" MODEL);
    mvt_alloc(t, .addr = 0x10000000, .bytes = 8519680,
              .stack = "forward:" TORCH "nn/modules/linear.py:134;" MODEL);
    step(t, true);
    mvt_alloc(t, .addr = 0x20000000, .bytes = 8519680, .stack = "f:/w/a.py:1");
    run r = categories_of(t, NULL);
    cr_expect_str_eq(category_at(&r, 0x10000000, 0), "workspace");
    cr_expect_str_neq(category_at(&r, 0x20000000, 0), "workspace");
}

/* A block that lives from before the trace to its end may be either a workspace or an activation.
 * The heap at one moment does not show which, with or without an event, and with or without a
 * backward pass. */
Test(category, facts_without_events_are_unknown)
{
    for (uint32_t events = 0; events < 3; events++) {
        mvt_trace *t = mvt_new();

        if (events > 0)
            mvt_free(t, .addr = 0x20000000, .bytes = 512);
        if (events > 1)
            take(t, 9, "backward:" TORCH "autograd/__init__.py:1;" MODEL);
        mvt_segment(t, .addr = 0x10000000, .bytes = 34 << 20);
        mvt_block(t, .bytes = 33554432, .state = MV_BLOCK_ALLOCATED,
                  .stack = "forward:" TORCH "nn/modules/linear.py:134;" MODEL);
        mvt_block(t, .bytes = (34 << 20) - 33554432);
        run r = categories_of(t, NULL);
        cr_expect_str_eq(category_at(&r, 0x10000000, 0), "unknown", "%u events", events);
    }
}

/* In random runs, the fixture's stacks show which categories are possible. */
Test(category, random_training_has_only_possible_categories)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        mvt_trace *t = mvt_new();
        mvt_training_truth truth;
        uint64_t of[MV_CATEGORY_COUNT] = {0};

        mvt_training(t, seed, MVT_LEAK_NONE, &truth);
        run r = categories_of(t, NULL);
        for (uint32_t i = 0; i < r.lives.allocs.count; i++) {
            mv_stack_id stack = r.lives.allocs.stack[i];
            uint16_t category = r.found.of_alloc[i];
            of[category]++;
            if (stack.row == MV_EMPTY_STACK.row)
                cr_expect(category == MV_CATEGORY_GRADIENT || category == MV_CATEGORY_TEMPORARY,
                          "seed %d: backward made %s", (int)seed, r.found.name[category]);
        }
        cr_expect_gt(of[MV_CATEGORY_ACTIVATION], 0, "seed %d", (int)seed);
        cr_expect_gt(of[MV_CATEGORY_GRADIENT], 0, "seed %d", (int)seed);
    }
}

/* Figures of the recorded model: its parameters, and AdamW's two moments with the same sizes. */
Test(category, recorded_training_has_the_models_figures)
{
    mv_arena *arena = mvt_memory();
    mv_categories found;
    uint64_t parameters = 0, state = 0;
    mv_trace trace = mvt_load(arena, "gpt_train");
    mv_lives lives = mvt_lives(arena, &trace, 0);

    mvt_ok(mv_categories_find(arena, &trace, &lives, mv_frame_kinds(arena, &trace), NULL, &found,
                              mvt_err()));
    for (uint32_t i = 0; i < lives.allocs.count; i++) {
        parameters += found.of_alloc[i] == MV_CATEGORY_PARAMETER ? lives.allocs.block[i] : 0;
        state += found.of_alloc[i] == MV_CATEGORY_OPTIMIZER_STATE ? lives.allocs.requested[i] : 0;
    }
    cr_expect_eq(parameters, 137580544, "what was allocated once the model was made");
    cr_expect_eq(state, 2 * 136531968);
}

Test(category, pieces_give_the_same_categories)
{
    mv_arena *arena = mvt_memory();
    mv_categories whole, found;
    mv_trace trace = mvt_load(arena, "gpt_train");
    mv_lives lives = mvt_lives(arena, &trace, 0);
    const uint8_t *kinds = mv_frame_kinds(arena, &trace);
    mv_category_search *search =
        mv_category_search_begin(arena, &trace, &lives, kinds, NULL, &found);
    uint32_t pieces = 0;

    for (bool again = true; again; pieces++)
        mvt_ok(mv_category_search_some(search, 100, &again, mvt_err()));
    mv_category_search_end(search);
    cr_expect_eq(pieces, 1 + (lives.allocs.count + 99) / 100 + 1);
    mvt_ok(mv_categories_find(arena, &trace, &lives, kinds, NULL, &whole, mvt_err()));
    cr_expect_eq(
        memcmp(whole.of_alloc, found.of_alloc, lives.allocs.count * sizeof *found.of_alloc), 0);
}

#define WRAPPER "wrapper:" TORCH "optim/optimizer.py:493;" MAIN
#define RANGE   "Optimizer.step#AdamW.step"

/* A forward and a backward pass, then a step over three parameters that makes state 40, 41 ... on
 * two lines, and a temporary block 60 for each parameter. With `ends_in`, the trace ends while the
 * step handles this parameter. */
static mvt_trace *own_optimizer(bool derives, bool has_range, bool is_foreach, uint32_t ends_in)
{
    const char *m = derives ? "step:/w/adamw.py:74;" WRAPPER : "step:/w/adamw.py:74;" MAIN;
    const char *v = derives ? "step:/w/adamw.py:75;" WRAPPER : "step:/w/adamw.py:75;" MAIN;
    const char *tmp = derives ? "step:/w/adamw.py:80;" WRAPPER : "step:/w/adamw.py:80;" MAIN;
    mvt_trace *t = mvt_new();

    take(t, 10, MAIN);
    take(t, 11, MODEL);
    take(t, 14, "backward:" TORCH "autograd/__init__.py:374;" MAIN);
    take(t, 15, "");
    drop(t, 14);
    drop(t, 11);
    if (has_range)
        mvt_annotate(t, RANGE, true, 0);
    for (uint32_t p = 0; p <= ends_in && p < 3; p++) {
        take(t, 40 + 2 * p, m);
        take(t, 41 + 2 * p, v);
        take(t, 60 + p, tmp);
        if (!is_foreach && p < ends_in)
            drop(t, 60 + p);
    }
    for (uint32_t p = 0; p < 3 && is_foreach && ends_in == 3; p++)
        drop(t, 60 + p);
    if (has_range && ends_in == 3)
        mvt_annotate(t, RANGE, false, 0);
    return t;
}

static void expect_states(mvt_trace *t, const char *state, const char *temporary)
{
    run r = categories_of(t, NULL);

    cr_expect_str_eq(category_at(&r, 40 * 0x1000, 0), state);
    cr_expect_str_eq(category_at(&r, 41 * 0x1000, 0), state);
    cr_expect_str_eq(category_at(&r, 42 * 0x1000, 0), state);
    cr_expect_str_eq(category_at(&r, 60 * 0x1000, 0), temporary);
}

/* The trace ends with the first step. Blocks that are alive after the step's range outlive it. */
Test(category, state_of_the_users_own_optimizers_is_found)
{
    expect_states(own_optimizer(true, true, false, 3), "optimizer_state", "temporary");
    expect_states(own_optimizer(true, true, true, 3), "optimizer_state", "temporary");
}

/* ... or within the step, where a loop ran the same lines again and kept their blocks. */
Test(category, state_of_a_step_that_is_not_over_is_found)
{
    expect_states(own_optimizer(true, true, false, 2), "optimizer_state", "temporary");
    expect_states(own_optimizer(true, false, false, 2), "optimizer_state", "temporary");
    /* Nothing has been freed yet, so temporary blocks look the same. */
    expect_states(own_optimizer(true, true, true, 2), "unknown", "unknown");
    expect_states(own_optimizer(true, false, true, 2), "unknown", "unknown");
}

/* Classes without a base class: step() without modules, and a backward pass. */
Test(category, state_of_optimizers_that_derive_from_nothing_is_found)
{
    mvt_trace *t = own_optimizer(false, false, false, 3);

    take(t, 10, MAIN);
    take(t, 12, MODEL);
    take(t, 15, "");
    drop(t, 12);
    expect_states(t, "optimizer_state", "temporary");
}

/* If step() runs the model, it is a whole training step. */
Test(category, a_training_step_is_not_an_optimizer)
{
    mvt_trace *t = mvt_new();

    for (int i = 0; i < 2; i++) {
        take(t, 10, "step:/w/train.py:3;" MAIN);
        take(t, 11, "forward:/w/model.py:5;" CALL "step:/w/train.py:4;" MAIN);
        take(t, 14, "backward:" TORCH "autograd/__init__.py:374;step:/w/train.py:5;" MAIN);
        take(t, 15, "");
        drop(t, 14);
        drop(t, 11);
        drop(t, 10);
        drop(t, 15);
    }
    run r = categories_of(t, NULL);
    cr_expect_str_neq(category_at(&r, 10 * 0x1000, 0), "optimizer_state");
    cr_expect_str_eq(category_at(&r, 11 * 0x1000, 0), "activation");
}

/* LBFGS runs forward and backward passes within its step. */
Test(category, a_closure_does_not_belong_to_the_optimizer)
{
    mvt_trace *t = mvt_new();

    for (int i = 0; i < 2; i++) {
        mvt_annotate(t, "Optimizer.step#LBFGS.step", true, 0);
        take(t, 11, MODEL);
        take(t, 14, "backward:" TORCH "autograd/__init__.py:374;" MAIN);
        take(t, 15 + (uint64_t)i, "");
        drop(t, 14);
        drop(t, 11);
        mvt_annotate(t, "Optimizer.step#LBFGS.step", false, 0);
    }
    run r = categories_of(t, NULL);
    cr_expect_str_eq(category_at(&r, 11 * 0x1000, 0), "activation");
    cr_expect_str_eq(category_at(&r, 15 * 0x1000, 0), "gradient");
}

/* ---- parameters that the program allocates itself ----------------------------------------- */

#define OWN "__init__:/w/model.py:20;build:/w/train.py:3"

/* A program whose weights are nn.Parameter(torch.empty(..., device="cuda")): two of 2048 bytes and
 * one of 4096. The first backward pass makes `gradients` gradients of 2048 bytes, and the optimizer
 * `states` states of that size in its first step. Block 100 is data that every step reads. */
typedef struct {
    int gradients, states;
    uint64_t data_bytes;
    bool from_torch; /* torch creates the second weight */
    const char *rules;
} own_case;

static void take_of(mvt_trace *t, uint64_t addr, uint64_t bytes, const char *stack)
{
    mvt_alloc(t, .addr = addr * 0x1000, .bytes = bytes, .stack = stack);
}

static run own_parameters(const own_case *c)
{
    mvt_trace *t = mvt_new();

    take_of(t, 1, 2048, OWN);
    take_of(t, 2, 2048, c->from_torch ? "__init__:" TORCH "nn/modules/linear.py:106;" MAIN : OWN);
    take_of(t, 100, c->data_bytes, "load:/w/train.py:5");
    take_of(t, 4, 4096, OWN);
    for (int i = 0; i < 3; i++) {
        take_of(t, 10, 2048, MAIN);
        take_of(t, 11, 1024, MODEL);
        for (int k = 0; k < c->gradients; k++)
            take_of(t, 30 + (uint64_t)k, 2048, "");
        take_of(t, 40, 4096, "");
        drop(t, 11);
        for (int k = 0; i == 0 && k < c->states; k++)
            take_of(t, 50 + (uint64_t)k, 2048,
                    "_init_group:" TORCH "optim/adam.py:178;step:" TORCH "optim/adam.py:238;" MAIN);
        take_of(t, 17, 512, "_multi_tensor_adam:" TORCH "optim/adam.py:791;" MAIN);
        drop(t, 17);
        drop(t, 10);
        for (int k = 0; k < c->gradients; k++)
            drop(t, 30 + (uint64_t)k);
        drop(t, 40);
    }
    return categories_of(t, c->rules);
}

Test(category, parameters_that_the_program_allocates_have_gradients)
{
    static const struct {
        own_case c;
        const char *weight, *data;
    } all[] = {
        {{2, 4, 8192, false, NULL}, "parameter", "input"},
        {{2, 0, 8192, false, NULL}, "parameter", "input"}, /* SGD */
        {{1, 4, 8192, false, NULL},
         "parameter",
         "input"},                                     /* a GAN: another backward pass follows */
        {{1, 2, 8192, false, NULL}, "input", "input"}, /* one of the two has no gradient */
        {{2, 4, 2048, false, NULL}, "input", "input"}, /* the data has the size of the weights */
        {{2, 4, 8192, true, NULL}, "parameter", "input"},
        {{1, 2, 8192, true, NULL}, "unknown", "input"}, /* only torch's has a gradient */
        {{2, 4, 8192, false, "model.py:20 input"}, "input", "input"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        run r = own_parameters(&all[i].c);

        cr_expect_str_eq(category_at(&r, 0x1000, 0), all[i].weight, "%u", i);
        cr_expect_str_eq(category_at(&r, 100 * 0x1000, 0), all[i].data, "%u", i);
        cr_expect_str_eq(category_at(&r, 10 * 0x1000, 0), "input", "%u: %s", i,
                         category_at(&r, 10 * 0x1000, 0));
        cr_expect_str_eq(category_at(&r, 0x4000, 0), all[i].c.rules ? "input" : "parameter");
    }
}
