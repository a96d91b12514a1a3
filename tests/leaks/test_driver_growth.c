/* Graphs and streams that are never destroyed. The calls show how many there are, and the samples
 * show whether the device's memory grows with them. Only both together are a leak. */
#include "analyze/leaks/driver_growth.h"
#include "analyze/levels/levels.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/fixture/fixture_json.h"

enum { STEPS = 12 };

typedef struct {
    const char *api;     /* NULL: cuGraphInstantiateWithFlags */
    int at_setup;        /* number of objects made before the steps */
    int per_step;        /* number made in each step */
    int window;          /* destroyed once there are this many; 0: never */
    uint64_t per_object; /* MiB of driver memory for each object */
    uint64_t drift;      /* MiB of other growth after each step */
    int sampled;         /* the number of steps between samples; 0: none */
    uint64_t wave;       /* MiB of a pool in every second sample */
    bool ends;           /* the process ends, and its memory is freed */
} program;

typedef struct {
    mvt_calls *calls;
    const program *p;
    uint64_t made, destroyed, drifted;
} run_state;

static void make_objects(run_state *s, int count)
{
    const char *api = s->p->api ? s->p->api : "cuGraphInstantiateWithFlags";

    for (int i = 0; i < count; i++) {
        mvt_call(s->calls, MV_API_OBJECT_CREATE, .handle = ++s->made, .api = api,
                 .library = "/lib/libcudart.so.13", .function = "capture");
        if (s->p->window && s->made - s->destroyed > (uint64_t)s->p->window)
            mvt_call(s->calls, MV_API_OBJECT_DESTROY, .handle = ++s->destroyed,
                     .api = "cuGraphExecDestroy");
    }
}

static void sample(run_state *s, uint64_t wave)
{
    uint64_t driver = 500 + s->p->per_object * (s->made - s->destroyed) + s->drifted + wave;

    mvt_sample(s->calls, .used = (1000 + driver) * MIB, .process = (64 + driver) * MIB);
}

static mvt_calls *run(const program *p)
{
    run_state s = {.calls = mvt_calls_new(), .p = p};

    mvt_sample(s.calls, .used = 1000 * MIB);
    mvt_call(s.calls, MV_API_CONTEXT_CREATE, .api = "cuDevicePrimaryCtxRetain");
    mvt_call(s.calls, MV_API_ALLOC, .addr = 1 << 30, .size = 64 * MIB, .function = "setup");
    make_objects(&s, p->at_setup);
    sample(&s, 0);
    for (int step = 0; step < STEPS; step++) {
        mvt_calls_annotate(s.calls, MV_STAGE_MARK, mvt_format("step %d", step));
        mvt_call(s.calls, MV_API_ALLOC, .addr = 2ull << 30, .size = MIB, .function = "work");
        make_objects(&s, p->per_step);
        mvt_call(s.calls, MV_API_FREE, .addr = 2ull << 30);
        s.drifted += p->drift;
        if (p->sampled && step % p->sampled == 0)
            sample(&s, 0);
        if (p->wave)
            sample(&s, p->wave);
    }
    if (p->ends)
        mvt_sample(s.calls, .used = 1000 * MIB, .process = 1);
    return s.calls;
}

static mv_driver_growth growth_of(const program *p)
{
    const mv_trace *read = mvt_calls_done(run(p));
    mv_trace level = *read;
    mv_driver_growth grown;
    mv_steps steps;
    int64_t step_us[STEPS + 1];

    mvt_ok(mv_level_take(mvt_memory(), &level, MV_LEVEL_CUDA, mvt_err()));
    mv_lives lives = mvt_lives(mvt_memory(), &level, 0);
    mvt_ok(mv_steps_find(mvt_memory(), &level, &lives, &steps, mvt_err()));
    cr_assert_eq(steps.count, STEPS);
    for (uint32_t i = 0; i < steps.count; i++)
        step_us[i] = lives.events.time_us[steps.at[i]];
    mvt_ok(mv_driver_growth_find(mvt_memory(), read, 0, step_us, steps.count, INT64_MAX, &grown,
                                 mvt_err()));
    return grown;
}

