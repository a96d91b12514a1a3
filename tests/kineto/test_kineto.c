/* torch.profiler traces (testdata/tools/profiler*): their contents, compared with another JSON
 * reader, and the output of commands on them. */
#include "analyze/code/culprit.h"
#include "analyze/totals/moment.h"
#include "parse/kineto/kineto.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_live.h"

#define TOOLS MV_TESTDATA "/tools/"

#define MEMORY(pid, more)                                                                      \
    "{\"name\":\"[memory]\",\"pid\":" #pid ",\"tid\":1,\"ts\":1,\"args\":{\"Bytes\":512," more \
    "\"Device Type\":1,\"Device Id\":0}}"

static mv_trace read_tool(const char *name)
{
    mv_trace trace;

    const char *path = mvt_format(TOOLS "%s", name);
    mvt_ok(mv_trace_read(mvt_memory(), path, NULL, &trace, mvt_err()));
    cr_assert_null(mvt_unsound(&trace), "%s: %s", name, mvt_unsound(&trace));
    return trace;
}

static mv_code read_text(mv_span text, mv_trace *trace)
{
    return mv_trace_read_bytes(mvt_memory(), text, trace, mvt_err());
}

/* Returns the whole text of a file, decompressed. */
static mv_span text_of(const char *name)
{
    mv_source source;
    mv_span text;

    const char *path = mvt_format(MV_TESTDATA "/%s", name);
    mvt_ok(mv_source_open(mvt_memory(), path, &source, mvt_err()));
    mvt_ok(mv_source_rest(&source, &text, mvt_err()));
    text.data = (const uint8_t *)mv_arena_text(mvt_memory(), (const char *)text.data, text.length);
    mv_source_close(&source);
    return text;
}

/* ---- totals ------------------------------------------------------------------------------ */

/* After the rows for each event, the heap must have the event's allocated and reserved bytes. */
static void expect_totals(const char *name, uint32_t device, int type)
{
    mv_trace trace = read_tool(name);
    mv_lives lives = mvt_lives(mvt_memory(), &trace, device);
    cJSON *e;
    uint64_t peak[2] = {0}, first = 0;

    const char *path = mvt_format("tools/%s", name);
    cJSON *all = mvt_json_of((const char *)text_of(path).data);
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(all, "traceEvents")) {
        cJSON *args = cJSON_GetObjectItem(e, "args"), *called = cJSON_GetObjectItem(e, "name");
        if (!called || strcmp(called->valuestring, "[memory]") != 0 ||
            (int)mvt_json_number(args, "Device Type") != type)
            continue;
        uint64_t allocated = (uint64_t)mvt_json_number(args, "Total Allocated");
        uint64_t reserved = (uint64_t)mvt_json_number(args, "Total Reserved");
        if (first++ == 0)
            peak[0] = allocated - (uint64_t)(int64_t)mvt_json_number(args, "Bytes");
        peak[0] = allocated > peak[0] ? allocated : peak[0];
        peak[1] = reserved > peak[1] ? reserved : peak[1];
    }
    mv_totals totals = mvt_audit_of(&trace, device);
    cr_expect_eq(totals.peak.bytes.allocated, peak[0], "%s", name);
    if (type)
        cr_expect_eq(totals.peak.bytes.reserved, peak[1], "%s: %llu, not %llu", name,
                     (unsigned long long)totals.peak.bytes.reserved, (unsigned long long)peak[1]);
    cr_expect_eq(lives.doubts.residual, 0, "%s", name);
    cr_expect_eq(lives.doubts.residual_reserved, 0, "%s", name);
    cr_expect_eq(lives.doubts.inexact_blocks + lives.doubts.misplaced + lives.doubts.outside, 0);
    cr_expect_eq(trace.notes[MV_NOTE_LOST_EVENTS].count, 0, "%s", name);
}

Test(kineto, peaks_equal_those_of_the_file)
{
    expect_totals("profiler.json.gz", 0, 1);
    expect_totals("profiler.json.gz", 1, 0);
    expect_totals("profiler_rank3.json", 3, 6);
}

/* Memory from before the events is known only as an amount: the 8 MiB block that is freed later,
 * and one block for all other bytes. */
Test(kineto, memory_from_before_is_one_amount)
{
    mv_trace trace = read_tool("profiler.json.gz");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);

    cr_assert_eq(lives.history, MV_HISTORY_LATE);
    cr_assert_eq(lives.allocs.preexisting, 2);
    cr_expect_eq(lives.allocs.block[0] + lives.allocs.block[1], 100 * MIB);
    cr_expect_eq(lives.allocs.stack[0].row, MV_NO_ROW);
    cr_expect_eq(lives.allocs.stack[1].row, MV_NO_ROW);
}

