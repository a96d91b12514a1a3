/* Files of RMM, XLA and JAX (testdata/tools): what they hold, to the byte, and what commands say.
 */
#include "analyze/advice/recording.h"
#include "analyze/events/recorder.h"
#include "analyze/leaks/leaks.h"
#include "analyze/totals/totals.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/soundness.h"

static const char *const all_names[] = {
    "jax.xplane.pb.gz", "tensorflow.xplane.pb", "jax_memory.prof", "tpu_memory.prof",
    "rmm_steps.csv",    "rmm_colons.csv",       "rmm_late.csv",    "rmm_epoch.csv.gz"};
enum { NAMES = sizeof all_names / sizeof *all_names };

static mv_trace read_tool(const char *name)
{
    char path[1024];
    const char *unsound;
    mv_trace trace;
    mv_err err;

    snprintf(path, sizeof path, MV_TESTDATA "/tools/%s", name);
    cr_assert_eq(mv_trace_read(mvt_memory(), path, NULL, &trace, &err), MV_OK, "%s: %s", name,
                 err.detail);
    unsound = mvt_unsound(&trace);
    cr_assert_null(unsound, "%s: %s", name, unsound);
    return trace;
}

static mv_totals totals_of(const mv_trace *trace, const mv_lives *lives)
{
    mv_totals totals;
    mv_err err;

    cr_assert_eq(mv_totals_find(mvt_memory(), trace, lives, &totals, &err), MV_OK);
    return totals;
}

/* Bytes that are allocated after an event. */
static uint64_t allocated_after(const mv_lives *lives, uint32_t event)
{
    const mv_alloc_lives *a = &lives->allocs;
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

static const char *text_of_fact(const mv_trace *trace, const char *key)
{
    const char *text = mv_fact_find(trace, key);

    return text ? text : "";
}

/* ---- XLA --------------------------------------------------------------------------------- */

/* XLA's own total after every event, memory from before the profile included. */
Test(other_files, totals_of_xla_are_its_own)
{
    mv_trace trace = read_tool("jax.xplane.pb.gz");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);
    char *truth = mvt_text(MV_TESTDATA "/tools/jax.xplane.truth.txt"), *at = truth;
    uint32_t compared = 0;

    for (uint32_t i = 0; i < lives.events.count; i++) {
        if (!ends_record(&lives.events, i))
            continue;
        cr_assert_eq(allocated_after(&lives, i), strtoull(at, &at, 10), "event %u", i);
        compared++;
    }
    cr_assert_eq(compared, 204, "%u", compared);
    cr_assert_str_eq(at, "\n");
    cr_assert_eq(lives.history, MV_HISTORY_LATE);
    cr_assert_eq(trace.notes[MV_NOTE_LOST].count, 0);
    cr_assert_eq(lives.doubts.lone_frees + lives.doubts.lost_frees + lives.doubts.misplaced, 0);
    cr_assert_str_eq(text_of_fact(&trace, "limit"), "112583507968");
    cr_assert_str_eq(text_of_fact(&trace, "peak_before"), "201327104");
    cr_assert_str_eq(text_of_fact(&trace, "jax_version"), "0.11.2");
    cr_assert_eq(trace.host_events.count, 120);
}

/* One that is dropped from the file shows in the allocator's total. */
Test(other_files, a_missing_event_of_xla_is_noticed)
{
    mv_span file = mvt_file(mvt_memory(), MV_TESTDATA "/tools/tensorflow.xplane.pb");
    static const char word[] = "MemoryDeallocation";
    uint8_t *copy = memcpy(mv_arena_push(mvt_memory(), file.length, 1), file.data, file.length);
    uint8_t *at = memmem(copy, file.length, word, strlen(word));
    mv_trace trace;
    mv_err err;

    cr_assert_not_null(at);
    memcpy(at, "memorydeallocation", strlen(word)); /* now a range like any other */
    cr_assert_eq(mv_trace_read_bytes(mvt_memory(), (mv_span){copy, file.length}, &trace, &err),
                 MV_OK);
    cr_assert_gt(trace.notes[MV_NOTE_LOST].count, 0);
}

static void expect_frame(const mv_trace *trace, mv_stack_id stack, uint32_t at, const char *file,
                         int64_t line, const char *function)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    cr_assert_lt(at, count);
    cr_expect_str_eq(mv_string_text(trace, trace->frames.file[frames[at].row]), file);
    cr_expect_eq(trace->frames.line[frames[at].row], line);
    cr_expect_str_eq(mv_string_text(trace, trace->frames.function[frames[at].row]), function);
}

