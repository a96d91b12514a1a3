/* Captures of real programs, recorded on H200s by capture/tests/gpu.sh. The memory that they keep
 * in each step is found, by line and library. Programs that keep nothing have no leak on any level.
 * The libraries' own counts equal the bytes of their calls. */
#include "tests/fixture/fixture_json.h"

static const char *const levels[] = {"pytorch", "cuda", "host", "all"};

static cJSON *report_on(const char *name, const char *command)
{
    return mvt_json(0, "$MEMVIZ %s --json " MV_TESTDATA "/captures/%s.bin", command, name);
}

LongTest(captures, memory_kept_in_each_step_is_the_first_leak)
{
    static const struct {
        const char *name, *level, *function, *library;
    } kept[] = {
        {"cupy_leak", "cuda", "keep_array", "CuPy"},
        {"pinned_leak", "host", "keep_batch", "PyTorch"},
        {"nccl_leak.0", "all", "keep_communicator", "NCCL"},
        {"plain_malloc", "cuda", "keep_malloc", "plain_leaks"},
        {"plain_async", "cuda", "keep_async", "plain_leaks"},
        {"plain_created", "cuda", "keep_created", "plain_leaks"},
        {"plain_pinned", "host", "keep_pinned", "plain_leaks"},
        {"plain_handle", "cuda", "keep_handle", "cuBLAS"},
        {"heap_cupy", "cupy", "keep_array", "cupy"},
    };

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        cJSON *report = report_on(kept[i].name, mvt_format("leaks --level %s", kept[i].level));
        const cJSON *first = mvt_member(report, "leaks.0");
        cr_assert_str_eq(mvt_json_text(report, "verdict"), "leak", "%s", kept[i].name);
        cr_assert(strstr(mvt_json_text(first, "culprit"), kept[i].function), "%s: %s", kept[i].name,
                  mvt_json_text(first, "culprit"));
        cr_assert_str_eq(mvt_json_text(first, "library"), kept[i].library, "%s", kept[i].name);
    }
}

/* No call owns the memory that the driver uses for graphs. */
Test(captures, graphs_that_are_instantiated_in_each_step_are_a_leak)
{
    cJSON *report = report_on("plain_graph", "leaks --level cuda");
    const cJSON *grown = mvt_member(report, "driver.0");

    cr_assert_str_eq(mvt_json_text(report, "verdict"), "leak");
    cr_assert_eq(mvt_json_number(grown, "objects"), 12);
    cr_assert(strstr(mvt_json_text(grown, "culprit"), "keep_graph"));
}

/* Without PyTorch's memory, a report covers the CUDA calls, with their events, history and
 * floor. */
Test(captures, captures_of_calls_alone_have_events_and_a_floor)
{
    static const char *const names[] = {"cupy", "plain_graph", "plain_pinned", "jax"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cJSON *info = report_on(names[i], "info -q"), *stats = report_on(names[i], "stats -q");
        cJSON *trace = report_on(names[i], "trace -q"), *bound = report_on(names[i], "floor -q");
        const cJSON *device = mvt_member(info, "devices.0");
        const cJSON *total = mvt_member(stats, "devices.0");
        const cJSON *least = mvt_member(bound, "devices.0");

        cr_expect_eq(mvt_json_number(device, "events"),
                     cJSON_GetArraySize(mvt_member(trace, "events")), "%s", names[i]);
        cr_expect_str_eq(mvt_json_text(info, "history"), "complete", "%s", names[i]);
        cr_expect_str_eq(mvt_json_text(info, "level"), mvt_json_text(stats, "level"));
        cr_expect_eq(mvt_json_number(least, "reserved"), mvt_json_number(total, "peak.reserved"),
                     "%s", names[i]);
        cr_expect(cJSON_IsTrue(mvt_member(least, "ideal")), "%s", names[i]);
        cr_expect_str_eq(mvt_json_text(least, "note"), "", "%s", names[i]);
    }
}

LongTest(captures, programs_that_keep_nothing_have_no_leak_at_any_level)
{
    static const char *const clean[] = {"train", "sleep", "loader",      "jax",
                                        "cupy",  "numba", "plain_clean", "two_devices"};
    unsigned judged = 0;

    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
            mvt_run run =
                mvt_here_or_sh("$MEMVIZ leaks --json --level %s " MV_TESTDATA "/captures/%s.bin",
                               levels[k], clean[i]);
            if (run.status != 0) /* the file has no such level */
                continue;
            cr_assert_str_neq(mvt_json_text(mvt_json_of(run.out), "verdict"), "leak", "%s %s",
                              clean[i], levels[k]);
            judged++;
        }
    cr_assert_geq(judged, 16);
}

/* One process uses two devices. Memory on each was freed while the other one was current. The peaks
 * must equal PyTorch's counters for each device, and the samples must belong to the right one. */
Test(captures, two_devices_of_one_process_are_distinguished)
{
    static const struct {
        double peak, reserved, used;
    } of[] = {{2422854656, 2594177024, 3383558144}, {6717821952, 6889144320, 7678525440}};

    cJSON *stats = report_on("two_devices", "stats"), *ledger = report_on("two_devices", "ledger");
    for (int device = 0; device < 2; device++) {
        const cJSON *row = mvt_member(stats, mvt_format("devices.%d", device));
        cr_expect_eq(mvt_json_number(row, "peak.allocated"), of[device].peak);
        cr_expect_eq(mvt_json_number(row, "peak.reserved"), of[device].reserved);
        row = mvt_member(ledger, mvt_format("devices.%d", device));
        cr_expect_eq(mvt_json_number(row, "used") + mvt_json_number(row, "others"), of[device].used,
                     "%f %f", mvt_json_number(row, "used"), mvt_json_number(row, "others"));
        cr_expect_eq(mvt_json_number(row, "unexplained"), 0);
    }
}

