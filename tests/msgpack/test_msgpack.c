/* Written files are read back and compared column by column. Handmade bytes are read, too. */
#include "parse/writers.h"
#include "tests/fixture/fixture.h"

static void read_back(mv_span bytes, mv_format format, mv_trace *out)
{
    mvt_ok(mv_trace_read_bytes(mvt_memory(), bytes, out, mvt_err()));
    cr_assert_eq(out->origin.format, format);
    cr_assert_eq(out->origin.data_bytes, bytes.length);
}

static mv_string_id text(mv_build *b, const char *string)
{
    return mv_build_string(b, string, strlen(string));
}

/* Ends a trace with this many events, of one device. */
static void finish(mv_build *b, uint32_t events)
{
    mv_range device = {0, events};

    mvt_ok(
        mv_build_finish(b, &(mv_build_ranges){.devices = &device, .device_count = 1}, mvt_err()));
}

static mv_stack_id stack_of(mv_build *b, const mv_frame_row *frame)
{
    mv_frame_id id = mv_build_frame(b, frame);

    return mv_build_stack(b, &id, 1);
}

/* ---- round trips ------------------------------------------------------------------------- */

static void check_plain(const mv_trace *trace, const char *name)
{
    mv_span bytes = mvt_plain_of(mvt_memory(), trace), second;
    /* PyTorch's dict has no place for the additional facts of captures. */
    mv_trace expected = *trace, again;

    expected.api_calls.count = expected.heap_calls.count = 0;
    expected.samples.count = expected.facts.count = 0;
    read_back(bytes, MV_FORMAT_MSGPACK, &again);
    const char *differs = mvt_content_difference(mvt_memory(), &expected, &again);
    cr_assert_null(differs, "%s: %s", name, differs);
    /* saves time, because the contents are already known to be equal */
    if (bytes.length > 4u << 20)
        return;
    second = mvt_plain_of(mvt_memory(), &again);
    cr_assert_eq(second.length, bytes.length, "%s", name);
    cr_assert_eq(memcmp(second.data, bytes.data, bytes.length), 0, "%s", name);
}

/* The file that memviz 0.1 wrote for the trace in fixture_full.c. */
Test(msgpack, a_file_in_the_compact_form_is_read)
{
    mv_trace trace = mvt_full_trace_of_0_1(mvt_memory()), again;

    read_back(mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/full_compact"), MV_FORMAT_COMPACT,
              &again);
    const char *differs = mvt_difference(&trace, &again);
    cr_assert_null(differs, "%s", differs);
}

EachSnapshot(msgpack, every_real_snapshot_comes_back, check_plain);

Test(msgpack, every_optional_field_comes_back)
{
    mv_trace trace = mvt_full_trace(mvt_memory());

    cr_assert_eq(trace.notes[MV_NOTE_UNSORTED_TIME].count, 3); /* the files do not contain these */
    check_plain(&trace, "full trace");
}

Test(msgpack, an_empty_trace_comes_back)
{
    mvt_trace *t = mvt_new();

    check_plain(mvt_done(t), "empty");
}

Test(msgpack, a_list_of_segments_stays_a_list)
{
    mvt_trace *t = mvt_new();
    mv_trace again;

    mvt_segment(t, .addr = 0x1000, .bytes = 1024);
    mvt_block(t, .bytes = 512, .requested = 500, .state = MV_BLOCK_ALLOCATED, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 512);
    mv_trace trace = *mvt_done(t);
    trace.device_count = 0;
    trace.notes[MV_NOTE_LIST_ROOT].count = 1;
    mv_span bytes = mvt_plain_of(mvt_memory(), &trace);
    cr_assert_eq(bytes.data[0], 0x91);
    read_back(bytes, MV_FORMAT_MSGPACK, &again);
    cr_assert_eq(again.notes[MV_NOTE_LIST_ROOT].count, 1);
    cr_assert_null(mvt_content_difference(mvt_memory(), &trace, &again));
}

/* ---- bytes by hand ----------------------------------------------------------------------- */

#define BYTES(literal) ((mv_span){(const uint8_t *)(literal), sizeof(literal) - 1})

/* {"device_traces": [[{"action": "alloc", "addr": u64, "size": u16, "stream": 0, "time_us":
 * u32, "frames": [{"name": "f", "filename": "a.py", "line": 7}]}]]}, with every width of
 * integers and strings. */
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
    uint32_t depth;

    read_back(bytes, MV_FORMAT_MSGPACK, &t);
    cr_assert_eq(t.device_count, 1);
    mv_events e = t.devices[0].events;
    cr_assert_eq(e.count, 1);
    cr_assert_eq(e.action[0], MV_ACTION_ALLOC);
    cr_assert_eq(e.addr[0], 0x7f0000000200);
    cr_assert_eq(e.size[0], 1000);
    cr_assert_eq(t.streams.value[e.stream[0].row], 200);
    cr_assert_eq(e.time_us[0], 0x00060a24181e4000);
    const mv_frame_id *frame = mv_stack_frames(&t, e.stack[0], &depth);
    cr_assert_eq(depth, 1);
    cr_assert_str_eq(mv_string_text(&t, t.frames.file[frame->row]), "a.py");
    cr_assert_eq(t.frames.line[frame->row], 7);
}

