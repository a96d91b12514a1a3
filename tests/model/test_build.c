#include "tests/fixture/fixture.h"

static mv_trace trace;
static mv_build build;

static void begin(void)
{
    mv_build_init(&build, mvt_memory(), &trace);
}

static mv_string_id text(const char *t)
{
    return mv_build_string(&build, t, strlen(t));
}

static void finish(mv_build_ranges ranges)
{
    mvt_ok(mv_build_finish(&build, &ranges, mvt_err()));
}

static void add_block(uint64_t size)
{
    mv_block_row block = MV_BLOCK_ROW;

    block.size = size;
    mv_build_block(&build, &block);
}

/* Appends a segment with the last `blocks` blocks. */
static void add_segment(uint64_t size, uint32_t blocks)
{
    mv_segment_row segment = MV_SEGMENT_ROW;

    segment.address = 0x1000;
    segment.total_size = size;
    segment.blocks = blocks;
    mv_build_segment(&build, &segment);
}

TestSuite(build, .init = begin);

Test(build, a_new_trace_has_its_fixed_rows)
{
    cr_assert_eq(trace.stacks.count, 1);
    cr_assert_eq(trace.pools.count, 1);
    cr_assert_eq(trace.tags.count, 1);
    cr_assert_eq(mv_build_stack(&build, NULL, 0).row, MV_EMPTY_STACK.row);
    cr_assert_eq(mv_build_pool(&build, 0, 0).row, MV_DEFAULT_POOL.row);
    cr_assert_eq(mv_build_tag(&build, &MV_TAG_ROW).row, MV_PLAIN_TAG.row);
}

/* The model then has no frames array, and pointer arithmetic on it would be undefined. */
Test(build, stacks_may_have_no_frames)
{
    uint32_t count = 7;

    mv_build_stack(&build, NULL, 0);
    finish((mv_build_ranges){0});
    cr_assert_null(trace.stacks.frame);
    cr_assert_null(mv_stack_frames(&trace, MV_EMPTY_STACK, &count));
    cr_assert_eq(count, 0);
    count = 7;
    cr_assert_null(mv_stack_frames(&trace, MV_NO_STACK, &count));
    cr_assert_eq(count, 0);
}

Test(build, equal_content_is_one_row)
{
    mv_frame_row frame = MV_FRAME_ROW;
    mv_frame_id a, b, both[2];

    cr_assert_eq(text("same").row, text("same").row);
    cr_assert_neq(text("same").row, text("other").row);
    frame.function = text("f");
    frame.line = 3;
    a = mv_build_frame(&build, &frame);
    cr_assert_eq(mv_build_frame(&build, &frame).row, a.row);
    frame.fx.op = text("call_function");
    b = mv_build_frame(&build, &frame);
    cr_assert_neq(a.row, b.row, "what fx knows is part of a frame");
    cr_assert_eq(mv_build_frame(&build, &frame).row, b.row);
    both[0] = a;
    both[1] = b;
    mv_stack_id stack = mv_build_stack(&build, both, 2);
    cr_assert_eq(mv_build_stack(&build, both, 2).row, stack.row);
    cr_assert_neq(mv_build_stack(&build, both, 1).row, stack.row);
    cr_assert_eq(mv_build_stream(&build, 7).row, mv_build_stream(&build, 7).row);
    cr_assert_neq(mv_build_pool(&build, 1, 0).row, mv_build_pool(&build, 0, 1).row);
}

Test(build, strings_may_hold_nuls_and_are_terminated)
{
    mv_string_id id = mv_build_string(&build, "a\0b", 3);
    mv_string_id shorter = mv_build_string(&build, "a", 1);
    mv_span span = mv_string_span(&trace, id);

    cr_assert_neq(id.row, shorter.row);
    cr_assert_eq(span.length, 3);
    cr_assert_arr_eq(span.data, "a\0b", 4);
    cr_assert_str_eq(mv_string_text(&trace, shorter), "a");
    cr_assert_str_eq(mv_string_text(&trace, MV_NO_STRING), "");
}

Test(build, many_rows_keep_their_content)
{
    enum { ROWS = 30000 };

    for (int i = 0; i < ROWS; i++) {
        mv_frame_row frame = MV_FRAME_ROW;
        frame.function = text(mvt_format("function_%d", i));
        frame.line = i;
        mv_frame_id id = mv_build_frame(&build, &frame);
        cr_assert_eq(mv_build_stack(&build, &id, 1).row, (uint32_t)i + 1);
    }
    cr_assert_eq(build.code, MV_OK);
    for (int i = 0; i < ROWS; i += 997) {
        uint32_t depth;
        const mv_frame_id *frames = mv_stack_frames(&trace, (mv_stack_id){(uint32_t)i + 1}, &depth);
        cr_assert_eq(depth, 1);
        cr_assert_str_eq(mv_string_text(&trace, trace.frames.function[frames[0].row]),
                         mvt_format("function_%d", i));
    }
}

