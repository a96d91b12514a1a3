/* Files from RMM, XLA and JAX (testdata/tools): their contents, to the byte, and what commands
 * print about them. */
#include "analyze/advice/recording.h"
#include "analyze/events/recorder.h"
#include "analyze/leaks/leaks.h"
#include "analyze/totals/moment.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture.h"
#include "viz/core/pyramid.h"

#define TOOLS MV_TESTDATA "/tools/"

static const char *const all_names[] = {
    "jax.xplane.pb.gz",      "tensorflow.xplane.pb",    "jax_memory.prof",
    "tpu_memory.prof",       "rmm_steps.csv",           "rmm_colons.csv",
    "rmm_late.csv",          "rmm_epoch.csv.gz",        "lost_frees.xplane.pb",
    "lost_allocs.xplane.pb", "lost_overlaps.xplane.pb", "lost_of_two_lines.xplane.pb",
    "two_limits.xplane.pb",  "early_peak.xplane.pb",    "rmm_cut.csv",
    "rmm_glued.csv",         "rmm_overlap.csv",         "rmm_set_back.csv",
    "million.prof",          "second_process.prof",     "unsized_executables.prof",
    "cpu_memory.prof",       "allocations.xplane.pb"};
enum { NAMES = sizeof all_names / sizeof *all_names };

static mv_trace trace; /* of the file that was read last */
static mv_lives lives; /* of one of its devices, with its totals */
static mv_totals totals;

static void read_tool(const char *name)
{
    mvt_ok(mv_trace_read(mvt_memory(), mvt_format(TOOLS "%s", name), NULL, &trace, mvt_err()));
    const char *unsound = mvt_unsound(&trace);
    cr_assert_null(unsound, "%s: %s", name, unsound);
}

static void read_device(uint32_t device)
{
    lives = mvt_lives(mvt_memory(), &trace, device);
    mvt_ok(mv_totals_find(mvt_memory(), &trace, &lives, &totals, mvt_err()));
}

static void read_lives(const char *name)
{
    read_tool(name);
    read_device(0);
}

static mv_leaks leaks_found(void)
{
    mv_leaks leaks;

    mvt_ok(mv_leaks_find(mvt_memory(), &trace, &lives, &leaks, mvt_err()));
    return leaks;
}

/* Returns the bytes allocated after an event. */
static uint64_t allocated_after(uint32_t event)
{
    const mv_alloc_lives *a = &lives.allocs;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < a->count; i++)
        if ((a->birth[i] == MV_BEFORE || a->birth[i] <= event) && a->freed[i] > event)
            sum += a->block[i];
    return sum;
}

static bool ends_record(const mv_events *e, uint32_t event)
{
    return e->action[event] == MV_ACTION_ALLOC || e->action[event] == MV_ACTION_SEGMENT_FREE;
}

static const char *text_of_fact(const char *key)
{
    const char *text = mv_fact_find(&trace, key);

    return text ? text : "";
}

/* ---- XLA --------------------------------------------------------------------------------- */

/* Checks XLA's own total after every event, including memory from before the profile. */
Test(other_files, totals_of_xla_equal_its_own)
{
    read_lives("jax.xplane.pb.gz");
    char *truth = mvt_text(MV_TESTDATA "/tools/jax.xplane.truth.txt"), *at = truth;
    uint32_t compared = 0;

    for (uint32_t i = 0; i < lives.events.count; i++) {
        if (!ends_record(&lives.events, i))
            continue;
        cr_assert_eq(allocated_after(i), strtoull(at, &at, 10), "event %u", i);
        compared++;
    }
    cr_assert_eq(compared, 204, "%u", compared);
    cr_assert_str_eq(at, "\n");
    cr_assert_eq(lives.history, MV_HISTORY_LATE);
    cr_assert_eq(trace.notes[MV_NOTE_LOST_EVENTS].count, 0);
    cr_assert_eq(lives.doubts.lone_frees + lives.doubts.lost_frees + lives.doubts.misplaced, 0);
    cr_assert_str_eq(text_of_fact("limit_0"), "112583507968");
    cr_assert_str_eq(text_of_fact("peak_before_0"), "201327104");
    cr_assert_str_eq(text_of_fact("peak_0"), "201327104");
    cr_assert_str_eq(text_of_fact("allocators_0"), "GPU_0_bfc");
    cr_assert_str_eq(text_of_fact("jax_version"), "0.11.2");
    cr_assert_eq(trace.host_events.count, 120);
}

