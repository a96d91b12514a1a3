/* Peaks at sizes that were not recorded. The slow way is to run the program at that size. The
 * programs are random ones on a literal allocator, and models that were recorded on a GPU with
 * several batch sizes. */

#include "analyze/fit/fit.h"
#include "analyze/fit/sum_rule.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_json.h"

#define ONE(batch) \
    (mv_input)     \
    {              \
        (batch), 1 \
    }

Test(fit, sizes_match_if_a_power_of_the_input_explains_them)
{
    cr_expect(mv_sizes_are_alike(ONE(4), 100, ONE(8), 100));
    cr_expect(mv_sizes_are_alike(ONE(4), 100, ONE(8), 200));
    cr_expect(mv_sizes_are_alike(ONE(4), 100, ONE(8), 400), "attention without flash");
    cr_expect(mv_sizes_are_alike(ONE(8), 300, ONE(4), 150));
    cr_expect_not(mv_sizes_are_alike(ONE(4), 100, ONE(8), 201));
    cr_expect_not(mv_sizes_are_alike(ONE(4), 100, ONE(8), 800));
    cr_expect(mv_sizes_are_alike(ONE(1), UINT64_MAX / 4, ONE(INT32_MAX), UINT64_MAX / 4),
              "no overflow");
    cr_expect(mv_sizes_are_alike((mv_input){4, 6}, 100, (mv_input){8, 9}, 450), "2 * 1.5 * 1.5");
    cr_expect_not(mv_sizes_are_alike((mv_input){4, 6}, 100, (mv_input){8, 9}, 451));
}

Test(fit, sums_need_buffers_from_a_number_of_rows)
{
    cr_expect_not(mv_sum_needs_buffer(2000, 1020));
    cr_expect(mv_sum_needs_buffer(2000, 1021));
    cr_expect_not(mv_sum_needs_buffer(2001, 4080), "not divisible by 4");
    cr_expect(mv_sum_needs_buffer(2001, 4081));
    cr_expect_not(mv_sum_needs_buffer(16, 8160), "few outputs");
    cr_expect(mv_sum_needs_buffer(16, 8161));
    cr_expect_eq(mv_sum_buffer_bytes(2000, 1024), 16384000, "as recorded on an H200");
    cr_expect_eq(mv_sum_buffer_bytes(2000, 1600), 51200000 / 2);
    cr_expect_eq(mv_sum_buffer_bytes(256, 1600), 3276800);
    cr_expect_eq(mv_sum_semaphore_bytes(2000), 64);
}

Test(fit, buffers_of_sums_are_recognized_by_their_semaphores)
{
    static const struct {
        uint64_t bytes[3];
        bool is_buffer;
        const char *why;
        uint32_t freed;
    } all[] = {
        {{8000, 16384000, 64}, true, "[1024, 2000] in float32", 5},
        {{512, 3276800, 8}, true, "[1600, 256] in bfloat16", 5},
        {{512, 3276800, 8}, false, "still in use", 20},
        {{8000, 16384000, 68}, false, "too many semaphores", 5},
        {{8000, 16384004, 64}, false, "parts of a group", 5},
        {{16384000, 8000, 64}, false, "smaller than the result", 5},
        {{(uint64_t)1 << 57, (uint64_t)1 << 58, (uint64_t)1 << 50}, false, "an overflow", 5},
        {{4, 64, 4}, false, "one output, which any small block resembles", 5},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        mv_alloc_lives a = {.count = 4,
                            .requested = (uint64_t *)all[i].bytes,
                            .birth = (uint32_t[]){0, 1, 2, 9},
                            .freed = (uint32_t[]){MV_NEVER, all[i].freed, 4}};
        cr_expect_eq(mv_is_sum_buffer(&a, 1, 3), all[i].is_buffer, "%s", all[i].why);
        cr_expect_not(mv_is_sum_buffer(&a, 1, 2) || mv_is_sum_buffer(&a, 0, 3));
    }
}

/* ---- random programs --------------------------------------------------------------------- */

enum { WEIGHTS = 6, LAYERS = 12, STEPS = 3 };