Test(driver_growth, graphs_that_are_never_destroyed_and_memory_that_grows_with_them_are_a_leak)
{
    mv_driver_growth g = growth_of(&(program){.per_step = 1, .per_object = 8, .sampled = 1});

    cr_assert_eq(g.verdict, MV_VERDICT_LEAK, "%s", g.why);
    cr_assert_eq(g.objects, STEPS);
    cr_assert_str_eq(g.what, "executable graphs");
    cr_assert_str_eq(g.label, "train.py:7 capture");
    cr_assert_eq(g.last - g.first, (int64_t)(8 * MIB) * (g.samples - 1));
    cr_assert(strstr(g.why, "12 executable graphs are alive at the end"), "%s", g.why);
    /* At the end of the process all memory is free. That must not count as a fall of the
     * unexplained bytes. */
    g = growth_of(&(program){.per_step = 1, .per_object = 8, .sampled = 1, .ends = true});
    cr_assert_eq(g.verdict, MV_VERDICT_LEAK, "%s", g.why);
    g = growth_of(&(program){.per_step = 3, .per_object = 1, .sampled = 2});
    cr_assert_eq(g.verdict, MV_VERDICT_LEAK, "%s", g.why);
    cr_assert_eq(g.objects, 3 * STEPS);
    g = growth_of(&(program){
        .api = "cuStreamCreateWithPriority", .per_step = 1, .per_object = 2, .sampled = 1});
    cr_assert_eq(g.verdict, MV_VERDICT_LEAK, "%s", g.why);
    cr_assert_str_eq(g.what, "streams");
    /* A pool that comes and goes in each step, and that is larger than the growth. */
    g = growth_of(&(program){.per_step = 1, .per_object = 2, .sampled = 1, .wave = 64});
    cr_assert_eq(g.verdict, MV_VERDICT_LEAK, "%s", g.why);
    cr_assert_lt(g.last - g.first, (int64_t)(64 * MIB), "the pool does not count as growth");
}

Test(driver_growth, objects_that_do_not_grow_are_not_a_leak_with_any_samples)
{
    static const program programs[] = {
        {.drift = 8, .sampled = 1},                                  /* no objects */
        {.at_setup = 40, .per_object = 8, .drift = 8, .sampled = 1}, /* a list of shapes */
        {.per_step = 1, .window = 1, .per_object = 8, .drift = 8, .sampled = 1},
        {.per_step = 1, .window = 4, .per_object = 8, .drift = 8, .sampled = 1},
    };

    for (int i = 0; i < 4; i++)
        cr_assert_eq(growth_of(&programs[i]).verdict, MV_VERDICT_CLEAN, "program %d", i);
}

Test(driver_growth, objects_alone_are_not_enough)
{
    static const program programs[] = {
        {.per_step = 1, .per_object = 0, .sampled = 1}, /* no memory */
        {.per_step = 1, .per_object = 8, .sampled = 0}, /* no samples */
        {.per_step = 1, .per_object = 8, .sampled = 5}, /* too few */
    };

    for (int i = 0; i < 3; i++) {
        mv_driver_growth g = growth_of(&programs[i]);
        cr_assert_eq(g.verdict, MV_VERDICT_UNKNOWN, "program %d", i);
        cr_assert(strstr(g.why, i ? "too few samples" : "did not grow"), "%s", g.why);
    }
}

Test(driver_growth, the_command_reports_it_on_levels_of_calls)
{
    mvt_calls *c = run(&(program){.per_step = 1, .per_object = 8, .sampled = 1});
    const char *path = mvt_temp_file(mvt_snapshot_of(mvt_memory(), mvt_calls_done(c)));
    cJSON *report = mvt_json(0, "$MEMVIZ leaks --json %s 2>/dev/null", path);
    cr_assert_str_eq(mvt_json_text(report, "verdict"), "leak");
    const cJSON *grown = mvt_member(report, "driver.0");
    mvt_json_has(grown, "device verdict what objects unexplained samples frames culprit advice");
    cr_assert_eq(mvt_json_number(grown, "objects"), STEPS);
    mvt_run text = mvt_here_or_sh("$MEMVIZ leaks --level all --fail-on leak %s", path);
    cr_expect_eq(text.status, 3);
    cr_expect(strstr(text.out, "LEAK  train.py:7 capture: executable graphs"), "%s", text.out);
    cr_expect(strstr(text.out, "(cuGraphExecDestroy"), "%s", text.out);
    cr_expect(strstr(text.out, ": leak: the driver's memory for 12 executable graphs, in no block"),
              "%s", text.out);
    text = mvt_here_or_sh("COLUMNS=120 $MEMVIZ %s", path);
    cr_expect(strstr(text.out, "of driver memory for 12 executable graphs"), "%s", text.out);
}
