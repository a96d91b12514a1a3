#include "analyze/oom/forecast.h"

#include <math.h>

#include "analyze/totals/moment.h"
#include "analyze/totals/totals.h"
#include "tests/fixture/fixture.h"

static void alloc(mvt_trace *t, uint32_t slot, uint64_t mib, const char *stack)
{
    mvt_alloc(t, .addr = 0x100000000 + slot * 0x10000000ull, .bytes = mib * MIB, .stack = stack);
}

/* Steps of six allocations: an input of so many MiB, three activations (two of which grow with the
 * square of the input), a weight gradient, and the optimizer's temporary block. The last step ends
 * after `stop` of them. */
static mvt_trace *make_run(const uint64_t *inputs, uint32_t count, uint32_t stop)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x100000000, .bytes = 0x80000000);
    alloc(t, 0, 7, "weight:a.py:9");
    for (uint32_t i = 0; i < count; i++) {
        uint64_t input = inputs[i];
        uint32_t end = i + 1 < count ? 6 : stop;
        static const char *const stacks[] = {"read:a.py:1",   "square:a.py:2", "grow:a.py:3",
                                             "square:a.py:4", "back:a.py:5",   "step:a.py:6"};
        uint64_t sizes[] = {input, input * input, 2 * input, input * input, 7, 14};
        for (uint32_t j = 0; j < end; j++) {
            if (j == 5)
                mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
            alloc(t, j + 1, sizes[j], stacks[j]);
        }
        if (end < 6)
            continue;
        mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
        for (uint32_t slot = 1; slot <= 6; slot++)
            mvt_free(t, .addr = 0x100000000 + slot * 0x10000000ull);
    }
    return t;
}

/* Returns the forecast of a run whose next allocation, of `bytes` bytes, fails. In the trace, that
 * allocation is an oom event. */
static mv_forecast forecast(mvt_trace *t, uint64_t bytes, const char *stack)
{
    mv_arena *arena = mvt_arena(t);
    mv_recurrence_query ask = {.bytes = bytes};
    mv_sites sites;
    mv_steps steps;
    mv_forecast out;

    mvt_oom(t, .addr = 0, .bytes = bytes, .stack = stack);
    mvt_final_heap(t);
    const mv_trace *trace = mvt_done(t);
    mv_block_rules rules = mv_block_rules_of(trace);
    mv_lives lives = mvt_lives(arena, trace, 0);
    ask.event = lives.events.count - 1;
    ask.stack = lives.events.stack[ask.event];
    mvt_ok(mv_sites_find(arena, trace, &sites, mvt_err()));
    mvt_ok(mv_steps_find(arena, trace, &lives, &steps, mvt_err()));
    mvt_ok(mv_forecast_find(arena, &lives, &sites, &steps, &rules, ask,
                            mv_moment_levels(&lives, ask.event - 1).allocated, &out, mvt_err()));
    return out;
}

/* Returns the forecast of a step of `inputs[count - 1]` when its allocation number `stop`, of `mib`
 * MiB, fails. */
static mv_forecast forecast_of_inputs(const uint64_t *inputs, uint32_t count, uint32_t stop,
                                      uint64_t mib, const char *stack)
{
    return forecast(make_run(inputs, count, stop), mib * MIB, stack);
}

/* weight 7 + input 10 + 100 + 20 + 100 + gradient 7 + temporary 14 */
Test(forecast, sizes_grow_in_proportion_to_earlier_steps)
{
    mv_forecast f = forecast_of_inputs((uint64_t[]){4, 6, 5, 10}, 4, 2, 20, "grow:a.py:3");

    cr_expect_eq(f.peak, 258 * MIB, "%llu", (unsigned long long)(f.peak / MIB));
    cr_expect(!f.is_least);
    cr_expect_eq(f.steps, 3);
}

/* The square has not been seen yet. */
Test(forecast, without_a_growing_counterpart_there_is_no_forecast)
{
    mv_forecast f = forecast_of_inputs((uint64_t[]){4, 6, 5, 10}, 4, 0, 10, "read:a.py:1");

    cr_expect_eq(f.peak, 17 * MIB, "%llu", (unsigned long long)(f.peak / MIB));
    cr_expect(f.is_least);
}

/* If all earlier steps were alike, nothing distinguishes the square from the input. Both the square
 * and the temporary block then grow by the linear factor. Blocks as large as the weight, which is
 * held, keep their size. */
Test(forecast, after_equal_steps_the_rest_grows_by_the_factor)
{
    mv_forecast f = forecast_of_inputs((uint64_t[]){5, 5, 5, 10}, 4, 1, 100, "square:a.py:2");

    cr_expect_eq(f.peak, (7 + 10 + 100 + 20 + 50 + 7 + 28) * MIB, "%llu",
                 (unsigned long long)(f.peak / MIB));
    cr_expect_eq(f.factor, 2);
}

Test(forecast, equal_steps_are_forecast_exactly)
{
    static const uint64_t inputs[] = {4, 4, 4};
    uint64_t peak = (7 + 4 + 16 + 8 + 16 + 7 + 14) * MIB;

    cr_expect_eq(forecast_of_inputs(inputs, 3, 1, 16, "square:a.py:2").peak, peak);
    cr_expect_eq(forecast_of_inputs(inputs, 3, 4, 7, "back:a.py:5").peak, peak);
    cr_expect_eq(forecast_of_inputs(inputs, 3, 4, 7, "back:a.py:5").factor, 1);
}