/* The irregularity of a program. */
typedef enum {
    PLAIN,
    WITH_LIMIT,
    WITH_CHOICES,
    WITH_TURNS,
    WITH_MORE,
    WITH_SUMS,
    WITH_ADAPTER
} oddity;

typedef struct {
    mvt_trace *t;
    slow_allocator slow;
    uint64_t allocated, reserved; /* peaks */
} run;

static uint64_t take(run *r, uint64_t bytes, const char *stack)
{
    uint64_t segments = r->slow.segment_allocs, reserved = r->slow.reserved;
    uint64_t addr = slow_malloc(&r->slow, bytes, 0, 0, false);

    if (r->slow.segment_allocs > segments)
        mvt_segment_alloc(r->t, .addr = slow_at(&r->slow, addr)->start,
                          .bytes = r->slow.reserved - reserved, .stack = stack);
    mvt_alloc(r->t, .addr = addr, .bytes = bytes, .stack = stack);
    r->allocated = r->slow.allocated > r->allocated ? r->slow.allocated : r->allocated;
    r->reserved = r->slow.reserved > r->reserved ? r->slow.reserved : r->reserved;
    return addr;
}

static void give(run *r, uint64_t addr)
{
    slow_request_free(&r->slow, addr);
    slow_complete_free(&r->slow, addr);
    mvt_free(r->t, .addr = addr);
}

/* Returns the bytes of a tensor with factor `n`, which may be one of several products of the
 * sizes. */
static uint64_t tensor(uint64_t n, uint32_t layer, mv_input size)
{
    if (size.length == 1)
        return n * size.batch + (layer % 4 ? 0 : 4096);
    switch (layer % 4) {
    case 0:
        return (n / 64 + 1) * size.batch * size.length;
    case 1:
        return (n / 4096 + 1) * size.batch * size.length * size.length; /* attention */
    case 2:
        return (n / 64 + 1) * size.batch * (size.length + 1); /* one token more */
    default:
        return n * size.length; /* positions */
    }
}

/* Returns the size of one layer's workspace. */
static uint64_t workspace(oddity odd, uint64_t size, uint64_t layer)
{
    uint64_t limit = 9 * MIB + layer;

    if (odd == WITH_TURNS)
        return MIB * (8 + (size % 4 ? 6 : 7) * size);
    if (odd == WITH_CHOICES)
        return MIB * (1 + (size * 7919 + layer * 104729) % 61);
    return odd == WITH_LIMIT && size * 3 * MIB > limit ? limit : size * 3 * MIB;
}

/* Computes the gradients of a linear layer. From 1021 rows, the sum of the bias's gradient uses a
 * buffer of 128 * 4 bytes per output and 64 rows, and semaphores. */
static void take_linear(run *r, uint64_t rows, uint64_t inputs, uint64_t outputs, uint64_t out[2])
{
    uint64_t input = take(r, rows * inputs * 4, "linear:net.py:20"), buffer, semaphores;
    uint64_t gradient = take(r, rows * outputs * 4, NULL);

    out[0] = take(r, inputs * outputs * 4, NULL);
    out[1] = take(r, outputs * 4, NULL);
    if (rows >= 1021) {
        buffer = take(r, 128 * 4 * outputs * ((rows + 63) / 64), NULL);
        semaphores = take(r, 4 * ((outputs + 127) / 128), NULL);
        give(r, semaphores);
        give(r, buffer);
    }
    give(r, gradient);
    give(r, input);
}

/* Makes a workspace that is never freed and the gradient of an adapter's weight. These resemble a
 * weight of [8192, 2048] and its bias, and blocks of the forward pass resemble 64 rows of their
 * input and output. */
static void take_adapter(run *r, uint64_t size)
{
    uint64_t input = take(r, 64 * size * 2048 * 2, "linear:net.py:20");
    uint64_t output = take(r, 64 * size * 8192 * 2, "linear:net.py:21");

    take(r, (uint64_t)2048 * 8192 * 2, NULL);
    take(r, 8192 * 2, NULL);
    give(r, output);
    give(r, input);
}

