/* The hooks, preloaded into programs that call CUDA in every way that real programs do. CUDA and
 * the recorder are stand-ins (tests/hooked/), both of which write their calls to one file. */
#include "capture/hooks/hooks.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/fixture_pythons.h"

/* Programs are started with the stand-ins and the hooks. */
#define CUDA         "LD_LIBRARY_PATH=" MV_HOOKED " "
#define LOG          "HOOKED_LOG=$PWD/log "
#define HOOKS        "LD_PRELOAD=" MV_HOOKED "/libhooks_alone.so "
#define PLUGIN(name) MV_HOOKED "/" name ".so "

/* `out` is the program's output, `err` that of the stand-ins. */
static mvt_run hooked(const char *environment, const char *program, const char *arguments)
{
    mvt_run plain = mvt_sh(CUDA "%s " MV_HOOKED "/%s %s", environment, program, arguments);
    mvt_run run = mvt_sh("touch log; " CUDA LOG HOOKS "%s " MV_HOOKED "/%s %s; status=$?; "
                         "cat log >&2; exit $status",
                         environment, program, arguments);

    cr_assert_eq(plain.status, 0, "%s %s alone: %d: %s%s", program, arguments, plain.status,
                 plain.out, plain.err);
    cr_assert_eq(run.status, 0, "%s %s: %d: %s%s", program, arguments, run.status, run.out,
                 run.err);
    cr_assert_str_eq(run.out, plain.out, "%s %s: the program printed something else", program,
                     arguments);
    return run;
}

typedef enum { CALL, LAUNCH, WAIT, KINDS } hook_kind;

static const struct {
    hook_kind kind;
    const char *name, *action;
    unsigned flags;
    bool is_recorded;
} rows[] = {
#define MV_HOOK(name, base, since, flags, ACTION, ...) {CALL, #name, #ACTION, flags, true},
#define MV_LAUNCH(name, base, since, flags, ...)       {LAUNCH, #name, "", flags, true},
/* Copies that have a direction parameter are called with an invalid direction. */
#define MV_WAIT(name, base, since, flags, params, args, what) \
    {WAIT, #name, "", flags, #what[0] == 'M'},
#define MV_RANGE(...)
#define MV_LOOKUP(...)
#include "capture/hooks/hooks.def"
};

static const struct {
    const char *name, *text;
    mv_api_action number;
} actions[] = {
#define ACTION(name, number, text, ...) {#name, text, number},
    MV_API_ACTION_LIST(ACTION)
#undef ACTION
};

/* Expects as many calls in the log. Returns their action. */
static mv_api_action expect_calls(const char *log, const char *name, const char *action,
                                  unsigned wanted)
{
    unsigned i = 0;

    while (i < MV_API_ACTION_COUNT - 1 && strcmp(actions[i].name, action) != 0)
        i++;
    const char *line = mvt_format("call %s %s ", name, actions[i].text);
    /* A call that frees memory is numbered before it begins, any other call after it ends. */
    bool gives = mv_api_gives(actions[i].number);
    const char *at = strstr(log, line), *numbered = at ? strstr(at, "numbered=") : NULL;
    cr_assert(!at || (numbered && numbered[9] == (gives ? '1' : '0')), "%s%.120s", line, at);
    cr_assert_eq(mvt_count(log, line), wanted, "%s is there %u times", line, mvt_count(log, line));
    return actions[i].number;
}

/* Each row must be called once, and be recorded once under its name. */
static void expect_every_row(const char *program, const char *way, bool has_runtime)
{
    mvt_run run = hooked("", program, way);
    unsigned expected[KINDS] = {0}, loads = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned wanted = rows[i].is_recorded && (has_runtime || !(rows[i].flags & MV_RUNTIME));
        expected[rows[i].kind] += wanted;
        if (rows[i].kind == CALL &&
            expect_calls(run.err, rows[i].name, rows[i].action, wanted) == MV_API_LOAD)
            loads += wanted;
    }
    cr_assert_gt(expected[CALL], 60);
    cr_assert_eq(mvt_count(run.err, "launch\n"), expected[LAUNCH]);
    cr_assert_eq(mvt_count(run.err, "wait\n"), expected[WAIT]);
    /* Graph captures: three functions begin a capture and one ends it, each in two variants. */
    cr_assert_eq(mvt_count(run.err, "mark BEGIN "), 6, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "mark END "), 2, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, " CUDA graph capture 6\n"), 1, "%s", run.err);
    /* All of these launch one of two kernels, but only launches through the driver record which
     * kernel (hooked.c). */
    cr_assert_eq(mvt_count(run.err, " load "), loads + 2, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "call "), expected[CALL] + 2);
    cr_assert_eq(mvt_count(run.err, "result=0"), expected[CALL] + 2);
}

