/* memviz FILE: one screen with the verdict of every report, in the words of that report. */
#include "analyze/advice/triage.h"

#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_calls.h"
#include "tests/fixture/fixture_json.h"

static const char *const names[] = {"leak_in_training", "oom_fragmented", "frag_pinned_by_small",
                                    "streams",          "ring",           "no_history",
                                    "two_devices",      "graphs"};

LongTest(triage, triage_fits_one_screen)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        mvt_run r = mvt_sh("cd $SNAPS; COLUMNS=80 $MEMVIZ %s.pickle", names[i]);
        cr_expect_eq(r.status, 0, "%s", r.err);
        cr_expect_str_eq(r.err, "");
        if (strcmp(names[i], "two_devices") != 0)
            cr_expect_leq(mvt_count_lines(r.out), 24, "%s: %s", names[i], r.out);
        mvt_expect_narrow(r.out, 80, names[i]);
    }
    mvt_expect_narrow(mvt_sh("cd $SNAPS; COLUMNS=60 $MEMVIZ oom_fragmented.pickle").out, 60, "oom");
    mvt_expect_narrow(mvt_sh("cd $SNAPS; COLUMNS=40 $MEMVIZ leak_in_training.pickle").out, 40,
                      "leak");
}

/* Finds the line for a file with one device, without line breaks, and its row. */
static const char *device_line(const char *path, const cJSON **row)
{
    *row = mvt_member(mvt_json_here(0, "$MEMVIZ --json %s", path), "devices.0");
    return mvt_sh("$MEMVIZ %s | sed -n '/^device 0/,/^$/p' | tr -s '\\n ' '  '", path).out;
}

/* A process limit lies between the reserved bytes and the refused total, so no fraction is
 * printed. */
Test(triage, a_limit_between_bounds_has_no_share)
{
    const cJSON *row;
    const char *line = device_line(mvt_snapshot("oom_fragmented"), &row);

    cr_expect(strstr(line, "a limit of at least 1.76 GiB and below 2.15 GiB"), "%s", line);
    cr_expect_not(strchr(line, '%'), "%s", line);
    cr_expect(cJSON_IsFalse(mvt_member(row, "capacity_exact")));
    cr_expect_gt(mvt_json_number(row, "capacity_below"), 2151153664, "the limit of the program");
    line = device_line(mvt_snapshot("oom_outside"), &row);
    cr_expect(strstr(line, "25 % of the 799 MiB available"), "%s", line);
    cr_expect(cJSON_IsTrue(mvt_member(row, "capacity_exact")));
    cr_expect(cJSON_IsNull(mvt_member(row, "capacity_below")));
}

/* More had been reserved before the limit was lowered, or before other programs took the device's
 * remaining memory. */
Test(triage, no_share_exceeds_100_percent)
{
    static const uint64_t free_bytes[] = {4 * GIB, 4 * MIB};
    static const char *const said[] = {"a limit of at least 64.0 MiB and below 84.0 MiB",
                                       "at the last failure 68.0 MiB was available"};
    const cJSON *row;

    for (int i = 0; i < 2; i++) {
        mvt_trace *t = mvt_new();
        mvt_full_segment(t, .addr = 0x40000000, .bytes = 64 * MIB);
        mvt_segment_alloc(t, .addr = 0x80000000, .bytes = 512 * MIB);
        mvt_segment_free(t, .addr = 0x80000000, .bytes = 512 * MIB);
        mvt_oom(t, .addr = free_bytes[i], .bytes = 20 * MIB);
        mvt_final_heap(t);
        const char *line = device_line(mvt_temp_file(mvt_pickle_bytes(t, false)), &row);
        cr_expect(strstr(line, said[i]), "%s", line);
        cr_expect_not(strchr(line, '%'), "%s", line);
    }
}

/* ---- the verdicts equal the reports' ------------------------------------------------ */

static const char *verdict_of(const cJSON *devices, int device)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, devices)
        if (mvt_json_number(row, "device") == device)
            return mvt_json_text(row, "verdict");
    return "";
}