/* Runs a forward pass with stacks and a backward pass without stacks, as PyTorch records them. */
static void run_step(run *r, uint64_t seed, mv_input input, oddity odd)
{
    uint64_t state = seed, size = input.batch, kept[LAYERS], gradient = 0, bytes[LAYERS];
    uint64_t batch = take(r, 4096 * input.batch * input.length, "load:data.py:2");
    uint64_t linear[2][2];

    for (uint32_t i = 0; i < LAYERS; i++) {
        bytes[i] = tensor(1 + mvt_random(&state, i % 3 ? 300000 : 3000000), i, input);
        kept[i] = take(r, bytes[i], i % 2 ? "even:net.py:7" : "odd:net.py:9");
        give(r, take(r, bytes[i], "temporary:net.py:12"));
    }
    if (odd == WITH_MORE && size > 10)
        for (uint32_t i = 0; i < 9; i++)
            give(r, take(r, 512 * (i + 1) + 8 * size, NULL));
    for (uint32_t i = 0; odd == WITH_SUMS && i < 2; i++)
        take_linear(r, size * (i ? 64 : 128), 512, i ? 1024 : 6000, linear[i]);
    if (odd == WITH_ADAPTER)
        take_adapter(r, size);
    for (uint32_t i = LAYERS; i-- > 0;) {
        uint64_t next = take(r, bytes[i], NULL);
        if ((odd == WITH_LIMIT || odd == WITH_CHOICES || odd == WITH_TURNS) && i % 5 == 2)
            give(r, take(r, workspace(odd, size, i), NULL));
        if (gradient)
            give(r, gradient);
        give(r, kept[i]);
        gradient = next;
    }
    for (uint32_t i = 0; odd == WITH_SUMS && i < 4; i++)
        give(r, linear[i / 2][i % 2]);
    give(r, gradient);
    give(r, batch);
}

/* Runs one step for each of `sizes`. The first step creates an optimizer's state. */
static void record_steps(run *r, uint64_t seed, const mv_input *sizes, uint32_t steps, oddity odd,
                         mv_fit_run *out)
{
    uint64_t state = seed + 1;
    mv_lives *lives = mv_push_struct(mvt_memory(), mv_lives);
    mv_alloc_conf conf = mv_alloc_conf_default();

    memset(r, 0, sizeof *r);
    r->t = mvt_new();
    slow_init(&r->slow, &conf, UINT64_MAX, (uint64_t)1 << 44, (uint64_t)1 << 46);
    for (uint32_t i = 0; i < WEIGHTS; i++)
        take(r, 1 + mvt_random(&state, 20000000), "make:net.py:3");
    for (uint32_t i = 0; i < steps; i++) {
        run_step(r, seed, sizes[i], odd);
        for (uint32_t k = 0; i == 0 && k < WEIGHTS; k++)
            take(r, 1 + mvt_random(&state, 20000000), "state:adam.py:5");
    }
    mvt_heap_final(r->t, &r->slow);
    *out = (mv_fit_run){.trace = mvt_done(r->t), .lives = lives, .size = sizes[0]};
    *lives = mvt_lives(mvt_memory(), out->trace, 0);
}

static void record(run *r, uint64_t seed, mv_input size, oddity odd, mv_fit_run *out)
{
    record_steps(r, seed, (mv_input[STEPS]){size, size, size}, STEPS, odd, out);
}

static run runs[5];

/* Predicts the peak at the last size from the other sizes and returns the point. `truth` is the run
 * at that size. */
static mv_fit_point predict(uint64_t seed, oddity odd, const mv_input *sizes, uint32_t count,
                            mv_fit *out)
{
    mv_fit_run known[5];

    for (uint32_t i = 0; i < count; i++)
        record(&runs[i], seed, sizes[i], odd, &known[i]);
    mvt_ok(mv_fit_find(mvt_memory(), known, count - 1,
                       (mv_fit_opts){.at_count = 1, .at = &sizes[count - 1]}, out, mvt_err()));
    return out->points[0];
}

static void expect_exact(const mv_input *sizes, uint32_t count)
{
    const run *truth = &runs[count - 1];

    for (uint64_t seed = 1; seed < 30; seed++) {
        mv_fit fit;
        mv_fit_point p = predict(seed * 77, PLAIN, sizes, count, &fit);
        cr_assert(p.allocated.is_known && p.reserved.is_known, "%s", fit.refused);
        cr_expect_eq(p.allocated.bytes, truth->allocated);
        cr_expect_eq(p.allocated.least, p.allocated.most);
        cr_expect_eq(p.reserved.bytes, truth->reserved, "seed %llu", (unsigned long long)seed);
        cr_expect_null(fit.refused);
        cr_expect_eq(fit.exact, fit.allocs);
    }
}

