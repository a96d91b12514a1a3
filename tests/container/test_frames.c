/* Payloads of several zstd frames: writers compress every column of many events separately, and
 * readers decompress only what they need. */

#include "parse/container/wire_load.h"
#include "tests/fixture/fixture_container.h"

enum { EVENTS = 40000, MOST = 1 << 22 };

/* Makes a trace whose columns all take bytes, except for tag and stream. */
static mv_trace make_trace(void)
{
    mv_range device = {0, EVENTS};
    mv_build_ranges ranges = {.devices = &device, .device_count = 1};
    uint64_t seed = 7;
    mv_trace trace;
    mv_build b;

    mv_build_init(&b, mvt_memory(), &trace);
    mv_build_stream(&b, 0);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint64_t r = mvt_random_next(&seed);
        mv_event_row row = MV_EVENT_ROW;
        row.time_us = i * 3 + (int64_t)(r >> 60);
        row.addr = r >> 40 << 9;
        row.size = r % 1000;
        row.stack = r & 1 ? MV_EMPTY_STACK : MV_NO_STACK;
        row.call = r & 2 ? i : i / 2;
        row.stream = (mv_stream_id){0};
        row.action = (uint8_t)(r % MV_ACTION_COUNT);
        mv_build_event(&b, &row);
    }
    trace.calls = EVENTS;
    mvt_ok(mv_build_finish(&b, &ranges, mvt_err()));
    return trace;
}

typedef struct {
    mv_trace trace;
    mvt_container *file;
    mvt_chunk *chunk; /* of events */
    uint8_t *raw;     /* [chunk->head.raw_bytes] */
    uint8_t *packed;  /* [MOST] other frames for the payload */
    uint64_t length;  /* bytes of these frames */
} frames;

static frames begin(void)
{
    frames f = {.trace = make_trace(), .packed = mv_arena_push(mvt_memory(), MOST, 1)};

    f.file = mvt_take_apart(mvt_memory(), mvt_snapshot_of(mvt_memory(), &f.trace));
    f.chunk = mvt_chunk_of(f.file, MV_WIRE_EVENTS);
    f.raw = mv_arena_push(mvt_memory(), f.chunk->head.raw_bytes, 1);
    cr_assert_eq(ZSTD_decompress(f.raw, f.chunk->head.raw_bytes, f.chunk->stored,
                                 f.chunk->head.stored_bytes),
                 f.chunk->head.raw_bytes);
    return f;
}

static void add_frame(frames *f, uint64_t from, uint64_t end)
{
    f->length +=
        ZSTD_compress(f->packed + f->length, MOST - f->length, f->raw + from, end - from, 1);
}

/* Adds frames of almost equal lengths. */
static void add_frames(frames *f, uint32_t count)
{
    uint64_t bytes = f->chunk->head.raw_bytes;

    for (uint32_t i = 0; i < count; i++)
        add_frame(f, bytes * i / count, bytes * (i + 1) / count);
}

/* Reads the file with the frames as the payload of the events. */
static mv_code read_frames(frames *f, mv_trace *out)
{
    f->chunk->stored = f->packed;
    f->chunk->head.stored_bytes = f->length;
    return mv_trace_read_bytes(mvt_memory(), mvt_assemble(mvt_memory(), f->file, MVT_WITH_INDEX),
                               out, mvt_err());
}

static void check_read(frames *f, const char *what)
{
    mv_trace again;

    cr_assert_eq(read_frames(f, &again), MV_OK, "%s", what);
    cr_assert_null(mvt_difference(&f->trace, &again), "%s: %s", what,
                   mvt_difference(&f->trace, &again));
    f->length = 0;
}

static void check_lost(frames *f, const char *what)
{
    mv_trace again;

    cr_assert_eq(read_frames(f, &again), MV_OK, "%s", what);
    cr_assert_eq(again.devices[0].events.count, 0, "%s", what);
    cr_assert_gt(again.notes[MV_NOTE_DAMAGED].count, 0, "%s", what);
    f->length = 0;
}

static mv_code open_chunk(frames *f, mv_payload *out)
{
    mv_load load = {.file = mvt_assemble(mvt_memory(), f->file, MVT_WITH_INDEX)};
    mv_chunk_room room = {.raw = mv_arena_push(mvt_memory(), f->chunk->head.raw_bytes, 1),
                          .zstd = ZSTD_createDCtx()};

    return mv_chunk_open(&load, &f->chunk->head, f->chunk->at, room, out);
}

