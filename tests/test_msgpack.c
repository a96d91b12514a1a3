/* Both msgpack forms: what is written is read again, column by column; what is wrong is refused
 * where it stands, without crash, hang or memory. */
#include <criterion/criterion.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>

#include "parse/writers.h"
#include "tests/fixture.h"

static mv_budget budget;
static mv_arena arena;

static void begin(void)
{
    budget = (mv_budget){.limit = (uint64_t)1 << 30};
    mv_arena_init(&arena, &budget);
}

static void end(void)
{
    mv_arena_release(&arena);
}

TestSuite(msgpack, .init = begin, .fini = end);

static void read_back(mv_span bytes, mv_format format, mv_trace *out)
{
    mv_err err = {0};

    cr_assert_eq(mv_trace_read_bytes(&arena, bytes, out, &err), MV_OK, "%s at byte %llu: %s",
                 mv_code_name(err.code), (unsigned long long)err.offset, err.detail);
    cr_assert_eq(out->origin.format, format);
    cr_assert_eq(out->origin.data_bytes, bytes.length);
}

/* ---- a trace with everything ------------------------------------------------------------- */

static mv_string_id text(mv_build *b, const char *string)
{
    return mv_build_string(b, string, strlen(string));
}

static mv_stack_id stack_of(mv_build *b, const mv_frame_row *frames, uint32_t count)
{
    mv_frame_id ids[4];

    for (uint32_t i = 0; i < count; i++)
        ids[i] = mv_build_frame(b, &frames[i]);
    return mv_build_stack(b, ids, count);
}

static mv_stack_id text_stack(mv_build *b, const char *line)
{
    mv_frame_row row = MV_FRAME_ROW;

    row.function = text(b, line);
    return stack_of(b, &row, 1);
}

static mv_stack_id code_stack(mv_build *b)
{
    mv_frame_row rows[3] = {MV_FRAME_ROW, MV_FRAME_ROW, MV_FRAME_ROW};

    rows[0].function = text(b, "size");
    rows[0].file = text(b, "odd \xed\xb2\x80 name.py");
    rows[0].line = 3;
    rows[1].function = text(b, "<module>");
    rows[1].file = text(b, "");
    rows[2] = rows[1];
    rows[2].line = 70000;
    rows[2].fx_op = text(b, "call_function");
    rows[2].fx_target = text(b, "aten.add");
    return stack_of(b, rows, 3);
}

static void add_events(mv_build *b, mv_range *devices)
{
    mv_event_row row = MV_EVENT_ROW;
    mv_tag_row tag = MV_TAG_ROW;

    row = (mv_event_row){.time_us = 1700000000000000, .addr = 0x7f0000000000, .size = 1000};
    row.stack = code_stack(b);
    row.stream = mv_build_stream(b, UINT64_MAX - 5);
    mv_build_event(b, &row);
    tag.compile_context = text(b, "N/A");
    tag.user_metadata = text(b, "");
    tag.internal_metadata = text(b, "mallocWithAddress");
    tag.category = text(b, "gradient");
    tag.forward = text_stack(b, "  File \"x.py\", line 3");
    tag.cpp = text_stack(b, "at::empty");
    tag.pool = mv_build_pool(b, 0, 7);
    row.tag = mv_build_tag(b, &tag);
    row.time_us -= 5;
    row.call = 1;
    row.action = MV_ACTION_FREE_COMPLETED;
    mv_build_event(b, &row);
    tag = MV_TAG_ROW;
    tag.action = text(b, "workspace_snapshot");
    row = MV_EVENT_ROW;
    row.tag = mv_build_tag(b, &tag);
    row.stream = mv_build_stream(b, 0);
    mv_build_event(b, &row);
    row = (mv_event_row){.addr = 5, .size = 6, .action = MV_ACTION_OOM, .call = MV_NO_CALL};
    row.stack = MV_EMPTY_STACK;
    row.time_us = INT64_MAX;
    mv_build_event(b, &row);
    devices[0] = (mv_range){0, 3};
    devices[1] = (mv_range){3, 0};
    devices[2] = (mv_range){3, 1};
}

