/* To add a column, it must be enough to add a row to its table's list. This program is built with a
 * library whose lists have one more row in each of eight tables (grow_model.cmake) and that is
 * otherwise identical. The new columns must appear wherever columns do, and the two libraries must
 * be able to read each other's files. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cli/report/model_text.h"
#include "export/export.h"
#include "parse/model/build.h"
#include "parse/writers.h"
#include "tests/fixture/soundness.h"

static mv_budget budget;
static mv_arena arena;
static mv_trace trace;

static mv_string_id text(mv_build *b, const char *string)
{
    return mv_build_string(b, string, strlen(string));
}

static void add_events(mv_build *b)
{
    mv_event_row row = MV_EVENT_ROW;

    mv_build_event(b, &row);
    row.action = MV_ACTION_ALLOC;
    row.phase = text(b, "forward");
    mv_build_event(b, &row);
}

static void add_heap(mv_build *b)
{
    mv_history_row history = MV_HISTORY_ROW;
    mv_block_row block = MV_BLOCK_ROW;
    mv_segment_row segment = MV_SEGMENT_ROW;

    history.was_small = 1;
    mv_build_history(b, &history);
    block.address = segment.address = 4096;
    block.size = segment.total_size = 512;
    block.owner = MV_EMPTY_STACK;
    block.histories = 1;
    mv_build_block(b, &block);
    segment.limit = 1000;
    segment.blocks = 1;
    mv_build_segment(b, &segment);
}

static void add_rest(mv_build *b)
{
    mv_annotation_row annotation = MV_ANNOTATION_ROW;
    mv_api_call_row call = MV_API_CALL_ROW;
    mv_sample_row sample = MV_SAMPLE_ROW;
    mv_fact_row fact = MV_FACT_ROW;

    mv_build_annotation(b, &annotation); /* the default stream if none is given */
    annotation.stream = mv_build_stream(b, 77);
    mv_build_annotation(b, &annotation);
    call.peer = 3;
    mv_build_api_call(b, &call);
    sample.state = MV_BLOCK_ALLOCATED;
    mv_build_sample(b, &sample);
    fact.key = text(b, "pid");
    mv_build_fact(b, fact.key, text(b, "17"));
}

static void begin(void)
{
    mv_range device = {0, 2};
    mv_build_ranges ranges = {.devices = &device, .device_count = 1, .segments = {0, 1}};
    mv_build b;
    mv_err err;

    budget = (mv_budget){.limit = (uint64_t)1 << 30};
    mv_arena_init(&arena, &budget);
    mv_build_init(&b, &arena, &trace);
    add_events(&b);
    add_heap(&b);
    add_rest(&b);
    cr_assert_eq(mv_build_finish(&b, &ranges, &err), MV_OK);
    trace.facts.time_us[0] = 1700000000000000;
}

static void end(void)
{
    mv_arena_release(&arena);
}

TestSuite(grown_columns, .init = begin, .fini = end);

static void expect_new_columns(const mv_trace *t)
{
    cr_assert_null(mvt_unsound(t), "%s", mvt_unsound(t));
    cr_assert_eq(t->devices[0].events.phase[0].row, MV_NO_ROW);
    cr_assert_str_eq(mv_string_text(t, t->devices[0].events.phase[1]), "forward");
    cr_assert_eq(t->segments.limit[0], 1000);
    cr_assert_eq(t->blocks.owner[0].row, MV_EMPTY_STACK.row);
    cr_assert_eq(t->history.was_small[0], 1);
    cr_assert_eq(t->streams.value[t->annotations.stream[0].row], 0);
    cr_assert_eq(t->streams.value[t->annotations.stream[1].row], 77);
    cr_assert_eq(t->api_calls.peer[0], 3);
    cr_assert_eq(t->samples.state[0], MV_BLOCK_ALLOCATED);
    cr_assert_eq(t->facts.time_us[0], 1700000000000000);
}

Test(grown_columns, the_builder_has_them)
{
    expect_new_columns(&trace);
}

static void write_file(const char *path)
{
    mv_sink sink;
    mv_err err = {0};

    cr_assert_eq(mv_sink_open(&sink, path, &err), MV_OK, "%s", err.detail);
    cr_assert_eq(mv_snapshot_write(&arena, &trace, NULL, &sink, &err), MV_OK, "%s", err.detail);
    cr_assert_eq(mv_sink_commit(&sink, &err), MV_OK, "%s", err.detail);
}

static void read_file(const char *path, mv_trace *out)
{
    mv_err err = {0};

    cr_assert_eq(mv_trace_read(&arena, path, NULL, out, &err), MV_OK, "%s: %s", path, err.detail);
}

Test(grown_columns, the_container_keeps_them)
{
    mv_trace again;

    write_file("grown_keep.bin");
    read_file("grown_keep.bin", &again);
    expect_new_columns(&again);
    remove("grown_keep.bin");
}

