/* Reports on a container read piece by piece equal those on the whole file, which is the slow
 * model. */
#include "analyze/lives/digests.h"
#include "parse/pieces.h"
#include "tests/container/fixture_files.h"
#include "tests/fixture/fixture_program.h"

/* The names have equal lengths, because they are part of the JSON output. */
static void write_both(const mv_trace *trace, uint32_t chunk_rows)
{
    mvt_put_with_digests("pieces.bin", trace, chunk_rows);
    mvt_put_trace("entire.bin", trace, NULL);
}

static mv_pieces *open_pieces(mv_trace *trace)
{
    return mv_pieces_open(mvt_memory(), mvt_path_of("pieces.bin"), trace);
}

static uint32_t pieces_of_file(uint32_t device)
{
    mv_trace trace;
    mv_pieces *pieces = open_pieces(&trace);
    uint32_t count = pieces ? mv_pieces_count(pieces, device) : 0;

    mv_pieces_close(pieces);
    return count;
}

static char *report_on(const char *file, const char *command)
{
    mvt_run run = mvt_here("$MEMVIZ %s -q %s", command, file);
    char *name = strstr(run.out, file);

    cr_expect_eq(run.status, 0, "%s: %s", command, run.err);
    if (name)
        memcpy(name, "memviz.bin", strlen(file));
    return run.out;
}

static void compare(const mv_trace *trace, const char *name)
{
    bool has_window = mv_trace_events(trace, 0).count > 0;
    static const char *const commands[] = {
        "stats",        "stats --json", "lines",       "lines --json",         "leaks",
        "leaks --json", "peak",         "peak --json", "peak --at end --json", "peak --to 9"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands - !has_window; i++)
        mvt_same_text(report_on("entire.bin", commands[i]), report_on("pieces.bin", commands[i]),
                      "%s %s", commands[i], name);
}

static uint32_t in_pieces; /* snapshots */

static void check(const mv_trace *trace, const char *name)
{
    write_both(trace, 32);
    in_pieces += pieces_of_file(0) > 1;
    compare(trace, name);
}

Test(pieces, reports_are_as_from_the_whole)
{
    in_pieces = 0;
    mvt_each_snapshot(check);
    cr_expect_geq(in_pieces, 7);
}

/* Reads each piece without some of its columns, which then have the absent value. */
static void check_columns(uint32_t columns)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    mv_trace trace, whole, part;
    mv_pieces *all = open_pieces(&trace), *some = open_pieces(&trace);

    mv_pieces_need(some, columns);
    for (uint32_t i = 0; i < mv_pieces_count(all, 0); i++) {
        uint32_t rows;
        mvt_ok(mv_pieces_read(all, mvt_memory(), 0, i, &whole, mvt_err()));
        mvt_ok(mv_pieces_read(some, mvt_memory(), 0, i, &part, mvt_err()));
        rows = whole.devices[0].events.count;
        cr_assert_eq(part.devices[0].events.count, rows);
        for (uint32_t k = 0; k < table->column_count; k++) {
            const mv_table_column *c = &table->columns[k];
            const char *expected = mv_column_of(&whole.devices[0].events, c);
            const char *is = mv_column_of(&part.devices[0].events, c);
            for (uint32_t row = 0; row < rows; row++) {
                const void *value =
                    columns & 1u << k ? (const void *)(expected + row * c->size) : &c->absent;
                cr_assert(memcmp(is + row * c->size, value, c->size) == 0, "%s of row %u of %u",
                          c->name, row, i);
            }
        }
    }
    mv_pieces_close(all);
    mv_pieces_close(some);
}

/* Blocks in segments of their own, which are freed and allocated again and again. */
static const mv_trace *make_short(uint32_t blocks, uint32_t events)
{
    mvt_trace *t = mvt_new();
    uint64_t seed = 9;
    int64_t time_us = 1000;

    for (uint64_t i = 0; i < blocks; i++) {
        mvt_segment_alloc(t, .addr = (i + 1) << 24, .bytes = 2 << 20, .time_us = time_us);
        mvt_alloc(t, .addr = (i + 1) << 24, .bytes = 512, .time_us = time_us);
    }
    for (uint32_t event = 2 * blocks; event < events; event += 3) {
        uint64_t addr = (mvt_random_next(&seed) % blocks + 1) << 24;
        time_us += (int64_t)(mvt_random_next(&seed) % 1000);
        mvt_free(t, .addr = addr, .time_us = time_us);
        time_us += (int64_t)(mvt_random_next(&seed) % 1000);
        mvt_alloc(t, .addr = addr, .bytes = 512, .time_us = time_us);
    }
    for (uint64_t i = 0; i < blocks; i++) {
        mvt_segment(t, .addr = (i + 1) << 24, .bytes = 2 << 20, .small = true);
        mvt_block(t, .bytes = 512, .requested = 512, .state = MV_BLOCK_ALLOCATED);
        mvt_block(t, .bytes = (2 << 20) - 512, .state = MV_BLOCK_INACTIVE);
    }
    return mvt_done(t);
}