Test(fit, sums_of_products_are_predicted_to_the_byte)
{
    expect_exact((mv_input[]){{6, 1}, {4, 1}, {15, 1}}, 3);
}

Test(fit, batch_and_length_are_predicted_from_three_recordings)
{
    expect_exact((mv_input[]){{2, 16}, {3, 16}, {2, 24}, {5, 40}}, 4);
}

Test(fit, a_length_that_no_pair_shows_is_refused)
{
    static const mv_input sizes[][4] = {{{2, 16}, {3, 16}, {4, 24}},
                                        {{2, 16}, {3, 24}, {4, 24}},
                                        {{2, 16}, {3, 16}, {4, 16}, {4, 20}}};
    static const char *const why[] = {
        "no two recordings differ in the length alone, such as 2x16 and 2x32",
        "no two recordings differ in the batch alone, such as 2x16 and 4x16",
        "no two recordings differ in the length alone, such as 2x16 and 2x32"};

    for (uint32_t i = 0; i < 3; i++) {
        mv_fit fit;
        mv_fit_point p = predict(7, PLAIN, sizes[i], i == 2 ? 4 : 3, &fit);
        cr_expect_not(p.allocated.is_known);
        cr_assert(fit.refused);
        cr_expect(strstr(fit.refused, why[i]), "%s", fit.refused);
    }
}

/* From one recording with steps of the sizes 6 and 4. The truth is a run in
 * which all steps have a third size. */
static mv_fit_point predict_from_steps(uint64_t seed, oddity odd, const mv_input *steps,
                                       mv_input at, mv_fit *out)
{
    mv_fit_run known[4], truth;

    record_steps(&runs[0], seed, steps, 4, odd, &known[0]);
    known[1] = known[0];
    known[0].size = ONE(6);
    known[1].size = ONE(4);
    record_steps(&runs[1], seed, (mv_input[]){at, at, at, at}, 4, odd, &truth);
    mvt_ok(mv_fit_find(mvt_memory(), known, 2, (mv_fit_opts){.at_count = 1, .at = &at}, out,
                       mvt_err()));
    return out->points[0];
}

Test(fit, steps_of_two_sizes_are_enough)
{
    static const mv_input steps[][4] = {{{6, 1}, {4, 1}, {6, 1}, {4, 1}},
                                        {{6, 1}, {6, 1}, {6, 1}, {4, 1}},
                                        {{4, 1}, {4, 1}, {6, 1}, {6, 1}}};

    for (uint64_t seed = 1; seed < 30; seed++) {
        mv_fit fit;
        mv_fit_point p = predict_from_steps(seed * 77, PLAIN, steps[seed % 3], ONE(15), &fit);
        cr_assert(p.allocated.is_known && p.reserved.is_known, "%s", fit.refused);
        cr_expect_eq(p.allocated.bytes, runs[1].allocated, "seed %llu", (unsigned long long)seed);
        cr_expect_eq(p.reserved.bytes, runs[1].reserved, "seed %llu: %llu for %llu, exact %u of %u",
                     (unsigned long long)seed, (unsigned long long)p.reserved.bytes,
                     (unsigned long long)runs[1].reserved, fit.exact, fit.allocs);
        cr_expect_null(fit.refused);
    }
}

Test(fit, steps_of_one_size_predict_no_others)
{
    static const mv_input steps[] = {{6, 1}, {6, 1}, {6, 1}, {6, 1}};
    mv_fit fit;
    mv_fit_point p = predict_from_steps(3, PLAIN, steps, ONE(15), &fit);

    cr_expect_not(p.allocated.is_known || p.reserved.is_known);
    cr_assert(fit.refused);
    cr_expect(strstr(fit.refused, "of the 4 steps has size"), "%s", fit.refused);
}

