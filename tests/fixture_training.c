#include "tests/fixture_training.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define TORCH   "/venv/lib/python3.12/site-packages/torch/"
#define MAIN    "train:/w/train.py:%d;<module>:/w/train.py:99"
#define CALL    "_call_impl:" TORCH "nn/modules/module.py:1790;"
#define LINE(n) "train:/w/train.py:" #n ";<module>:/w/train.py:99"

enum { MOST_LAYERS = 8, WINDOW = 6, SHAPES = 24, HEAP = 1 << 30 };

/* Habits that are no leaks. */
enum {
    HABIT_VARYING_BATCH = 1,
    HABIT_GRADS_STAY = 2,     /* zero_grad(set_to_none=False) */
    HABIT_CACHE_FILLS = 4,    /* one entry a step, up to some step */
    HABIT_SHAPE_CACHE = 8,    /* one entry for each shape that is new */
    HABIT_AVERAGE = 16,       /* a copy of the weights at some step */
    HABIT_WINDOW = 32,        /* the last few results */
    HABIT_REQUEST = 64,       /* something that grows within the step and is dropped */
    HABIT_EPOCH_LIST = 128,   /* a list that is emptied now and then */
    HABIT_BEST = 256,         /* the best result so far, replaced ever more rarely */
    HABIT_GROWN_BUFFER = 512, /* a buffer that is made anew for a larger batch */
    HABIT_UNFINISHED = 1024,  /* the trace ends within a forward pass */
    HABIT_EVALUATES = 2048,   /* forward passes without gradients, now and then */
    HABIT_LAZY_LAYERS = 4096, /* optimizer state comes layer by layer in the first steps */
    HABITS = 8191
};

typedef struct {
    mvt_trace *t;
    mvt_training_truth *truth;
    uint64_t random;
    uint64_t next;
    uint32_t habits, layers, steps, batch;
    mvt_leak leak;
    uint32_t leak_layer, leak_each;
    bool leak_varies;
    uint32_t fills_until, average_at, window, epoch, shapes;
    uint64_t width[MOST_LAYERS];
    uint64_t input, loss, best, buffer, buffer_bytes;
    uint64_t activation[MOST_LAYERS][2], grad[MOST_LAYERS], state[MOST_LAYERS];
    uint64_t results[WINDOW];
    uint64_t list[64];
    uint32_t listed;
    bool seen[SHAPES];
} run;

static uint64_t draw(run *r, uint64_t below)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return (r->random >> 11) % below;
}

static bool has(const run *r, uint32_t habit)
{
    return (r->habits & habit) != 0;
}

static uint64_t take(run *r, uint64_t bytes, const char *stack)
{
    uint64_t addr = r->next;

    r->next += (bytes + 511) / 512 * 512;
    mvt_alloc(r->t, .addr = addr, .bytes = bytes, .stack = stack);
    return addr;
}

/* Gives a block back and forgets it; nothing for 0. */
static void drop(run *r, uint64_t *addr)
{
    if (*addr)
        mvt_free(r->t, .addr = *addr);
    *addr = 0;
}

/* Python's assignment: the old value goes when the new one is there. */
static void assign(run *r, uint64_t *variable, uint64_t bytes, const char *stack)
{
    uint64_t made = take(r, bytes, stack);

    drop(r, variable);
    *variable = made;
}

static void leak_block(run *r, uint64_t bytes, const char *stack)
{
    take(r, bytes, stack);
    r->truth->leaked++;
    r->truth->leaked_bytes += (bytes + 511) / 512 * 512;
}

static void name_line(run *r, const char *line)
{
    r->truth->lines[r->truth->lines[0] != NULL] = line;
}

static bool leaks_layer(const run *r, uint32_t layer)
{
    return (r->leak == MVT_LEAK_HOOK || r->leak == MVT_LEAK_TWO) && layer == r->leak_layer;
}

/* Layers 0 and 2, 1 and 3, ... share their code, as blocks of one class do. */
static void layer_stack(const run *r, uint32_t layer, uint32_t line, char *out, size_t size)
{
    snprintf(out, size,
             "forward:" TORCH "nn/modules/linear.py:134;%s" CALL
             "forward:/w/model.py:%u;" CALL MAIN,
             leaks_layer(r, layer) ? "inner:" TORCH "nn/modules/module.py:1833;" : "",
             50 + layer % 2, (int)line);
}

/* A hook keeps the outputs of its layer while the model trains. */
static void forward(run *r, uint32_t line, bool keeps)
{
    for (uint32_t l = 0; l < r->layers; l++) {
        char stack[512];
        uint64_t bytes = r->width[l] * r->batch, temporary;

        layer_stack(r, l, line, stack, sizeof stack);
        temporary = take(r, bytes / 2 + 1, stack);
        for (int k = 0; k < 2; k++)
            r->activation[l][k] = take(r, bytes, stack);
        drop(r, &temporary);
        if (keeps && leaks_layer(r, l)) {
            r->truth->leaked++;
            r->truth->leaked_bytes += (bytes + 511) / 512 * 512;
            r->activation[l][1] = 0;
        }
    }
}