static void add_heap(mv_build *b)
{
    mv_history_row old = {4096, 500, MV_NO_STACK, MV_NO_CALL, text_stack(b, "at::old")};
    mv_block_row block = MV_BLOCK_ROW;
    mv_segment_row segment = MV_SEGMENT_ROW;

    mv_build_history(b, &old);
    block.address = 4096;
    block.size = 512;
    block.state = MV_BLOCK_PENDING_FREE;
    block.history = (mv_range){0, 1};
    block.forward = text_stack(b, "forward");
    mv_build_block(b, &block);
    block = MV_BLOCK_ROW;
    block.address = 4608;
    block.size = 512;
    block.requested = 12;
    block.state = MV_BLOCK_INACTIVE;
    block.stack = MV_EMPTY_STACK;
    mv_build_block(b, &block);
    segment.address = 4096;
    segment.total_size = 1024;
    segment.stream = mv_build_stream(b, 0);
    segment.blocks = (mv_range){0, 2};
    mv_build_segment(b, &segment); /* as in a profiler-made file */
    segment = (mv_segment_row){.device = 1, .address = 8192, .total_size = 512, .allocated = 512};
    segment.active = 512;
    segment.requested = 500;
    segment.pool = mv_build_pool(b, 3, 0);
    segment.stack = code_stack(b);
    segment.call = 2;
    segment.forward = text_stack(b, "segment forward");
    segment.kind = MV_SEGMENT_SMALL;
    segment.is_expandable = 1;
    segment.blocks = (mv_range){2, 1};
    block.address = 8192;
    mv_build_block(b, &block);
    mv_build_segment(b, &segment);
    segment.device = -1;
    segment.is_expandable = 0;
    segment.blocks = (mv_range){3, 1};
    segment.call = 3;
    mv_build_block(b, &block);
    mv_build_segment(b, &segment);
}

static void add_rest(mv_build *b)
{
    mv_annotation_row annotation = {text(b, "step"), 17, 0, MV_STAGE_START};
    mv_setting_row s = {.parent = MV_NO_STRING, .text = MV_NO_STRING};

    mv_build_annotation(b, &annotation);
    annotation = (mv_annotation_row){MV_NO_STRING, MV_NO_TIME, -1, MV_STAGE_OTHER};
    mv_build_annotation(b, &annotation);
    s.key = text(b, "max_split_size");
    s.integer = -1;
    mv_build_setting(b, &s);
    s.key = text(b, "1");
    s.parent = text(b, "roundup_power2_divisions");
    s.integer = 4;
    mv_build_setting(b, &s);
    s.key = text(b, "2");
    mv_build_setting(b, &s);
    s = (mv_setting_row){.parent = MV_NO_STRING, .text = MV_NO_STRING, .key = text(b, "conf")};
    s.kind = MV_SETTING_TEXT;
    s.text = text(b, "expandable_segments:True");
    mv_build_setting(b, &s);
    s.text = MV_NO_STRING;
    s.kind = MV_SETTING_FLOAT;
    s.real = 0.8;
    mv_build_setting(b, &s);
    s.kind = MV_SETTING_BOOL;
    s.real = 0;
    s.integer = 1;
    mv_build_setting(b, &s);
    s.kind = MV_SETTING_NONE;
    s.integer = 0;
    mv_build_setting(b, &s);
}

/* Every optional field is there once and absent once. */
static void full_trace(mv_trace *out)
{
    static mv_range devices[3];
    mv_event_row host = MV_EVENT_ROW;
    mv_build b;
    mv_err err;

    mv_build_init(&b, &arena, out);
    add_events(&b, devices);
    host.stream = mv_build_stream(&b, 0);
    host.action = MV_ACTION_ALLOC;
    host.addr = 1;
    host.size = 2;
    mv_build_event(&b, &host);
    add_heap(&b);
    add_rest(&b);
    out->calls = 4;
    mv_build_note(&b, MV_NOTE_UNKNOWN_KEY, "\"%s\"", "new_in_3.0");
    mv_build_note(&b, MV_NOTE_UNKNOWN_KEY, "%s", "another");
    cr_assert_eq(mv_build_finish(&b,
                                 &(mv_build_ranges){.devices = devices,
                                                    .device_count = 3,
                                                    .host_events = {4, 1},
                                                    .segments = {0, 2},
                                                    .host_segments = {2, 1}},
                                 &err),
                 MV_OK);
}

/* ---- round trips ------------------------------------------------------------------------- */

static void check_compact(const mv_trace *trace, const char *name)
{
    const char *differs;
    mv_trace again;

    read_back(mvt_compact_of(&arena, trace), MV_FORMAT_COMPACT, &again);
    differs = mvt_difference(trace, &again);
    cr_assert_null(differs, "%s: %s", name, differs);
}

static void check_plain(const mv_trace *trace, const char *name)
{
    mv_span bytes = mvt_plain_of(&arena, trace), second;
    const char *differs;
    mv_trace again;

    read_back(bytes, MV_FORMAT_MSGPACK, &again);
    differs = mvt_content_difference(&arena, trace, &again);
    cr_assert_null(differs, "%s: %s", name, differs);
    if (bytes.length > 4u << 20) /* the comparison has told; this saves time */
        return;
    second = mvt_plain_of(&arena, &again);
    cr_assert_eq(second.length, bytes.length, "%s", name);
    cr_assert_eq(memcmp(second.data, bytes.data, bytes.length), 0, "%s", name);
}