Test(fit, steps_with_sizes_chosen_by_a_library_give_no_figure)
{
    static const mv_input steps[] = {{6, 1}, {4, 1}, {6, 1}, {4, 1}};
    uint32_t refused = 0;

    for (uint64_t seed = 1; seed < 20; seed++) {
        mv_fit fit;
        mv_fit_point p = predict_from_steps(seed * 55, WITH_CHOICES, steps, ONE(7), &fit);
        cr_expect_lt(fit.exact, fit.allocs);
        cr_expect(p.allocated.least <= runs[1].allocated + MIB, "at least");
        refused += !p.allocated.is_known;
    }
    cr_expect_gt(refused, 0);
}

/* A block may be up to 1 MiB larger than its request, depending on the hole that it fills. Bounds
 * on requests are therefore bounds on blocks, with about that tolerance. */
static void expect_within(mv_fit_peak p, uint64_t truth, uint64_t seed)
{
    cr_expect(p.least <= truth + MIB && truth <= p.most + MIB,
              "seed %llu: %llu is not within %llu and %llu", (unsigned long long)seed,
              (unsigned long long)truth, (unsigned long long)p.least, (unsigned long long)p.most);
    if (p.is_known)
        cr_expect_leq(truth > p.bytes ? truth - p.bytes : p.bytes - truth, truth / 99);
}

Test(fit, a_limit_of_workspaces_is_doubted_from_two_sizes_and_seen_from_three)
{
    static const mv_input two[] = {{1, 1}, {2, 1}, {20, 1}};
    static const mv_input three[] = {{2, 1}, {4, 1}, {8, 1}, {20, 1}};

    for (uint64_t seed = 1; seed < 20; seed++) {
        mv_fit fit;
        mv_fit_point p = predict(seed * 91, WITH_LIMIT, two, 3, &fit);
        cr_expect_lt(fit.exact, fit.allocs);
        expect_within(p.allocated, runs[2].allocated, seed);
        p = predict(seed * 91, WITH_LIMIT, three, 4, &fit);
        expect_within(p.allocated, runs[3].allocated, seed);
    }
}

/* Two alternating algorithms look like a limit that has not been reached: 20, 36 and 44 MiB, then
 * 64. */
Test(fit, a_workspace_that_grew_at_two_rates_may_grow_at_the_faster_one_again)
{
    static const mv_input sizes[] = {{2, 1}, {4, 1}, {6, 1}, {8, 1}};

    for (uint64_t seed = 1; seed < 20; seed++) {
        mv_fit fit;
        mv_fit_point p = predict(seed * 37, WITH_TURNS, sizes, 4, &fit);
        cr_expect_lt(fit.exact, fit.allocs);
        expect_within(p.allocated, runs[3].allocated, seed);
    }
}

Test(fit, sizes_chosen_by_a_library_give_no_figure)
{
    static const mv_input sizes[] = {{2, 1}, {4, 1}, {6, 1}};
    uint32_t refused = 0;

    for (uint64_t seed = 1; seed < 20; seed++) {
        mv_fit fit;
        mv_fit_point p = predict(seed * 55, WITH_CHOICES, sizes, 3, &fit);
        cr_expect_lt(fit.exact, fit.allocs);
        cr_expect(p.allocated.least <= runs[2].allocated + MIB, "at least");
        if (!p.allocated.is_known)
            cr_expect(fit.refused && strstr(fit.refused, "not an exact function"), "%s",
                      fit.refused);
        refused += !p.allocated.is_known;
    }
    cr_expect_gt(refused, 0);
}

Test(fit, allocations_of_larger_sizes_only_are_skipped)
{
    static const mv_input sizes[] = {{4, 1}, {12, 1}, {20, 1}};

    for (uint64_t seed = 1; seed < 10; seed++) {
        mv_fit fit;
        mv_fit_point p = predict(seed * 31, WITH_MORE, sizes, 3, &fit);
        cr_expect_eq(fit.allocs - fit.exact, 9 * STEPS);
        cr_assert(p.allocated.is_known);
        cr_expect_eq(p.allocated.bytes, runs[2].allocated);
    }
}

/* The buffers of sums are in only one of two recordings, and some of them are needed at the size
 * between. */