static void check_verdicts(const char *name, const cJSON *finding)
{
    const char *report = mvt_json_text(finding, "report"),
               *text = mvt_json_text(finding, "verdict");
    const cJSON *own = mvt_json_here(0, "$MEMVIZ %s --json $SNAPS/%s.pickle", report, name);
    int device = (int)mvt_json_number(finding, "device");

    if (strcmp(report, "leaks") == 0 ||
        (strcmp(report, "fragmentation") == 0 && strcmp(text, "unknown") != 0))
        cr_expect_str_eq(text, verdict_of(cJSON_GetObjectItem(own, "devices"), device), "%s", name);
    if (strcmp(report, "oom") == 0 && cJSON_GetArraySize(mvt_member(own, "ooms")) > 0)
        cr_expect_str_eq(text, mvt_json_text(own, "ooms.0.verdict"), "%s", name);
    if (strcmp(report, "info") == 0)
        cr_expect_str_eq(text, mvt_json_text(own, "history"), "%s", name);
}

LongTest(triage, verdicts_equal_those_of_the_reports)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *triage = mvt_json_here(0, "$MEMVIZ --json $SNAPS/%s.pickle", names[i]), *row;
        cr_expect_gt(cJSON_GetArraySize(mvt_member(triage, "findings")), 3);
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(triage, "findings"))
            check_verdicts(names[i], row);
    }
}

Test(triage, the_floor_equals_that_of_its_report)
{
    static const char *const with[] = {"frag_pinned_by_small", "streams", "gpt_train"};

    for (unsigned i = 0; i < sizeof with / sizeof *with; i++) {
        const cJSON *t = mvt_json_here(0, "$MEMVIZ --json $SNAPS/%s.pickle", with[i]);
        const cJSON *report = mvt_json_here(0, "$MEMVIZ floor --json $SNAPS/%s.pickle", with[i]);
        const cJSON *device = mvt_member(t, "devices.0");
        const cJSON *own = cJSON_GetObjectItem(device, "floor");
        const cJSON *is = mvt_member(report, "devices.0");
        cr_expect_eq(mvt_json_number(own, "lower"), mvt_json_number(is, "lower"), "%s", with[i]);
        cr_expect_eq(mvt_json_number(own, "separation"), mvt_json_number(is, "separation"));
        cr_expect_eq(mvt_json_number(own, "lower") + mvt_json_number(own, "separation") +
                         mvt_json_number(own, "placement"),
                     mvt_json_number(device, "peak_reserved"));
    }
}

Test(triage, a_file_without_events_has_no_floor)
{
    const cJSON *t = mvt_json_here(0, "$MEMVIZ --json $SNAPS/no_history.pickle");

    cr_expect(cJSON_IsNull(mvt_member(t, "devices.0.floor")));
}

Test(triage, the_most_serious_finding_is_first)
{
    static const char *const first[][2] = {{"oom_fragmented", "oom"},
                                           {"leak_in_training", "leaks"},
                                           {"frag_pinned_by_small", "fragmentation"},
                                           {"graphs", "peak"}};

    for (unsigned i = 0; i < sizeof first / sizeof *first; i++) {
        const cJSON *t = mvt_json_here(0, "$MEMVIZ --json $SNAPS/%s.pickle", first[i][0]);
        cr_expect_str_eq(mvt_json_text(t, "findings.0.report"), first[i][1], "%s", first[i][0]);
    }
}

LongTest(triage, the_commands_work)
{
    const cJSON *t = mvt_json(0, "cp $SNAPS/two_devices.pickle \"it's two.pickle\"; "
                                 "$MEMVIZ --json \"it's two.pickle\"; rm \"it's two.pickle\"");
    const cJSON *row;

    cJSON_ArrayForEach(row, cJSON_GetObjectItem(t, "findings")) {
        mvt_run r = mvt_sh("cp $SNAPS/two_devices.pickle \"it's two.pickle\"; "
                           "memviz() { $MEMVIZ \"$@\"; }; %s >out && test -s out",
                           mvt_json_text(row, "command"));
        cr_expect_eq(r.status, 0, "%s: %s", mvt_json_text(row, "command"), r.err);
    }
}

