/* memviz's own container: files are written and read back, and compared row by row and number by
 * number. */
#include <ctype.h>

#include "tests/container/fixture_files.h"

static mv_trace read_back(mv_span bytes)
{
    mv_trace again;

    mvt_ok(mv_trace_read_bytes(mvt_memory(), bytes, &again, mvt_err()));
    cr_assert_null(mvt_unsound(&again), "%s", mvt_unsound(&again));
    return again;
}

static void check_round_trip(const mv_trace *trace, const char *name)
{
    mv_span bytes = mvt_snapshot_of(mvt_memory(), trace);
    mv_trace again = read_back(bytes);

    cr_assert_null(mvt_difference(trace, &again), "%s: %s", name, mvt_difference(trace, &again));
    cr_assert_eq(again.origin.format, MV_FORMAT_BIN);
    cr_assert_eq(again.origin.data_bytes, bytes.length);
}

EachSnapshot(snapshot, every_real_snapshot_comes_back_column_by_column, check_round_trip);

Test(snapshot, rows_of_every_table_come_back)
{
    mv_trace trace = mvt_full_trace(mvt_memory());

    for (const mv_note *note = trace.notes; note < trace.notes + MV_NOTE_COUNT; note++)
        cr_assert_eq(note->count == 0, note->first[0] == 0);
    check_round_trip(&trace, "everything");
}

Test(snapshot, an_empty_trace_comes_back)
{
    mvt_trace *t = mvt_new();

    check_round_trip(mvt_done(t), "nothing");
}

Test(snapshot, the_same_trace_gives_the_same_bytes)
{
    mv_trace trace = mvt_full_trace(mvt_memory());
    mv_span once = mvt_snapshot_of(mvt_memory(), &trace);
    mv_trace again = read_back(once);
    mv_span twice = mvt_snapshot_of(mvt_memory(), &again);

    cr_assert_eq(once.length, twice.length);
    cr_assert_eq(memcmp(once.data, twice.data, once.length), 0);
}

/* Values of every width and sign, partly in runs, so that every way of storing a chunk is
 * needed. */
static mv_trace random_events(uint32_t count, uint64_t seed)
{
    mv_range device = {0, count};
    mv_build_ranges ranges = {.devices = &device, .device_count = 1};
    mv_trace made;
    mv_build b;

    mv_build_init(&b, mvt_memory(), &made);
    mv_build_stream(&b, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t r = mvt_random_next(&seed);
        unsigned bits = i / 9000 * 7 % 64;
        mv_event_row row = MV_EVENT_ROW;
        row.time_us = bits == 63 ? (int64_t)r : (int64_t)(i * 3 + (r >> 60));
        row.addr = bits == 0 ? 0 : (r >> bits) << (i / 30000);
        row.size = r >> 60 ? r % 1000 * 512 : MV_NO_BYTES;
        row.stack = r & 1 ? MV_EMPTY_STACK : MV_NO_STACK;
        row.call = r % 5 == 0 ? MV_NO_CALL : (uint32_t)(i > 100000 ? r >> 33 : i - r % 3 % (i + 1));
        row.stream = (mv_stream_id){0};
        row.action = (uint8_t)(r % MV_ACTION_COUNT);
        made.calls = row.call != MV_NO_CALL && row.call >= made.calls ? row.call + 1 : made.calls;
        mv_build_event(&b, &row);
    }
    mvt_ok(mv_build_finish(&b, &ranges, mvt_err()));
    return made;
}

LongTest(snapshot, hundreds_of_thousands_of_random_events_come_back)
{
    mv_trace trace = random_events(400001, 88172645463325252u);

    check_round_trip(&trace, "random");
}

Test(snapshot, smaller_containers_have_the_same_rows)
{
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train");
    uint64_t larger = UINT64_MAX;

    for (mv_write_size size = MV_WRITE_QUICK; size <= MV_WRITE_SMALLEST; size++) {
        mvt_put_trace("a.bin", &trace, &(mv_write_opts){.size = size});
        mv_span data = mvt_bytes_of("a.bin");
        cr_expect_lt(data.length, larger, "size %d", (int)size);
        larger = data.length;
        mv_trace back = read_back(data);
        cr_expect_null(mvt_difference(&trace, &back));
    }
}

LongTest(snapshot, tables_at_the_border_of_a_chunk_come_back)
{
    const uint32_t counts[] = {65535, 65536, 65537, 131072};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        mv_trace trace = random_events(counts[i], counts[i]);
        check_round_trip(&trace, "border");
        mv_arena_release(mvt_memory());
    }
}

/* Writes a trace with a memory limit, to memory outside the limit. */
static mv_code write_within(uint64_t limit, const mv_trace *trace, mv_span *out)
{
    mv_write_opts opts = {.chunk_rows = 4096};
    mv_budget budget = {.limit = limit};
    mv_sink sink = {0};
    mv_arena arena;
    size_t length = 0;
    char *data = NULL;
    mv_code code;

    mv_arena_init(&arena, &budget);
    sink.file = open_memstream(&data, &length);
    cr_assert_not_null(sink.file);
    code = mv_snapshot_write(&arena, trace, &opts, &sink, mvt_err());
    cr_assert_eq(fclose(sink.file), 0);
    mv_arena_release(&arena);
    *out = (mv_span){(const uint8_t *)mv_arena_text(mvt_memory(), data, length), length};
    free(data);
    return code;
}

