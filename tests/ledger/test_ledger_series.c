/* The ledger over time: at each sample it equals the ledger at that time, and adds up. */
#include "analyze/code/libraries.h"
#include "analyze/ledger/ledger_series.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/fixture/fixture_json.h"

static mv_ledger_series series_of(mvt_calls *c)
{
    const mv_trace *trace = mvt_calls_done(c);
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    mv_ledger_series series;

    mvt_ok(mv_ledger_series_find(mvt_memory(), trace, &lives, &series, mvt_err()));
    return series;
}

/* Since there is no column for it, it has no position among the columns either. */
Test(ledger_series, a_library_that_held_no_byte_has_no_column)
{
    mvt_calls *c = mvt_calls_new();

    mvt_call(c, MV_API_ALLOC, .addr = MIB, .size = 0, .library = "/lib/liba.so");
    mv_ledger_series series = series_of(c);
    cr_expect_eq(series.library_count, 0);
    cr_expect_eq(mv_ledger_series_place(&series, "/lib/liba.so"), 0);
}

static uint64_t sum_of(const mv_ledger_series *series, uint32_t point)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < series->library_count; k++)
        sum += mv_ledger_series_by(series, point)[k];
    return sum;
}

static void expect_sums(const mv_ledger_series *series)
{
    for (uint32_t i = 0; i < series->count; i++) {
        const mv_ledger_point *p = &series->points[i];
        cr_assert_eq(sum_of(series, i) + (uint64_t)p->context_estimate + (uint64_t)p->unexplained,
                     p->used, "point %u", i);
    }
}

Test(ledger_series, each_sample_has_the_parts_that_the_ledger_finds_there)
{
    for (uint64_t seed = 1; seed < 7; seed++) {
        uint32_t libraries = seed % 2 ? 5 : 40;
        mvt_calls *c = mvt_calls_new();
        uint64_t random = seed;

        for (int i = 0; i < 600; i++) {
            static const mv_api_action actions[] = {
                MV_API_ALLOC,   MV_API_ALLOC,          MV_API_FREE, MV_API_CREATE,
                MV_API_RELEASE, MV_API_CONTEXT_CREATE, MV_API_LOAD, MV_API_ALLOC_HOST};
            uint64_t key = 1 + mvt_random(&random, 60);
            mvt_call_args args = {.addr = key * MIB,
                                  .handle = key,
                                  .size = 1 + mvt_random(&random, MIB),
                                  .result = mvt_random(&random, 20) == 0 ? 2 : 0};
            mv_api_action action = actions[mvt_random(&random, sizeof actions / sizeof *actions)];
            if (action == MV_API_ALLOC_HOST)
                args.addr += (uint64_t)1 << 40;
            args.library = mvt_format("/lib/lib%u.so", (unsigned)(key % libraries));
            mvt_call_row(c, action, args);
            if (i % 11 == 0)
                mvt_sample(c, .used = mvt_random(&random, 90 * MIB) + MIB,
                           .process = seed % 3 ? 0 : 1 + mvt_random(&random, 90 * MIB));
        }
        mv_ledger_series series = series_of(c);
        mv_lives lives = mvt_lives(mvt_memory(), mvt_calls_done(c), 0);
        cr_assert_eq(series.count, 55);
        cr_assert_eq(series.library_count, libraries == 5 ? 5 : MV_LEDGER_LIBRARIES);
        expect_sums(&series);
        for (uint32_t k = 1; k < series.library_count; k++)
            cr_assert_geq(series.libraries[k - 1].most, series.libraries[k].most);
        for (uint32_t i = 0; i < series.count; i += 6) {
            const mv_trace *trace = mvt_calls_done(c);
            const mv_ledger_point *p = &series.points[i];
            mv_ledger_query ask = mv_ledger_at_time(trace, 0, p->time_us);
            char name[MV_LIBRARY_NAME];
            mv_ledger ledger;
            mvt_ok(mv_ledger_find(mvt_memory(), trace, &lives, ask, &ledger, mvt_err()));
            cr_assert_eq(p->used, ledger.used);
            cr_assert_eq(p->context_estimate, ledger.context_estimate);
            cr_assert_eq(p->unexplained, ledger.unexplained);
            cr_assert_eq(sum_of(&series, i), ledger.by_sum);
            for (uint32_t j = 0; j < series.library_count; j++) {
                uint64_t bytes = 0;
                for (uint32_t row = 0; row < ledger.count; row++)
                    if (strcmp(mv_library_name(mv_string_text(trace, ledger.by[row].library), name),
                               series.libraries[j].name) == 0)
                        bytes += ledger.by[row].bytes;
                if (strcmp(series.libraries[j].name, "others") != 0)
                    cr_assert_eq(mv_ledger_series_by(&series, i)[j], bytes);
            }
        }
    }
}