/* An event that is removed from the file shows in the allocator's total. */
Test(other_files, a_missing_event_of_xla_is_noticed)
{
    mv_span file = mvt_file(mvt_memory(), MV_TESTDATA "/tools/tensorflow.xplane.pb");
    static const char word[] = "MemoryDeallocation";
    uint8_t *copy = memcpy(mv_arena_push(mvt_memory(), file.length, 1), file.data, file.length);
    uint8_t *at = memmem(copy, file.length, word, strlen(word));

    cr_assert_not_null(at);
    memcpy(at, "memorydeallocation", strlen(word)); /* now a range like any other */
    mvt_ok(mv_trace_read_bytes(mvt_memory(), (mv_span){copy, file.length}, &trace, mvt_err()));
    cr_assert_gt(trace.notes[MV_NOTE_LOST_EVENTS].count, 0);
}

typedef struct {
    const char *name;
    uint64_t peak, end, total; /* bytes; `total`: at least this many allocated in all */
    mv_leak_verdict verdict;
    uint32_t places; /* where events are missing */
} lossy;

/* The sums of the blocks must equal the allocator's own, which the generator knows. The kept memory
 * is not reported if blocks from two lines may have ended. */
Test(other_files, missing_events_of_xla_do_not_change_sums)
{
    static const lossy all[] = {
        {"lost_frees", 69206016, 1 << 20, 818937856, MV_VERDICT_CLEAN, 12},
        {"lost_allocs", 173015040, 100 << 20, 922746880, MV_VERDICT_CLEAN, 6},
        {"lost_overlaps", 64 << 20, 64 << 20, 805306368, MV_VERDICT_UNKNOWN, 11},
        {"lost_of_two_lines", (13 << 20), (12 << 20), (24 << 20) + 12 * 4096, MV_VERDICT_UNKNOWN,
         12},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        const char *name = mvt_format("%s.xplane.pb", all[i].name);
        read_lives(name);
        cr_expect_eq(totals.peak.bytes.allocated, all[i].peak, "%s: %llu", name,
                     (unsigned long long)totals.peak.bytes.allocated);
        cr_expect_eq(totals.current.bytes.allocated, all[i].end, "%s: %llu", name,
                     (unsigned long long)totals.current.bytes.allocated);
        cr_expect_eq(totals.total.allocated, all[i].total, "%s: %llu", name,
                     (unsigned long long)totals.total.allocated);
        cr_expect_not(totals.audit.exact || totals.audit.peak.allocated == MV_BOUND_EXACT, "%s",
                      name);
        cr_expect_eq(lives.history, MV_HISTORY_TRUNCATED, "%s", name);
        cr_expect_eq(trace.notes[MV_NOTE_LOST_EVENTS].count, all[i].places, "%s: %llu", name,
                     (unsigned long long)trace.notes[MV_NOTE_LOST_EVENTS].count);
        mv_leaks leaks = leaks_found();
        cr_expect_eq(leaks.verdict, all[i].verdict, "%s: %s", name, leaks.why);
        cr_expect_eq(leaks.count, 0, "%s", name);
        cr_expect_eq(leaks.leaked_bytes + leaks.retained_bytes, all[i].end, "%s", name);
    }
}