Test(hooks, every_row_is_recorded_through_the_plt)
{
    expect_every_row("hooked_linked", "every plt", true);
}

Test(hooks, every_row_is_recorded_through_dlsym)
{
    expect_every_row("hooked", "every dlsym", true);
}

Test(hooks, every_row_is_recorded_through_get_proc_address)
{
    expect_every_row("hooked", "every getproc", false);
}

/* ---- one call ---- */

Test(hooks, an_alloc_is_recorded_after_it_and_a_free_has_its_number_before)
{
    mvt_run run = hooked("", "hooked", "calls");

    cr_assert_str_eq(run.err, "real cudaMalloc\n"
                              "real cuMemAlloc_v2\n"
                              "call cudaMalloc alloc addr=120000001000 size=1000 handle=0 "
                              "device=4 result=0 numbered=0 from=hooked\n"
                              "sequence\n"
                              "real cudaFree\n"
                              "real cuMemAlloc_v2\n"
                              "call cudaFree free addr=120000001000 size=0 handle=0 device=4 "
                              "result=0 numbered=1 from=hooked\n");
}

/* The time recorded for a free is the time at which it was numbered, however long the call
 * takes. */
Test(hooks, a_free_that_takes_long_has_the_time_of_its_beginning)
{
    mvt_run run =
        mvt_sh(CUDA "FAKE_WAIT=cudaFree $MEMVIZ run -q -o a.bin " MV_HOOKED "/hooked overlapping; "
                    "$MEMVIZ export --format csv --table api_calls -o - a.bin | tr , '\\n' | "
                    "grep '^[12][0-9]\\{15\\}$'");
    unsigned long long first = 0, freed = 0, second = 0;

    cr_assert_eq(sscanf(run.out, "%llu %llu %llu", &first, &freed, &second), 3, "%s%s", run.out,
                 run.err);
    cr_assert_leq(first, freed, "%s", run.out);
    cr_assert_geq(second, freed + 40000, "%s", run.out);
}

/* If the hook does not wait for the lock on the names, a name may be missing. Then it is
 * counted. */
LongTest(hooks, names_that_are_not_waited_for_are_counted)
{
    for (int i = 0; i < 6; i++) {
        mvt_run run = mvt_sh(CUDA "$MEMVIZ run -q --wait-free --stacks none -o a.bin " MV_HOOKED
                                  "/hooked crowd; $MEMVIZ export --format csv --table facts "
                                  "-o - a.bin | sed -n 's/^lost_names,/lost /p'; $MEMVIZ export "
                                  "--format csv --table api_calls -o - a.bin");
        const char *text = strstr(run.out, "lost ");
        unsigned lost = text ? (unsigned)strtoul(text + 5, NULL, 10) : 0;
        /* Count the rows with an empty column in the table that the program printed. */
        unsigned missing = 0;
        for (const char *row = strchr(run.out, '\n'); row && row[1]; row = strchr(row + 1, '\n')) {
            const char *api = strchr(row, ','), *library = api ? strchr(api + 1, ',') : NULL;
            missing += library && (api[1] == ',' || library[1] == ',');
        }
        cr_assert_leq(missing, lost, "%u missing, %u lost", missing, lost);
    }
}

Test(hooks, a_failed_call_is_recorded_with_its_result)
{
    static const struct {
        const char *fails, *line;
    } calls[] = {{"FAKE_FAIL=cudaMalloc",
                  "call cudaMalloc alloc addr=0 size=1000 handle=0 device=4 "
                  "result=2 numbered=0"},
                 {"FAKE_FAIL=cudaFree", "call cudaFree free addr=120000001000 size=0 handle=0 "
                                        "device=4 result=2 numbered=1"}};

    for (size_t i = 0; i < 2; i++) {
        mvt_run run = hooked(calls[i].fails, "hooked", "calls");
        cr_assert_not_null(strstr(run.err, calls[i].line), "%s", run.err);
    }
}