Test(msgpack, every_real_snapshot_comes_back_from_the_compact_form)
{
    mvt_each_snapshot(&arena, check_compact);
}

Test(msgpack, every_real_snapshot_comes_back_from_the_plain_form)
{
    mvt_each_snapshot(&arena, check_plain);
}

Test(msgpack, every_optional_field_comes_back)
{
    mv_trace trace;

    full_trace(&trace);
    cr_assert_eq(trace.notes[MV_NOTE_UNSORTED_TIME].count, 2); /* the files do not carry these */
    check_compact(&trace, "full trace");
    check_plain(&trace, "full trace");
}

Test(msgpack, an_empty_trace_comes_back)
{
    mvt_trace *t = mvt_new();

    check_compact(mvt_done(t), "empty");
    check_plain(mvt_done(t), "empty");
    mvt_drop(t);
}

Test(msgpack, a_list_of_segments_stays_a_list)
{
    mv_trace trace, again;
    mv_build b;
    mv_err err;
    mv_span bytes;

    mv_build_init(&b, &arena, &trace);
    add_heap(&b);
    mv_build_note(&b, MV_NOTE_LIST_ROOT, "%s", "");
    trace.blocks.count--; /* that of the host's segment */
    cr_assert_eq(mv_build_finish(&b, &(mv_build_ranges){.segments = {0, 2}}, &err), MV_OK);
    bytes = mvt_plain_of(&arena, &trace);
    cr_assert_eq(bytes.data[0], 0x92);
    read_back(bytes, MV_FORMAT_MSGPACK, &again);
    cr_assert_eq(again.notes[MV_NOTE_LIST_ROOT].count, 1);
    cr_assert_null(mvt_content_difference(&arena, &trace, &again));
}

/* ---- bytes by hand ----------------------------------------------------------------------- */

#define BYTES(literal) ((mv_span){(const uint8_t *)(literal), sizeof(literal) - 1})

/* {"device_traces": [[{"action": "alloc", "addr": u64, "size": u16, "stream": 0, "time_us": u32,
 * "frames": [{"name": "f", "filename": "a.py", "line": 7}]}]]}, in every width that integers and
 * strings come in. */
Test(msgpack, hand_written_bytes_are_read)
{
    mv_span bytes = BYTES("\x81\xad"
                          "device_traces\xdc\x00\x01\xdd\x00\x00\x00\x01\xde\x00\x06"
                          "\xd9\x06"
                          "action\xda\x00\x05"
                          "alloc\xdb\x00\x00\x00\x04"
                          "addr\xcf\x00\x00\x7f\x00\x00\x00\x02\x00\xc4\x04"
                          "size\xcd\x03\xe8\xa6"
                          "stream\xcc\xc8\xa7"
                          "time_us\xd3\x00\x06\x0a\x24\x18\x1e\x40\x00\xa6"
                          "frames\x91\x83\xa4"
                          "name\xa1"
                          "f\xa8"
                          "filename\xa4"
                          "a.py\xa4"
                          "line\xd1\x00\x07");
    mv_trace t;
    mv_events e;
    uint32_t depth;
    const mv_frame_id *frame;

    read_back(bytes, MV_FORMAT_MSGPACK, &t);
    cr_assert_eq(t.device_count, 1);
    e = t.devices[0].events;
    cr_assert_eq(e.count, 1);
    cr_assert_eq(e.action[0], MV_ACTION_ALLOC);
    cr_assert_eq(e.addr[0], 0x7f0000000200);
    cr_assert_eq(e.size[0], 1000);
    cr_assert_eq(t.streams.value[e.stream[0].row], 200);
    cr_assert_eq(e.time_us[0], 0x00060a24181e4000);
    frame = mv_stack_frames(&t, e.stack[0], &depth);
    cr_assert_eq(depth, 1);
    cr_assert_str_eq(mv_string_text(&t, t.frames.file[frame->row]), "a.py");
    cr_assert_eq(t.frames.line[frame->row], 7);
}