/* A share of the bytes alone would not suffice for any LIVING chunk. */
Test(pieces, a_short_file_has_pieces)
{
    enum { BLOCKS = 1000, CHUNK = 65536, EVENTS = 5 * CHUNK / 2 };
    mv_trace trace;

    write_both(make_short(BLOCKS, EVENTS), 0);
    mv_pieces *pieces = open_pieces(&trace);
    cr_assert(pieces);
    cr_expect_eq(mv_pieces_count(pieces, 0), 2);
    cr_expect_eq(mv_pieces_most(pieces, 0), 2 * CHUNK);
    mv_pieces_close(pieces);
}

Test(pieces, columns_that_are_not_needed_are_absent)
{
    mv_trace trace = mvt_load(mvt_memory(), "gc_limit");
    const mv_events *ev = &trace.devices[0].events;
    mv_pieces *pieces;
    int64_t time_us;
    mv_err err = {0};

    write_both(&trace, 32);
    check_columns(MV_EVENT_addr | MV_EVENT_action);
    check_columns(MV_EVENT_time_us | MV_EVENT_call | MV_EVENT_stack);
    check_columns(0);
    check_columns(UINT32_MAX);
    pieces = open_pieces(&trace);
    mv_pieces_need(pieces, MV_EVENT_addr);
    for (uint32_t i = 0; i < ev->count; i += 7) {
        mvt_ok(mv_pieces_time(pieces, 0, i, &time_us, mvt_err()));
        cr_assert_eq(time_us, ev->time_us[i]);
    }
    cr_expect_eq(mv_pieces_time(pieces, 0, ev->count, &time_us, &err), MV_CORRUPT);
    cr_expect_eq(mv_pieces_time(pieces, 7, 0, &time_us, &err), MV_CORRUPT);
    mv_pieces_close(pieces);
}

/* Returns the offset of a chunk of events that is not the first one. */
static uint64_t later_events(mv_span file)
{
    uint64_t at = sizeof(mv_wire_header);
    mv_wire_chunk head;

    memcpy(&head, file.data + at, sizeof head);
    while (head.kind != MV_WIRE_EVENTS || head.first_row == 0) {
        at += sizeof head + (head.stored_bytes + MV_WIRE_ALIGN - 1) / MV_WIRE_ALIGN * MV_WIRE_ALIGN;
        memcpy(&head, file.data + at, sizeof head);
    }
    return at;
}

/* Only the whole file shows which rows of a damaged piece are lost. */
Test(pieces, a_damaged_piece_is_read_with_the_whole_file)
{
    mv_trace trace = mvt_load(mvt_memory(), "gc_limit");

    write_both(&trace, 32);
    cr_assert_gt(pieces_of_file(0), 1);
    mv_span file = mvt_bytes_of("pieces.bin");
    ((uint8_t *)file.data)[later_events(file) + sizeof(mv_wire_chunk)] ^= 1;
    mvt_folder_put("pieces.bin", file);
    for (unsigned i = 0; i < 2; i++) {
        mvt_run run = mvt_here("$MEMVIZ %s pieces.bin", i ? "leaks" : "lines");
        cr_expect_eq(run.status, 0);
        cr_expect(strstr(run.err, "damaged"), "%s", run.err);
    }
}

/* Reads as if there were no memory for the file, which can be mapped only once. */
static mv_trace read_unmapped(const mv_read_opts *opts)
{
    mv_source source;
    mv_trace trace;
    mv_span file;

    mvt_ok(mv_source_open_file(mvt_memory(), mvt_path_of("pieces.bin"), &source, mvt_err()));
    cr_assert(mv_source_map_rest(&source, &file));
    cr_assert_not(mv_source_map_rest(&source, &file));
    mvt_ok(mv_snapshot_read(mvt_memory(), &source, opts, &trace, mvt_err()));
    mv_source_close(&source);
    return trace;
}

/* A report that needs only a digest, or a part of the events, does not need memory for the whole
 * file. */