/* XLA's own range does not identify the caller. */
Test(other_files, the_range_of_all_allocations_is_left_out)
{
    static const mvt_expected_run all[] = {
        {"peak " TOOLS "allocations.xplane.pb", 0, "100 % by ExecuteHelper", ""}};

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

/* Events without a size count as events. */
Test(other_files, events_without_sizes_are_missing)
{
    read_lives("unsized.xplane.pb");
    cr_expect_eq(trace.notes[MV_NOTE_LOST_EVENTS].count, 8);
    cr_expect_eq(lives.history, MV_HISTORY_TRUNCATED);
    cr_expect_not(totals.audit.exact);
}

/* For each device; the bytes of a device's allocators add up, their peaks do not. */
Test(other_files, limits_and_peaks_belong_to_devices)
{
    static const uint64_t peaks[] = {1082130432, (uint64_t)20 << 30};
    read_tool("two_limits.xplane.pb");

    cr_expect_str_eq(text_of_fact("limit_0"), "8589934592");
    cr_expect_str_eq(text_of_fact("limit_1"), "69793218560");
    cr_expect_str_eq(text_of_fact("peak_before_0"), "");
    cr_expect_str_eq(text_of_fact("peak_before_1"), "21474836480");
    cr_expect_str_eq(text_of_fact("allocators_1"), "GPU_collectivememory_1_bfc, GPU_1_bfc");
    for (uint32_t d = 0; d < 2; d++) {
        read_device(d);
        cr_expect_eq(totals.peak.bytes.allocated, peaks[d], "%llu",
                     (unsigned long long)totals.peak.bytes.allocated);
        cr_expect_neq(totals.audit.peak.allocated, MV_BOUND_EXACT);
    }
    static const mvt_expected_run all[] = {
        {"two_limits.xplane.pb", 0, "device 0: 8.00 GiB may be allocated (GPU_0_bfc)", ""},
        {NULL, 0, "device 1: 65.0 GiB may be allocated", NULL},
        {NULL, 0, "device 1: 20.0 GiB allocated at once", NULL}};
    MVT_EXPECT_RUNS("$MEMVIZ info " TOOLS "%s", all);
}

/* The allocator's peak from before the profile is a bound on the peak. It does not belong to the
 * host. */
Test(other_files, a_peak_before_the_profile_is_a_bound)
{
    read_lives("early_peak.xplane.pb");
    cr_expect_eq(lives.history, MV_HISTORY_LATE);
    cr_expect_eq(totals.peak.bytes.allocated, (uint64_t)4 << 30);
    cr_expect_eq(totals.peak.allocated_event, MV_BEFORE);
    static const mvt_expected_run all[] = {
        {"peak " TOOLS "early_peak.xplane.pb --fail-on 'peak>1GiB,known'", 3, "a peak of 4.00 GiB",
         ""},
        {NULL, 0, "1.00 MiB allocated at the highest point of the events", NULL},
        {"peak " TOOLS "early_peak.xplane.pb --json", 0, "\"peak_of_allocator\"", ""},
        {"stats " TOOLS "jax.xplane.pb.gz --fail-on 'peak>150MiB,known'", 3, "", ""},
        {"stats --level host " TOOLS "jax.xplane.pb.gz --fail-on 'peak>1MiB,known'", 0, "", ""}};
    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

static void expect_frame(mv_stack_id stack, uint32_t at, const char *file, int64_t line,
                         const char *function)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(&trace, stack, &count);

    cr_assert_lt(at, count);
    cr_expect_str_eq(mv_string_text(&trace, trace.frames.file[frames[at].row]), file);
    cr_expect_eq(trace.frames.line[frames[at].row], line);
    cr_expect_str_eq(mv_string_text(&trace, trace.frames.function[frames[at].row]), function);
}

Test(other_files, ranges_and_functions_are_stacks)
{
    read_tool("jax.xplane.pb.gz");
    const mv_events *e = &trace.devices[0].events;
    uint32_t event = 77; /* the first array that is kept */

    expect_frame(e->stack[event], 0, "", MV_NO_LINE,
                 "[0] PjRtStreamExecutorRawLoadedExecutable::Execute");
    expect_frame(e->stack[event], 5, "<jit>", MV_NO_LINE, "multiply");
    expect_frame(e->stack[event], 6, "ufunc_api.py", 175, "__call__");
    expect_frame(e->stack[event], 7, "array_methods.py", 769, "_operator_mul");
    expect_frame(e->stack[event], 8, "", MV_NO_LINE, "train");
    read_tool("tensorflow.xplane.pb");
    e = &trace.devices[1].events;
    expect_frame(e->stack[1], 0, "<op>", MV_NO_LINE, "dense/MatMul float32[512,512] output");
    expect_frame(e->stack[1], 1, "", MV_NO_LINE, "ExecutorState::Process");
    expect_frame(e->stack[1], 2, "", MV_NO_LINE, "train"); /* none that has ended */
    expect_frame(e->stack[3], 0, "<op>", MV_NO_LINE, "cache/Concat float16[2,1000] persist");
}

static void expect_leak(const char *name, uint64_t bytes, uint32_t steps)
{
    read_lives(name);
    mv_leaks leaks = leaks_found();
    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK, "%s: %s", name, leaks.why);
    cr_expect_eq(leaks.count, 1);
    cr_expect_eq(leaks.leaks[0].bytes, bytes, "%s: %llu", name,
                 (unsigned long long)leaks.leaks[0].bytes);
    cr_expect_eq(leaks.steps.count, steps, "%s: %u", name, leaks.steps.count);
}