Test(hooks, nothing_is_recorded_when_recording_is_off)
{
    mvt_run run = hooked("HOOKED_OFF=1", "hooked", "calls");

    cr_assert_eq(mvt_count(run.err, "real cuda"), 2, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "call "), 0, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "sequence"), 0, "%s", run.err);
}

Test(hooks, sizes_come_from_descriptors)
{
    static const char *const wanted[] = {
        "call cudaMallocPitch alloc addr=120000001000 size=40960 ",   /* 4096 a row */
        "call cudaMalloc3D alloc addr=120000002000 size=122880 ",     /* 4096 * 10 * 3 */
        "call cudaMallocMipmappedArray alloc_array addr=0 size=336 ", /* (8*4 + 4*2 + 2*1) * 8 */
        "call cudaMallocMipmappedArray alloc_array addr=0 size=640 ", /* (8*4 + 4*2) * 2 * 8 */
        "call cudaMallocMipmappedArray alloc_array addr=0 size=0 ",   /* NV12: unknown */
        "call cuArray3DCreate_v2 alloc_array addr=0 size=80 ",        /* 10 * 2 * 4 */
        "call cuArray3DCreate_v2 alloc_array addr=0 size=0 ",         /* BC1: unknown */
        "call cuGraphAddNode_v2 graph_alloc addr=700000009000 size=777 handle=0 device=6 ",
    };
    mvt_run run = hooked("", "hooked", "sizes");
    const char *at = run.err;

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        at = strstr(at, wanted[i]);
        cr_assert_not_null(at, "%s\n%s", wanted[i], run.err);
        at++;
    }
    cr_assert_eq(mvt_count(run.err, "call "), sizeof wanted / sizeof *wanted);
}

/* A multicast object has no memory of its own, whatever size is in its descriptor. */
Test(hooks, a_multicast_object_has_no_size)
{
    mvt_run run = hooked("", "hooked_linked", "every plt");
    const char *call = strstr(run.err, "call cuMulticastCreate import addr=0 size=");

    cr_assert_not_null(call, "%s", run.err);
    cr_assert_eq(strncmp(strstr(call, "size="), "size=0 ", 7), 0, "%.120s", call);
}

Test(hooks, errno_comes_from_the_real_function)
{
    mvt_run run = hooked("FAKE_ERRNO=1", "hooked", "errno");

    cr_assert_str_eq(run.out, "errno 34\nerrno 34\nerrno 34\nerrno 34\nerrno 33\n");
}

/* ---- who is reached, and who called ---- */

Test(hooks, each_library_reaches_its_own_runtime)
{
    mvt_run run = hooked("", "hooked", "local " PLUGIN("plugin12") PLUGIN("plugin13"));

    cr_assert_str_eq(run.out, "0x120000001000\n0\n0x130000001000\n0\n");
    cr_assert_eq(mvt_count(run.err, "from=plugin12.so"), 2, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "from=plugin13.so"), 2, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "call "), 4, "%s", run.err);
}

Test(hooks, a_linked_runtime_does_not_hide_a_plugins_own)
{
    mvt_run run = hooked("", "hooked_linked", "local " PLUGIN("plugin13") PLUGIN("plugin12"));

    cr_assert_str_eq(run.out, "0x130000001000\n0\n0x120000001000\n0\n");
}

Test(hooks, a_static_runtime_is_recorded_by_its_symbol_lookups)
{
    mvt_run run = hooked("", "hooked", "local " PLUGIN("plugin_static"));

    cr_assert_not_null(strstr(run.err, "call cuMemAlloc_v2 alloc addr=700000001000 size=512 "
                                       "handle=0 device=4 result=0 numbered=0 "
                                       "from=plugin_static.so"),
                       "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "call cuMemFree_v2 free addr=700000001000"), 1, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "call "), 2, "%s", run.err);
}

/* Such a library binds without the hooks, and so does its own libcudart. */
Test(hooks, a_library_that_binds_deeply_works_and_is_not_seen)
{
    mvt_run run = hooked("", "hooked", "deepbind " PLUGIN("plugin12") PLUGIN("plugin_static"));

    cr_assert_eq(mvt_count(run.out, "\n0\n"), 2, "%s", run.out);
    cr_assert_eq(mvt_count(run.err, "call "), 0, "%s", run.err);
}

/* ... unless that libcudart was already loaded. */
Test(hooks, a_runtime_that_was_there_is_seen_below_a_library_that_binds_deeply)
{
    mvt_run run = hooked("", "hooked_linked", "deepbind " PLUGIN("plugin12"));

    cr_assert_eq(mvt_count(run.err, "call cuda"), 0, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "from=libcudart.so.12"), 2, "%s", run.err);
}