Test(fit, a_size_between_recordings_with_other_allocations_has_the_range_of_both)
{
    static const mv_input sizes[] = {{4, 1}, {40, 1}, {9, 1}};

    for (uint64_t seed = 1; seed < 20; seed++) {
        mv_fit fit;
        mv_fit_point p = predict(seed * 91, WITH_SUMS, sizes, 3, &fit);
        cr_expect_eq(p.base.batch, 4);
        cr_expect_leq(p.allocated.least, runs[2].allocated);
        cr_expect_geq(p.allocated.most, runs[2].allocated, "seed %llu", (unsigned long long)seed);
        cr_expect_eq(fit.allocs - fit.exact, 2 * 2 * STEPS, "all but buffers and semaphores");
    }
}

/* The truth is within the range of the replays with and without buffers. The two are equal if all
 * sizes are on one side of the number of rows, or beyond the recorded ones on the same side. */
static void expect_sums_in_doubt(const mv_input *sizes, bool is_in_doubt)
{
    uint32_t wide = 0;

    for (uint64_t seed = 1; seed < 20; seed++) {
        mv_fit fit;
        mv_fit_point p = predict(seed * 91, WITH_SUMS, sizes, 4, &fit);
        bool is_said = strstr(fit.note, "bias gradients") ||
                       (fit.refused && strstr(fit.refused, "bias gradients"));
        cr_expect_leq(p.allocated.least, runs[3].allocated, "seed %llu", (unsigned long long)seed);
        cr_expect_geq(p.allocated.most, runs[3].allocated, "seed %llu", (unsigned long long)seed);
        cr_expect_eq(is_said, is_in_doubt);
        wide += p.allocated.least < p.allocated.most;
    }
    cr_expect_eq(wide > 0, is_in_doubt);
}

Test(fit, sums_above_all_recordings_may_need_buffers)
{
    expect_sums_in_doubt((mv_input[]){{4, 1}, {5, 1}, {7, 1}, {20, 1}}, true);
    expect_sums_in_doubt((mv_input[]){{2, 1}, {3, 1}, {4, 1}, {7, 1}}, false);     /* too small */
    expect_sums_in_doubt((mv_input[]){{17, 1}, {18, 1}, {20, 1}, {40, 1}}, false); /* seen */
}

Test(fit, other_gradients_need_no_buffers)
{
    static const mv_input sizes[] = {{4, 1}, {5, 1}, {40, 1}};
    mv_fit fit;
    mv_fit_point p = predict(3, WITH_ADAPTER, sizes, 3, &fit);

    cr_expect_eq(p.allocated.least, p.allocated.most);
    cr_expect_eq(p.allocated.bytes, runs[2].allocated);
    cr_expect_str_empty(fit.note);
}

Test(fit, sums_below_all_recordings_may_need_no_buffers)
{
    expect_sums_in_doubt((mv_input[]){{20, 1}, {24, 1}, {30, 1}, {4, 1}}, true);
    expect_sums_in_doubt((mv_input[]){{20, 1}, {24, 1}, {30, 1}, {17, 1}}, false);
}

Test(fit, a_program_fits_if_the_buffers_of_sums_fit)
{
    static const mv_input sizes[] = {{4, 1}, {5, 1}, {20, 1}};
    static const mv_fit_answer expected[] = {MV_FIT_NO, MV_FIT_UNKNOWN, MV_FIT_YES};
    mv_fit_run known[3];
    mv_fit fit;

    for (uint32_t i = 0; i < 3; i++)
        record(&runs[i], 91, sizes[i], WITH_SUMS, &known[i]);
    mvt_ok(mv_fit_find(mvt_memory(), known, 2, (mv_fit_opts){.at_count = 1, .at = &sizes[2]}, &fit,
                       mvt_err()));
    const mv_fit_point p = fit.points[0];
    const uint64_t capacity[] = {p.allocated.least - MIB, p.reserved.least, p.reserved.most};
    cr_assert_lt(p.reserved.least, p.allocated.most, "%llu, %llu",
                 (unsigned long long)p.reserved.least, (unsigned long long)p.allocated.most);
    cr_expect_eq(p.reserved.most, runs[2].reserved);
    for (uint32_t i = 0; i < 3; i++) {
        mvt_ok(mv_fit_find(mvt_memory(), known, 2,
                           (mv_fit_opts){.at_count = 1, .at = &sizes[2], .capacity = capacity[i]},
                           &fit, mvt_err()));
        cr_expect_eq(fit.points[0].fits, expected[i], "%u: %d", i, fit.points[0].fits);
    }
}