/* A context takes 500 MiB. PyTorch allocates 100 MiB, 60 MiB of them in a block. NCCL allocates 40
 * MiB and frees them. 8 MiB are of unknown origin. At the last sample the process is gone. */
static mvt_calls *program(void)
{
    mvt_calls *c = mvt_calls_new();

    mvt_sample(c, .used = 1000 * MIB, .process = 0);
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuDevicePrimaryCtxRetain");
    mvt_sample(c, .used = 1500 * MIB, .process = 500 * MIB);
    mvt_call(c, MV_API_ALLOC, .addr = 1 << 30, .size = 100 * MIB,
             .library = "/site-packages/torch/lib/libc10_cuda.so");
    mvt_calls_event(c, MV_ACTION_SEGMENT_ALLOC, 1 << 30, 100 * MIB);
    mvt_calls_event(c, MV_ACTION_ALLOC, 1 << 30, 60 * MIB);
    mvt_sample(c, .used = 1600 * MIB, .process = 600 * MIB);
    mvt_calls_annotate(c, MV_STAGE_MARK, "reduce");
    mvt_call(c, MV_API_CREATE, .handle = 3, .size = 40 * MIB, .api = "cuMemCreate",
             .library = "/nvidia/nccl/lib/libnccl.so.2");
    mvt_sample(c, .used = 1648 * MIB, .process = 648 * MIB);
    mvt_call(c, MV_API_RELEASE, .handle = 3);
    mvt_calls_event(c, MV_ACTION_FREE_REQUESTED, 1 << 30, 60 * MIB);
    mvt_calls_event(c, MV_ACTION_FREE_COMPLETED, 1 << 30, 60 * MIB);
    mvt_sample(c, .used = 1605 * MIB, .process = 605 * MIB);
    mvt_sample(c, .used = 1000 * MIB, .process = 0);
    return c;
}

Test(ledger_series, first_peak_and_end_belong_to_the_process)
{
    mv_ledger_series s = series_of(program());
    const mv_ledger_point *peak;

    expect_sums(&s);
    cr_assert_eq(s.count, 5); /* the last sample was taken after the process had ended */
    cr_assert_eq(s.first, 1);
    cr_assert_eq(s.peak, 3);
    cr_assert_eq(s.end, 4);
    peak = &s.points[s.peak];
    cr_assert_eq(peak->used, 648 * MIB);
    cr_assert_eq(peak->others, 1000 * MIB);
    cr_assert_eq(peak->framework_reserved, 100 * MIB);
    cr_assert_eq(peak->framework_allocated, 60 * MIB);
    cr_assert_eq(s.points[s.end].framework_allocated, 0);
    cr_assert_eq(peak->context_estimate, (int64_t)(500 * MIB));
    cr_assert_eq(peak->unexplained, (int64_t)(8 * MIB));
    cr_assert_eq(s.library_count, 2);
    cr_assert_str_eq(s.libraries[0].name, "PyTorch");
    cr_assert(s.libraries[0].is_framework);
    cr_assert_eq(mv_ledger_series_by(&s, s.peak)[1], 40 * MIB);
    cr_assert_eq(mv_ledger_series_by(&s, s.end)[1], 0);
}

/* The driver destroys a context before the program frees its memory, and no call is recorded.
 * `after` is the state, apart from a last sample that has fallen. */
typedef enum { NOTHING, A_LEVEL, A_CALL, A_LATER_CALL } after_the_fall;