Test(build, tables_are_cut_by_ranges)
{
    mv_range devices[] = {{0, 2}, {2, 0}, {2, 3}};
    mv_event_row event = MV_EVENT_ROW;

    for (uint64_t i = 0; i < 7; i++) {
        event.size = i;
        mv_build_event(&build, &event);
    }
    finish((mv_build_ranges){.devices = devices, .device_count = 3, .host_events = {5, 2}});
    cr_assert_eq(trace.devices[0].events.count, 2);
    cr_assert_eq(trace.devices[1].events.count, 0);
    cr_assert_eq(trace.devices[2].events.size[0], 2);
    cr_assert_eq(trace.host_events.count, 2);
    cr_assert_eq(trace.host_events.size[1], 6);
}

Test(build, missing_addresses_follow_from_the_tiling)
{
    add_block(512);
    add_block(1536);
    add_segment(2048, 2);
    finish((mv_build_ranges){.segments = {0, 1}});
    cr_assert_eq(trace.blocks.address[1], 0x1200);
    cr_assert_eq(trace.notes[MV_NOTE_UNTILED].count, 0);
}

Test(build, a_block_without_bytes_ends_the_known_part)
{
    for (uint64_t size = 512; size <= 1024; size += 512) {
        add_block(size);
        add_block(0);
    }
    add_segment(1536, 4);
    finish((mv_build_ranges){.segments = {0, 1}});
    cr_assert_eq(trace.blocks.address[0], 0x1000);
    cr_assert_eq(trace.blocks.address[1], MV_NO_BYTES);
    cr_assert_eq(trace.blocks.address[2], MV_NO_BYTES);
    cr_assert_eq(trace.notes[MV_NOTE_UNTILED].count, 1);
}

Test(build, odd_input_is_noted)
{
    mv_range device = {0, 3};
    mv_event_row event = MV_EVENT_ROW;
    const int64_t times[] = {10, 30, 20};

    for (int i = 0; i < 3; i++) {
        event.time_us = times[i];
        mv_build_event(&build, &event);
    }
    add_block(512);
    add_segment(2048, 1);
    mv_build_note(&build, MV_NOTE_UNKNOWN_KEY, "key '%s'", "a\nb");
    mv_build_note(&build, MV_NOTE_UNKNOWN_KEY, "key '%s'", "later");
    finish((mv_build_ranges){.devices = &device, .device_count = 1, .segments = {0, 1}});
    cr_assert_eq(trace.notes[MV_NOTE_UNSORTED_TIME].count, 1);
    cr_assert_str_eq(trace.notes[MV_NOTE_UNSORTED_TIME].first, "device 0 event 2");
    cr_assert_eq(trace.notes[MV_NOTE_UNTILED].count, 1);
    cr_assert_eq(trace.notes[MV_NOTE_UNKNOWN_KEY].count, 2);
    cr_assert_str_eq(trace.notes[MV_NOTE_UNKNOWN_KEY].first, "key 'a?b'");
}

Test(build, missing_memory_is_reported_at_the_end)
{
    mv_event_row event = MV_EVENT_ROW;
    mv_err err = {0};

    mvt_memory()->budget->limit = mvt_memory()->budget->used + (4 << 20);
    for (int i = 0; i < 1000000 && build.code == MV_OK; i++)
        mv_build_event(&build, &event);
    cr_assert_eq(build.code, MV_NOMEM);
    mvt_memory()->budget->limit = (uint64_t)1 << 30;
    mv_build_event(&build, &event);
    cr_assert_eq(build.code, MV_NOMEM);
    cr_assert_eq(mv_build_finish(&build, &(mv_build_ranges){0}, &err), MV_NOMEM);
    cr_assert_eq(err.code, MV_NOMEM);
}

Test(build, more_rows_than_can_be_numbered_are_refused)
{
    mv_event_row event = MV_EVENT_ROW;

    build.events.count = UINT32_MAX;
    mv_build_event(&build, &event);
    cr_assert_eq(build.code, MV_LIMIT);
}

Test(build, a_missing_stream_is_the_default_stream)
{
    mv_range device = {0, 2};
    mv_event_row event = MV_EVENT_ROW;
    mv_segment_row segment = MV_SEGMENT_ROW;

    mv_build_segment(&build, &segment);
    event.stream = mv_build_stream(&build, 7);
    mv_build_event(&build, &event);
    event = MV_EVENT_ROW;
    mv_build_event(&build, &event);
    finish((mv_build_ranges){.devices = &device, .device_count = 1, .segments = {0, 1}});
    cr_assert_eq(trace.streams.value[trace.devices[0].events.stream[0].row], 7);
    cr_assert_eq(trace.streams.value[trace.devices[0].events.stream[1].row], 0);
    cr_assert_eq(trace.streams.value[trace.segments.stream[0].row], 0);
}
