/* A trace in which every optional field of the model is there once and absent once. */
#include "tests/fixture.h"

#include <criterion/criterion.h>

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
    annotation = (mv_annotation_row){text(b, "step 3"), 18, -1, MV_STAGE_MARK};
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

static void add_captured(mv_build *b)
{
    mv_api_call_row call = MV_API_CALL_ROW;
    mv_sample_row sample = MV_SAMPLE_ROW;

    mv_build_api_call(b, &call);
    call = (mv_api_call_row){.time_us = 1700000000000001, .addr = 0x7f0000000000, .size = 2 << 20};
    call.handle = UINT64_MAX - 3;
    call.stack = code_stack(b);
    call.api = text(b, "cudaMalloc");
    call.library = text(b, "/usr/lib/libc10_cuda.so");
    call.device = 2;
    call.result = -2;
    call.event = 1;
    call.action = MV_API_GRAPH_TRIM;
    mv_build_api_call(b, &call);
    mv_build_sample(b, &sample);
    sample = (mv_sample_row){17, 5, 80ull << 30, 4, 1};
    mv_build_sample(b, &sample);
    mv_build_fact(b, text(b, "pid"), text(b, "1"));
    mv_build_fact(b, text(b, "command"), text(b, ""));
    mv_build_fact(b, text(b, "pid"), text(b, "1234"));
}

void mvt_full_trace(mv_arena *arena, mv_trace *out)
{
    mv_range devices[3];
    mv_event_row host = MV_EVENT_ROW;
    mv_build b;
    mv_err err;

    mv_build_init(&b, arena, out);
    add_events(&b, devices);
    host.stream = mv_build_stream(&b, 0);
    host.action = MV_ACTION_ALLOC;
    host.addr = 1;
    host.size = 2;
    mv_build_event(&b, &host);
    add_heap(&b);
    add_rest(&b);
    add_captured(&b);
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