/* Bytes that move from the cache to a block and back stay reserved. After each event the reserved
 * bytes must be one of the file's totals. */
Test(kineto, reserved_memory_does_not_fall_in_between)
{
    mv_trace trace = read_tool("profiler.json.gz");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);
    uint32_t changes = 0;
    uint64_t last = 160 * MIB;

    for (uint32_t i = 0; i < lives.events.count; i++) {
        uint64_t reserved = mv_moment_levels(&lives, i).reserved;
        changes += reserved != last;
        last = reserved;
    }
    /* empty_cache() was called, and more memory is needed */
    cr_expect_eq(changes, 2, "%u", changes);
    cr_expect_eq(last, 140 * MIB);
}

/* If consecutive totals do not match, events are missing, and the sums continue from the totals in
 * the file. */
Test(kineto, a_broken_chain_is_lost_events)
{
    mv_trace trace = read_tool("profiler_gaps.json.gz"), whole = read_tool("profiler.json.gz");
    mv_totals a = mvt_audit_of(&trace, 0), b = mvt_audit_of(&whole, 0);

    cr_expect_eq(trace.notes[MV_NOTE_LOST_EVENTS].count, 3, "%llu",
                 (unsigned long long)trace.notes[MV_NOTE_LOST_EVENTS].count);
    cr_expect_eq(a.current.bytes.allocated, b.current.bytes.allocated);
    cr_expect_eq(a.current.bytes.reserved, b.current.bytes.reserved);
}

/* ---- stacks ------------------------------------------------------------------------------- */

static uint32_t find_alloc(const mv_trace *trace, uint64_t bytes)
{
    const mv_events *e = &trace->devices[0].events;
    uint32_t i = 0;

    while (i < e->count && (e->action[i] != MV_ACTION_ALLOC || e->size[i] != bytes))
        i++;
    cr_assert_lt(i, e->count);
    return i;
}

static void expect_frames(const mv_trace *trace, uint32_t event, const char *const *functions)
{
    uint32_t count;
    const mv_frame_id *frames =
        mv_stack_frames(trace, trace->devices[0].events.stack[event], &count);

    for (uint32_t i = 0; functions[i]; i++) {
        cr_assert_lt(i, count);
        cr_expect_str_eq(mv_string_text(trace, trace->frames.function[frames[i].row]),
                         functions[i]);
    }
}

static void expect_operator(const mv_trace *trace, uint32_t event, const char *op,
                            const char *shapes)
{
    uint32_t tag = trace->devices[0].events.tag[event].row;

    cr_expect_str_eq(mv_string_text(trace, trace->tags.op[tag]), op);
    cr_expect_str_eq(mv_string_text(trace, trace->tags.shapes[tag]), shapes);
}

Test(kineto, stacks_are_operators_and_functions)
{
    static const char *const forward[] = {
        "aten::addmm", "aten::linear", "forward", "nn.Module: Linear_0",
        "forward",     "<module>",     NULL};
    static const char *const backward[] = {
        "aten::mm", "AddmmBackward0", "autograd::engine::evaluate_function: AddmmBackward0", NULL};
    mv_trace trace = read_tool("profiler.json.gz");
    uint32_t event = find_alloc(&trace, 32 * MIB), count;
    const mv_frame_id *frames =
        mv_stack_frames(&trace, trace.devices[0].events.stack[event], &count);

    expect_frames(&trace, event, forward);
    expect_operator(&trace, event, "aten::addmm", "[4096]x[4096,1024]x[1024,4096] bf16");
    cr_expect_str_eq(mv_string_text(&trace, trace.frames.file[frames[4].row]), "train.py");
    cr_expect_eq(trace.frames.line[frames[4].row], 62);
    expect_frames(&trace, find_alloc(&trace, 8 * MIB), backward);
    expect_operator(&trace, find_alloc(&trace, 262144), "aten::to", "[64,512] i64");
    expect_operator(&trace, find_alloc(&trace, MIB), "aten::zeros", "");
}