Test(fit, a_recorded_size_has_its_own_peaks)
{
    static const mv_input sizes[] = {{4, 1}, {6, 1}, {6, 1}};
    mv_fit fit;
    mv_fit_point p = predict(5, WITH_CHOICES, sizes, 3, &fit);

    cr_expect(p.is_recorded && p.allocated.is_known && p.reserved.is_known);
    cr_expect_eq(p.allocated.bytes, runs[1].allocated);
    cr_expect_eq(p.reserved.bytes, runs[1].reserved);
}

Test(fit, the_largest_that_fits_is_found)
{
    static const mv_input sizes[] = {{4, 1}, {6, 1}, {9, 1}};
    mv_fit_run known[3];
    mv_fit fit;

    for (uint32_t i = 0; i < 3; i++)
        record(&runs[i], 3, sizes[i], PLAIN, &known[i]);
    mvt_ok(mv_fit_find(mvt_memory(), known, 2, (mv_fit_opts){.capacity = runs[2].reserved}, &fit,
                       mvt_err()));
    cr_expect_geq(fit.largest.batch, 9);
    cr_expect_lt(fit.largest.batch, 18);
    mvt_ok(mv_fit_find(mvt_memory(), known, 2,
                       (mv_fit_opts){.at_count = 2,
                                     .at = (mv_input[]){fit.largest, ONE(fit.largest.batch + 1)},
                                     .capacity = runs[2].reserved},
                       &fit, mvt_err()));
    cr_expect_eq(fit.points[0].fits, MV_FIT_YES);
    cr_expect_eq(fit.points[1].fits, MV_FIT_NO);
    cr_expect(*fit.points[1].fails, "and where it fails");
    mvt_ok(mv_fit_find(mvt_memory(), known, 2, (mv_fit_opts){.capacity = MIB}, &fit, mvt_err()));
    cr_expect_eq(fit.largest.batch, 0);
}

/* ---- recorded models --------------------------------------------------------------------- */

static cJSON *fit_of(const char *arguments)
{
    return mvt_json_here(0, "$MEMVIZ fit --json --device 0 %s", arguments);
}

#define RECORDED(model, size) MV_TESTDATA "/fit/" model "_" #size ".pickle.zst=" #size

static double truth_of(const char *name, const char *measure)
{
    return mvt_json_number(cJSON_GetObjectItem(mvt_json_file("fit/truth.json"), name), measure);
}

Test(fit, a_recorded_model_is_predicted)
{
    cJSON *report = fit_of(RECORDED("gpt", 4) " " RECORDED("gpt", 8) " " RECORDED(
        "gpt", 12) " --at 24 --capacity 2300MiB");
    const cJSON *point = mvt_member(report, "points.0");

    cr_expect_eq(mvt_json_number(point, "peak_allocated"), truth_of("gpt_24", "allocated"));
    cr_expect_eq(mvt_json_number(point, "peak_reserved"), truth_of("gpt_24", "reserved"));
    cr_expect(cJSON_IsFalse(mvt_member(point, "fits")));
    cr_expect(cJSON_IsNull(mvt_member(report, "refused")));
    cr_expect_geq(mvt_json_number(report, "largest_that_fits"), 16);
    cr_expect_lt(mvt_json_number(report, "largest_that_fits"), 24);
}

/* The peaks predicted for a point with two numbers, or from one recording, must be within 1 %. */
static void expect_truth(const char *arguments, const char *name)
{
    cJSON *report = fit_of(arguments);
    const cJSON *point = mvt_member(report, "points.0");
    static const char *const measures[] = {"allocated", "reserved"};

    cr_expect(cJSON_IsNull(mvt_member(report, "refused")), "%s", name);
    for (int i = 0; i < 2; i++) {
        double truth = truth_of(name, measures[i]), found;
        const char *field = mvt_format("peak_%s", measures[i]);
        found = mvt_json_number(point, field);
        cr_expect(found > 0.99 * truth && found < 1.01 * truth, "%s: %f of %f", name, found, truth);
    }
}