Test(msgpack, bytes_after_the_end_are_noted)
{
    mvt_trace *t = mvt_new();
    mv_trace again;

    mvt_alloc(t, .addr = 0x1000, .bytes = 512);
    mv_span bytes = mvt_plain_bytes(t);
    uint8_t *longer = mv_arena_push(mvt_memory(), bytes.length + 3, 1);
    memcpy(longer, bytes.data, bytes.length);
    read_back((mv_span){longer, bytes.length + 3}, MV_FORMAT_MSGPACK, &again);
    cr_assert_eq(again.notes[MV_NOTE_TRAILING].count, 3);
    cr_assert_str_eq(again.notes[MV_NOTE_TRAILING].first,
                     mvt_format("from byte %u on", (unsigned)bytes.length));
    cr_assert_eq(mv_trace_events(&again, 0).count, 1);
}

/* A string longer than the window, after other strings that move the window's start. */
Test(msgpack, strings_may_span_windows)
{
    enum { LONG = 700000, EVENTS = 40 };
    mv_trace trace;
    mv_build b;
    char *name = mv_arena_push(mvt_memory(), LONG, 1);

    mv_build_init(&b, mvt_memory(), &trace);
    memset(name, 'x', LONG);
    for (uint32_t i = 0; i < EVENTS; i++) {
        mv_event_row row = MV_EVENT_ROW;
        mv_frame_row frame = MV_FRAME_ROW;
        frame.file = mv_build_string(&b, name, i % 2 ? LONG - i : 17 * i + 1);
        frame.function = frame.file;
        row.action = MV_ACTION_ALLOC;
        row.stream = mv_build_stream(&b, 0);
        row.stack = stack_of(&b, &frame);
        mv_build_event(&b, &row);
    }
    finish(&b, EVENTS);
    check_plain(&trace, "long strings");
}

/* A stack is parsed once and then recognised by its bytes. Each occurrence is a separate call, and
 * its oddities are counted each time. */
Test(msgpack, a_repeated_stack_is_another_call)
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

    read_back(odd, MV_FORMAT_MSGPACK, &t);
    cr_assert_eq(t.notes[MV_NOTE_UNKNOWN_KEY].count, 3);
    cr_assert_eq(t.calls, 3);
    read_back(same, MV_FORMAT_MSGPACK, &t);
    cr_assert_eq(t.notes[MV_NOTE_DUPLICATE_KEY].count, 3);
    mv_events e = t.devices[0].events;
    cr_assert_eq(e.stack[0].row, e.stack[2].row);
    cr_assert_neq(e.stack[0].row, e.stack[1].row);
    cr_assert_neq(e.call[0], e.call[2]);
}

/* A text that contains the bytes of a known stack, including its key. */
Test(msgpack, a_text_may_look_like_a_stack)
{
    enum { EVENTS = 9 };
    mv_trace trace;
    mv_build b;
    mv_event_row row = MV_EVENT_ROW;
    mv_tag_row tag = MV_TAG_ROW;
    mv_frame_row frame = MV_FRAME_ROW;

    mv_build_init(&b, mvt_memory(), &trace);
    frame.function = text(&b, "f");
    frame.file = text(&b, "frames");
    frame.line = 7;
    row.action = MV_ACTION_ALLOC;
    row.stack = stack_of(&b, &frame);
    row.stream = mv_build_stream(&b, 0);
    for (uint32_t i = 0; i < EVENTS; i++) {
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
    finish(&b, EVENTS);
    check_plain(&trace, "texts like stacks");
}

/* 10 000 frames of 1 MB in 100 events, which would be 1 TB from a file of 1 MB. */
Test(msgpack, a_stack_that_grows_beyond_reason_is_not_spelled_out)
{
    enum { LONG = 1 << 20, DEPTH = 10000, EVENTS = 100 };
    mv_frame_row frame = MV_FRAME_ROW;
    mv_event_row row = MV_EVENT_ROW;
    mv_frame_id *frames = mv_push_array(mvt_memory(), mv_frame_id, DEPTH);
    mv_write_opts opts = {0};
    mv_sink sink = {0};
    mv_trace trace;
    mv_build b;

    mv_build_init(&b, mvt_memory(), &trace);
    frame.file = mv_build_string(&b, mv_arena_push(mvt_memory(), LONG, 1), LONG);
    frame.function = frame.file;
    for (uint32_t i = 0; i < DEPTH; i++)
        frames[i] = mv_build_frame(&b, &frame);
    row.stack = mv_build_stack(&b, frames, DEPTH);
    row.action = MV_ACTION_ALLOC;
    row.stream = mv_build_stream(&b, 0);
    for (uint32_t i = 0; i < EVENTS; i++)
        mv_build_event(&b, &row);
    finish(&b, EVENTS);
    cr_assert_eq(mv_plain_write(mvt_memory(), &trace, &opts, &sink, mvt_err()), MV_LIMIT);
    cr_assert_eq(sink.bytes, 0);
}

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
    const mv_span others[] = {
        BYTES(""),
        BYTES("\x80"),
        BYTES("\x80\x02}(X\x08\x00\x00\x00segments"),
        BYTES("\x80\x03}q\x00"),
        BYTES("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94"),
        BYTES("\x80\x05\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94"),
        BYTES("{\"segments\": []}"),
        BYTES("[]"),
        BYTES("\x1f\x8b\x08\x00\x00\x00\x00\x00"),
        BYTES("\x28\xb5\x2f\xfd\x00\x00"),
        BYTES("\xC1MVB\r\n\x1a\n"),
        BYTES("PK\x03\x04"),
        BYTES("\x89PNG\r\n\x1a\n"),
        BYTES("\x7f"
              "ELF"),
        BYTES("\x81\x01\x02"),
        BYTES("\x81\xa0\x02"),
        BYTES("\x81\xa2\x00\x01\x02"),
        BYTES("\x92\x01\x02"),
        BYTES("\xde\x00"),
        BYTES("\xdf\x00\x00\x00\x00\xa1g"),
    };

    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_not(mv_msgpack_probe(others[i]), "case %u", i);
}
