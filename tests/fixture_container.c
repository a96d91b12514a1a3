#include "tests/fixture_container.h"

#include <criterion/criterion.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

mvt_container *mvt_take_apart(mv_arena *arena, mv_span file)
{
    mvt_container *c = mv_push_struct(arena, mvt_container);
    uint64_t at = sizeof(mv_wire_header);

    cr_assert_not_null(c);
    while (at + sizeof(mv_wire_footer) < file.length) {
        mvt_chunk *chunk = &c->chunks[c->count];
        memcpy(&chunk->head, file.data + at, sizeof chunk->head);
        cr_assert_eq(memcmp(chunk->head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES), 0);
        chunk->at = at;
        at += sizeof chunk->head;
        chunk->stored =
            (uint8_t *)mv_arena_text(arena, (const char *)file.data + at, chunk->head.stored_bytes);
        cr_assert_not_null(chunk->stored);
        at += (chunk->head.stored_bytes + 7) & ~7ull;
        c->count += chunk->head.kind != MV_WIRE_INDEX;
        cr_assert_lt(c->count, MVT_MOST_CHUNKS - 1);
    }
    return c;
}

static uint64_t put(uint8_t *file, uint64_t at, const void *bytes, uint64_t length)
{
    memcpy(file + at, bytes, length);
    return at + length;
}

void mvt_seal_chunk(mv_wire_chunk *head)
{
    memcpy(head->magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head->hash = XXH3_64bits(head, offsetof(mv_wire_chunk, hash));
}

static uint64_t put_chunk(uint8_t *file, uint64_t at, mvt_chunk *chunk)
{
    mv_wire_chunk *head = &chunk->head;

    chunk->at = at;
    head->stored_hash = XXH3_64bits(chunk->stored, head->stored_bytes);
    mvt_seal_chunk(head);
    at = put(file, at, head, sizeof *head);
    at = put(file, at, chunk->stored, head->stored_bytes);
    return (at + 7) & ~7ull;
}

static uint64_t put_index(uint8_t *file, uint64_t at, const mvt_container *c)
{
    mv_wire_index entries[MVT_MOST_CHUNKS];
    mvt_chunk index = {.stored = (uint8_t *)entries};
    mv_wire_footer footer = {.index_at = at};

    for (uint32_t i = 0; i < c->count; i++)
        entries[i] = (mv_wire_index){c->chunks[i].at, c->chunks[i].head};
    index.head.kind = MV_WIRE_INDEX;
    index.head.count = c->count;
    index.head.raw_bytes = index.head.stored_bytes = c->count * sizeof *entries;
    at = put_chunk(file, at, &index);
    memcpy(footer.magic, MV_WIRE_END_MAGIC, MV_WIRE_MAGIC_BYTES);
    footer.file_bytes = at + sizeof footer;
    footer.hash = XXH3_64bits(&footer, offsetof(mv_wire_footer, hash));
    return put(file, at, &footer, sizeof footer);
}

void mvt_seal_header(uint8_t *file)
{
    uint64_t hash = XXH3_64bits(file, offsetof(mv_wire_header, hash));

    put(file, offsetof(mv_wire_header, hash), &hash, sizeof hash);
}

mv_span mvt_assemble(mv_arena *arena, mvt_container *c, mvt_ending ending)
{
    mv_wire_header header = {.version = MV_WIRE_VERSION};
    uint64_t at = 0, bytes = 4096 + c->count * sizeof(mv_wire_index);
    uint8_t *file;

    for (uint32_t i = 0; i < c->count; i++)
        bytes += sizeof(mv_wire_chunk) + c->chunks[i].head.stored_bytes + 8;
    file = mv_arena_push(arena, bytes, 1);
    cr_assert_not_null(file);
    memcpy(header.magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES);
    at = put(file, at, &header, sizeof header);
    mvt_seal_header(file);
    for (uint32_t i = 0; i < c->count; i++)
        at = put_chunk(file, at, &c->chunks[i]);
    if (ending == MVT_WITH_INDEX)
        at = put_index(file, at, c);
    return (mv_span){file, at};
}

mvt_chunk *mvt_chunk_of(mvt_container *c, uint16_t kind)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->chunks[i].head.kind == kind)
            return &c->chunks[i];
    cr_assert_fail("no chunk of kind %u", kind);
    return NULL;
}

void mvt_remove_chunk(mvt_container *c, const mvt_chunk *chunk)
{
    uint32_t at = (uint32_t)(chunk - c->chunks);

    c->count--;
    memmove(&c->chunks[at], &c->chunks[at + 1], (c->count - at) * sizeof *chunk);
}

/* ---- a trace with everything ------------------------------------------------------------- */

static mv_string_id text(mv_build *b, const char *string)
{
    return mv_build_string(b, string, strlen(string));
}

static mv_stack_id stack_with_fx(mv_build *b)
{
    mv_frame_row plain = MV_FRAME_ROW, fx = MV_FRAME_ROW;
    mv_frame_id frames[2];

    plain.function = text(b, "at::empty_cuda");
    fx.function = text(b, "forward");
    fx.file = text(b, "<eval_with_key>.7");
    fx.line = 12;
    fx.fx_op = text(b, "call_function");
    fx.fx_target = text(b, "aten.relu");
    frames[0] = mv_build_frame(b, &plain);
    frames[1] = mv_build_frame(b, &fx);
    return mv_build_stack(b, frames, 2);
}