static void drop_activations(run *r)
{
    for (uint32_t l = r->layers; l-- > 0;)
        for (int k = 0; k < 2; k++)
            drop(r, &r->activation[l][k]);
}

static void backward(run *r)
{
    for (uint32_t l = r->layers; l-- > 0;) {
        uint64_t temporary = take(r, r->width[l] * r->batch, "");
        if (!r->grad[l])
            r->grad[l] = take(r, r->width[l] * 64, "");
        drop(r, &r->activation[l][1]);
        drop(r, &r->activation[l][0]);
        drop(r, &temporary);
    }
}

static void optimize(run *r, uint32_t step)
{
    static const char stack[] =
        "_init_group:" TORCH "optim/adam.py:170;step:" TORCH "optim/adam.py:240;" LINE(25);
    static const char foreach[] =
        "adam:" TORCH "optim/adam.py:790;step:" TORCH "optim/adam.py:248;" LINE(25);

    if (r->truth->marks == MVT_MARKS_OPTIMIZER)
        mvt_annotate(r->t, "Optimizer.step#AdamW.step", true, 0);
    for (uint32_t l = 0; l < r->layers; l++)
        if (!r->state[l] && (!has(r, HABIT_LAZY_LAYERS) || l < 2 * (step + 1)))
            r->state[l] = take(r, r->width[l] * 128, stack);
    for (uint32_t l = 0; l < r->layers; l++) {
        uint64_t temporary = take(r, r->width[l] * 64, foreach);
        drop(r, &temporary);
    }
    if (r->truth->marks == MVT_MARKS_OPTIMIZER)
        mvt_annotate(r->t, "Optimizer.step#AdamW.step", false, 0);
}

/* ---- habits ------------------------------------------------------------------------------ */

static void keep_caches(run *r, uint32_t step)
{
    uint32_t shape = (uint32_t)draw(r, r->shapes);

    if (has(r, HABIT_CACHE_FILLS) && step < r->fills_until)
        take(r, 4096, LINE(31));
    if (has(r, HABIT_SHAPE_CACHE) && !r->seen[shape]) {
        r->seen[shape] = true;
        take(r, 8192 + 512 * shape, LINE(32));
    }
    if (has(r, HABIT_AVERAGE) && step == r->average_at)
        for (uint32_t l = 0; l < r->layers; l++)
            take(r, r->width[l] * 64, LINE(33));
    if (has(r, HABIT_GROWN_BUFFER) && r->batch * 4096 > r->buffer_bytes) {
        r->buffer_bytes = (uint64_t)r->batch * 4096;
        assign(r, &r->buffer, r->buffer_bytes, LINE(34));
    }
}

static void keep_results(run *r, uint32_t step)
{
    if (has(r, HABIT_WINDOW))
        assign(r, &r->results[step % r->window], 512, LINE(35));
    if (has(r, HABIT_EPOCH_LIST)) {
        r->list[r->listed++] = take(r, 640, LINE(36));
        for (uint32_t i = 0; r->listed == r->epoch && i < r->epoch; i++)
            drop(r, &r->list[i]);
        r->listed %= r->epoch;
    }
    if (has(r, HABIT_BEST) && draw(r, step + 2) == 0)
        assign(r, &r->best, 100000, LINE(37));
}

static void serve_request(run *r)
{
    uint64_t cache[24];
    uint32_t tokens = 4 + (uint32_t)draw(r, 20);

    for (uint32_t k = 0; k < tokens; k++)
        cache[k] = take(r, 2048, LINE(38));
    for (uint32_t k = 0; k < tokens; k++)
        drop(r, &cache[k]);
}

static void evaluate(run *r)
{
    forward(r, 40, false);
    drop_activations(r);
}

/* ---- leaks ------------------------------------------------------------------------------- */

static void leak(run *r, uint32_t step)
{
    if (r->leak == MVT_LEAK_SMALL || r->leak == MVT_LEAK_TWO)
        leak_block(r, 1 + draw(r, 1024), "log:/w/train.py:77;" LINE(26));
    if (r->leak == MVT_LEAK_SELDOM && step % r->leak_each == r->leak_each / 2)
        leak_block(r, r->leak_varies ? 1 + draw(r, 1 << 20) : 5000, "log:/w/train.py:77;" LINE(26));
    if (r->leak == MVT_LEAK_LATE && step >= r->steps / 3)
        leak_block(r, 4096, "log:/w/train.py:77;" LINE(26));
    if (r->leak == MVT_LEAK_GRAPH)
        for (uint32_t l = 0; l < r->layers; l++) {
            char stack[512];
            layer_stack(r, l, 41, stack, sizeof stack);
            leak_block(r, r->width[l] * 8, stack);
        }
}