Test(kineto, shapes_are_short)
{
    static const struct {
        const char *inputs, *shapes;
    } cases[] = {
        {"[[4096, 1024], [1024, 4096]]\n[\"c10::BFloat16\", \"c10::BFloat16\"]",
         "[4096,1024]x[1024,4096] bf16"},
        {"[[512, 64], [8], []]\n[\"float\", \"long int\", \"Scalar\"]", "[512,64] f32 x [8] i64"},
        {"[[], []]\n[\"float\", \"\"]", ""},
        {"[[0], [3]]\n[\"float\", \"float\"]", "[3] f32"},
        {"[[[2, 3], [4]], []]\n[\"TensorList\", \"\"]", "2 tensors"},
        {"[\n  [\n 2,\n 3 ],\n [] ]\n[\n \"c10::Half\",\n \"\" ]", "[2,3] f16"},
        {"[[1],[2],[3],[4],[5]]\n[\"bool\",\"bool\",\"bool\",\"bool\",\"bool\"]",
         "[1]x[2]x[3]x[4] and more bool"},
        {"[[7]]", "[7]"},
        {"[[7]]\n[\"a type of 30 characters or more\"]", "[7] a type of 30 characters"},
        {"[[1", ""},
        {"[", ""},
        {"", ""}};
    char text[MV_KINETO_SHAPES];

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(mv_kineto_shapes(mv_text_span(cases[i].inputs), text), cases[i].shapes,
                         "%s: %s", cases[i].inputs, text);
}

/* Paths start below the folder in which Python found the file. The file's device is in the name. */
Test(kineto, library_frames_are_recognised_by_their_first_folder)
{
    static const struct {
        const char *name;
        mv_frame_kind kind;
    } cases[] = {{"train.py(1): f", MV_FRAME_USER},
                 {"models/net.py(1): f", MV_FRAME_USER},
                 {"vllm/v1/worker/gpu_worker.py(1): f", MV_FRAME_PACKAGE},
                 {"threading.py(1): f", MV_FRAME_FRAMEWORK},
                 {"torch/nn/modules/linear.py(1): f", MV_FRAME_FRAMEWORK},
                 {"<string>(1): <module>", MV_FRAME_FRAMEWORK}};

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_trace trace;
        const char *text =
            mvt_format("[{\"cat\":\"python_function\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":0,"
                       "\"dur\":9},%s]",
                       cases[i].name, MEMORY(1, "\"Addr\":1024,"));
        mvt_ok(read_text(mv_text_span(text), &trace));
        cr_assert_eq(trace.frames.count, 1);
        cr_expect_eq(mv_frame_kind_of(&trace, (mv_frame_id){0}), cases[i].kind, "%s",
                     cases[i].name);
    }
}

/* ---- analysis ------------------------------------------------------------------------------ */

Test(kineto, steps_and_leaks_are_found)
{
    const cJSON *r = mvt_json_here(0, "$MEMVIZ leaks --json " TOOLS "profiler.json.gz");

    cr_expect_str_eq(mvt_json_text(r, "verdict"), "leak");
    cr_expect_str_eq(mvt_json_text(r, "steps.source"), "annotation");
    cr_expect_eq(mvt_json_number(r, "steps.count"), 5);
    cr_expect_eq(mvt_json_number(r, "leaks.0.bytes_per_step"), MIB);
}

Test(kineto, a_rank_has_its_device_and_its_failure)
{
    mv_trace trace = read_tool("profiler_rank3.json");
    mvt_run run = mvt_here("$MEMVIZ peak --at oom " TOOLS "profiler_rank3.json");

    cr_expect_eq(trace.device_count, 5);
    cr_expect_str_eq(mv_fact_find(&trace, "rank"), "3");
    cr_expect_str_eq(mv_fact_find(&trace, MV_FACT_CPU_DEVICE), "4");
    cr_expect_eq(run.status, 0, "%s", run.err);
    cr_expect_not_null(strstr(run.out, "device 3"), "%s", run.out);
}

/* Devices of a second kind follow those of the first; the CPU is last. */
Test(kineto, devices_of_all_kinds_have_numbers)
{
    static const int types[] = {0, 12, 1, 12}, ids[] = {-1, 0, 1, 1};
    char text[1024] = "[";
    mv_trace trace;

    for (int i = 0; i < 4; i++)
        mv_text_append(
            text, sizeof text,
            "%s{\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%d,\"args\":{\"Bytes\":%d,"
            "\"Addr\":4096,\"Device Type\":%d,\"Device Id\":%d}}",
            i ? "," : "", i, 512 * (i + 1), types[i], ids[i]);
    mv_text_append(text, sizeof text, "]");
    mvt_ok(read_text(mv_text_span(text), &trace));
    cr_assert_eq(trace.device_count, 4);
    for (uint32_t d = 0; d < 4; d++) {
        static const uint64_t sizes[] = {1024, 2048, 1536, 512};
        const mv_events *e = &trace.devices[d].events;
        cr_assert_gt(e->count, 0, "%u", d);
        cr_expect_eq(e->size[0], sizes[d], "%u: %llu", d, (unsigned long long)e->size[0]);
    }
    cr_expect_str_eq(mv_fact_find(&trace, MV_FACT_CPU_DEVICE), "3");
}