/* The first frame contains the descriptions of the columns. Calls, whose numbers take two bytes, are
 * stored in planes. */
Test(frames, columns_are_decompressed_one_by_one)
{
    frames f = begin();
    mv_wire_column column;
    mv_payload payload;
    uint64_t at;

    mvt_ok(open_chunk(&f, &payload));
    cr_expect(mv_payload_need(&payload, 0, sizeof column));
    memcpy(&column, payload.bytes, sizeof column);
    at = column.columns * sizeof column;
    cr_expect_eq(payload.raw_end[0], at);
    for (uint32_t i = 0, frame = 1; i < column.columns; i++) {
        uint64_t bytes;
        memcpy(&column, payload.bytes + i * sizeof column, sizeof column);
        bytes = mv_wire_aligned((uint64_t)EVENTS * column.width);
        cr_expect(mv_payload_need(&payload, at, at + bytes));
        cr_expect(memcmp(payload.bytes + at, f.raw + at, bytes) == 0);
        at += bytes;
        frame += bytes > 0;
        cr_expect_eq(column.planes, 1u << i == MV_EVENT_call, "column %u", column.column);
        cr_expect_eq(payload.raw_end[frame - 1], at);
        cr_expect(frame == payload.count || !payload.is_open[frame]);
    }
    cr_expect_eq(payload.count, 7);
    ZSTD_freeDCtx(payload.room.zstd);
}

Test(frames, a_column_that_is_not_needed_may_be_damaged)
{
    frames f = begin();
    mv_payload payload;

    mvt_ok(open_chunk(&f, &payload));
    ZSTD_freeDCtx(payload.room.zstd);
    memset(f.chunk->stored + payload.end[1] + 16, 0xff, 64); /* addresses */
    mvt_ok(open_chunk(&f, &payload));
    cr_expect(mv_payload_need(&payload, 0, payload.raw_end[1]));
    cr_expect_not(mv_payload_need(&payload, payload.raw_end[1], payload.raw_end[1] + 1));
    cr_expect(mv_payload_need(&payload, payload.raw_end[2], f.chunk->head.raw_bytes));
    cr_expect(memcmp(payload.bytes + payload.raw_end[2], f.raw + payload.raw_end[2],
                     f.chunk->head.raw_bytes - payload.raw_end[2]) == 0);
    ZSTD_freeDCtx(payload.room.zstd);
}

/* Older files have one frame; other writers may cut the payload anywhere. */
Test(frames, any_frames_may_make_up_a_payload)
{
    static const uint8_t skipped[] = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};
    const uint32_t counts[] = {1, 2, 7, MV_PAYLOAD_FRAMES, MV_PAYLOAD_FRAMES + 1, 1000};
    frames f = begin();
    uint64_t bytes = f.chunk->head.raw_bytes;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();

    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        add_frames(&f, counts[i]);
        check_read(&f, "several frames");
    }
    add_frame(&f, 0, 1000);
    memcpy(f.packed + f.length, skipped, sizeof skipped);
    f.length += sizeof skipped;
    add_frame(&f, 0, 0);
    add_frame(&f, 1000, bytes);
    check_read(&f, "frames without content");
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, 0);
    add_frame(&f, 0, 5000);
    f.length +=
        ZSTD_compress2(zstd, f.packed + f.length, MOST - f.length, f.raw + 5000, bytes - 5000);
    check_read(&f, "a frame without its size");
    ZSTD_freeCCtx(zstd);
}

Test(frames, frames_that_do_not_make_up_the_payload_are_damage)
{
    frames f = begin();
    uint64_t bytes = f.chunk->head.raw_bytes;

    add_frames(&f, 7);
    f.length -= 1;
    check_lost(&f, "a truncated frame");
    add_frame(&f, 0, bytes / 2);
    check_lost(&f, "a missing frame");
    add_frames(&f, 7);
    add_frame(&f, 0, 10);
    check_lost(&f, "a frame too many");
    add_frames(&f, 7);
    memset(f.packed + f.length, 0xa5, 100);
    f.length += 100;
    check_lost(&f, "bytes that are not a frame");
    add_frames(&f, 1000);
    add_frame(&f, 0, 10);
    check_lost(&f, "many frames with too much content");
    add_frames(&f, 999);
    f.length /= 2;
    check_lost(&f, "half of many frames");
}