Test(msgpack, bytes_behind_the_end_are_noted)
{
    mvt_trace *t = mvt_new();
    mv_trace again;
    mv_span bytes;
    uint8_t *longer;

    mvt_alloc(t, .addr = 0x1000, .bytes = 512);
    bytes = mvt_plain_bytes(t);
    longer = mv_arena_push(&arena, bytes.length + 3, 1);
    memcpy(longer, bytes.data, bytes.length);
    read_back((mv_span){longer, bytes.length + 3}, MV_FORMAT_MSGPACK, &again);
    cr_assert_eq(again.notes[MV_NOTE_TRAILING].count, 1);
    cr_assert_eq(mv_trace_events(&again, 0).count, 1);
    mvt_drop(t);
}

/* A string longer than the window, behind others that move its start. */
Test(msgpack, strings_may_span_windows)
{
    enum { LONG = 700000 };
    mv_trace trace, again;
    mv_build b;
    mv_err err;
    mv_range device = {0, 40};
    char *name = mv_arena_push(&arena, LONG, 1);

    mv_build_init(&b, &arena, &trace);
    memset(name, 'x', LONG);
    for (uint32_t i = 0; i < device.count; i++) {
        mv_event_row row = MV_EVENT_ROW;
        mv_frame_row frame = MV_FRAME_ROW;
        frame.file = mv_build_string(&b, name, i % 2 ? LONG - i : 17 * i + 1);
        frame.function = frame.file;
        row.action = MV_ACTION_ALLOC;
        row.stream = mv_build_stream(&b, 0);
        row.stack = stack_of(&b, &frame, 1);
        mv_build_event(&b, &row);
    }
    cr_assert_eq(
        mv_build_finish(&b, &(mv_build_ranges){.devices = &device, .device_count = 1}, &err),
        MV_OK);
    check_compact(&trace, "long strings");
    check_plain(&trace, "long strings");
    read_back(mvt_plain_of(&arena, &trace), MV_FORMAT_MSGPACK, &again);
}

/* A stack is parsed once and recognised by its bytes from then on: each time it is a call of its
 * own, and what is odd in it is counted each time. */
Test(msgpack, a_stack_that_is_spelled_again_is_another_call)
{
#define FRAMES                   \
    "\xa6"                       \
    "frames\x91\x84\xa4name\xa1" \
    "f\xa8"                      \
    "filename\xa4"               \
    "a.py\xa4line\x07"
#define EVENT    \
    "\x82\xa6"   \
    "action\xa5" \
    "alloc" FRAMES
    mv_span odd =
        BYTES("\x81\xad"
              "device_traces\x91\x93" EVENT "\xa3new\x01" EVENT "\xa3new\x01" EVENT "\xa3new\x01");
    mv_span same = BYTES("\x81\xad"
                         "device_traces\x91\x93" EVENT "\xa4line\x07" EVENT "\xa4line\x08" EVENT
                         "\xa4line\x07");
    mv_trace t;
    mv_events e;

    read_back(odd, MV_FORMAT_MSGPACK, &t);
    cr_assert_eq(t.notes[MV_NOTE_UNKNOWN_KEY].count, 3);
    cr_assert_eq(t.calls, 3);
    read_back(same, MV_FORMAT_MSGPACK, &t);
    cr_assert_eq(t.notes[MV_NOTE_DUPLICATE_KEY].count, 3);
    e = t.devices[0].events;
    cr_assert_eq(e.stack[0].row, e.stack[2].row);
    cr_assert_neq(e.stack[0].row, e.stack[1].row);
    cr_assert_neq(e.call[0], e.call[2]);
}

/* The bytes of a known stack, key and all, inside a text. */
Test(msgpack, a_text_may_look_like_a_stack)
{
    mv_trace trace;
    mv_build b;
    mv_err err;
    mv_range device = {0, 9};
    mv_event_row row = MV_EVENT_ROW;
    mv_tag_row tag = MV_TAG_ROW;
    mv_frame_row frame = MV_FRAME_ROW;

    mv_build_init(&b, &arena, &trace);
    frame.function = text(&b, "f");
    frame.file = text(&b, "frames");
    frame.line = 7;
    row.action = MV_ACTION_ALLOC;
    row.stack = stack_of(&b, &frame, 1);
    row.stream = mv_build_stream(&b, 0);
    for (uint32_t i = 0; i < device.count; i++) {
        tag.user_metadata = text(&b, i % 3 == 0   ? "frames"
                                     : i % 3 == 1 ? "\xa6"
                                                    "frames\x91\x83\xa4name\xa1"
                                                    "f\xa8"
                                                    "filename\xa6"
                                                    "frames\xa4line\x07"
                                                  : "xx\xa6"
                                                    "frames");
        row.tag = mv_build_tag(&b, &tag);
        row.size = i;
        mv_build_event(&b, &row);
    }
    cr_assert_eq(
        mv_build_finish(&b, &(mv_build_ranges){.devices = &device, .device_count = 1}, &err),
        MV_OK);
    check_plain(&trace, "texts like stacks");
}