/* The programs wrote down their libraries' counters: those of CuPy's pool, of JAX, and of PyTorch's
 * pinned memory. */
Test(captures, libraries_hold_the_bytes_of_their_own_counters)
{
    static const struct {
        const char *name, *library;
        double most;
    } pools[] = {{"cupy", "CuPy", 8388608}, {"jax", "JAX", 112583507968}};

    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        double most = 0;
        cJSON *ledger = report_on(pools[i].name, "ledger"), *row;
        const cJSON *samples = mvt_member(ledger, "devices.0.samples"), *sample;
        cJSON_ArrayForEach(sample, samples)
            cJSON_ArrayForEach(row, cJSON_GetObjectItem(sample, "by"))
                if (strcmp(mvt_json_text(row, "library"), pools[i].library) == 0 &&
                    mvt_json_number(row, "bytes") > most)
                    most = mvt_json_number(row, "bytes");
        cr_assert_eq(most, pools[i].most, "%s: %.0f", pools[i].name, most);
    }
    cr_assert_eq(
        mvt_json_number(report_on("loader", "ledger --at end"), "devices.0.pinned_host.bytes"),
        1310720);
}

/* A CuPy program that keeps 5 GiB in each round, and a plain one that requests more than is
 * available. */
Test(captures, refused_calls_are_explained_without_pytorch)
{
    static const struct {
        const char *name, *line;
        double requested, device_free;
    } refused[] = {{"cupy_oom", "c.py:3 keep_array", 5368709120, 4602331136},
                   {"plain_oom", "r.cu:4 main", 64424509440, 42183294976}};

    for (size_t i = 0; i < 2; i++) {
        const cJSON *oom = mvt_member(report_on(refused[i].name, "oom"), "ooms.0");
        mvt_run triage =
            mvt_here_or_sh("COLUMNS=200 $MEMVIZ " MV_TESTDATA "/captures/%s.bin", refused[i].name);
        cr_assert_str_eq(mvt_json_text(oom, "verdict"), "capacity");
        cr_assert_eq(mvt_json_number(oom, "requested"), refused[i].requested);
        cr_assert_eq(mvt_json_number(oom, "device_free"), refused[i].device_free, "%.0f",
                     mvt_json_number(oom, "device_free"));
        cr_assert(strstr(triage.out, refused[i].line) && strstr(triage.out, ": capacity; "), "%s",
                  triage.out);
        cr_assert_null(strstr(triage.out, "outside_pytorch"), "%s", triage.out);
        cr_assert(strstr(triage.out, "unexplained 0 B"), "%s", triage.out);
    }
}

/* Half a file has names but no events. Reports must not describe it as a recording that never
 * started. */
Test(captures, a_file_without_its_end_is_reported_as_damaged)
{
    mvt_run run = mvt_sh("head -c 36000 " MV_TESTDATA "/captures/fsdp.0.bin >cut.bin; "
                         "COLUMNS=200 $MEMVIZ cut.bin");

    cr_assert(strstr(run.out, "Damaged parts of the file were skipped (the file ends"), "%s%s",
              run.out, run.err);
    cr_assert_null(strstr(run.out, "_record_memory_history"), "%s", run.out);
}

/* A CUDA call allocates a segment for a single block, so the two exist only together. */
LongTest(captures, reserved_memory_of_calls_peaks_with_its_block)
{
    static const char *const names[] = {"jax", "plain_malloc", "cupy", "loader"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cJSON *report = report_on(names[i], "peak --level cuda --device 0 --at reserved-peak");
        const cJSON *at = mvt_member(report, "devices.0.at");
        cr_assert_gt(mvt_json_number(at, "reserved"), 0, "%s", names[i]);
        cr_expect_eq(mvt_json_number(at, "reserved"), mvt_json_number(at, "allocated"), "%s",
                     names[i]);
    }
}

/* Only PyTorch has small and large pools. */
Test(captures, levels_without_pools_show_none)
{
    mvt_run run = mvt_sh("$MEMVIZ stats --level cuda " MV_TESTDATA "/captures/plain_malloc.bin; "
                         "$MEMVIZ stats --level cupy " MV_TESTDATA "/captures/heap_cupy.bin");

    cr_expect_null(strstr(run.out, "(0, 0)"), "%s", run.out);
    run = mvt_here_or_sh("$MEMVIZ stats " MV_TESTDATA "/captures/train.bin");
    cr_expect(strstr(run.out, "large (unknown pool)"), "%s", run.out);
}

Test(captures, the_host_is_not_a_device)
{
    static const char *const commands[] = {"triage", "stats", "peak",   "leaks",
                                           "trace",  "lines", "memory", "fragmentation"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run run = mvt_here_or_sh(
            "$MEMVIZ %s --level host " MV_TESTDATA "/captures/plain_pinned.bin", commands[i]);
        cr_expect(strstr(run.out, "host: "), "%s: %s", commands[i], run.out);
        cr_expect_null(strstr(run.out, "device 0"), "%s: %s", commands[i], run.out);
    }
}
