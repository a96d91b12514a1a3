#include "tests/fixture/fixture.h"

static mvt_trace *two_blocks(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2 << 20, .stack = "step:a.py:7;main:a.py:20");
    mvt_alloc(t, .addr = 0x200000, .bytes = 500, .stack = "step:a.py:7;main:a.py:20");
    mvt_alloc(t, .addr = 0x200400, .bytes = 1024, .stack = "ns::f:b.cpp:3");
    mvt_free(t, .addr = 0x200000);
    return t;
}

Test(fixture, frees_take_their_blocks_from_the_alloc)
{
    mvt_trace *t = two_blocks();
    const mv_trace *trace = mvt_done(t);
    mv_events e = mv_trace_events(trace, 0);

    cr_assert_eq(e.count, 5);
    cr_assert_eq(e.action[3], MV_ACTION_FREE_REQUESTED);
    cr_assert_eq(e.action[4], MV_ACTION_FREE_COMPLETED);
    cr_assert_eq(e.size[4], 500);
    cr_assert_eq(e.stack[4].row, e.stack[1].row);
    cr_assert_eq(e.call[4], e.call[1]);
    cr_assert_eq(e.time_us[1] - e.time_us[0], 10);
}

Test(fixture, segment_and_alloc_of_one_stack_are_one_call)
{
    mvt_trace *t = two_blocks();
    mv_events e = mv_trace_events(mvt_done(t), 0);

    cr_assert_eq(e.call[0], e.call[1]);
    cr_assert_neq(e.call[1], e.call[2]);
}

Test(fixture, stack_text_is_split_from_the_right)
{
    mvt_trace *t = two_blocks();
    const mv_trace *trace = mvt_done(t);
    mv_events e = mv_trace_events(trace, 0);
    uint32_t depth;
    const mv_frame_id *frames = mv_stack_frames(trace, e.stack[2], &depth);

    cr_assert_eq(depth, 1);
    cr_assert_str_eq(mv_string_text(trace, trace->frames.function[frames[0].row]), "ns::f");
    cr_assert_str_eq(mv_string_text(trace, trace->frames.file[frames[0].row]), "b.cpp");
    cr_assert_eq(trace->frames.line[frames[0].row], 3);
}

Test(fixture, final_heap_tiles_the_segment)
{
    mvt_trace *t = two_blocks();

    mvt_final_heap(t);
    const mv_trace *trace = mvt_done(t);
    cr_assert_eq(trace->segments.count, 1);
    cr_assert_eq(trace->segments.kind[0], MV_SEGMENT_SMALL);
    cr_assert_eq(trace->segments.allocated[0], 1024);
    cr_assert_eq(trace->segments.requested[0], 1024);
    cr_assert_eq(trace->blocks.count, 3);
    cr_assert_eq(trace->blocks.state[0], MV_BLOCK_INACTIVE);
    cr_assert_eq(trace->blocks.size[0], 1024);
    cr_assert_eq(trace->blocks.state[1], MV_BLOCK_ALLOCATED);
    cr_assert_eq(trace->blocks.address[2], 0x200800);
    cr_assert_eq(trace->notes[MV_NOTE_UNTILED].count, 0);
}

Test(fixture, devices_are_cut_apart)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .device = 1, .addr = 0x1000, .bytes = 1);
    mvt_alloc(t, .device = 0, .addr = 0x1000, .bytes = 2);
    mvt_free(t, .device = 1, .addr = 0x1000);
    const mv_trace *trace = mvt_done(t);
    cr_assert_eq(trace->device_count, 2);
    cr_assert_eq(trace->devices[0].events.count, 1);
    cr_assert_eq(trace->devices[1].events.count, 3);
    cr_assert_eq(trace->devices[1].events.size[2], 1);
    cr_assert_eq(trace->devices[0].events.stack[0].row, MV_NO_ROW);
}