Test(pieces, a_part_is_read_from_a_file_that_cannot_be_mapped)
{
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train"), whole, there;
    uint32_t count = trace.devices[0].events.count;
    mv_read_part part = {
        .device = MV_NO_ROW, .first = count - 50, .end = UINT64_MAX, .has_living = true};
    const mv_read_opts all[] = {{.digest_suffices = true}, {.part = &part}, {0}};

    write_both(&trace, 32);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        const mv_events *a, *b;
        whole = mvt_trace_of("pieces.bin", &all[i]);
        there = read_unmapped(&all[i]);
        a = &whole.devices[0].events;
        b = &there.devices[0].events;
        cr_expect(i < 2 ? a->count < count || whole.digests : a->count == count);
        cr_assert_eq(a->count, b->count);
        cr_expect_eq(whole.digests == NULL, there.digests == NULL);
        cr_expect_eq(mv_living_of(&whole, 0).first, mv_living_of(&there, 0).first);
        cr_expect(!a->addr || memcmp(a->addr, b->addr, a->count * sizeof *a->addr) == 0);
        cr_expect_eq(there.stacks.count, trace.stacks.count);
    }
}

/* Writes `count` events starting at `first`, preceded by what is alive before them. */
static void put_piece(mv_snapshot_writer *writer, const mv_trace *trace, const mv_digest *digests,
                      uint32_t first, uint32_t count)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    const mv_living_columns *alive = mv_snapshot_alive(writer);
    const mv_events *all = &trace->devices[0].events;
    mv_living living = {.count = alive->rows.count,
                        .first = first,
                        .total = all->count,
                        .is_cut = first + count < all->count,
                        .block = alive->block};
    mv_device device = {.events.count = living.count + count};
    mv_trace piece = *trace;
    mv_spans spans;
    mv_lives lives;

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        char *to = mv_arena_push(mvt_memory(), device.events.count, c->size);
        const char *from = mv_column_of(all, c);
        if (living.count)
            memcpy(to, mv_column_of(&alive->rows, c), living.count * (size_t)c->size);
        memcpy(to + living.count * (size_t)c->size, from + first * (size_t)c->size,
               count * (size_t)c->size);
        mv_column_set(&device.events, c, to);
    }
    piece.devices = &device;
    piece.digests = digests;
    piece.living = &living;
    mvt_ok(mv_lives_find(mvt_memory(), &piece, 0, &lives, mvt_err()));
    spans = mv_spans_of(&lives);
    mv_snapshot_put(writer, (mv_snapshot_piece){
                                .events = &device.events, .before = living.count, .spans = &spans});
}

/* A file whose events are written piece by piece is identical, byte for byte. */
Test(pieces, writing_in_pieces_gives_the_same_file)
{
    enum { ROWS = 64 };
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train"), tables = trace;
    mv_device device = {.events.count = trace.devices[0].events.count};
    mv_write_opts opts = {.chunk_rows = ROWS};
    mv_snapshot_writer *writer;
    mv_sink sink;

    cr_assert_eq(trace.device_count, 1);
    opts.digests = mv_digests_make(mvt_memory(), &trace, &opts.spans, mvt_err());
    cr_assert(opts.spans[0].is_known);
    mvt_put_trace("whole.bin", &trace, &opts);
    mvt_ok(mv_sink_open(&sink, mvt_path_of("parts.bin"), mvt_err()));
    tables.devices = &device;
    writer = mv_snapshot_begin(mvt_memory(), &tables, &opts, &sink);
    for (uint32_t first = 0; first < device.events.count; first += 3 * ROWS) {
        uint32_t left = device.events.count - first;
        put_piece(writer, &trace, opts.digests, first, left < 3 * ROWS ? left : 3 * ROWS);
    }
    mvt_ok(mv_snapshot_end(writer, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    mv_span whole = mvt_bytes_of("whole.bin"), pieces = mvt_bytes_of("parts.bin");
    cr_assert_eq(whole.length, pieces.length);
    cr_expect(memcmp(whole.data, pieces.data, whole.length) == 0);
}

/* A file is not written if its events differ from the trace's. */
Test(pieces, a_missing_piece_is_an_error)
{
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train");
    mv_snapshot_writer *writer;
    mv_err err = {0};
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, mvt_path_of("parts.bin"), mvt_err()));
    writer = mv_snapshot_begin(mvt_memory(), &trace, NULL, &sink);
    cr_expect_eq(mv_snapshot_end(writer, &err), MV_CORRUPT);
    cr_expect(strstr(err.detail, "0 events were written"), "%s", err.detail);
    mv_sink_abort(&sink);
}