Test(triage, several_files_and_folders_are_read)
{
    mvt_run r = mvt_sh(
        "mkdir runs; cp $SNAPS/graphs.pickle runs/rank10.pickle; "
        "cp $SNAPS/leak_cycle.pickle runs/rank9.pickle; echo no >runs/note.txt; $MEMVIZ runs");
    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect(strstr(r.out, "rank9") < strstr(r.out, "rank10"), "%s", r.out);
    cr_expect(strstr(r.out, "memviz ranks runs\n"), "%s", r.out);
    cr_expect(strstr(r.out, "\nLEAK           rank9.pickle: "), "%s", r.out);
    const cJSON *t =
        mvt_json_here(0, "$MEMVIZ --json $SNAPS/graphs.pickle $SNAPS/leak_cycle.pickle");
    cr_expect_eq(cJSON_GetArraySize(mvt_member(t, "files")), 2);
    r = mvt_sh("mkdir runs; cp $SNAPS/graphs.pickle runs; $MEMVIZ ranks runs; $MEMVIZ info runs");
    cr_expect_neq(r.status, 0);
    cr_expect(strstr(r.out, "graphs"), "%s", r.out);
    mvt_warns("mkdir empty; $MEMVIZ empty", 1, "empty: no snapshot in this folder");
}

LongTest(triage, typical_mistakes_get_a_helpful_message)
{
    static const mvt_expected_run all[] = {
        {"report graphs.pickle", 0, "\nPEAK ", ""},
        {"triage graphs.pickle", 0, "\nPEAK ", ""},
        {"./graphs.pickle", 0, "\nPEAK ", ""},
        {"-q graphs.pickle", 0, "\nPEAK ", ""},
        {"- <graphs.pickle", 0, "\nPEAK ", ""},
        {"help graphs.pickle", 2, "", "is a file, not a command: try memviz graphs.pickle"},
        {"show graphs.pickle", 2, "", "did you mean 'view'?"},
        {"plot graphs.pickle", 2, "", "did you mean 'trace_plot'?"},
        {"graph.pickle", 1, "", "graph.pickle: No such file or directory"},
        {"graph.bin --fail-on any", 1, "", "graph.bin: No such file or directory"},
        {"graph.bin graphs.pickle", 1, "graphs.pickle", "graph.bin: No such file or directory"},
        {"graphs.pickle nope.pickle", 1, "graphs.pickle", "nope.pickle: No such file"},
        {"leak graphs.pickle", 2, "", "no command 'leak'; did you mean 'leaks'?"},
        {"--json", 2, "", "expected a command or a file before '--json'"},
    };

    MVT_EXPECT_RUNS("cd $SNAPS; $MEMVIZ %s", all);
}

/* ---- captures ---------------------------------------------------------------------------- */

/* A capture of a program without PyTorch that keeps a block in every step. */
static const mv_trace *calls_that_leak(void)
{
    mvt_calls *c = mvt_calls_new();

    for (uint64_t step = 0; step < 12; step++) {
        mvt_call(c, MV_API_ALLOC, .addr = 0x100000000 + step * 0x400000, .size = 0x400000,
                 .function = "keep", .file = "/home/me/keep.cu", .launches = 100 * step);
        mvt_call(c, MV_API_ALLOC, .addr = 0x900000000, .size = 0x800000, .function = "work",
                 .file = "/home/me/keep.cu", .launches = 100 * step + 10);
        mvt_call(c, MV_API_FREE, .addr = 0x900000000, .api = "cudaFree",
                 .launches = 100 * step + 20);
    }
    return mvt_calls_done(c);
}

static mv_triage look(const mv_trace *read)
{
    mv_trace trace = *read;
    mv_triage found;

    mvt_ok(mv_level_take(mvt_memory(), &trace, MV_LEVEL_DEFAULT, mvt_err()));
    mvt_ok(mv_triage_find(mvt_memory()->budget,
                          (mv_triage_query){read, &trace, .with_others = true, .end = UINT32_MAX},
                          1, &found, mvt_err()));
    return found;
}