Test(forecast, a_point_before_any_step_shows_nothing)
{
    static const uint64_t inputs[] = {4, 4, 4};

    cr_expect_eq(forecast_of_inputs(inputs, 3, 2, 900, "validate:b.py:1").peak, 0);
    cr_expect_eq(forecast_of_inputs(inputs, 1, 2, 16, "grow:a.py:3").peak, 0);
}

/* The earlier step is incomplete. Only one block from the backward pass's thread remains, and it
 * looks like any other block from that thread. */
static mv_forecast forecast_of(uint64_t lone, uint32_t blocks, uint32_t peers)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x100000000, .bytes = 0x80000000);
    mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
    mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = s ? 0 : blocks - peers; i < blocks; i++)
            mvt_alloc(t, .addr = 0x100000000 + i * 0x4000000ull, .bytes = 8 * MIB,
                      .stack = mvt_format("layer%u:a.py:1", i));
        mvt_alloc(t, .addr = 0x170000000, .bytes = s ? 64 * MIB : lone);
        if (s)
            break;
        mvt_alloc(t, .addr = 0x178000000, .bytes = lone);
        mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
        mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
        for (uint32_t i = blocks - peers; i < blocks; i++)
            mvt_free(t, .addr = 0x100000000 + i * 0x4000000ull);
        mvt_free(t, .addr = 0x170000000);
        mvt_free(t, .addr = 0x178000000);
    }
    return forecast(t, 64 * MIB, NULL);
}

Test(forecast, one_block_that_looks_alike_is_not_an_earlier_step)
{
    cr_expect_gt(forecast_of(32 * MIB, 20, 20).peak, 0);
    cr_expect_gt(forecast_of(32 * MIB, 20, 10).peak, 0);
    cr_expect_eq(forecast_of(32 * MIB, 20, 0).peak, 0);
    cr_expect_eq(forecast_of(4, 20, 0).peak, 0);
}

/* The counterpart in the earlier step is most of that step, but nothing grows by a factor of a
 * million from step to step. */
Test(forecast, a_factor_that_cannot_be_is_not_an_earlier_step)
{
    cr_expect_gt(forecast_of(MIB, 1, 0).peak, 0);
    cr_expect_eq(forecast_of(4, 1, 0).peak, 0);
}

typedef struct {
    const char *name;
    double over, under; /* largest permitted error, as a fraction of the peak */
    uint32_t checked;   /* smallest number of points */
} expected;

/* Returns the most bytes that are allocated from an event to the end of its step. */
static uint64_t peak_from(const uint64_t *level, uint32_t event, uint32_t end)
{
    uint64_t most = 0;

    for (uint32_t e = event; e < end; e++)
        if (level[e] > most)
            most = level[e];
    return most;
}

static uint32_t check_run(const expected *want, double *over, double *under)
{
    mv_arena *arena = mvt_memory();
    mv_sites sites;
    mv_steps steps;
    mv_series series;
    uint32_t checked = 0, tried = 0, missing = 0;
    mv_trace trace = mvt_load(arena, want->name);
    mv_block_rules rules = mv_block_rules_of(&trace);
    mv_lives lives = mvt_lives(arena, &trace, 0);

    mvt_ok(mv_sites_find(arena, &trace, &sites, mvt_err()));
    mvt_ok(mv_steps_find(arena, &trace, &lives, &steps, mvt_err()));
    mvt_ok(mv_totals_series(arena, &lives, &series, mvt_err()));
    for (uint32_t s = 2; s + 2 < steps.count; s++)
        for (uint32_t e = steps.at[s] + (steps.at[s + 1] - steps.at[s]) / 4; e < steps.at[s + 1];
             e += 31) {
            mv_recurrence_query ask = {e, lives.events.stack[e], lives.events.size[e]};
            uint64_t least = peak_from(series.allocated, e, steps.at[s + 1]);
            uint64_t most = peak_from(series.allocated, e, steps.at[s + 2]);
            mv_forecast f;
            if (lives.events.action[e] != MV_ACTION_ALLOC)
                continue;
            mvt_ok(mv_forecast_find(arena, &lives, &sites, &steps, &rules, ask,
                                    series.allocated[e - 1], &f, mvt_err()));
            tried++;
            missing += f.peak == 0;
            if (f.peak == 0)
                continue;
            *over = fmax(*over, (double)f.peak / (double)most - 1);
            if (f.is_least)
                continue;
            *under = fmax(*under, 1 - (double)f.peak / (double)least);
            checked++;
        }
    cr_expect_leq(10 * missing, tried, "%s: %u of %u have none", want->name, missing, tried);
    return checked;
}

/* Blocks are up to 1 MiB larger than their requests, which a forecast cannot know. It therefore
 * tends to be too low. */
LongTest(forecast, recorded_steps_took_the_forecast)
{
    static const expected runs[] = {
        {"gpt_train", 0.01, 0.03, 0},
        {"no_leak_warmup", 0.01, 0.01, 30},
        {"leak_in_training", 0.01, 0.01, 30},
        {"profiler_steps", 0.01, 0.01, 20},
        {"frag_varying_batch", 0.25, 0.15, 100},
        {"../oom/varlen1_frag", 0.05, 0.15, 30},
        {"../oom/checkpoints2_cap", 0.25, 0.05, 10},
    };

    for (uint32_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        double over = 0, under = 0;
        uint32_t checked = check_run(&runs[i], &over, &under);
        cr_expect_geq(checked, runs[i].checked, "%s: %u", runs[i].name, checked);
        cr_expect_leq(over, runs[i].over, "%s: %.3f above", runs[i].name, over);
        cr_expect_leq(under, runs[i].under, "%s: %.3f below", runs[i].name, under);
    }
}