static uint32_t samples_of(uint64_t fallen, after_the_fall after)
{
    mvt_calls *c = mvt_calls_new();

    mvt_sample(c, .used = 1000 * MIB, .process = 0);
    mvt_call(c, MV_API_CONTEXT_CREATE, .handle = 7);
    mvt_sample(c, .used = 1500 * MIB, .process = 500 * MIB);
    mvt_call(c, MV_API_ALLOC, .addr = 1 << 20, .size = 200 * MIB);
    mvt_sample(c, .used = 1700 * MIB, .process = 700 * MIB);
    if (after == A_CALL)
        mvt_call(c, MV_API_UNLOAD, .handle = 9);
    mvt_sample(c, .used = 1700 * MIB - fallen, .process = 700 * MIB - fallen);
    if (after == A_LEVEL)
        mvt_sample(c, .used = 1700 * MIB - fallen, .process = 700 * MIB - fallen);
    if (after == A_LATER_CALL)
        mvt_call(c, MV_API_ALLOC, .addr = 1 << 30, .size = MIB);
    else
        mvt_call(c, MV_API_FREE, .addr = 1 << 20);
    mvt_sample(c, .used = 1000 * MIB, .process = 0);
    return series_of(c).count;
}

Test(ledger_series, a_sample_while_the_driver_ends_the_process_does_not_count)
{
    cr_expect_eq(samples_of(92 * MIB, NOTHING), 3, "of the context");
    cr_expect_eq(samples_of(600 * MIB, NOTHING), 3, "more than calls held");
    cr_expect_eq(samples_of(600 * MIB, A_CALL), 3);
    cr_expect_eq(samples_of(2 * MIB, NOTHING), 4, "rounding");
    cr_expect_eq(samples_of(92 * MIB, A_CALL), 4, "a call may have given it back");
    cr_expect_eq(samples_of(92 * MIB, A_LEVEL), 5, "it lasts");
    cr_expect_eq(samples_of(92 * MIB, A_LATER_CALL), 4, "the program continues");
}

/* The same applies to recordings of JAX, Numba and others. */
LongTest(ledger_series, every_sample_of_a_capture_covers_the_memory_of_calls)
{
    static const char *const names[] = {"cupy",   "jax",         "numba",       "plain_handle",
                                        "loader", "nccl_leak.0", "plain_graph", "two_devices"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        cJSON *report =
            mvt_json_here(0, "$MEMVIZ ledger --json " MV_TESTDATA "/captures/%s.bin", names[i]);
        cJSON *device, *sample;
        cJSON_ArrayForEach(device, cJSON_GetObjectItem(report, "devices"))
            cJSON_ArrayForEach(sample, cJSON_GetObjectItem(device, "samples"))
                cr_expect_geq(mvt_json_number(sample, "unexplained"), -(double)(2 * MIB), "%s",
                              names[i]);
    }
}

/* ---- the command ------------------------------------------------------------------------- */

static const char *file_of(mvt_calls *c)
{
    return mvt_temp_file(mvt_snapshot_of(mvt_memory(), mvt_calls_done(c)));
}

static double used_at(const char *path, const char *at)
{
    return mvt_json_number(mvt_json(0, "$MEMVIZ ledger --json --at '%s' %s", at, path),
                           "devices.0.by_sum");
}

Test(ledger_series, the_command_lists_each_sample_and_its_parts_add_up)
{
    const char *path = file_of(program());
    cJSON *report = mvt_json(0, "$MEMVIZ ledger --json %s", path), *sample, *part;
    const cJSON *device = mvt_member(report, "devices.0");
    int count = 0;

    cJSON_ArrayForEach(sample, cJSON_GetObjectItem(device, "samples")) {
        double sum = mvt_json_number(sample, "context_estimate");
        mvt_json_has(sample, "time_us used framework_reserved framework_allocated by unexplained");
        sum += mvt_json_number(sample, "unexplained");
        cJSON_ArrayForEach(part, cJSON_GetObjectItem(sample, "by")) {
            mvt_json_has(part, "library bytes");
            sum += mvt_json_number(part, "bytes");
        }
        cr_assert_eq(sum, mvt_json_number(sample, "used"));
        count++;
    }
    cr_assert_eq(count, 5);
    mvt_run run = mvt_here_or_sh("$MEMVIZ ledger %s", path);
    cr_assert_eq(run.status, 0);
    cr_expect(strstr(run.out, "     500 MiB     648 MiB     605 MiB  used\n"), "%s", run.out);
    cr_expect(strstr(run.out, "         0 B    40.0 MiB         0 B  NCCL\n"), "%s", run.out);
    cr_expect(strstr(run.out, "         0 B    8.00 MiB    5.00 MiB  unexplained\n"), "%s",
              run.out);
}