Test(other_files, ranges_and_functions_are_stacks)
{
    mv_trace trace = read_tool("jax.xplane.pb.gz");
    const mv_events *e = &trace.devices[0].events;
    uint32_t event = 77; /* the first array that is kept */

    expect_frame(&trace, e->stack[event], 0, "", MV_NO_LINE, "Build buffer allocations");
    expect_frame(&trace, e->stack[event], 6, "<jit>", MV_NO_LINE, "multiply");
    expect_frame(&trace, e->stack[event], 7, "ufunc_api.py", 175, "__call__");
    expect_frame(&trace, e->stack[event], 8, "array_methods.py", 769, "_operator_mul");
    expect_frame(&trace, e->stack[event], 9, "", MV_NO_LINE, "train");
    trace = read_tool("tensorflow.xplane.pb");
    e = &trace.devices[1].events;
    expect_frame(&trace, e->stack[1], 0, "<op>", MV_NO_LINE,
                 "dense/MatMul float32[512,512] output");
    expect_frame(&trace, e->stack[1], 1, "", MV_NO_LINE, "ExecutorState::Process");
    expect_frame(&trace, e->stack[1], 2, "", MV_NO_LINE, "train"); /* none that has ended */
    expect_frame(&trace, e->stack[3], 0, "<op>", MV_NO_LINE,
                 "cache/Concat float16[2,1000] persist");
}

static void expect_leak(const char *name, uint64_t bytes, uint32_t steps)
{
    mv_trace trace = read_tool(name);
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);
    mv_leaks leaks;
    mv_err err;

    cr_assert_eq(mv_leaks_find(mvt_memory(), &trace, &lives, &leaks, &err), MV_OK);
    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK, "%s: %s", name, leaks.why);
    cr_expect_eq(leaks.count, 1);
    cr_expect_eq(leaks.leaks[0].bytes, bytes, "%s: %llu", name,
                 (unsigned long long)leaks.leaks[0].bytes);
    cr_expect_eq(leaks.steps.count, steps, "%s: %u", name, leaks.steps.count);
}

Test(other_files, planted_leaks_are_found)
{
    expect_leak("jax.xplane.pb.gz", 11 << 20, 11);
    expect_leak("tensorflow.xplane.pb", 8 * 4096, 7);
    expect_leak("rmm_steps.csv", 12 << 20, 12);
}

/* ---- JAX --------------------------------------------------------------------------------- */

Test(other_files, sums_of_jax_are_those_of_the_profile)
{
    mv_trace trace = read_tool("jax_memory.prof");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);
    mv_totals totals = totals_of(&trace, &lives);

    cr_assert_eq(totals.current.bytes.allocated, 35651592);
    cr_assert_eq(totals.current.allocations, 16); /* 25 samples, 9 of them executables */
    cr_assert_str_eq(text_of_fact(&trace, "executables"), "9");
    cr_assert_eq(lives.history, MV_HISTORY_NONE);
    cr_assert_str_eq(mv_recording_advice(&trace, &lives),
                     "recorded without history: jax.profiler.trace() records events, and memviz "
                     "diff compares two profiles");
}

Test(other_files, devices_of_jax_are_their_labels)
{
    static const uint64_t bytes[] = {4096 + 5000, 1000, 77};
    mv_trace trace = read_tool("tpu_memory.prof");

    cr_assert_eq(mv_trace_devices(&trace), 3);
    for (uint32_t d = 0; d < 3; d++) {
        mv_lives lives = mvt_lives(mvt_memory(), &trace, d);
        cr_expect_eq(totals_of(&trace, &lives).current.bytes.allocated, bytes[d]);
    }
    cr_assert_str_eq(text_of_fact(&trace, "cpu_device"), "2");
    /* Three buffers of 1000 bytes: 334, 333, 333; by a line with an inlined one. */
    cr_assert_eq(trace.segments.count, 7);
    cr_expect_eq(trace.blocks.size[3], 334);
    cr_expect_eq(trace.blocks.size[4], 333);
    cr_expect_eq(trace.blocks.size[5], 333);
    expect_frame(&trace, trace.blocks.stack[3], 0, "model.py", 30, "helper");
    expect_frame(&trace, trace.blocks.stack[3], 1, "train.py", 20, "main");
    expect_frame(&trace, trace.blocks.stack[3], 2, "train.py", 21, "main");
    expect_frame(&trace, trace.blocks.stack[1], 0, "", MV_NO_LINE, "executable");
}

/* ---- RMM --------------------------------------------------------------------------------- */