static mv_tag_id full_tag(mv_build *b, mv_stack_id stack)
{
    mv_tag_row tag = MV_TAG_ROW;

    tag.compile_context = text(b, "N/A");
    tag.user_metadata = text(b, "");
    tag.action = text(b, "segment_bounce");
    tag.forward = tag.cpp = stack;
    tag.pool = mv_build_pool(b, 0, 3);
    return mv_build_tag(b, &tag);
}

static void events(mv_build *b, mv_stack_id stack, mv_tag_id tag, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        mv_event_row row = MV_EVENT_ROW;
        row.time_us = i == 3 ? MV_NO_TIME : 1700000000000000 + (int64_t)i * i;
        row.addr = i % 4 == 3 ? MV_NO_BYTES : 0x7f0000000000u + i * 512;
        row.size = i * 7;
        row.stack = i % 2 ? stack : i % 4 ? MV_EMPTY_STACK : MV_NO_STACK;
        row.call = i % 2 ? i / 4 : MV_NO_CALL;
        row.tag = i % 3 ? tag : MV_PLAIN_TAG;
        row.stream = mv_build_stream(b, i % 2 ? UINT64_MAX - 9 : 0);
        row.action = (uint8_t)(i % MV_ACTION_COUNT);
        mv_build_event(b, &row);
    }
}

static void segment(mv_build *b, int32_t device, mv_range blocks, mv_stack_id stack)
{
    mv_segment_row row = MV_SEGMENT_ROW;

    row.device = device;
    row.address = 0x7f0000000000;
    row.total_size = 1024;
    row.blocks = blocks;
    row.stack = stack;
    row.forward = stack;
    row.call = 0;
    row.stream = mv_build_stream(b, 0);
    row.pool = mv_build_pool(b, 1, 0);
    row.kind = MV_SEGMENT_SMALL;
    row.is_expandable = 1;
    mv_build_segment(b, &row);
}

static void heap(mv_build *b, mv_stack_id stack)
{
    mv_history_row old = {.addr = 1, .real_size = 2, .stack = stack, .call = 1, .cpp = stack};

    for (uint32_t i = 0; i < 4; i++) {
        mv_block_row row = MV_BLOCK_ROW;
        row.size = 512;
        row.requested = i ? 500 : MV_NO_BYTES;
        row.state = (uint8_t)i;
        row.stack = i ? stack : MV_NO_STACK;
        row.history = (mv_range){i, 1};
        mv_build_history(b, &old);
        mv_build_block(b, &row);
    }
    segment(b, 0, (mv_range){0, 2}, stack);
    segment(b, -1, (mv_range){2, 2}, MV_EMPTY_STACK);
}

static void rest(mv_build *b)
{
    const mv_setting_row settings[] = {
        {MV_NO_STRING, text(b, "n"), MV_SETTING_INT, -7, 0, MV_NO_STRING},
        {MV_NO_STRING, text(b, "f"), MV_SETTING_FLOAT, 0, -0.25, MV_NO_STRING},
        {text(b, "n"), text(b, "b"), MV_SETTING_BOOL, 1, 0, MV_NO_STRING},
        {MV_NO_STRING, text(b, "t"), MV_SETTING_TEXT, 0, 0, mv_build_string(b, "a\0b", 3)},
        {MV_NO_STRING, text(b, "none"), MV_SETTING_NONE, 0, 0, MV_NO_STRING},
    };

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        mv_build_setting(b, &settings[i]);
    for (uint8_t stage = 0; stage <= MV_STAGE_MARK; stage++)
        mv_build_annotation(b,
                            &(mv_annotation_row){text(b, "Optimizer.step"), 5 - stage, 1, stage});
    for (uint32_t i = 0; i < 3; i++) {
        mv_build_api_call(b,
                          &(mv_api_call_row){.time_us = 1700000000000000 + i,
                                             .addr = i ? 0x7f0000000000u : MV_NO_BYTES,
                                             .size = i << 21,
                                             .handle = i,
                                             .stack = {i % 2},
                                             .api = text(b, "cuMemCreate"),
                                             .library = i ? text(b, "libnccl.so.2") : MV_NO_STRING,
                                             .device = i ? 2 * ((int32_t)i - 1) : -1,
                                             .result = (int32_t)i,
                                             .event = i == 1 ? 19 : i * 9 / 2,
                                             .action = (uint8_t)(MV_API_CREATE + i)});
        mv_build_sample(b, &(mv_sample_row){1700000000000000 + i, i << 30, 80ull << 30,
                                            i ? i : MV_NO_BYTES, (int32_t)i});
    }
    mv_build_fact(b, text(b, "pid"), text(b, "1234"));
    mv_build_fact(b, text(b, "stacks"), text(b, "python"));
    mv_build_note(b, MV_NOTE_UNKNOWN_KEY, "key 'x' at byte 12");
    mv_build_note(b, MV_NOTE_UNKNOWN_KEY, "another");
    mv_build_note(b, MV_NOTE_FILE_NOTE, "left by a test");
}

void mvt_everything(mv_arena *arena, mv_trace *out)
{
    const mv_range devices[] = {{0, 20}, {20, 0}, {20, 9}};
    mv_build_ranges ranges = {.devices = devices,
                              .device_count = 3,
                              .host_events = {29, 2},
                              .segments = {0, 1},
                              .host_segments = {1, 1}};
    mv_build b;
    mv_stack_id stack;
    mv_err err = {0};

    mv_build_init(&b, arena, out);
    stack = stack_with_fx(&b);
    events(&b, stack, full_tag(&b, stack), 31);
    heap(&b, stack);
    rest(&b);
    out->calls = 9;
    cr_assert_eq(mv_build_finish(&b, &ranges, &err), MV_OK, "%s", err.detail);
}