Test(hooks, libraries_that_come_and_go_reach_their_own_runtime)
{
    mvt_run run = hooked("", "hooked", "reload " PLUGIN("plugin12") PLUGIN("plugin13"));

    cr_assert_eq(mvt_count(run.out, "12\n"), 10, "%s", run.out);
    cr_assert_eq(mvt_count(run.out, "13\n"), 10, "%s", run.out);
    cr_assert_eq(mvt_count(run.err, "call "), 20, "%s", run.err);
}

Test(hooks, runtimes_that_come_and_go_never_run_out_of_wrappers)
{
    mvt_run run = hooked("", "hooked", "reload");

    cr_assert_eq(mvt_count(run.out, "0 12\n"), 10, "%s", run.out);
    cr_assert_eq(mvt_count(run.out, "0 13\n"), 10, "%s", run.out);
    cr_assert_eq(mvt_count(run.err, "call cudaMalloc alloc "), 20, "%s", run.err);
}

/* Another tool's hook, which requests one more byte, loaded before the shim and after it. */
Test(hooks, hooks_of_other_tools_are_called_once)
{
    static const struct {
        const char *order, *seen;
    } orders[] = {
        {PLUGIN("other_hook") MV_HOOKED "/libhooks_alone.so", "size=513"},
        {MV_HOOKED "/libhooks_alone.so " PLUGIN("other_hook"), "size=512"},
    };

    for (size_t i = 0; i < 2; i++) {
        mvt_run run = mvt_sh(CUDA LOG "LD_PRELOAD='%s' " MV_HOOKED "/hooked_linked linked && "
                                      "cat log >&2",
                             orders[i].order);
        cr_assert_eq(run.status, 0, "%s", run.err);
        cr_assert_eq(mvt_count(run.err, "real cudaMalloc\n"), 1, "%s", run.err);
        cr_assert_eq(mvt_count(run.err, "call cudaMalloc "), 1, "%s", run.err);
        cr_assert_not_null(strstr(run.err, orders[i].seen), "%s", run.err);
    }
}

Test(hooks, entry_points_keep_the_version_that_was_asked_for)
{
    static const char *const hidden[] = {"", "FAKE_HIDDEN=1"};

    for (size_t i = 0; i < 2; i++) {
        mvt_run run = hooked(hidden[i], "hooked", "entry libcudart.so.13");
        cr_assert_eq(mvt_count(run.err, "call "), 4, "%s", run.err);
        cr_assert_eq(mvt_count(run.err, "call cuMemCreate create "), 1, "%s", run.err);
        cr_assert_eq(mvt_count(run.err, "call cuMemAllocAsync_ptsz alloc_async "), 1, "%s",
                     run.err);
        cr_assert_eq(mvt_count(run.err, "call cuMemAlloc alloc "), 1, "%s", run.err);
        cr_assert_eq(mvt_count(run.err, "call cuMemAlloc_v2 alloc "), 1, "%s", run.err);
    }
}

Test(hooks, without_cuda_a_call_fails_and_does_not_crash)
{
    mvt_prints(HOOKS MV_HOOKED "/hooked_orphan linked", 0, "35 (nil)\n35\n3 0\n");
}

/* ---- PyTorch, marks, NVTX ---- */

#define C10 "c10 " PLUGIN("fake_c10_cuda") PLUGIN("fake_c10")

Test(hooks, the_allocators_reports_are_recorded_and_forwarded)
{
    mvt_run run = hooked("", "hooked", C10);

    cr_assert_str_eq(run.err, "block addr=7000 size=512 allocated=1024 reserved=2048 device=1:3\n"
                              "block addr=7000 size=-512 allocated=512 reserved=2048 device=1:3\n"
                              "block addr=7000 size=100 allocated=-1 reserved=-1 device=1:3\n"
                              "oom addr=0 size=4096 allocated=512 reserved=2048 device=1:3\n"
                              "oom addr=0 size=8192 allocated=512 reserved=2048 device=1:3\n");
}