/* Chunks are compressed at the same time only if there is memory for all of them. */
Test(snapshot, little_memory_gives_the_same_bytes_or_is_an_error)
{
    mv_trace trace = random_events(40000, 5);
    mv_span all, some;
    uint32_t written = 0;

    cr_assert_eq(write_within(UINT64_MAX, &trace, &all), MV_OK);
    for (uint64_t limit = 500000; limit < 20000000; limit += 100000) {
        mv_code code = write_within(limit, &trace, &some);
        written += code == MV_OK;
        if (code == MV_OK)
            cr_assert(some.length == all.length && memcmp(some.data, all.data, all.length) == 0);
        else
            cr_assert_eq(code, MV_NOMEM);
    }
    cr_assert(written > 0 && written < 195, "%u", written);
}

Test(snapshot, unknown_chunk_kinds_are_skipped_and_counted)
{
    uint8_t payload[] = "not for us";

    mv_trace trace = mvt_full_trace(mvt_memory());
    mvt_container *c = mvt_take_apart(mvt_memory(), mvt_snapshot_of(mvt_memory(), &trace));
    for (int i = 0; i < 2; i++)
        c->chunks[c->count++] = (mvt_chunk){
            .head = {.kind = MV_WIRE_LIVE_KINDS, .codec = 77, .stored_bytes = sizeof payload},
            .stored = payload};
    mv_trace again = read_back(mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX));
    cr_assert_eq(again.notes[MV_NOTE_UNKNOWN_KEY].count,
                 trace.notes[MV_NOTE_UNKNOWN_KEY].count + 2);
    again.notes[MV_NOTE_UNKNOWN_KEY] = trace.notes[MV_NOTE_UNKNOWN_KEY];
    cr_assert_null(mvt_difference(&trace, &again), "%s", mvt_difference(&trace, &again));
}

static mv_wire_column *columns_of(mvt_chunk *chunk)
{
    cr_assert_eq(chunk->head.codec, MV_WIRE_CODEC_NONE);
    return (mv_wire_column *)(void *)chunk->stored;
}

Test(snapshot, unknown_columns_are_skipped_and_missing_ones_absent)
{
    mv_trace trace = mvt_full_trace(mvt_memory());
    mvt_container *c = mvt_take_apart(mvt_memory(), mvt_snapshot_of(mvt_memory(), &trace));
    columns_of(mvt_chunk_of(c, MV_WIRE_HISTORY))[2].column = 99; /* stack */
    mv_trace again = read_back(mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX));
    cr_assert_eq(again.notes[MV_NOTE_UNKNOWN_KEY].count,
                 trace.notes[MV_NOTE_UNKNOWN_KEY].count + 1);
    cr_assert_eq(again.notes[MV_NOTE_DAMAGED].count, 0);
    for (uint32_t i = 0; i < again.history.count; i++) {
        cr_assert_eq(again.history.stack[i].row, MV_NO_ROW);
        cr_assert_eq(again.history.cpp[i].row, trace.history.cpp[i].row);
    }
}

Test(snapshot, a_newer_version_is_refused)
{
    mv_wire_header header = {.version = MV_WIRE_VERSION + 1};
    mvt_trace *t = mvt_small();
    mv_span bytes = mvt_snapshot_bytes(t);
    uint8_t *copy = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)bytes.data, bytes.length);
    mv_trace again;

    memcpy(copy + offsetof(mv_wire_header, version), &header.version, sizeof header.version);
    mvt_seal_header(copy);
    cr_assert_eq(
        mv_trace_read_bytes(mvt_memory(), (mv_span){copy, bytes.length}, &again, mvt_err()),
        MV_VERSION);
    cr_assert_eq(mvt_err()->offset, offsetof(mv_wire_header, version));
}

/* Parses a line such as "000018  c1 4d 56  what they are": stores its bytes, which end before two
 * spaces. Returns -1 if the line has another form or offset. */
static int documented_bytes(const char *line, uint64_t offset, uint8_t *bytes)
{
    char *end;
    int count = 0;

    if (strtoull(line, &end, 16) != offset || end != line + 6 || strncmp(end, "  ", 2) != 0)
        return -1;
    for (end += 1; *end == ' ' && isxdigit((unsigned char)end[1]) && count < 16; count++)
        bytes[count] = (uint8_t)strtoul(end, &end, 16);
    return count;
}

Test(snapshot, the_documented_example_equals_the_output)
{
    FILE *file = fopen(MV_SOURCE_DIR "/docs/internals/snapshot-format.md", "r");
    mvt_trace *t = mvt_new();
    mv_span bytes;
    uint64_t at = 0;
    bool inside = false, skips = false;
    char line[1024];

    cr_assert_not_null(file);
    mvt_alloc(t, .time_us = 1700000000000000, .addr = 0x7f0000000000, .bytes = 1000,
              .stack = "f:a.py:7");
    bytes = mvt_snapshot_bytes(t);
    while (fgets(line, sizeof line, file)) {
        uint8_t documented[16];
        if (strncmp(line, "```", 3) == 0)
            inside = strcmp(line, "```hex\n") == 0;
        skips |= inside && strcmp(line, "...\n") == 0;
        if (!inside || line[0] == '`' || line[0] == '.')
            continue;
        if (skips) {
            cr_assert_gt(strtoull(line, NULL, 16), at, "%s", line);
            at = strtoull(line, NULL, 16);
            skips = false;
        }
        int count = documented_bytes(line, at, documented);
        cr_assert_gt(count, 0, "%s", line);
        cr_assert_leq(at + (uint64_t)count, bytes.length);
        cr_assert_eq(memcmp(documented, bytes.data + at, (size_t)count), 0, "byte %llu: %s",
                     (unsigned long long)at, line);
        at += (uint64_t)count;
    }
    fclose(file);
    cr_assert_eq(at, bytes.length);
}