/* 10 000 frames of 1 MB, at 100 events: 1 TB from a file of 1 MB. */
Test(msgpack, a_stack_that_grows_beyond_reason_is_not_spelled_out)
{
    enum { LONG = 1 << 20, DEPTH = 10000 };
    mv_frame_row frame = MV_FRAME_ROW;
    mv_event_row row = MV_EVENT_ROW;
    mv_frame_id *frames = mv_push_array(&arena, mv_frame_id, DEPTH);
    mv_range device = {0, 100};
    mv_write_opts opts = {0};
    mv_sink sink = {0};
    mv_trace trace;
    mv_build b;
    mv_err err;

    mv_build_init(&b, &arena, &trace);
    frame.file = mv_build_string(&b, mv_arena_push(&arena, LONG, 1), LONG);
    frame.function = frame.file;
    for (uint32_t i = 0; i < DEPTH; i++)
        frames[i] = mv_build_frame(&b, &frame);
    row.stack = mv_build_stack(&b, frames, DEPTH);
    row.action = MV_ACTION_ALLOC;
    row.stream = mv_build_stream(&b, 0);
    for (uint32_t i = 0; i < device.count; i++)
        mv_build_event(&b, &row);
    cr_assert_eq(
        mv_build_finish(&b, &(mv_build_ranges){.devices = &device, .device_count = 1}, &err),
        MV_OK);
    cr_assert_eq(mv_plain_write(&arena, &trace, &opts, &sink, &err), MV_LIMIT);
    cr_assert_eq(sink.bytes, 0);
    check_compact(&trace, "deep");
}

/* ---- recognising ------------------------------------------------------------------------- */

Test(msgpack, probe_takes_maps_and_lists_of_maps)
{
    cr_assert(mv_msgpack_probe(BYTES("\x84\xa8segments")));
    cr_assert(mv_msgpack_probe(BYTES("\xde\x00\x13\xa6"
                                     "format")));
    cr_assert(mv_msgpack_probe(BYTES("\xdf\x00\x00\x00\x02\xd9\x08segments")));
    cr_assert(mv_msgpack_probe(BYTES("\x91\x87\xa6"
                                     "device")));
    cr_assert(mv_msgpack_probe(BYTES("\xdc\x01\x00\x87\xc4\x06"
                                     "device")));
    cr_assert(mv_msgpack_probe(BYTES("\xdd\x00\x01\x00\x00\x87\xa6"
                                     "dev")));
    cr_assert(mv_msgpack_probe(BYTES("\x90")));
}

Test(msgpack, probe_refuses_everything_else)
{
    static const mv_span others[] = {
        {(const uint8_t *)"", 0},
        {(const uint8_t *)"\x80", 1},
        {(const uint8_t *)"\x80\x02}(X\x08\x00\x00\x00segments", 16},
        {(const uint8_t *)"\x80\x03}q\x00", 5},
        {(const uint8_t *)"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94", 13},
        {(const uint8_t *)"\x80\x05\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94", 13},
        {(const uint8_t *)"{\"segments\": []}", 16},
        {(const uint8_t *)"[]", 2},
        {(const uint8_t *)"\x1f\x8b\x08\x00\x00\x00\x00\x00", 8},
        {(const uint8_t *)"\x28\xb5\x2f\xfd\x00\x00", 6},
        {(const uint8_t *)"\xC1MVB\r\n\x1a\n", 8},
        {(const uint8_t *)"PK\x03\x04", 4},
        {(const uint8_t *)"\x89PNG\r\n\x1a\n", 8},
        {(const uint8_t *)"\x7f"
                          "ELF",
         4},
        {(const uint8_t *)"\x81\x01\x02", 3},
        {(const uint8_t *)"\x81\xa0\x02", 3},
        {(const uint8_t *)"\x81\xa2\x00\x01\x02", 5},
        {(const uint8_t *)"\x92\x01\x02", 3},
        {(const uint8_t *)"\xde\x00", 2},
        {(const uint8_t *)"\xdf\x00\x00\x00\x00\xa1g", 7},
    };

    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_not(mv_msgpack_probe(others[i]), "case %u", i);
}

/* ---- bad input --------------------------------------------------------------------------- */

static mv_code code_of(mv_span bytes, mv_err *err)
{
    mv_budget small = {.limit = 64u << 20};
    mv_arena own;
    mv_trace trace;
    mv_code code;

    mv_arena_init(&own, &small);
    code = mv_trace_read_bytes(&own, bytes, &trace, err);
    mv_arena_release(&own);
    cr_assert_eq(small.used, 0);
    return code;
}