/* The program does not have the new columns. */
static void run(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

Test(grown_columns, older_files_have_the_absent_value)
{
    mv_trace older;

    run(MV_PROGRAM " convert -q " MV_TESTDATA "/snapshots/annotated.pickle grown_older.bin");
    read_file("grown_older.bin", &older);
    cr_assert_null(mvt_unsound(&older), "%s", mvt_unsound(&older));
    cr_assert_gt(older.devices[0].events.count, 0);
    for (uint32_t k = 0; k < older.devices[0].events.count; k++)
        cr_assert_eq(older.devices[0].events.phase[k].row, MV_NO_ROW);
    for (uint32_t k = 0; k < older.segments.count; k++)
        cr_assert_eq(older.segments.limit[k], MV_NO_BYTES);
    for (uint32_t k = 0; k < older.blocks.count; k++)
        cr_assert_eq(older.blocks.owner[k].row, MV_NO_ROW);
    cr_assert_gt(older.annotations.count, 0);
    for (uint32_t k = 0; k < older.annotations.count; k++)
        cr_assert_eq(older.annotations.stream[k].row, 0);
    remove("grown_older.bin");
}

/* Readers read the columns that they know and count the others. */
Test(grown_columns, older_programs_skip_them)
{
    write_file("grown_newer.bin");
    run(MV_PROGRAM " dump grown_newer.bin >grown_newer.bin.txt");
    run("! grep -q phase grown_newer.bin.txt");
    run("grep -q '^1 alloc ' grown_newer.bin.txt");
    run(MV_PROGRAM " info grown_newer.bin | grep -q 'keys that memviz does not know'");
    run("rm grown_newer.*");
}

Test(grown_columns, dumps_show_them)
{
    static mv_out out;
    mv_err err;

    cr_assert_eq(mv_out_open(&out, "grown_dump.txt", &err), MV_OK);
    cr_assert(mv_model_text_write(&arena, &trace, true, &out));
    cr_assert_eq(mv_out_close(&out, &err), MV_OK);
    run("grep -q '^0 other .* phase -$' grown_dump.txt");
    run("grep -q '^1 alloc .* phase \"forward\"$' grown_dump.txt");
    run("grep -q '^unknown device 0 .* limit 1000$' grown_dump.txt");
    run("grep -q '^  unknown addr .* owner S0$' grown_dump.txt");
    run("grep -q '^    history .* small$' grown_dump.txt");
    run("grep -q '^other device 0 .* stream 77 -$' grown_dump.txt");
    run("grep -q ' peer 3$' grown_dump.txt");
    run("grep -q ' state active_allocated$' grown_dump.txt");
    run("grep -q '^\"pid\" \"17\" time_us 1700000000000000$' grown_dump.txt");
    remove("grown_dump.txt");
}

/* The program's own tests cover tables that need an analysis first. Their columns come from the
 * same place as the model's. */
Test(grown_columns, exports_have_them_last)
{
    static const char *const wanted[][2] = {
        {"annotations", "name,time_us,device,stage,stream\r\n,,0,other,0\r\n,,0,other,77\r\n"},
        {"samples", "device,time_us,used,total,process,state\r\n,,0,0,,active_allocated\r\n"},
        {"facts", "key,value,time_us\r\npid,17,1700000000000000\r\n"}};
    mv_export export = {.trace = &trace};

    cr_assert(mv_export_prepare(&arena, &export));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        mv_sink sink = {0};
        mv_err err;
        char *csv = NULL;
        size_t length = 0;
        sink.file = open_memstream(&csv, &length);
        mv_csv_write(&export, mv_export_table_find(wanted[i][0]), &sink);
        cr_assert_eq(mv_sink_commit(&sink, &err), MV_OK);
        cr_assert_str_eq(csv, wanted[i][1]);
        free(csv);
    }
}

Test(grown_columns, exports_of_events_and_blocks_name_them)
{
    static const char *const wanted[][2] = {{"events", "phase"}, {"blocks", "owner"}};

    for (int i = 0; i < 2; i++) {
        mv_export_columns columns;
        mv_export_columns_of(mv_export_table_find(wanted[i][0]), &columns);
        cr_assert_str_eq(columns.column[columns.count - 1].name, wanted[i][1]);
    }
}

Test(grown_columns, the_soundness_check_looks_at_them)
{
    trace.devices[0].events.phase[0].row = trace.strings.count;
    cr_assert_str_eq(mvt_unsound(&trace), "events.phase");
    trace.devices[0].events.phase[0].row = MV_NO_ROW;
    trace.samples.state[0] = MV_BLOCK_UNKNOWN + 1;
    cr_assert_str_eq(mvt_unsound(&trace), "samples.state");
}

/* A container reader refuses row numbers and codes that are out of range. */
Test(grown_columns, the_reader_checks_them)
{
    mv_err err = {0};
    mv_trace out;

    trace.blocks.owner[0].row = trace.stacks.count;
    write_file("grown_bad.bin");
    cr_assert_eq(mv_trace_read(&arena, "grown_bad.bin", NULL, &out, &err), MV_RANGE);
    cr_assert_str_eq(err.detail, "blocks: column 10");
    remove("grown_bad.bin");
}