Test(triage, captures_without_pytorch_are_triaged)
{
    mv_triage found = look(calls_that_leak());

    cr_assert_gt(found.count, 1);
    cr_expect_eq(found.rows[0].finding->kind, MV_FINDING_LEAK, "%s", found.rows[0].text);
    cr_expect_eq(found.rows[0].bytes, 12 * 0x400000);
    cr_expect(strstr(found.rows[0].text, "keep"), "%s", found.rows[0].text);
    for (uint32_t i = 0; i < found.count; i++) {
        cr_expect_neq(found.rows[i].finding->report, MV_REPORT_WHATIF);
        cr_expect_neq(found.rows[i].finding->report, MV_REPORT_OOM);
    }
    mv_triage_release(&found);
}

/* Leaks on levels other than the one that the reports show: pinned memory, and a pool that the
 * program registered, with and without PyTorch. They fail the gate, and the command in the message
 * shows them. */
LongTest(triage, leaks_of_the_host_and_of_heaps_are_reported)
{
    static const struct {
        const char *name, *level;
        double bytes;
    } kept[] = {{"pinned_leak", "host", 100663296},
                {"plain_pinned", "host", 75497472},
                {"heap_pool", "pool", 12582912}};

    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) {
        const cJSON *all =
            mvt_json_here(0, "$MEMVIZ --json " MV_TESTDATA "/captures/%s.bin", kept[i].name);
        const cJSON *first = mvt_member(all, "findings.0");
        mvt_run r =
            mvt_here("$MEMVIZ --fail-on any,known " MV_TESTDATA "/captures/%s.bin", kept[i].name);
        cr_expect_str_eq(mvt_json_text(first, "kind"), "LEAK", "%s", kept[i].name);
        cr_expect_str_eq(mvt_json_text(first, "level"), kept[i].level, "%s", kept[i].name);
        cr_expect_eq(mvt_json_number(first, "bytes"), kept[i].bytes, "%s", kept[i].name);
        cr_expect_eq(r.status, 3, "%s", kept[i].name);
        cr_expect(strstr(r.err, "--fail-on leak: "), "%s: %s", kept[i].name, r.err);
        cr_expect(strstr(r.out, ": no leak: "), "of what: %s", r.out);
        r = mvt_sh("memviz() { $MEMVIZ \"$@\"; }; %s --fail-on leak",
                   mvt_json_text(first, "command"));
        cr_expect_eq(r.status, 3, "%s: %s", mvt_json_text(first, "command"), r.out);
    }
}

/* A heap's blocks lie in memory from CUDA calls, but a leak is reported only once. */
Test(triage, a_leak_that_the_device_shows_is_reported_once)
{
    mvt_run r = mvt_here("$MEMVIZ " MV_TESTDATA "/captures/heap_cupy.bin");

    cr_expect(strstr(r.out, "LEAK "), "%s", r.out);
    cr_expect_null(strstr(strstr(r.out, "LEAK ") + 5, "LEAK "), "%s", r.out);
}

/* Programs that pin a few buffers and keep nothing. */
LongTest(triage, clean_programs_pass_the_gate)
{
    static const char *const clean[] = {"fsdp.0", "loader", "jax",        "train",
                                        "sleep",  "cupy",   "plain_clean"};

    for (unsigned i = 0; i < sizeof clean / sizeof *clean; i++) {
        mvt_run r = mvt_here("$MEMVIZ --fail-on leak " MV_TESTDATA "/captures/%s.bin", clean[i]);
        cr_expect_eq(r.status, 0, "%s: %s", clean[i], r.err);
    }
}