static void make_loss(run *r)
{
    static const char stack[] = "cross_entropy:" TORCH "nn/functional.py:3504;" LINE(23);

    if (r->leak == MVT_LEAK_LOSS)
        leak_block(r, 4, stack);
    else
        assign(r, &r->loss, 4, stack);
}

static void mark_step(run *r, uint32_t step)
{
    char name[64];

    snprintf(name, sizeof name,
             r->truth->marks == MVT_MARKS_PROFILER ? "ProfilerStep#%u" : "## step %u ##", step);
    if (r->truth->marks == MVT_MARKS_PROFILER || r->truth->marks == MVT_MARKS_RANGE)
        mvt_annotate(r->t, name, true, 0);
    if (r->truth->marks == MVT_MARKS_METADATA) {
        snprintf(name, sizeof name, "step=%u", step);
        mvt_alloc(r->t, .addr = r->next, .bytes = 512, .stack = LINE(19), .metadata = name);
        mvt_free(r->t, .addr = r->next);
        r->next += 512;
    }
}

static void train_step(run *r, uint32_t step)
{
    mark_step(r, step);
    if (has(r, HABIT_VARYING_BATCH))
        r->batch = 1 + (uint32_t)draw(r, 16);
    assign(r, &r->input, (uint64_t)r->batch * 4096, LINE(20));
    for (uint32_t l = 0; l < r->layers && !has(r, HABIT_GRADS_STAY); l++)
        drop(r, &r->grad[l]);
    forward(r, 22, true);
    if (step + 1 == r->steps && has(r, HABIT_UNFINISHED))
        return;
    make_loss(r);
    backward(r);
    optimize(r, step);
    keep_caches(r, step);
    keep_results(r, step);
    leak(r, step);
    if (has(r, HABIT_REQUEST))
        serve_request(r);
    if (has(r, HABIT_EVALUATES) && step % 5 == 4)
        evaluate(r);
}

static void draw_run(run *r, mvt_leak leak_kind)
{
    uint32_t least = 8;

    r->leak = leak_kind;
    r->leak_varies = draw(r, 4) == 0;
    r->leak_each = 2 + (uint32_t)draw(r, 6);
    if (leak_kind == MVT_LEAK_SELDOM)
        least = 7 * r->leak_each + 2;
    if (leak_kind == MVT_LEAK_LATE)
        least = 16;
    r->steps = least + (uint32_t)draw(r, 40);
    r->layers = 1 + (uint32_t)draw(r, MOST_LAYERS);
    r->leak_layer = (uint32_t)draw(r, r->layers);
    r->habits = (uint32_t)draw(r, HABITS + 1);
    r->batch = 1 + (uint32_t)draw(r, 8);
    r->fills_until = 1 + (uint32_t)draw(r, r->steps * 2 / 3);
    r->average_at = (uint32_t)draw(r, r->steps);
    r->window = 1 + (uint32_t)draw(r, WINDOW);
    r->shapes = 1 + (uint32_t)draw(r, SHAPES);
    r->epoch = 2 + (uint32_t)draw(r, r->steps / 3);
    for (uint32_t l = 0; l < r->layers; l++)
        r->width[l] = 64 + draw(r, 4000);
    r->truth->steps = r->steps;
    r->truth->marks = (mvt_marks)draw(r, MVT_MARKS_COUNT);
}

static void name_lines(run *r)
{
    static const char *const layer_lines[] = {"model.py:50 forward", "model.py:51 forward"};

    if (r->leak == MVT_LEAK_LOSS)
        name_line(r, "train.py:23 train");
    if (r->leak == MVT_LEAK_SMALL || r->leak == MVT_LEAK_SELDOM || r->leak == MVT_LEAK_LATE ||
        r->leak == MVT_LEAK_TWO)
        name_line(r, "train.py:77 log");
    if (r->leak == MVT_LEAK_HOOK || r->leak == MVT_LEAK_TWO)
        name_line(r, layer_lines[r->leak_layer % 2]);
}

void mvt_training(mvt_trace *t, uint64_t seed, mvt_leak leak_kind, mvt_training_truth *truth)
{
    run r = {.t = t,
             .truth = truth,
             .random = seed * 0x9e3779b97f4a7c15u + 0x1234567,
             .next = 0x100000000};

    *truth = (mvt_training_truth){0};
    for (int i = 0; i < 8; i++)
        draw(&r, 2);
    draw_run(&r, leak_kind);
    name_lines(&r);
    mvt_segment_alloc(t, .addr = r.next, .bytes = (uint64_t)HEAP * 64, .stack = LINE(10));
    for (uint32_t l = 0; l < r.layers; l++)
        take(&r, r.width[l] * 64, "convert:" TORCH "nn/modules/module.py:1370;" LINE(10));
    for (uint32_t i = 0; i < r.steps; i++)
        train_step(&r, i);
    mvt_final_heap(t);
}