Test(other_files, known_leaks_are_found)
{
    expect_leak("jax.xplane.pb.gz", 11 << 20, 11);
    expect_leak("tensorflow.xplane.pb", 8 * 4096, 7);
    expect_leak("rmm_steps.csv", 12 << 20, 12);
}

/* ---- JAX --------------------------------------------------------------------------------- */

Test(other_files, sums_of_jax_equal_those_of_the_profile)
{
    read_lives("jax_memory.prof");
    cr_assert_eq(totals.current.bytes.allocated, 35651592);
    cr_assert_eq(totals.current.allocations, 16); /* 25 samples, 9 of them executables */
    cr_assert_str_eq(text_of_fact("executables"), "9");
    cr_assert_eq(lives.history, MV_HISTORY_NONE);
    cr_assert_str_eq(mv_recording_advice(&trace, &lives),
                     "recorded without history: jax.profiler.trace() records events, and memviz "
                     "diff compares two profiles");
}

Test(other_files, devices_of_jax_are_their_labels)
{
    static const uint64_t bytes[] = {4096 + 5000, 1000, 77};
    read_tool("tpu_memory.prof");

    cr_assert_eq(mv_trace_devices(&trace), 3);
    for (uint32_t d = 0; d < 3; d++) {
        read_device(d);
        cr_expect_eq(totals.current.bytes.allocated, bytes[d]);
    }
    cr_assert_str_eq(text_of_fact("cpu_device"), "2");
    /* Three buffers of 1000 bytes: 334, 333, 333; by a line with an inlined one. */
    cr_assert_eq(trace.segments.count, 7);
    cr_expect_eq(trace.blocks.size[3], 334);
    cr_expect_eq(trace.blocks.size[4], 333);
    cr_expect_eq(trace.blocks.size[5], 333);
    expect_frame(trace.blocks.stack[3], 0, "model.py", 30, "helper");
    expect_frame(trace.blocks.stack[3], 1, "train.py", 20, "main");
    expect_frame(trace.blocks.stack[3], 2, "train.py", 21, "main");
    expect_frame(trace.blocks.stack[1], 0, "<executable>", MV_NO_LINE, "compiled program");
}

/* The TPU runtime does not know a program's size, and reports -1. */
Test(other_files, executables_of_unknown_size_are_counted)
{
    static const mvt_expected_run all[] = {{"$MEMVIZ info " TOOLS "unsized_executables.prof", 0,
                                            "3 of them without a size in the file", ""},
                                           {"$MEMVIZ stats " TOOLS "unsized_executables.prof", 0,
                                            "sizes of 3 executables are not in the file", ""},
                                           {"$MEMVIZ convert " TOOLS
                                            "unsized_executables.prof a.bin && $MEMVIZ stats a.bin",
                                            0, "sizes of 3 executables are not in the file", ""}};
    read_lives("unsized_executables.prof");

    cr_expect_eq(totals.current.bytes.allocated, 14 << 20);
    cr_expect_str_eq(text_of_fact(MV_FACT_EXECUTABLES), "4");
    cr_expect_str_eq(text_of_fact(MV_FACT_UNSIZED_EXECUTABLES), "3");
    MVT_EXPECT_RUNS("%s", all);
}

/* Executables used to be counted as arrays that the calling line holds. */
Test(other_files, executables_are_a_category)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ peak --csv --table devices.sites " TOOLS "tpu_memory.prof | "
         "grep -c ,executable, | grep -x 1",
         0, "1\n", ""},
        {"$MEMVIZ peak --json --device 0 " TOOLS "tpu_memory.prof", 0, "\"executable\":5000", ""},
        {NULL, 0, "\"unknown\":4096", NULL},
        {"printf 'compiled.program\\tmine\\n' >r; "
         "$MEMVIZ peak --json --device 0 --rules r " TOOLS "tpu_memory.prof",
         0, "\"mine\":5000", ""},
        {"$MEMVIZ --device 0 " TOOLS "tpu_memory.prof | tr -s '\n ' '  '", 0,
         " HELD compiled programs and their constants: 4.88 KiB of 8.88 KiB, 55 %, executable", ""},
        {"$MEMVIZ " TOOLS "jax_memory.prof", 0, "!executable", ""}};

    MVT_EXPECT_RUNS("%s", all);
}

