/* Live files that were cut, changed or half written. Intact parts are read, whatever the other
 * parts contain. */
#include "parse/live/read_live.h"
#include "tests/fixture/fixture_container.h"
#include "tests/fixture/fixture_live.h"

enum { HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head), CHUNK = MV_LIVE_CHUNK_BYTES };

static mv_trace trace;
static mv_err err;

/* Reads the file in a separate arena, which is then released. */
static mv_code try_reading(mv_span file)
{
    mv_arena *memory = mvt_arena_of(64 << 20);
    mv_code code = mv_trace_read_bytes(memory, file, &trace, &err);

    if (code == MV_OK)
        cr_assert_null(mvt_unsound(&trace), "%s", mvt_unsound(&trace));
    else
        cr_assert_eq(code, err.code);
    mv_arena_release(memory);
    cr_assert_eq(memory->budget->used, 0);
    return code;
}

/* Two threads, two chunks of names, sealed and not. */
static mv_span some_file(void)
{
    mvt_live *l = mvt_live_new();
    uint32_t first = mvt_live_stack(l, "f:a.py:7;main:a.py:20"), second;

    mvt_live_call(l, .action = MV_API_ALLOC, .addr = 0x10000000, .size = 2 << 20,
                  .text = mvt_live_string(l, "cudaMalloc"), .stack = first,
                  .library = mvt_live_string(l, "libc10_cuda.so"));
    mvt_live_block(l, .addr = 0x10000000, .size = 512, .stack = first);
    mvt_live_next_chunk(l, 1, true);
    mvt_live_next_chunk(l, 0, true);
    second = mvt_live_stack(l, "g:b.py:9;thread two");
    mvt_live_block(l, .addr = 0x10000200, .size = 700, .stack = second);
    mvt_live_free(l, .addr = 0x10000000, .size = 512);
    mvt_live_heap(l, .heap_action = MV_HEAP_ALLOC, .addr = 0x10000200, .size = 64, .stack = second,
                  .text = mvt_live_string(l, "pool"), .library = mvt_live_string(l, "libffi.so.8"));
    MVT_LIVE(l, PUSH, .thread = 2, .text = mvt_live_string(l, "step 1"));
    return mvt_live_bytes(l);
}

static uint64_t used_in(mv_span file, uint64_t at)
{
    return HEADERS + mv_load_u64(file.data + at + sizeof(mv_wire_chunk));
}

static uint64_t next_chunk(uint64_t at)
{
    return (at / CHUNK + 1) * CHUNK;
}

LongTest(live_damage, a_file_cut_anywhere_is_read_as_far_as_it_is_whole)
{
    mv_span file = some_file();

    for (uint64_t at = 0; at < file.length; at = next_chunk(at)) {
        uint64_t from = at ? at : sizeof(mv_wire_header);
        uint64_t used = used_in(file, from) + 40;
        for (uint64_t i = 0; i < used; i++)
            try_reading((mv_span){file.data, (at ? at : 0) + i});
    }
    cr_assert_eq(try_reading(file), MV_OK);
    cr_assert_eq(trace.notes[MV_NOTE_DAMAGED].count, 0);
}

static void flip(uint8_t *file, uint64_t length, uint64_t at)
{
    static const uint8_t bits[] = {0x01, 0x80, 0xff};

    for (unsigned k = 0; k < sizeof bits; k++) {
        file[at] ^= bits[k];
        try_reading((mv_span){file, length});
        file[at] ^= bits[k];
    }
}

LongTest(live_damage, any_byte_may_be_wrong)
{
    mv_span file = some_file();
    uint8_t *bytes = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)file.data, file.length);

    for (uint64_t i = 0; i < sizeof(mv_wire_header); i++)
        flip(bytes, file.length, i);
    for (uint64_t at = sizeof(mv_wire_header); at < file.length; at = next_chunk(at))
        for (uint64_t i = 0; i < used_in(file, at) + 8; i++)
            flip(bytes, file.length, at + i);
}