static void check_cuts(mv_span bytes, uint64_t stride)
{
    mv_err err;

    for (uint64_t length = 0; length < bytes.length; length += stride) {
        uint8_t *exact = malloc(length + 1); /* so that a read behind the end is seen */
        mv_code code;
        memcpy(exact, bytes.data, length);
        code = code_of((mv_span){exact, length}, &err);
        free(exact);
        cr_assert(code == MV_TRUNCATED || (code == MV_FORMAT && length < 8), "%llu bytes: %s",
                  (unsigned long long)length, mv_code_name(code));
        cr_assert_leq(err.offset, length);
    }
}

Test(msgpack, a_cut_at_any_byte_is_truncated)
{
    mvt_trace *t = mvt_new();
    mv_trace trace;

    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = "step:a.py:7");
    mvt_free(t, .addr = 0x1000);
    check_cuts(mvt_plain_bytes(t), 1);
    check_cuts(mvt_compact_bytes(t), 1);
    mvt_drop(t);
    full_trace(&trace);
    check_cuts(mvt_plain_of(&arena, &trace), 7);
    check_cuts(mvt_compact_of(&arena, &trace), 7);
}

/* Damage is either refused or gives another readable file; nothing else happens. */
static void check_damage(mv_span bytes)
{
    uint8_t *copy = mv_arena_push(&arena, bytes.length, 1);
    unsigned refused = 0;
    mv_err err;

    memcpy(copy, bytes.data, bytes.length);
    for (uint64_t i = 0; i < bytes.length; i += 3) {
        copy[i] ^= i % 2 ? 0xff : (uint8_t)(1u << i / 2 % 8);
        refused += code_of((mv_span){copy, bytes.length}, &err) != MV_OK;
        copy[i] = bytes.data[i];
    }
    cr_assert_gt(refused, bytes.length / 24);
    cr_assert_lt(refused, bytes.length / 3);
}

Test(msgpack, a_flipped_byte_does_no_harm)
{
    mv_trace trace;

    full_trace(&trace);
    check_damage(mvt_plain_of(&arena, &trace));
    check_damage(mvt_compact_of(&arena, &trace));
}

static void check_code(mv_span bytes, mv_code expected, uint64_t offset)
{
    mv_err err;
    mv_code code = code_of(bytes, &err);

    cr_assert_eq(code, expected, "%s at byte %llu: %s", mv_code_name(code),
                 (unsigned long long)err.offset, err.detail);
    cr_assert_eq(err.offset, offset, "%s: byte %llu", mv_code_name(code),
                 (unsigned long long)err.offset);
}

Test(msgpack, wrong_types_are_refused_where_they_stand)
{
    /* an integer as key; nil as key; a list as key */
    check_code(BYTES("\x82\xa8segments\x90\x05\x06"), MV_TYPE, 12);
    check_code(BYTES("\x82\xa8segments\x90\xc0\x06"), MV_TYPE, 12);
    check_code(BYTES("\x82\xa8segments\x90\x91\x01\x06"), MV_TYPE, 13);
    /* extension types, in the middle of their data and as their header alone */
    check_code(BYTES("\x81\xa8segments\xd4\x01\x02"), MV_TYPE, 12);
    check_code(BYTES("\x81\xa8segments\xc9\x7f\xff\xff\xff\x01"), MV_TYPE, 15);
    check_code(BYTES("\x81\xa8segments\xc1"), MV_CORRUPT, 10);
    /* a text and a map where the list of segments belongs; an unknown root */
    check_code(BYTES("\x81\xa8segments\xa1x"), MV_TYPE, 12);
    check_code(BYTES("\x81\xa4"
                     "code\x01"),
               MV_FORMAT, 7);
    check_code(BYTES("\x91\x81\xa1x\x01"), MV_FORMAT, 5);
}

Test(msgpack, wrong_fields_are_refused)
{
    mv_err err;

    /* "size" is a text; "addr" is negative; "frames" is an integer */
    cr_assert_eq(code_of(BYTES("\x81\xad"
                               "device_traces\x91\x91\x82\xa6"
                               "action\xa5"
                               "alloc\xa4"
                               "size\xa1x"),
                         &err),
                 MV_TYPE);
    cr_assert_eq(code_of(BYTES("\x81\xad"
                               "device_traces\x91\x91\x82\xa6"
                               "action\xa5"
                               "alloc\xa4"
                               "addr\xff"),
                         &err),
                 MV_RANGE);
    cr_assert_eq(code_of(BYTES("\x81\xad"
                               "device_traces\x91\x91\x82\xa6"
                               "action\xa5"
                               "alloc\xa6"
                               "frames\x07"),
                         &err),
                 MV_TYPE);
}