/* The block's event comes first, and the mark 20 microseconds later, before NCCL's call. */
Test(ledger_series, at_accepts_events_times_marks_peak_and_end)
{
    const char *path = file_of(program());

    cr_assert_eq(used_at(path, "0"), (double)(100 * MIB));
    cr_assert_eq(used_at(path, "@reduce"), (double)(100 * MIB));
    cr_assert_eq(used_at(path, "31us"), (double)(140 * MIB));
    cr_assert_eq(used_at(path, "end"), (double)(100 * MIB));
    cr_assert_eq(mvt_here_or_sh("$MEMVIZ ledger --at 1000s %s", path).status, 1);
    cr_assert_eq(mvt_here_or_sh("$MEMVIZ ledger --at @nothing %s", path).status, 1);
}

/* Events have the same numbers as in the other reports. They count calls, starting at the first
 * call that allocates memory. */
Test(ledger_series, at_accepts_them_without_pytorch_events)
{
    mvt_calls *c = mvt_calls_new();

    mvt_sample(c, .used = 0);
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuDevicePrimaryCtxRetain");
    for (uint64_t i = 1; i < 5; i++) {
        mvt_call(c, MV_API_ALLOC, .addr = i << 30, .size = MIB);
        mvt_sample(c, .used = i * MIB);
        if (i == 2)
            mvt_calls_annotate(c, MV_STAGE_MARK, "step 2");
    }
    mvt_call(c, MV_API_FREE, .addr = 1 << 30);
    const char *path = file_of(c);
    cr_assert_eq(used_at(path, "1"), (double)(1 * MIB));
    cr_assert_eq(used_at(path, "3"), (double)(2 * MIB));
    cr_assert_eq(used_at(path, "21us"), (double)(2 * MIB));
    cr_assert_eq(used_at(path, "@step 2"), (double)(2 * MIB));
    cr_assert_eq(used_at(path, "peak"), (double)(4 * MIB));
    cr_assert_eq(used_at(path, "end"), (double)(3 * MIB));
    cr_assert_eq(mvt_here_or_sh("$MEMVIZ ledger --at 99 %s", path).status, 1);
    cr_assert_eq(mvt_here_or_sh("$MEMVIZ ledger --at nonsense %s", path).status, 2);
}

static const char *residue_of(mvt_calls *c)
{
    const mv_trace *trace = mvt_calls_done(c);
    mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
    mv_ledger_query ask = {.when = MV_LEDGER_END};
    mv_ledger ledger;

    mvt_ok(mv_ledger_find(mvt_memory(), trace, &lives, ask, &ledger, mvt_err()));
    cr_assert_eq(ledger.by_sum + (uint64_t)ledger.context_estimate + (uint64_t)ledger.unexplained,
                 ledger.used);
    cr_assert_eq(*ledger.residue == 0, ledger.unexplained >= 0);
    return ledger.residue;
}

static mvt_calls *two_samples(mv_api_action action, const char *api, uint64_t used)
{
    mvt_calls *c = mvt_calls_new();

    mvt_sample(c, .used = 0);
    mvt_call(c, MV_API_ALLOC, .addr = 1 << 30, .size = MIB);
    mvt_sample(c, .used = MIB);
    mvt_call(c, action, .addr = 2ull << 30, .size = 10 * MIB, .api = api);
    mvt_sample(c, .used = used);
    mvt_call(c, MV_API_FREE, .addr = 9ull << 30);
    return c;
}