Test(other_files, a_device_that_is_the_cpu_is_called_so)
{
    static const mvt_expected_run all[] = {
        {TOOLS "cpu_memory.prof", 0, "device 0 (CPU): peak >= 8.00 MiB allocated", ""},
        {NULL, 0, "device 1 (CPU): peak >= 8.00 MiB allocated", NULL},
        {"peak " TOOLS "cpu_memory.prof", 0, "device 1 (CPU)", ""},
        {"stats " TOOLS "tpu_memory.prof", 0, "device 2 (CPU)", ""},
        {NULL, 0, "!device 1 (CPU)", NULL}};

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

Test(other_files, heaps_of_the_cpu_do_not_belong_to_jax)
{
    static const mvt_expected_run all[] = {
        {"cpu_heap.prof", 1, NULL, "its samples have neither a kind nor a device"},
        {"go_heap.prof", 1, NULL,
         "a pprof profile of alloc_objects, inuse_space, not of a device's"}};

    MVT_EXPECT_RUNS("$MEMVIZ info " TOOLS "%s", all);
}

/* One process of several has devices whose numbers do not begin at 0. */
Test(other_files, samples_without_a_device_are_of_the_first_one)
{
    read_tool("second_process.prof");
    read_device(8);
    cr_expect_eq(totals.current.bytes.allocated, ((uint64_t)1 << 30) + (300 << 20));
    read_device(0);
    cr_expect_eq(totals.current.bytes.allocated, 0);
}

Test(other_files, a_million_buffers_are_counted)
{
    static const mvt_expected_run all[] = {{"stats", 0, "the file has 2097159 buffers", ""},
                                           {"info", 0, "2097159 in the file", ""}};
    read_tool("million.prof");

    cr_expect_str_eq(text_of_fact("buffers"), "2097159");
    cr_expect_eq(trace.notes[MV_NOTE_FILE_NOTE].count, 0);
    MVT_EXPECT_RUNS("$MEMVIZ %s " TOOLS "million.prof", all);
}

/* ---- RMM --------------------------------------------------------------------------------- */

/* Three forms of the log of one program: everything but the times is equal. */
Test(other_files, all_forms_of_rmm_logs_are_equal)
{
    static const char *const names[] = {"rmm_steps.csv", "rmm_colons.csv", "rmm_epoch.csv.gz"};

    read_tool(names[0]);
    mv_trace first = trace;
    const mv_events *e = &first.devices[0].events;

    for (int i = 0; i < 3; i++) {
        read_tool(names[i]);
        const mv_events *other = &trace.devices[0].events;
        cr_assert_eq(other->count, 12 * 12 + 3);
        for (uint32_t k = 0; k < e->count; k++)
            cr_assert(e->action[k] == other->action[k] && e->addr[k] == other->addr[k] &&
                          e->size[k] == other->size[k] &&
                          first.streams.value[e->stream[k].row] ==
                              trace.streams.value[other->stream[k].row],
                      "%s: event %u", names[i], k);
        for (mv_note_code n = 0; n < MV_NOTE_COUNT; n++)
            cr_expect_eq(trace.notes[n].count, 0, "%s: %s", names[i], mv_note_name(n));
    }
}

Test(other_files, a_log_may_pass_midnight)
{
    read_tool("rmm_steps.csv");
    const mv_events *e = &trace.devices[0].events;

    for (uint32_t i = 1; i < e->count; i++)
        cr_assert_geq(e->time_us[i], e->time_us[i - 1], "event %u", i);
    cr_assert_eq(e->time_us[e->count - 1] - e->time_us[0], 12015250);
    cr_assert_eq(e->time_us[0], INT64_C(86395000250));
}

Test(other_files, a_failed_request_is_an_event)
{
    read_tool("rmm_steps.csv");
    const mv_events *e = &trace.devices[0].events;
    uint32_t failed = 0;

    for (uint32_t i = 0; i < e->count; i++)
        if (e->action[i] == MV_ACTION_OOM) {
            failed++;
            cr_expect_eq(e->size[i], (uint64_t)40 << 30);
            cr_expect_eq(e->addr[i], MV_NO_BYTES);
        }
    cr_assert_eq(failed, 1);
}

/* Triage reports the second of two failures, and must name that one. */
Test(other_files, a_failure_is_named_as_at_names_it)
{
    static const mvt_expected_run all[] = {
        {TOOLS "rmm_failures.csv", 0, "the last one of 8.00 GiB: ", ""},
        {NULL, 0, "memviz peak --at oom#2 shows who held memory then", NULL},
        {"info " TOOLS "rmm_failures.csv", 0,
         "memviz peak --at oom shows who held memory at the first, --at oom#2 at the last", ""},
        {"info " TOOLS "rmm_steps.csv", 0,
         "1 of its requests; memviz peak --at oom shows who held memory ", ""},
        {"peak --at oom#2 " TOOLS "rmm_failures.csv", 0, "2.06 GiB allocated", ""}};

    MVT_EXPECT_RUNS("$MEMVIZ %s | tr -s '\n ' '  '", all);
}

Test(other_files, odd_lines_of_rmm_are_counted)
{
    read_lives("rmm_late.csv");
    cr_assert_eq(trace.notes[MV_NOTE_LOOSE].count, 2);
    cr_assert_eq(trace.notes[MV_NOTE_DAMAGED].count, 1);
    cr_assert_eq(trace.notes[MV_NOTE_LOST_EVENTS].count, 1); /* it was cut */
    cr_assert_eq(lives.history, MV_HISTORY_TRUNCATED);
    cr_assert_eq(lives.allocs.preexisting, 2);
}

/* A complete log has the limits; in an incomplete log no figure is exact. */
Test(other_files, a_log_of_rmm_claims_no_more_than_it_shows)
{
    static const char *const parts[] = {"rmm_cut.csv", "rmm_glued.csv", "rmm_overlap.csv"};
    static const mvt_expected_run all[] = {
        {"peak " TOOLS "rmm_cut.csv --fail-on 'peak>2GiB'", 4, "", ""},
        {"peak " TOOLS "rmm_glued.csv --fail-on 'peak>2GiB'", 4, "", ""},
        {"peak " TOOLS "rmm_overlap.csv --fail-on 'peak>2GiB'", 4, "", ""},
        {"leaks " TOOLS "rmm_cut.csv --fail-on leak", 4, "", ""},
        {"leaks " TOOLS "rmm_glued.csv --fail-on leak", 4, "", ""},
        {"leaks " TOOLS "rmm_overlap.csv --fail-on leak", 4, "", ""},
        {"peak " TOOLS "rmm_steps.csv --fail-on 'peak>1GiB'", 0, "", ""}};
    read_lives("rmm_steps.csv");

    cr_expect_eq(lives.history, MV_HISTORY_COMPLETE);
    cr_expect(strstr(lives.history_why, "others from that time are not visible"), "%s",
              lives.history_why);
    for (int i = 0; i < 3; i++) {
        read_lives(parts[i]);
        cr_expect_eq(lives.history, MV_HISTORY_TRUNCATED, "%s", parts[i]);
        cr_expect_neq(totals.audit.peak.allocated, MV_BOUND_EXACT, "%s", parts[i]);
    }
    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

/* An allocation at the address of a live block ends that block, in the totals as well. */
Test(other_files, blocks_of_rmm_do_not_overlap)
{
    read_lives("rmm_overlap.csv");
    cr_expect_eq(totals.peak.bytes.allocated, 1 << 30);
    cr_expect_eq(totals.current.bytes.allocated, 2 << 20);
    cr_expect_eq(lives.doubts.residual, 0);
}

Test(other_files, pauses_of_half_a_day_are_not_midnight)
{
    read_tool("rmm_pauses.csv");
    const mv_events *e = &trace.devices[0].events;

    cr_expect_eq(trace.notes[MV_NOTE_UNSORTED_TIME].count, 0);
    cr_expect_eq((e->time_us[e->count - 1] - e->time_us[0]) / 1000000, 30 * 3600);
}

/* The start is the first line's, and time does not decrease. */
Test(other_files, a_clock_that_is_set_back_is_counted_on)
{
    read_tool("rmm_set_back.csv");
    const mv_events *e = &trace.devices[0].events;

    cr_expect_eq(trace.notes[MV_NOTE_UNSORTED_TIME].count, 0);
    cr_expect_eq(e->time_us[0], INT64_C(10790000250));
    cr_expect_eq((e->time_us[e->count - 1] - e->time_us[0]) / 1000000, 40);
    cr_expect_str_eq(text_of_fact("clock_set_back"), "1");
}

/* ---- all --------------------------------------------------------------------------------- */

/* A .bin file keeps everything, including the allocator's name. */
Test(other_files, a_bin_file_keeps_everything)
{
    for (int i = 0; i < NAMES; i++) {
        mv_trace again;
        read_tool(all_names[i]);
        const char *name = mv_trace_allocator(&trace);
        cr_assert_not_null(name);
        mv_span bytes = mvt_snapshot_of(mvt_memory(), &trace);
        mvt_ok(mv_trace_read_bytes(mvt_memory(), bytes, &again, mvt_err()));
        const char *difference = mvt_difference(&trace, &again);
        cr_expect_null(difference, "%s: %s", all_names[i], difference);
        cr_expect_str_eq(mv_trace_allocator(&again), name);
        cr_expect_str_eq(again.origin.level, name);
    }
}

/* No block is lost or uncertain, for any tool. */
Test(other_files, events_lead_to_the_final_heap)
{
    for (int i = 0; i < NAMES; i++) {
        read_tool(all_names[i]);
        for (uint32_t d = 0; d < mv_trace_devices(&trace); d++) {
            read_device(d);
            cr_expect_eq(lives.doubts.residual, 0, "%s", all_names[i]);
            cr_expect_eq(lives.doubts.final_mismatches, 0, "%s", all_names[i]);
            cr_expect_eq(lives.doubts.inexact_blocks, 0, "%s", all_names[i]);
            cr_expect_eq(lives.doubts.resized_blocks, 0, "%s", all_names[i]);
            cr_expect_eq(totals.peak.bytes.reserved, totals.peak.bytes.allocated, "%s",
                         all_names[i]);
        }
    }
}

/* Reports about PyTorch's allocator are refused in one line; the level has the allocator's name. */
Test(other_files, commands_name_the_allocator)
{
    static const char xla[] = "needs PyTorch's allocator; this file is from XLA's";
    static const mvt_expected_run all[] = {
        {"whatif " TOOLS "jax.xplane.pb.gz", 1, NULL, xla},
        {"oom " TOOLS "jax.xplane.pb.gz", 1, NULL, xla},
        {"fragmentation " TOOLS "jax.xplane.pb.gz", 1, NULL, xla},
        {"peak --json " TOOLS "rmm_steps.csv", 0, "\"level\":\"rmm\"", ""},
        {"peak --level rmm " TOOLS "rmm_steps.csv", 0, "", ""},
        {"peak --level cuda " TOOLS "rmm_steps.csv", 1, NULL, "no level cuda: this file has rmm"},
        {"stats --level host " TOOLS "tensorflow.xplane.pb", 0, "", ""}};

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

/* Memory that a tool's allocator took from the device is not in the tool's file, so no report
 * mentions it in words. JSON has the fields of every report. */
LongTest(other_files, nothing_is_reported_about_reserved_memory)
{
    static const char *const commands[] = {"triage", "info", "stats", "peak", "lines"};
    static const char *const names[] = {"rmm_steps.csv", "jax.xplane.pb.gz", "jax_memory.prof"};
    static const char *const pictures[] = {"segment_plot", "trace_plot", "segments",
                                           "segment_plot --at end"};
    mvt_run run;

    for (int k = 0; k < 3; k++) {
        for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
            run = mvt_here_or_sh("$MEMVIZ %s %s/tools/%s", commands[i], MV_TESTDATA, names[k]);
            cr_expect_eq(run.status, 0, "%s", run.err);
            cr_expect_null(strstr(run.out, "reserved"), "%s", run.out);
        }
        for (unsigned i = 0; i < sizeof pictures / sizeof *pictures; i++) {
            run = mvt_sh("$MEMVIZ %s %s/tools/%s -o x.svg && grep '</text>' x.svg", pictures[i],
                         MV_TESTDATA, names[k]);
            cr_expect_eq(run.status, 0, "%s", run.err);
            cr_expect_null(strstr(run.out, "reserved"), "%s %s: %s", pictures[i], names[k],
                           run.out);
            cr_expect_null(strstr(run.out, "PyTorch"), "%s %s: %s", pictures[i], names[k], run.out);
        }
        run =
            mvt_sh("cp %s/tools/%s a; $MEMVIZ diff a a; $MEMVIZ ranks a a", MV_TESTDATA, names[k]);
        cr_expect_null(strstr(run.out, "reserved"), "%s", run.out);
        run = mvt_here_or_sh("$MEMVIZ stats --json %s/tools/%s", MV_TESTDATA, names[k]);
        cr_expect(strstr(run.out, "\"reserved\""), "%s", run.out);
    }
    run = mvt_sh("$MEMVIZ memory %s/tools/jax.xplane.pb.gz -o x.svg && cat x.svg", MV_TESTDATA);
    cr_expect(strstr(run.out, "the framework and Python"));
}

/* Each block fills a segment: both have the same peak at the same moment. */
Test(other_files, reserved_memory_peaks_with_its_block)
{
    for (int i = 0; i < NAMES; i++) {
        read_lives(all_names[i]);
        mv_pyramid_reader reader;
        mv_pyramid pyramid;
        mv_moment_query ask;
        mv_moment at;
        char why[200];

        cr_assert(mv_moment_read(&trace, 0, "reserved-peak", MV_ALL_EVENTS, &ask, why, sizeof why));
        mvt_ok(mv_moment_find(mvt_memory(), &lives, ask, &at, mvt_err()));
        cr_expect_eq(at.bytes.reserved, at.bytes.allocated, "%s: event %u", all_names[i], at.event);
        /* Unless the allocator's own peak is higher. */
        if (mv_fact_of_device(&trace, MV_FACT_PEAK, 0) <= at.bytes.allocated) {
            cr_expect_eq(at.event, totals.peak.allocated_event, "%s", all_names[i]);
            cr_expect_eq(at.event, totals.peak.reserved_event, "%s", all_names[i]);
        }
        mvt_ok(mv_pyramid_find(mvt_memory(), &lives, &pyramid, mvt_err()));
        pyramid.of_level = true;
        mv_pyramid_reader_init(&reader, &pyramid);
        mv_extent all = mv_pyramid_range(&reader, MV_BEFORE, lives.events.count);
        cr_expect_eq(at.event, all.reserved_event, "%s", all_names[i]);
    }
}

#define HEADER "printf 'Thread,Time,Action,Pointer,Size,Stream\\n"
#define PART(first)                                                                      \
    "{ printf '" first "'; tail -n +20 rmm_steps.csv; } >$OLDPWD/part.csv; cd $OLDPWD; " \
    "$MEMVIZ part.csv; $MEMVIZ info part.csv"

Test(other_files, odd_files_of_tools_are_explained)
{
    static const mvt_expected_run all[] = {
        /* The advice for an empty file names the tool that wrote it. */
        {HEADER "1,10:00:00.000000,allocate,0x1000,0,0x0\\n' >$OLDPWD/empty.csv; "
                "$MEMVIZ $OLDPWD/empty.csv",
         0, "rmm.enable_logging()", ""},
        {NULL, 0, "!PyTorch", NULL},
        /* Memory held by the first program at its end would count for the second. */
        {"l=$PWD/rmm_steps.csv; cd $OLDPWD; cat $l $l >two.csv; ! $MEMVIZ two.csv", 0, NULL,
         "two.csv: byte 3410: "},
        {NULL, 0, NULL, "pass each log separately"},
        {"l=$PWD/rmm_steps.csv; cd $OLDPWD; head -n 1 $l >heads.csv; cat $l >>heads.csv; "
         "$MEMVIZ heads.csv",
         0, "heads.csv: snapshot, rmm", ""},
        /* Concatenating two profiles gives a profile whose samples have twice as many values as
         * those of either. */
        {"p=$PWD/jax_memory.prof; cd $OLDPWD; cat $p $p >two.prof; $MEMVIZ two.prof", 1, NULL,
         "several profiles in one file"},
        /* The end of a long log, or the log's lines within Spark's log: the blocks before them
         * are missing. */
        {PART(""), 0, "device 0: peak >= ", ""},
        {NULL, 0, "its beginning is missing", NULL},
        {PART("000000,8388608,0x2\\n"), 0, "device 0: peak >= ", ""},
        {NULL, 0, "its beginning is missing", NULL},
        {PART("\\357\\273\\277"), 0, "device 0: peak >= ", ""},
        {NULL, 0, "its beginning is missing", NULL},
        /* A log that covers days: no column of `trace` may run into the next one. */
        {HEADER "1,1700000000.000001,allocate,0x1000,64,0x7fedcba98765\\n"
                "1,1701234567.000001,allocate,0x2000,64,0x0\\n' >$OLDPWD/days.csv; "
                "$MEMVIZ trace $OLDPWD/days.csv",
         0, "  event         seconds  action", ""},
        {NULL, 0, "        2  1234567.000000  segment_alloc", NULL},
        {NULL, 0, "        0        0.000000  segment_alloc", NULL},
        {NULL, 0, "0x7fedcba98765  <size>", NULL}};

    MVT_EXPECT_RUNS("cd " TOOLS "; %s", all);
}