/* The list may be the whole file, with keys in any order and values written by other programs. */
Test(kineto, other_forms_are_read)
{
    static const char *const names[] = {"list", "pretty", "small"};
    uint64_t peak = 0;

    for (int i = 0; i < 3; i++) {
        mv_trace trace;
        const char *path = mvt_format("corpus/kineto/%s", names[i]);
        mvt_ok(read_text(text_of(path), &trace));
        cr_expect_eq(mvt_audit_of(&trace, 0).peak.bytes.allocated,
                     peak ? peak : 33 * MIB + 256 * KIB + 8 * MIB);
        peak = mvt_audit_of(&trace, 0).peak.bytes.allocated;
    }
}

Test(kineto, all_formats_keep_the_trace)
{
    mv_trace trace = read_tool("profiler.json.gz");
    mv_trace again = mvt_read(mvt_snapshot_of(mvt_memory(), &trace));

    cr_expect_null(mvt_difference(&trace, &again), "%s", mvt_difference(&trace, &again));
    cr_expect_str_eq(again.origin.level, "pytorch");
}

static void expect_refused(const char *text, const char *why)
{
    mv_trace trace;

    cr_expect_neq(read_text(mv_text_span(text), &trace), MV_OK, "%s", text);
    cr_expect_not_null(strstr(mvt_err()->detail, why), "%s: %s", text, mvt_err()->detail);
}

Test(kineto, unreadable_files_are_reported)
{
    expect_refused("{\"a\":1}", "has no \"traceEvents\"");
    expect_refused("{\"traceEvents\":[]}",
                   "record with torch.profiler.profile(profile_memory=True)");
    expect_refused("[{\"name\":\"x\"}]", "without [memory] events");
    expect_refused("[" MEMORY(1, "") "]", "have no address");
    expect_refused("[" MEMORY(1, "\"Addr\":1024,") "," MEMORY(2, "\"Addr\":4096,") "]",
                   "several processes");
    expect_refused("{\"traceEvents\":[{\"name\":\"[memory]\" 7}]}", "this is not JSON");
    expect_refused("{\"x\": [1, 2", "the JSON ends too early");
}

/* A file that is cut at any byte must be refused, with a reason and a position within it. */
Test(kineto, every_cut_is_refused)
{
    mv_span whole = text_of("corpus/kineto/small");

    for (uint64_t length = 0; length < whole.length; length += 1) {
        mv_arena *arena = mvt_arena_new();
        mv_trace trace;
        mv_err err;
        mv_code code = mv_trace_read_bytes(arena, (mv_span){whole.data, length}, &trace, &err);
        cr_assert_neq(code, MV_OK, "%llu", (unsigned long long)length);
        cr_assert(*err.detail && err.offset <= length, "%llu: %s", (unsigned long long)length,
                  err.detail);
        mv_arena_release(arena);
    }
}

Test(kineto, commands_name_data_missing_from_the_file)
{
    static const char *const none[] = {"whatif", "fragmentation", "oom", "ledger"};
    static const char *const works[] = {"info",
                                        "stats",
                                        "peak",
                                        "lines",
                                        "trace",
                                        "leaks",
                                        "diff %s",
                                        "ranks %s",
                                        "memory -o m.svg",
                                        "segments -o s.svg",
                                        "trace_plot -o t.svg",
                                        "segment_plot -o g.svg",
                                        "export --format perfetto -o p.json"};

    for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
        mvt_run run = mvt_here("$MEMVIZ %s " TOOLS "profiler.json.gz", none[i]);
        cr_expect_eq(run.status, 1, "%s", none[i]);
        cr_expect_not_null(strstr(run.err, "torch.profiler"), "%s: %s", none[i], run.err);
    }
    for (unsigned i = 0; i < sizeof works / sizeof *works; i++) {
        const char *words = mvt_format(works[i], TOOLS "profiler.json.gz");
        mvt_run run = mvt_here("$MEMVIZ %s " TOOLS "profiler.json.gz", words);
        cr_expect_eq(run.status, 0, "%s: %s", words, run.err);
    }
}