/* The budget of code_of would not hold what these claim. */
Test(msgpack, huge_counts_are_only_claims)
{
    check_code(BYTES("\x81\xa8segments\xdd\xff\xff\xff\xff"), MV_TRUNCATED, 15);
    check_code(BYTES("\x81\xa8segments\xdf\xff\xff\xff\xff\xa1x"), MV_TRUNCATED, 17);
    check_code(BYTES("\x81\xa8segments\xdb\xff\xff\xff\xffxyz"), MV_TRUNCATED, 18);
    check_code(BYTES("\x81\xa8segments\xc6\xff\xff\xff\xffxyz"), MV_TRUNCATED, 18);
    check_code(BYTES("\x84\xa6"
                     "format\xaememviz-compact\xa7version\x01"
                     "\xa7strings\xdd\xff\xff\xff\xff"),
               MV_TRUNCATED, 45);
    check_code(BYTES("\x84\xa6"
                     "format\xaememviz-compact\xa7version\x01"
                     "\xa6"
                     "blocks\x89\xa4size\xdd\xff\xff\xff\xfe\x01"),
               MV_TRUNCATED, 51);
}

Test(msgpack, nesting_has_a_limit)
{
    uint8_t *deep = mv_arena_push(&arena, 10016, 1);
    mv_err err;

    memcpy(deep, "\x81\xa8segments", 10);
    memset(deep + 10, 0x91, 10000);
    cr_assert_eq(code_of((mv_span){deep, 10010}, &err), MV_DEPTH);
    cr_assert_lt(err.offset, 100);
    memcpy(deep,
           "\x82\xa6"
           "format\xa1",
           9);
    memset(deep + 9, 0x81, 10000);
    cr_assert_neq(code_of((mv_span){deep, 10009}, &err), MV_OK);
}

/* ---- a compact file with one thing changed ----------------------------------------------- */

/* The value at `path` ("device_traces/0/stack/1") of an unpacked file. */
static msgpack_object *at_path(msgpack_object *at, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        msgpack_object *found = NULL;
        if (at->type == MSGPACK_OBJECT_ARRAY) {
            uint32_t i = (uint32_t)strtoul(path, NULL, 10);
            found = i < at->via.array.size ? &at->via.array.ptr[i] : NULL;
        } else if (at->type == MSGPACK_OBJECT_MAP) {
            for (uint32_t i = 0; i < at->via.map.size; i++) {
                msgpack_object_kv *kv = &at->via.map.ptr[i];
                if (kv->key.via.str.size == length &&
                    memcmp(kv->key.via.str.ptr, path, length) == 0)
                    found = &kv->val;
            }
        }
        cr_assert_not_null(found, "%s", path);
        at = found;
        path += length + (path[length] == '/');
    }
    return at;
}

static mv_code code_with(mv_span bytes, const char *path, msgpack_object value, mv_err *err)
{
    msgpack_unpacked file;
    msgpack_sbuffer packed;
    msgpack_packer packer;
    mv_code code;

    msgpack_unpacked_init(&file);
    cr_assert_eq(msgpack_unpack_next(&file, (const char *)bytes.data, bytes.length, NULL),
                 MSGPACK_UNPACK_SUCCESS);
    *at_path(&file.data, path) = value;
    msgpack_sbuffer_init(&packed);
    msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
    msgpack_pack_object(&packer, file.data);
    code = code_of((mv_span){(const uint8_t *)packed.data, packed.size}, err);
    msgpack_sbuffer_destroy(&packed);
    msgpack_unpacked_destroy(&file);
    return code;
}

static msgpack_object integer(int64_t value)
{
    msgpack_object o = {.type = MSGPACK_OBJECT_POSITIVE_INTEGER};

    if (value < 0)
        o.type = MSGPACK_OBJECT_NEGATIVE_INTEGER;
    o.via.i64 = value;
    return o;
}

static msgpack_object string(const char *value)
{
    msgpack_object o = {.type = MSGPACK_OBJECT_STR};

    o.via.str.ptr = value;
    o.via.str.size = (uint32_t)strlen(value);
    return o;
}

static void check_number(mv_span bytes, const char *path, int64_t value, mv_code expected)
{
    mv_err err;
    mv_code code = code_with(bytes, path, integer(value), &err);

    cr_assert_eq(code, expected, "%s = %lld: %s %s", path, (long long)value, mv_code_name(code),
                 err.detail);
}