/* Returns the offset of the first chunk of `kind` at or after `from`. */
static uint64_t chunk_of(mv_span file, uint16_t kind, uint64_t from)
{
    mv_wire_chunk head;

    for (uint64_t at = from; at < file.length; at = next_chunk(at)) {
        memcpy(&head, file.data + at, sizeof head);
        if (head.kind == kind)
            return at;
    }
    cr_assert_fail("no chunk of kind %u", kind);
    return 0;
}

Test(live_damage, a_sealed_chunk_is_checked)
{
    mv_span file = some_file();
    uint8_t *bytes = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)file.data, file.length);
    uint64_t at = chunk_of(file, MV_LIVE_EVENTS, sizeof(mv_wire_header));

    bytes[at + HEADERS + 3] ^= 1;
    trace = mvt_read((mv_span){bytes, file.length});
    cr_assert_eq(trace.notes[MV_NOTE_DAMAGED].count, 1);
    cr_assert_eq(trace.devices[0].events.count, 3);
    cr_assert_eq(trace.devices[0].events.action[0], MV_ACTION_ALLOC);
    cr_assert_eq(trace.devices[0].events.size[0], 700);
    /* two numbers are missing, one of them that of the alloc whose free exists */
    cr_assert_eq(trace.notes[MV_NOTE_LOST].count, 3);
}

Test(live_damage, names_after_a_lost_chunk_keep_their_numbers)
{
    mv_span file = some_file();
    uint8_t *bytes = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)file.data, file.length);
    uint64_t at = chunk_of(file, MV_LIVE_NAMES, sizeof(mv_wire_header));
    uint32_t count;

    memset(bytes + at, 0x55, HEADERS);
    trace = mvt_read((mv_span){bytes, file.length});
    const mv_events *e = &trace.devices[0].events;
    cr_assert_gt(trace.notes[MV_NOTE_DAMAGED].count, 0);
    cr_assert_eq(e->count, 4); /* the caller of cudaMalloc is unknown, so there is no segment */
    cr_assert_eq(e->size[1], 700);
    const mv_frame_id *frames = mv_stack_frames(&trace, e->stack[1], &count);
    cr_assert_eq(count, 2);
    cr_assert_str_eq(mv_string_text(&trace, trace.frames.file[frames[0].row]), "b.py");
    cr_assert_eq(trace.frames.line[frames[0].row], 9);
}

Test(live_damage, without_facts_it_is_still_a_capture)
{
    mv_span file = some_file();
    uint8_t *bytes = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)file.data, file.length);

    memset(bytes + sizeof(mv_wire_header), 0, 4096);
    cr_assert(mv_live_probe((mv_span){bytes, file.length}));
    trace = mvt_read((mv_span){bytes, file.length});
    cr_assert(mv_trace_is_captured(&trace));
    cr_assert_eq(trace.devices[0].events.count, 5);
}

Test(live_damage, a_chunk_that_is_just_begun_is_not_damage)
{
    mv_span file = some_file();
    uint8_t *bytes = mv_arena_push(mvt_memory(), file.length + 3 * CHUNK, 1);

    memcpy(bytes, file.data, file.length);
    bytes[file.length + 5] = 1;                          /* everything but the magic */
    bytes[file.length + sizeof(mv_wire_chunk) + 16] = 9; /* where its numbers begin */
    trace = mvt_read((mv_span){bytes, file.length + 3 * CHUNK});
    cr_assert_eq(trace.notes[MV_NOTE_DAMAGED].count, 0);
    cr_assert_eq(trace.devices[0].events.count, 5);
}

Test(live_damage, a_newer_version_is_refused)
{
    mv_span file = some_file();
    uint8_t *bytes = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)file.data, file.length);
    mv_wire_header header;

    memcpy(&header, bytes, sizeof header);
    header.version++;
    memcpy(bytes, &header, sizeof header);
    mvt_seal_header(bytes);
    cr_assert_eq(try_reading((mv_span){bytes, file.length}), MV_VERSION);
}

Test(live_damage, too_little_memory_is_an_error)
{
    mv_span file = some_file();

    for (mvt_limit l = {.step = 20000}; mvt_more_memory(&l);)
        l.code = mv_trace_read_bytes(&l.arena, file, &trace, &err);
}