Test(hooks, cpu_tensors_are_recorded_where_they_are_wanted)
{
    mvt_run run = mvt_sh(LOG HOOKS "HOOKED_CPU=1 " MV_HOOKED "/hooked " C10 "; cat log >&2");

    cr_assert_eq(mvt_count(run.err, "device=0:3"), 5, "%s", run.err);
    cr_assert_eq(mvt_count(run.err, "device=1:3"), 5, "%s", run.err);
    cr_assert_not_null(strstr(run.out, "0: 1, 5 calls"), "profiling is off: %s", run.out);
}

/* The program prints how many arguments were evaluated. */
static void expect_recorded_with_the_shim(const char *words, const char *log)
{
    mvt_run without = mvt_sh(MV_HOOKED "/hooked %s", words);
    mvt_run with = mvt_sh(LOG HOOKS MV_HOOKED "/hooked %s; cat log >&2", words);

    cr_assert_str_eq(without.out, "0\n");
    cr_assert_str_eq(with.out, "1\n");
    cr_assert_str_eq(with.err, log);
}

Test(hooks, marks_are_recorded_and_cost_nothing_without_the_shim)
{
    expect_recorded_with_the_shim("marks",
                                  "mark PUSH 0 forward\nmark MARK 0 step 3\nmark POP 0 \n");
}

/* Calls without a heap or a block are not recorded, and a heap cannot have the name of a level. */
Test(hooks, heaps_are_recorded_and_cost_nothing_without_the_shim)
{
    expect_recorded_with_the_shim(
        "heaps", "heap pool alloc addr=1000 size=512 device=-1\n"
                 "heap pool free addr=1000 size=0 device=-1\n"
                 "heap cuda heap alloc addr=2000 size=18446744073709551615 device=-1\n"
                 "heap unnamed alloc addr=4000 size=1 device=-1\n"
                 "heap xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx "
                 "alloc addr=5000 size=1 device=-1\n"
                 "heap other heaps alloc addr=6000 size=1 device=-1\n");
}

Test(hooks, threads_may_name_and_use_the_same_heaps)
{
    mvt_run run = mvt_sh("$MEMVIZ run -q -o a.bin " MV_HOOKED "/hooked heap_threads && "
                         "$MEMVIZ info --json a.bin | grep -o '{\"name\":\"heap [^}]*}' | sort -u");

    cr_assert_eq(mvt_count(run.out, "\"allocs\":400,\"frees\":200,\"blocks\":200,\"bytes\":102400"),
                 40, "%s%s", run.out, run.err);
    cr_assert_eq(mvt_count(run.out, "\"doubts\":\"\"}"), 40, "%s", run.out);
}

Test(hooks, nvtx_reports_heaps_and_regions)
{
    mvt_run run =
        mvt_sh("NVTX_INJECTION64_PATH=" MV_HOOKED "/libhooks_alone.so " LOG HOOKS MV_HOOKED
               "/hooked nvtx_memory; cat log >&2");

    cr_assert_str_eq(run.out, "0 0 1\n1 1\n1\n", "%s", run.out);
    cr_assert_str_eq(run.err,
                     "heap arena alloc addr=1000 size=512 device=-1\n"
                     "heap arena alloc addr=1200 size=1000 device=-1\n"
                     "heap arena #2 alloc addr=1000 size=512 device=-1\n"
                     "heap ? resize addr=1200 size=2000 device=-1\n"
                     "heap ? free addr=1000 size=0 device=-1\n"
                     "heap ? free addr=1200 size=0 device=-1\n"
                     "heap arena reset addr=0 size=0 device=-1\n"
                     "heap arena #2 reset addr=0 size=0 device=-1\n"
                     "heap nvtx alloc addr=1000 size=512 device=-1\n",
                     "%s", run.err);
}

/* In JAX's profiler, XLA's ranges are present only where NVTX has no domain for them, as on the
 * last line. */
Test(hooks, xlas_domain_belongs_to_its_own_profiler)
{
    mvt_prints("export MEMVIZ_NVTX_ALL=1 NVTX_INJECTION64_PATH=" MV_HOOKED
               "/libhooks_alone.so; " LOG HOOKS MV_HOOKED "/hooked nvtx; "
               "unset MEMVIZ_NVTX_ALL; " LOG HOOKS MV_HOOKED "/hooked nvtx",
               0, "1\n-2\n-2\n-2\n-2\n1\n1\n1\n-2\n-2\n-2\n-2\n1\n0\n");
}