/* Of one program in three forms of the log: all but the times is the same. */
Test(other_files, forms_of_rmm_are_one)
{
    static const char *const names[] = {"rmm_steps.csv", "rmm_colons.csv", "rmm_epoch.csv.gz"};
    mv_trace first = read_tool(names[0]);
    const mv_events *e = &first.devices[0].events;

    for (int i = 0; i < 3; i++) {
        mv_trace trace = read_tool(names[i]);
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

Test(other_files, midnight_passes)
{
    mv_trace trace = read_tool("rmm_steps.csv");
    const mv_events *e = &trace.devices[0].events;

    for (uint32_t i = 1; i < e->count; i++)
        cr_assert_geq(e->time_us[i], e->time_us[i - 1], "event %u", i);
    cr_assert_eq(e->time_us[e->count - 1] - e->time_us[0], 12015250);
    cr_assert_eq(e->time_us[0], INT64_C(86395000250));
}

Test(other_files, a_failed_request_is_an_event)
{
    mv_trace trace = read_tool("rmm_steps.csv");
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

Test(other_files, odd_lines_of_rmm_are_counted)
{
    mv_trace trace = read_tool("rmm_late.csv");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);

    cr_assert_eq(trace.notes[MV_NOTE_LOOSE].count, 2);
    cr_assert_eq(trace.notes[MV_NOTE_DAMAGED].count, 1);
    cr_assert_eq(lives.history, MV_HISTORY_LATE);
    cr_assert_eq(lives.allocs.preexisting, 2);
}

/* ---- all --------------------------------------------------------------------------------- */

/* Through a .bin nothing is lost, and the allocator is still known. */
Test(other_files, bin_keeps_all)
{
    for (int i = 0; i < NAMES; i++) {
        mv_trace trace = read_tool(all_names[i]), again;
        const char *name = mv_trace_allocator(&trace), *difference;
        mv_err err;
        cr_assert_not_null(name);
        cr_assert_eq(
            mv_trace_read_bytes(mvt_memory(), mvt_snapshot_of(mvt_memory(), &trace), &again, &err),
            MV_OK);
        difference = mvt_difference(&trace, &again);
        cr_expect_null(difference, "%s: %s", all_names[i], difference);
        cr_expect_str_eq(mv_trace_allocator(&again), name);
        cr_expect_str_eq(again.origin.level, name);
    }
}

/* Blocks are neither lost nor doubted, whatever the tool. */
Test(other_files, events_lead_to_the_final_heap)
{
    for (int i = 0; i < NAMES; i++) {
        mv_trace trace = read_tool(all_names[i]);
        for (uint32_t d = 0; d < mv_trace_devices(&trace); d++) {
            mv_lives lives = mvt_lives(mvt_memory(), &trace, d);
            mv_totals totals = totals_of(&trace, &lives);
            cr_expect_eq(lives.doubts.residual, 0, "%s", all_names[i]);
            cr_expect_eq(lives.doubts.final_mismatches, 0, "%s", all_names[i]);
            cr_expect_eq(lives.doubts.inexact_blocks, 0, "%s", all_names[i]);
            cr_expect_eq(lives.doubts.resized_blocks, 0, "%s", all_names[i]);
            cr_expect_eq(totals.peak.bytes.reserved, totals.peak.bytes.allocated, "%s",
                         all_names[i]);
        }
    }
}

/* What is about PyTorch's allocator says so, in a line; the level has the allocator's name. */
Test(other_files, commands_name_the_allocator)
{
    static const char *const commands[] = {"whatif", "oom", "fragmentation"};
    mvt_run run;

    for (int i = 0; i < 3; i++) {
        run = mvt_sh("$MEMVIZ %s %s/tools/jax.xplane.pb.gz", commands[i], MV_TESTDATA);
        cr_expect_eq(run.status, 1);
        cr_expect(strstr(run.err, "is about PyTorch's allocator, and this file is of XLA's"), "%s",
                  run.err);
    }
    run = mvt_sh("$MEMVIZ peak --json %s/tools/rmm_steps.csv", MV_TESTDATA);
    cr_expect(strstr(run.out, "\"level\": \"rmm\"") || strstr(run.out, "\"level\":\"rmm\""), "%s",
              run.out);
    run = mvt_sh("$MEMVIZ peak --level rmm %s/tools/rmm_steps.csv", MV_TESTDATA);
    cr_expect_eq(run.status, 0);
    run = mvt_sh("$MEMVIZ peak --level cuda %s/tools/rmm_steps.csv", MV_TESTDATA);
    cr_expect(strstr(run.err, "no level cuda: this file has rmm"), "%s", run.err);
    run = mvt_sh("$MEMVIZ stats --level host %s/tools/tensorflow.xplane.pb", MV_TESTDATA);
    cr_expect_eq(run.status, 0, "%s", run.err);
}