/* Steps that keep nothing on the device. Each of the first `pins` steps pins and keeps a buffer. */
static const mv_trace *calls_that_pin(int steps, int pins)
{
    mvt_calls *c = mvt_calls_new();

    for (int i = 0; i < steps; i++) {
        mvt_calls_annotate(c, MV_STAGE_MARK, "step");
        mvt_call(c, MV_API_ALLOC, .addr = 0x900000000, .size = 0x800000, .function = "work",
                 .file = "/home/me/keep.cu");
        if (i < pins)
            mvt_call(c, MV_API_ALLOC_HOST, .addr = 0x7f0000000000 + (uint64_t)i * 0x400000,
                     .size = 0x400000, .api = "cudaHostAlloc", .function = "pin",
                     .file = "/home/me/keep.cu");
        mvt_call(c, MV_API_FREE, .addr = 0x900000000, .api = "cudaFree");
    }
    return mvt_calls_done(c);
}

/* A training loop as a PyTorch snapshot, with or without step marks. Each step may keep a tensor,
 * and pins a buffer, which it may keep. */
typedef struct {
    bool has_device, has_marks, keeps_tensors, keeps_buffers;
} pinning;

static const mv_trace *snapshot_that_pins(pinning does)
{
    enum { STEPS = 24, BYTES = 4 << 20 };
    const uint64_t work = 0x10000000, kept = 0x20000000, pinned = 0x7f0000000000;
    mvt_trace *t = mvt_new();

    if (does.has_device)
        mvt_segment_alloc(t, .addr = work, .bytes = 1 << 29, .stack = "main:train.py:1");
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t buffer = pinned + (does.keeps_buffers ? step * BYTES : 0);
        const char *load = "load:data.py:9;main:train.py:4";
        if (does.has_marks)
            mvt_mark(t, "step", 0);
        mvt_full_segment(t, .device = MVT_HOST, .addr = buffer, .bytes = BYTES, .stack = load);
        if (does.has_device) {
            mvt_alloc(t, .addr = work, .bytes = BYTES, .stack = "main:train.py:5");
            mvt_alloc(t, .addr = work + BYTES, .bytes = BYTES,
                      .stack = "net:model.py:3;main:train.py:6");
            mvt_free(t, .addr = work);
            mvt_free(t, .addr = work + BYTES);
        }
        if (does.keeps_tensors)
            mvt_alloc(t, .addr = kept + step * BYTES, .bytes = BYTES, .stack = "main:train.py:7");
        if (!does.keeps_buffers) {
            mvt_free(t, .device = MVT_HOST, .addr = buffer);
            mvt_segment_free(t, .device = MVT_HOST, .addr = buffer, .bytes = BYTES);
        }
    }
    mvt_final_heap(t);
    return mvt_done(t);
}

/* Returns the leak verdict on the only level, or on the host level or the device level. */
static const char *leaks_on_level(const mv_triage *found, bool is_host, bool is_only)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (found->rows[i].finding->report == MV_REPORT_LEAKS &&
            (is_only || (found->rows[i].level != NULL) == is_host))
            return found->rows[i].finding->verdict;
    return "";
}

/* Pinned memory grows. The device's steps are the only clock, or there is no device memory. */
Test(triage, pinned_memory_that_a_snapshot_shows_leaking_is_found_beside_anything)
{
    for (int i = 0; i < 16; i++) {
        pinning does = {i & 1, i & 2, i & 4, i & 8};

        if (does.keeps_tensors && !does.has_device)
            continue;
        mv_triage found = look(snapshot_that_pins(does));
        const char *host = leaks_on_level(&found, true, !does.has_device);
        if (does.has_device)
            cr_expect_str_eq(leaks_on_level(&found, false, false),
                             does.keeps_tensors ? "leak" : "clean", "case %d", i);
        if (!does.keeps_buffers)
            cr_expect(strcmp(host, "leak") != 0, "case %d: %s", i, host);
        else if (does.has_device || does.has_marks)
            cr_expect_str_eq(host, "leak", "case %d", i);
        else /* only the buffers exist, and they may be made once */
            cr_expect_str_eq(host, "unknown", "case %d", i);
        mv_triage_release(&found);
    }
}

/* An unknown verdict on a level is reported if the level seems to grow. A few buffers are not
 * growth. */