Test(hooks, nvtx_gives_ranges_of_each_kind)
{
    mvt_run run = mvt_sh("NVTX_INJECTION64_PATH=" MV_HOOKED
                         "/libhooks_alone.so " LOG HOOKS MV_HOOKED "/hooked nvtx; cat log >&2");

    cr_assert_str_eq(run.out, "1\n-2\n-2\n-2\n-2\n1\n0\n");
    cr_assert_str_eq(run.err, "mark PUSH 0 forward\n"
                              "mark PUSH 0 h\u00fclle \U0001f600\n"
                              "mark POP 0 \nmark POP 0 \n"
                              "mark MARK 0 step 1\n"
                              "mark BEGIN 1 copy\nmark END 1 \n"
                              "mark BEGIN 2 NCCL: reduce\n"
                              "mark BEGIN 3 NCCL: inner\n"
                              "mark PUSH 0 outside\n"
                              "mark END 3 \n"
                              "mark POP 0 \n"
                              "mark END 2 \n"
                              "mark MARK 0 \n");
}

/* In a stack with both kinds of frames, the interpreter's native frames are omitted, whichever
 * build of the interpreter is used. */
LongTest(hooks, python_frames_replace_interpreter_frames)
{
    const char *commands[MVT_MOST_PYTHONS];
    unsigned number = mvt_pythons(commands);

    for (unsigned i = 0; i < number; i++) {
        mvt_run run = mvt_sh(
            "export " CUDA "; for how in native all; do $MEMVIZ run -q --stacks $how -o a.bin %s "
            "-c 'import ctypes\ndef get():\n  ctypes.CDLL(\"libcudart.so.12\").cudaMalloc("
            "ctypes.byref(ctypes.c_void_p()), 512)\nget()'; echo $how $($MEMVIZ dump a.bin | "
            "grep -c PyEval) $($MEMVIZ dump a.bin | grep -c ctypes); done",
            commands[i]);
        unsigned native = 0, in_all = 0, ctypes = 0, ctypes_in_all = 0;
        cr_assert_eq(
            sscanf(run.out, "native %u %u all %u %u", &native, &ctypes, &in_all, &ctypes_in_all), 4,
            "%s: %s%s", commands[i], run.out, run.err);
        cr_assert(native > 0 && ctypes > 0 && ctypes_in_all > 0, "%s: %s", commands[i], run.out);
        cr_assert_eq(in_all, 0, "%s: %s", commands[i], run.out);
    }
}

/* The same program's live file, first as a file from this machine and then, with another `host`
 * fact, as a file from another machine. */
LongTest(hooks, libraries_are_looked_up_only_on_the_machine_of_the_run)
{
    mvt_prints(CUDA
               "LD_PRELOAD=" MV_CAPTURE " MEMVIZ_OUT=$PWD/a MEMVIZ_STACKS=native " MV_HOOKED
               "/hooked_linked linked >/dev/null; mv a.*.live a; h=$(uname -n); "
               "sed \"s/$h/$(printf %s $h | tr -c '' x)/\" a >b; "
               "$MEMVIZ convert -q b c.bin; $MEMVIZ convert -q --symbols b d.bin; "
               "for f in a b c.bin d.bin; do $MEMVIZ dump $f | grep -q linked_calls && echo named;"
               "$MEMVIZ info $f | tr -s '\\n ' ' ' | grep -q 'recorded on another machine' && echo "
               "elsewhere; done; :",
               0, "named\nelsewhere\nelsewhere\nnamed\n");
}

Test(hooks, run_and_info_count_the_same)
{
    mvt_run run =
        mvt_sh(CUDA "$MEMVIZ run -o a.bin " MV_HOOKED "/hooked_linked linked 2>&1 >/dev/null | "
                    "sed 's/^memviz: \\([0-9]*\\) events*, .*/\\1/'; $MEMVIZ info a.bin | "
                    "sed -n 's/^ *records *\\([0-9]*\\): .*/\\1/p'; $MEMVIZ info --json a.bin | "
                    "grep -o '\"records\":[0-9]*'");
    unsigned closing = 0, info = 1, json = 2;

    cr_assert_eq(sscanf(run.out, "%u %u \"records\":%u", &closing, &info, &json), 3, "%s%s",
                 run.out, run.err);
    cr_assert_gt(closing, 0);
    cr_assert_eq(closing, info);
    cr_assert_eq(closing, json);
}
