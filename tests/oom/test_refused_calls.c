/* Calls that were refused memory, in captures of programs without PyTorch: which calls count, who
 * holds the device's memory, and what the command prints. The fixture's device has 80 GiB. */
#include "analyze/levels/levels.h"
#include "analyze/oom/refused_calls.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/fixture/fixture_json.h"

#define CUPY "/site-packages/cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so"

static void get(mvt_calls *c, uint64_t at, uint64_t gib, int result)
{
    mvt_call(c, MV_API_ALLOC, .addr = result ? 0 : at << 40, .size = gib * GIB, .result = result,
             .library = CUPY, .function = "grow");
}

/* `process` and `others` are in GiB. */
static void sample(mvt_calls *c, uint64_t process, uint64_t others)
{
    mvt_sample(c, .used = (process + others) * GIB, .process = process * GIB);
}

static mv_ooms found_in(mvt_calls *c)
{
    const mv_trace *read = mvt_calls_done(c);
    mv_trace *calls = mv_push_struct(mvt_memory(), mv_trace);
    mv_lives *lives = mv_push_struct(mvt_memory(), mv_lives);
    mv_sites sites;
    mv_ooms found;

    *calls = *read;
    mvt_ok(mv_level_take(mvt_memory(), calls, MV_LEVEL_CUDA, mvt_err()));
    *lives = mvt_lives(mvt_memory(), calls, 0);
    mvt_ok(mv_sites_find(mvt_memory(), calls, &sites, mvt_err()));
    mvt_ok(
        mv_refused_calls_find(mvt_memory(), read, lives, &sites, MV_ALL_EVENTS, &found, mvt_err()));
    return found;
}

/* The process holds 30 GiB. Then `more` is refused, while others use `others`. */
static mvt_calls *refused(uint64_t more, uint64_t others, bool is_sampled)
{
    mvt_calls *c = mvt_calls_new();

    if (is_sampled)
        sample(c, 0, 1);
    mvt_call(c, MV_API_CONTEXT_CREATE, .api = "cuDevicePrimaryCtxRetain");
    get(c, 1, 20, 0);
    get(c, 2, 10, 0);
    if (is_sampled)
        sample(c, 31, 1);
    get(c, 3, more, 2);
    if (is_sampled)
        sample(c, 31, others);
    mvt_call(c, MV_API_FREE, .addr = 1ull << 40);
    return c;
}

static void expect(mvt_calls *c, const char *verdict, uint64_t device_free, uint64_t outside)
{
    mv_ooms found = found_in(c);
    const mv_oom *o = found.ooms;

    cr_assert_eq(found.count, 1);
    cr_assert_str_eq(mv_oom_verdict_name(o->verdict), verdict, "%s", o->why);
    cr_assert_eq(o->device_free, device_free, "%s", o->why);
    cr_assert_eq(o->outside, outside);
    cr_assert_eq(o->bytes.reserved, 30 * GIB);
    cr_assert_eq(o->holder_count, 1);
    cr_assert_eq(o->holders[0].bytes, 30 * GIB);
    cr_assert_eq(o->holders[0].blocks, 2);
    cr_assert(strstr(o->why, "CuPy 30.0 GiB"), "%s", o->why);
}

Test(refused_calls, the_sample_at_the_failure_names_the_holder_of_the_memory)
{
    expect(refused(60, 1, true), "capacity", 48 * GIB, 1 * GIB);
    expect(refused(40, 40, true), "outside", 9 * GIB, 40 * GIB);
    /* Other processes hold a lot of memory, but less than the request. */
    expect(refused(60, 49, true), "capacity", 0, 49 * GIB);
}

Test(refused_calls, facts_missing_from_the_file_are_unknown)
{
    mvt_calls *c = mvt_calls_new();

    expect(refused(60, 1, false), "unknown", MV_NO_BYTES, 0);
    sample(c, 0, 1);
    get(c, 1, 10, 0);
    sample(c, 11, 1);
    get(c, 2, 20, 2);
    sample(c, 11, 1);
    mv_ooms found = found_in(c);
    cr_assert_eq(found.count, 1);
    cr_assert_eq(found.ooms[0].verdict, MV_OOM_UNKNOWN);
    cr_assert_eq(found.ooms[0].device_free, 68 * GIB);
}