Test(triage, a_doubt_is_reported_where_memory_grows)
{
    static const struct {
        int steps, pins;
        mv_leak_verdict verdict;
        const char *text; /* NULL: not reported */
    } cases[] = {{8, 3, MV_VERDICT_CLEAN, NULL},
                 {3, 3, MV_VERDICT_UNKNOWN, NULL},
                 {5, 4, MV_VERDICT_UNKNOWN, "pinned memory: leaks unknown: memory was kept in"},
                 {8, 8, MV_VERDICT_LEAK, "pinned memory: keep.cu"}};

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_triage found = look(calls_that_pin(cases[i].steps, cases[i].pins));
        const char *text = "", *own = "";

        cr_assert_eq(found.devices[0].leaks.verdict, MV_VERDICT_CLEAN);
        cr_assert_eq(found.other_count, 1);
        cr_expect_eq(found.others[0].leaks.verdict, cases[i].verdict, "case %u", i);
        cr_expect_eq(found.others[0].is_reported, cases[i].text != NULL, "case %u", i);
        for (uint32_t k = 0; k < found.count; k++)
            if (found.rows[k].level && strcmp(found.rows[k].level, "host") == 0)
                text = found.rows[k].text;
            else if (found.rows[k].finding->report == MV_REPORT_LEAKS)
                own = found.rows[k].text;
        cr_expect_eq(strncmp(text, cases[i].text ? cases[i].text : "",
                             strlen(cases[i].text ? cases[i].text : "")),
                     0, "case %u: %s", i, text);
        cr_expect(strstr(own, cases[i].text ? "CUDA calls: no leak" : "no leak") == own, "%s", own);
        mv_triage_release(&found);
    }
}

/* Requests that were slow, although none failed. */
Test(triage, requests_that_released_the_cache_are_reported)
{
    cJSON *rows = cJSON_GetObjectItem(
        mvt_json(0, "$MEMVIZ triage --json $SNAPS/retry_release.pickle"), "findings");
    const cJSON *row;
    bool found = false;

    cJSON_ArrayForEach(row, rows)
        if (strcmp(mvt_json_text(row, "report"), "oom") == 0) {
            const char *text = mvt_json_text(row, "text");
            found = true;
            cr_expect_str_eq(mvt_json_text(row, "verdict"), "retries");
            cr_expect_str_eq(mvt_json_text(row, "kind"), "NOTE");
            cr_expect(
                strncmp(text,
                        "7 requests succeeded only after PyTorch freed 4.59 GiB of cache: slow",
                        69) == 0,
                "%s", text);
        }
    cr_expect(found);
    cr_expect(strstr(mvt_here_or_sh("$MEMVIZ $SNAPS/gpt_train.pickle").out,
                     "FINE           no request failed"));
}

/* There are more failures and more leaks than the findings have room for, but all of them are
 * counted, and their bytes are added up. */
Test(triage, all_failures_and_leaks_are_counted)
{
    enum { FAILURES = 40, LINES = 30, STEPS = 12 };
    mvt_trace *t = mvt_new();
    uint64_t next = 0x10000000, asked = 0;

    mvt_segment_alloc(t, .addr = next, .bytes = 4 << 20, .stack = "main:train.py:1");
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < LINES; i++) {
            const char *stack = mvt_format("keep:train.py:%d", 10 + i);
            mvt_alloc(t, .addr = next, .bytes = 512 * (uint64_t)(i + 1), .stack = stack);
            next += 512 * (uint64_t)(i + 1);
        }
        mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    }
    for (uint64_t i = 0; i < FAILURES; asked += (1 << 21) + i++)
        mvt_oom(t, .addr = 1 << 20, .bytes = (1 << 21) + i, .stack = "ask:train.py:5");
    mvt_final_heap(t);
    mv_triage found = look(mvt_done(t));
    cr_assert_gt(found.count, 2);
    cr_expect_eq(found.rows[0].finding->kind, MV_FINDING_OOM);
    cr_expect(strstr(found.rows[0].text, "; 39 more"), "%s", found.rows[0].text);
    cr_expect_eq(found.rows[0].bytes, asked);
    cr_expect_eq(found.rows[1].finding->kind, MV_FINDING_LEAK);
    cr_expect(strstr(found.rows[1].text, "; 29 more"), "%s", found.rows[1].text);
    cr_expect_eq(found.rows[1].bytes, 512 * STEPS * LINES * (LINES + 1) / 2);
    mv_triage_release(&found);
}