Test(fit, a_recorded_model_is_predicted_from_batch_and_length)
{
    expect_truth(
        RECORDED("gpt", 8x128) " " RECORDED("gpt", 8x256) " " RECORDED("gpt", 24x128) " --at 6x512",
        "gpt_6x512");
}

Test(fit, a_recorded_model_is_predicted_from_steps_of_two_batches)
{
    expect_truth(MV_TESTDATA "/fit/gpt_steps_8_12.pickle.zst=8,12 --at 20", "gpt_20x256");
}

Test(fit, convolutions_have_no_figures)
{
    cJSON *report = fit_of(RECORDED("resnet", 4) " " RECORDED("resnet", 8) " --at 24");
    const cJSON *point = mvt_member(report, "points.0");

    cr_expect(cJSON_IsNull(mvt_member(point, "peak_allocated")));
    cr_expect_leq(mvt_json_number(point, "least_allocated"), truth_of("resnet_24", "allocated"));
    cr_expect_geq(mvt_json_number(point, "most_allocated"), truth_of("resnet_24", "allocated"));
    cr_expect(cJSON_IsNull(mvt_member(point, "fits")));
    cr_expect(strstr(mvt_json_text(report, "refused"), "a library chose another algorithm"), "%s",
              mvt_json_text(report, "refused"));
}

Test(fit, other_programs_and_failed_runs_are_refused)
{
    mvt_run r = mvt_here("$MEMVIZ fit %s $SNAPS/gpt_train.pickle=8 --at 16", RECORDED("gpt", 4));
    cr_expect_eq(r.status, 0);
    cr_expect(strstr(r.out, "the recordings differ too much"), "%s", r.out);
    r = mvt_here("$MEMVIZ fit $SNAPS/oom.pickle=4 $SNAPS/gpt_train.pickle=8 --at 16");
    cr_expect(strstr(r.out, "a request failed in the recording at 4"), "%s", r.out);
}

Test(fit, wrong_usage_is_explained)
{
    static const mvt_expected_run all[] = {
        {"$SNAPS/gpt_train.pickle $SNAPS/oom.pickle --at 4", 2, NULL, "expected FILE=SIZE"},
        {"$SNAPS/gpt_train.pickle=0 $SNAPS/oom.pickle=2 --at 4", 2, NULL, "expected FILE=SIZE"},
        {"$SNAPS/gpt_train.pickle=2 --at 4", 2, NULL, "expected FILE=SIZE FILE=SIZE"},
        {"$SNAPS/gpt_train.pickle=2,4,6,8,10 --at 4", 2, NULL, "expected FILE=SIZE FILE=SIZE"},
        {"$SNAPS/gpt_train.pickle=2,2 --at 4", 2, NULL, "size 2 is given twice"},
        {"$SNAPS/gpt_train.pickle=2,4 $SNAPS/oom.pickle=2 --at 4", 2, NULL,
         "expected FILE=SIZE, such as"},
        {"$SNAPS/gpt_train.pickle=2x $SNAPS/oom.pickle=2 --at 4", 2, NULL,
         "expected FILE=SIZE, such as"},
        {"$SNAPS/gpt_train.pickle=2 $SNAPS/oom.pickle=4 --at 4x0", 2, NULL, "expected --at SIZE"},
        {"$SNAPS/gpt_train.pickle=2 $SNAPS/oom.pickle=2 --at 4", 2, NULL, "size 2 is given twice"},
        {"$SNAPS/gpt_train.pickle=2 $SNAPS/oom.pickle=4", 2, NULL, "expected --at SIZE"},
        {"$SNAPS/gpt_train.pickle=2 $SNAPS/oom.pickle=4 --at 4,", 2, NULL, "expected --at SIZE"},
        {"$SNAPS/gpt_train.pickle=2 $SNAPS/oom.pickle=4 --at 0", 2, NULL, "expected --at SIZE"},
        {"$SNAPS/gpt_train.pickle=2 $SNAPS/oom.pickle=4 --at 99999999999999999999999999", 2, NULL,
         "expected --at SIZE"},
    };

    MVT_EXPECT_RUNS("$MEMVIZ fit %s", all);
}