Test(ledger_series, a_negative_residue_is_shown_and_explained)
{
    mvt_calls *c = two_samples(MV_API_ALLOC, "cudaMalloc", 11 * MIB);

    cr_assert_str_eq(residue_of(c), "");
    c = two_samples(MV_API_ALLOC_MANAGED, "cudaMallocManaged", 3 * MIB);
    cr_assert(strstr(residue_of(c), "exceed the use by 8.00 MiB: 10.0 MiB is managed memory"));
    c = two_samples(MV_API_ALLOC, "cudaMalloc", 3 * MIB);
    cr_assert(strstr(residue_of(c), "the estimate of context and code is too high"));
    c = two_samples(MV_API_ALLOC, "cudaMalloc", 11 * MIB);
    mvt_call(c, MV_API_ALLOC, .addr = 3ull << 30, .size = 5 * MIB);
    cr_assert(
        strstr(residue_of(c), "the sample is older than this moment, and calls hold 5.00 MiB"));
}

/* Memory that a pool keeps is part of the context if code was loaded at the same time, so the bound
 * includes it. */
Test(ledger_series, pools_bound_the_context)
{
    for (int pool = 0; pool < 2; pool++) {
        mvt_calls *c = mvt_calls_new();
        mv_ledger ledger;

        mvt_sample(c, .used = 500 * MIB, .time_us = 1000000);
        mvt_call(c, MV_API_ALLOC, .addr = 1 << 30, .size = MIB, .time_us = 1200000);
        mvt_sample(c, .used = 501 * MIB, .time_us = 1210000);
        mvt_call(c, pool ? MV_API_ALLOC_ASYNC : MV_API_ALLOC, .addr = 2ull << 30, .size = 90 * MIB,
                 .api = pool ? "cudaMallocAsync" : "cudaMalloc", .time_us = 1400000);
        mvt_call(c, pool ? MV_API_FREE_ASYNC : MV_API_FREE, .addr = 2ull << 30, .time_us = 1410000);
        mvt_call(c, MV_API_LOAD, .time_us = 1420000);
        mvt_sample(c, .used = 600 * MIB, .time_us = 1500000);
        mvt_call(c, MV_API_FREE, .addr = 1 << 30, .time_us = 1600000);
        const mv_trace *trace = mvt_calls_done(c);
        mv_lives lives = mvt_lives(mvt_memory(), trace, 0);
        mvt_ok(mv_ledger_find(mvt_memory(), trace, &lives,
                              (mv_ledger_query){.when = MV_LEDGER_MOST_USED}, &ledger, mvt_err()));
        cr_expect_eq(ledger.context_estimate, (int64_t)(99 * MIB), "%lld",
                     (long long)ledger.context_estimate);
        cr_expect_eq(ledger.context_pools, pool ? 99 * MIB : 0);
        cr_expect_eq(*ledger.pools != 0, pool);
    }
}

/* ---- compared with the reports on the whole device ------------------------------------------ */

static mv_device_rest rest_of(mvt_calls *c, int64_t time_us, uint64_t held)
{
    mv_device_rest rest;

    mvt_ok(
        mv_device_rest_find(mvt_memory(), mvt_calls_done(c), 0, time_us, held, &rest, mvt_err()));
    if (rest.used != MV_NO_BYTES)
        cr_assert_eq(rest.held + (uint64_t)rest.context + (uint64_t)rest.unexplained, rest.used);
    return rest;
}

/* Samples are taken before, between and after the calls. Times advance by 10 microseconds. */
Test(ledger_series, the_sample_for_a_moment_has_the_memory_held_then)
{
    mvt_calls *c = program();
    const mv_samples *s = &mvt_calls_done(c)->samples;
    mv_device_rest rest = rest_of(c, s->time_us[2] + 15, 140 * MIB);

    cr_assert(rest.is_near);
    cr_assert_eq(rest.sample_us, s->time_us[3], "the one after the call, not the one before it");
    cr_assert_eq(rest.used, 648 * MIB);
    cr_assert_eq(rest.unexplained, (int64_t)(8 * MIB));
    cr_assert_eq(rest_of(c, s->time_us[3], 140 * MIB).sample_us, s->time_us[3]);
    /* The process has ended at the last sample. */
    cr_assert_eq(rest_of(c, s->time_us[4] + 1, 100 * MIB).sample_us, s->time_us[4]);
    /* No sample shows this much. */
    rest = rest_of(c, s->time_us[3] + 1, 900 * MIB);
    cr_assert(!rest.is_near);
    cr_assert_eq(rest.held, 140 * MIB);
    cr_assert_eq(rest_of(mvt_calls_new(), 1, 1).used, MV_NO_BYTES);
}