Test(refused_calls, a_refused_call_that_is_replaced_does_not_count)
{
    mvt_calls *c = mvt_calls_new();

    get(c, 1, 60, 2); /* freed, then requested again */
    get(c, 1, 60, 0);
    get(c, 2, 50, 2); /* a pool that tries out how much memory it can get */
    get(c, 2, 40, 2);
    get(c, 2, 10, 0);
    get(c, 3, 30, 2); /* two refusals without a success count as one failure */
    get(c, 3, 30, 2);
    mvt_call(c, MV_API_ALLOC, .addr = 9ull << 40, .size = GIB, .library = "/lib/libnccl.so.2");
    mvt_call(c, MV_API_ALLOC_HOST, .size = GIB, .result = 2);
    mv_ooms found = found_in(c);
    cr_assert_eq(found.count, 1);
    cr_assert_eq(found.ooms[0].requested, 30 * GIB);
    cr_assert_str_eq(found.verdict, "1 request failed");
}

/* A failure's moment is after an existing event, and --at names that event. */
Test(refused_calls, at_names_refused_calls_without_an_event)
{
    mvt_calls *c = mvt_calls_new();
    mv_trace *calls = mv_push_struct(mvt_memory(), mv_trace);
    mv_budget *budget = mvt_memory()->budget;
    mv_moment_query ask;
    char why[MV_WHY];

    get(c, 1, 10, 2); /* before the first event */
    get(c, 1, 20, 0);
    get(c, 2, 50, 2);
    get(c, 3, 60, 2);
    *calls = *mvt_calls_done(c);
    mvt_ok(mv_level_take(mvt_memory(), calls, MV_LEVEL_CUDA, mvt_err()));
    cr_assert_eq(calls->devices[0].events.count, 2);
    cr_assert(mv_failure_moment_read(budget, calls, 0, "oom", MV_ALL_EVENTS, &ask, why, sizeof why),
              "%s", why);
    cr_expect_eq(ask.event, MV_BEFORE);
    cr_assert(
        mv_failure_moment_read(budget, calls, 0, "oom#2", MV_ALL_EVENTS, &ask, why, sizeof why));
    cr_expect_eq(ask.event, 1);
    cr_expect(
        !mv_failure_moment_read(budget, calls, 0, "oom#4", MV_ALL_EVENTS, &ask, why, sizeof why));
    cr_expect_str_eq(why, "no such out-of-memory event on device 0: oom#4; memviz oom lists them");
    /* Failures, like peaks, are limited to the window. */
    cr_assert(
        mv_failure_moment_read(budget, calls, 0, "oom", (mv_window){1, 2}, &ask, why, sizeof why));
    cr_expect_eq(ask.event, 1);
    cr_assert(mv_failure_moment_read(budget, calls, 0, "1", MV_ALL_EVENTS, &ask, why, sizeof why));
    cr_expect_eq(ask.event, 1);
}

Test(refused_calls, commands_take_the_moment_of_a_failure)
{
    static const struct {
        const char *arguments, *wanted;
    } cases[] = {{"oom plain_oom.bin", "device 0, after event 1 (0.202 s)"},
                 {"oom cupy_oom.bin", "device 0, after event 53 (0.021 s)"},
                 {"peak --at oom plain_oom.bin", "device 0: 100 GiB allocated"},
                 {"peak --at oom cupy_oom.bin", "event 53 (0.008 s)"},
                 {"ledger --at oom plain_oom.bin", "at 0.202 s"},
                 {"ledger --at oom#2 plain_oom.bin", "no such out-of-memory event on device 0"}};

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        mvt_run run = mvt_sh("cd " MV_TESTDATA "/captures; $MEMVIZ %s 2>&1", cases[i].arguments);
        cr_expect(strstr(run.out, cases[i].wanted), "%s: %s", cases[i].arguments, run.out);
    }
}

Test(refused_calls, the_command_keeps_its_fields)
{
    const char *path =
        mvt_temp_file(mvt_snapshot_of(mvt_memory(), mvt_calls_done(refused(40, 40, true))));
    cJSON *report = mvt_json(0, "$MEMVIZ oom --json %s", path);
    cr_assert_str_eq(mvt_json_text(report, "level"), "cuda");
    const cJSON *oom = mvt_member(report, "ooms.0");
    mvt_json_has(oom, "event requested device_free reserved allocated free_in_cache largest_hole "
                      "verdict pinned_by advice margin forecast frames api held_by");
    cr_assert_str_eq(mvt_json_text(oom, "api"), "cudaMalloc");
    cr_assert_eq(mvt_json_number(oom, "event"), 3);
    cr_assert_eq(mvt_json_number(oom, "held_by.0.bytes"), (double)(30 * GIB));
    mvt_run run = mvt_here_or_sh("$MEMVIZ oom --fail-on oom %s", path);
    cr_expect_eq(run.status, 3);
    cr_expect(strstr(run.out, "OUT OF MEMORY  outside: 40.0 GiB requested at train.py:7 grow"),
              "%s", run.out);
    cr_expect(strstr(run.out, "others on the device use 40.0 GiB, enough"), "%s", run.out);
}