/* An engine that sleeps between its steps: its parameters leave, and a cache stays. Tensor names
 * identify the parameters. */
static mv_triage look_at_engine(bool sleeps)
{
    enum { STEPS = 8 };
    const uint64_t cache = 0x10000000, model = 0x10400000, work = 0x12400000;
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = cache, .bytes = 64 << 20, .stack = "main:train.py:1");
    mvt_alloc(t, .addr = cache, .bytes = 2 << 20, .stack = "dispatch:dispatcher.py:5");
    for (int step = 0; step <= STEPS; step++) {
        if (step == 0 || sleeps)
            mvt_alloc(t, .addr = model, .bytes = 32 << 20, .stack = "wake:engine.py:9");
        mvt_alloc(t, .addr = work, .bytes = step == STEPS ? 9 << 20 : 8 << 20,
                  .stack = "forward:model.py:3"); /* at the peak the tensors have names */
        if (step == STEPS)
            break;
        mvt_free(t, .addr = work);
        if (sleeps)
            mvt_free(t, .addr = model);
        mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
    }
    mvt_tensor(t, .name = "weight", .role = MV_TENSOR_PARAMETER, .addr = model, .bytes = 32 << 20,
               .dtype = "f32");
    mvt_final_heap(t);
    return look(mvt_done(t));
}

static const mv_triage_row *held_in(const mv_triage *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].finding->verdict, "held") == 0)
            return &t->rows[i];
    return NULL;
}

Test(triage, memory_kept_while_the_model_is_offloaded_is_a_finding)
{
    mv_triage sleeping = look_at_engine(true), awake = look_at_engine(false);
    const mv_triage_row *held = held_in(&sleeping);

    cr_assert(held);
    cr_expect_str_eq(held->text, "2.00 MiB is held at every low point, 2.00 MiB of it by "
                                 "dispatcher.py:5 dispatch");
    cr_expect_eq(held->bytes, 2 << 20);
    cr_expect_null(held_in(&awake), "the model is held, as in any training");
    mv_triage_release(&sleeping);
    mv_triage_release(&awake);
}

Test(triage, the_peak_report_holds_the_same_at_low_points_as_leaks)
{
    const cJSON *leaks = mvt_json_here(0, "$MEMVIZ leaks --json $SNAPS/gpt_train.pickle");
    const cJSON *low = mvt_json_here(0, "$MEMVIZ peak --json --at low $SNAPS/gpt_train.pickle");
    const cJSON *peak = mvt_json_here(0, "$MEMVIZ peak --json $SNAPS/gpt_train.pickle");

    cr_expect_eq(mvt_json_number(low, "held_bytes"),
                 mvt_json_number(leaks, "devices.0.held_bytes"));
    cr_expect_gt(mvt_json_number(low, "held_bytes"), 0);
    cr_expect_not(cJSON_HasObjectItem(peak, "held_bytes"));
}

Test(triage, the_result_does_not_depend_on_threads)
{
    mv_trace trace = mvt_load(mvt_memory(), "two_devices");
    mv_triage_query ask = {&trace, &trace, .with_others = true, .end = 2};
    mv_triage one, many;

    mvt_ok(mv_triage_find(mvt_memory()->budget, ask, 1, &one, mvt_err()));
    mvt_ok(mv_triage_find(mvt_memory()->budget, ask, 5, &many, mvt_err()));
    cr_assert_eq(one.count, many.count);
    for (uint32_t i = 0; i < one.count; i++)
        cr_expect_str_eq(one.rows[i].text, many.rows[i].text);
    mv_triage_release(&one);
    mv_triage_release(&many);
}