static void expect_device_use(const cJSON *device)
{
    const cJSON *use = cJSON_GetObjectItem(device, "device_use");

    mvt_json_has(use, "used sample_us held context_estimate unexplained");
    cr_assert_eq(mvt_json_number(use, "used"), (double)(648 * MIB));
    cr_assert_eq(mvt_json_number(use, "held"), (double)(140 * MIB));
    cr_assert_eq(mvt_json_number(use, "context_estimate"), (double)(500 * MIB));
    cr_assert_eq(mvt_json_number(use, "unexplained"), (double)(8 * MIB));
}

Test(ledger_series, reports_on_the_whole_device_add_other_use)
{
    static const char *const text =
        "the device shows 648 MiB in use (sample at 0.000 s): these 140 MiB, context and code 500 "
        "MiB (estimate), unexplained 8.00 MiB";
    static const char *const commands[] = {"peak --at reserved-peak", "stats"};
    const char *path = file_of(program());
    mvt_run run;

    for (int i = 0; i < 2; i++) {
        cJSON *report = mvt_json(0, "$MEMVIZ %s --json --level all %s", commands[i], path);
        expect_device_use(mvt_member(report, "devices.0"));
        run = mvt_sh("$MEMVIZ %s --level all %s | tr -s '\n ' ' '", commands[i], path);
        cr_expect(strstr(run.out, text), "%s", run.out);
        report = mvt_json(0, "$MEMVIZ %s --json --level cuda %s", commands[i], path);
        cr_expect_not(cJSON_HasObjectItem(mvt_member(report, "devices.0"), "device_use"));
    }
    expect_device_use(mvt_member(
        mvt_json(0, "$MEMVIZ memory --at reserved-peak --json --level all %s", path), "devices.0"));
    run =
        mvt_here_or_sh("$MEMVIZ memory --at reserved-peak --level all -o %s.folded %s", path, path);
    cr_expect(strstr(run.err, text), "%s", run.err);
    run = mvt_here_or_sh("$MEMVIZ memory -q --at reserved-peak --level all -o %s.folded %s", path,
                         path);
    cr_expect_eq(run.err[0], 0, "%s", run.err);
    mvt_sh("rm %s.folded", path);
}

/* Blocks of PyTorch's allocator have no library, so they are the group without a name. */
Test(ledger_series, memory_by_library_adds_up)
{
    const char *path = file_of(program());
    cJSON *report =
        mvt_json(0, "$MEMVIZ memory --at peak --by library --level all --json %s", path);
    const cJSON *device = mvt_member(report, "devices.0");
    cJSON *groups = cJSON_GetObjectItem(device, "groups"), *other = cJSON_GetArrayItem(groups, 1);

    cr_assert_str_eq(mvt_json_text(device, "by"), "library");
    cr_assert_eq(cJSON_GetArraySize(groups), 2);
    cr_assert(cJSON_IsNull(mvt_member(groups, "0.name")));
    cr_assert_eq(mvt_json_number(groups, "0.bytes"), (double)(60 * MIB));
    cr_assert_str_eq(mvt_json_text(other, "name"), "NCCL");
    cr_assert_eq(mvt_json_number(other, "bytes"), (double)(40 * MIB));
    cr_assert_eq(mvt_json_number(device, "bytes"), (double)(100 * MIB));
    mvt_run run = mvt_here_or_sh("$MEMVIZ memory --at peak --by library --level all %s", path);
    cr_expect(strstr(run.out, "   40.0 MiB   40 %       1  NCCL\n"), "%s", run.out);
    cr_expect_eq(mvt_here_or_sh("$MEMVIZ memory --by library -o x.svg %s", path).status, 2);
    cr_expect_eq(mvt_here_or_sh("$MEMVIZ memory --by use %s", path).status, 2);
}