Test(msgpack, numbers_of_the_compact_form_are_checked)
{
    static const struct {
        const char *path;
        int64_t value;
        mv_code code;
    } cases[] = {
        {"version", 2, MV_VERSION},
        {"version", 0, MV_VERSION},
        {"calls", -1, MV_RANGE},
        {"frames/0/0", 1000, MV_RANGE},
        {"frames/0/0", -2, MV_RANGE},
        {"stacks/1/0", 1000, MV_RANGE},
        {"stacks/1/0", -1, MV_RANGE},
        {"stacks/1", 5, MV_TYPE},
        {"pools/1/1", -1, MV_RANGE},
        {"tags/1/pool", 77, MV_RANGE},
        {"tags/1/cpp_stack", 77, MV_RANGE},
        {"tags/1/category", 1 << 30, MV_RANGE},
        {"device_traces/0/action/0", 11, MV_RANGE},
        {"device_traces/0/action/0", -1, MV_RANGE},
        {"device_traces/0/stack/1", 1000, MV_RANGE},
        {"device_traces/0/stack/1", -2, MV_RANGE},
        {"device_traces/0/stack/1", -1, MV_OK},
        {"device_traces/0/call/1", 4, MV_RANGE},
        {"device_traces/0/stream/1", -1, MV_RANGE},
        {"device_traces/0/stream/1", 9, MV_RANGE},
        {"device_traces/0/tag/1", -1, MV_RANGE},
        {"device_traces/0/tag/1", 9, MV_RANGE},
        {"device_traces/0/addr/0", -1, MV_RANGE},
        {"host_traces/tag/0", 9, MV_RANGE},
        {"segments/device/0", 4096, MV_RANGE},
        {"segments/device/0", -2, MV_RANGE},
        {"segments/first_block/0", 4, MV_RANGE},
        {"segments/first_block/0", UINT32_MAX, MV_RANGE},
        {"segments/first_block/0", 1ll << 32, MV_RANGE},
        {"segments/blocks/0", 4, MV_RANGE},
        {"segments/blocks/1", 2, MV_RANGE},
        {"segments/segment_type/0", 3, MV_RANGE},
        {"segments/is_expandable/0", 2, MV_RANGE},
        {"segments/segment_pool/0", 9, MV_RANGE},
        {"segments/forward_stack/0", 99, MV_RANGE},
        {"host_segments/call/0", 4, MV_RANGE},
        {"blocks/first_history/0", 1, MV_RANGE},
        {"blocks/histories/2", 1, MV_RANGE},
        {"blocks/state/0", 4, MV_RANGE},
        {"history/cpp_stack/0", 99, MV_RANGE},
        {"external_annotations/name/0", 1 << 30, MV_RANGE},
        {"external_annotations/stage/0", 3, MV_RANGE},
        {"external_annotations/time_us", 3, MV_TYPE},
        {"allocator_settings", 3, MV_TYPE},
        {"device_traces/0", 3, MV_TYPE},
        {"strings/0", 3, MV_TYPE},
    };
    mv_trace trace;
    mv_span bytes;

    full_trace(&trace);
    bytes = mvt_compact_of(&arena, &trace);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        check_number(bytes, cases[i].path, cases[i].value, cases[i].code);
}

Test(msgpack, tables_of_the_compact_form_are_checked)
{
    mv_trace trace;
    mv_span bytes;
    mv_err err;
    msgpack_object none = {.type = MSGPACK_OBJECT_NIL};
    msgpack_object empty = {.type = MSGPACK_OBJECT_ARRAY};
    msgpack_object map = {.type = MSGPACK_OBJECT_MAP};

    full_trace(&trace);
    bytes = mvt_compact_of(&arena, &trace);
    cr_assert_eq(code_with(bytes, "format", string("other"), &err), MV_FORMAT);
    cr_assert_eq(code_with(bytes, "strings/1", string("size"), &err), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "stacks/0", integer(0), &err), MV_TYPE);
    cr_assert_eq(code_with(bytes, "stacks/1", empty, &err), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "tags/1", map, &err), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "pools/1", empty, &err), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "frames/0", empty, &err), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "device_traces/0/size", empty, &err), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "device_traces/0/size/1", none, &err), MV_OK);
    cr_assert_eq(code_with(bytes, "device_traces/0/stack/1", none, &err), MV_TYPE);
    cr_assert_eq(code_with(bytes, "device_traces/0", map, &err), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "device_traces/0/size/1", string("7"), &err), MV_TYPE);
    cr_assert_eq(code_with(bytes, "names", none, &err), MV_TYPE);
    cr_assert_eq(code_with(bytes, "notes", map, &err), MV_OK);
}
