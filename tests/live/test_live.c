/* Live files: the trace that their records become, whatever their order and condition. */
#include "analyze/leaks/leaks.h"
#include "parse/live/live_events.h"
#include "parse/live/read_live.h"
#include "tests/fixture/fixture_live.h"
#include "tests/fixture/fixture_training.h"

static mv_trace trace;

static void read_live(mvt_live *l)
{
    trace = mvt_read(mvt_live_bytes(l));
}

static uint64_t notes(mv_note_code code)
{
    return trace.notes[code].count;
}

static void expect_frame(mv_stack_id stack, uint32_t at, const char *function, const char *file,
                         int64_t line)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(&trace, stack, &count);

    cr_assert_lt(at, count);
    cr_assert_str_eq(mv_string_text(&trace, trace.frames.function[frames[at].row]), function);
    cr_assert_str_eq(mv_string_text(&trace, trace.frames.file[frames[at].row]), file);
    cr_assert_eq(trace.frames.line[frames[at].row], line);
}

/* ---- blocks ------------------------------------------------------------------------------ */

Test(live, a_block_and_its_free_are_two_events)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, 0x7f0000000000, 2 << 20);
    mvt_live_block(l, .addr = 0x7f0000000000, .size = 1024, .time_us = 1000100,
                   .stack = mvt_live_stack(l, "f:a.py:7;main:a.py:20"));
    mvt_live_free(l, .addr = 0x7f0000000000, .size = 1024, .time_us = 1000200);
    read_live(l);
    cr_assert_eq(trace.device_count, 1);
    mvt_expect_event(&trace, 0, 0, MV_ACTION_SEGMENT_ALLOC, 0x7f0000000000, 2 << 20);
    mvt_expect_event(&trace, 0, 1, MV_ACTION_ALLOC, 0x7f0000000000, 1024);
    mvt_expect_event(&trace, 0, 2, MV_ACTION_FREE_REQUESTED, 0x7f0000000000, 1024);
    mvt_expect_event(&trace, 0, 3, MV_ACTION_FREE_COMPLETED, 0x7f0000000000, 1024);
    const mv_events *e = &trace.devices[0].events;
    cr_assert_eq(e->count, 4);
    cr_assert_eq(e->time_us[1], 1700000000000100);
    cr_assert_eq(e->time_us[3], 1700000000000200);
    expect_frame(e->stack[1], 0, "f", "a.py", 7);
    expect_frame(e->stack[1], 1, "main", "a.py", 20);
    cr_assert_eq(e->stack[2].row, e->stack[1].row);
    cr_assert_eq(e->call[3], e->call[1]);
    cr_assert_eq(notes(MV_NOTE_LOST), 0);
    mvt_expect_exact(&trace, 0);
}

Test(live, live_blocks_tile_the_final_heap)
{
    mvt_live *l = mvt_live_new();
    uint32_t stack = mvt_live_stack(l, "f:a.py:7");

    mvt_live_segment(l, 0x10000000, 2 << 20);
    mvt_live_block(l, .addr = 0x10000000, .size = 512, .stack = stack);
    mvt_live_block(l, .addr = 0x10000200, .size = 1024, .stack = stack);
    mvt_live_block(l, .addr = 0x10000600, .size = 2048, .stack = stack);
    mvt_live_free(l, .addr = 0x10000200, .size = 1024);
    read_live(l);
    cr_assert_eq(trace.segments.count, 1);
    cr_assert_eq(trace.segments.blocks[0], 4);
    cr_assert_eq(trace.segments.allocated[0], 2560);
    cr_assert_eq(trace.segments.kind[0], MV_SEGMENT_SMALL);
    cr_assert_eq(trace.blocks.state[1], MV_BLOCK_INACTIVE);
    cr_assert_eq(trace.blocks.size[1], 1024);
    cr_assert_eq(trace.blocks.call[0], trace.devices[0].events.call[1]);
    cr_assert_eq(notes(MV_NOTE_UNTILED), 0);
    mvt_expect_exact(&trace, 0);
}

Test(live, block_sizes_are_not_rounded)
{
    mvt_live *l = mvt_live_new();

    /* an unsplit rest of 1 MiB belongs to the block, but a large rest after a small block does
     * not */
    mvt_live_segment(l, 0x10000000, 20 << 20);
    mvt_live_block(l, .addr = 0x10000000, .size = 19 << 20);
    mvt_live_free(l, .addr = 0x10000000, .size = 19 << 20);
    mvt_live_block(l, .addr = 0x10000000, .size = 20 << 20);
    read_live(l);
    mv_totals totals = mvt_audit_of(&trace, 0);
    cr_assert(totals.audit.exact);
    cr_assert_eq(totals.peak.bytes.allocated, 20 << 20);
    cr_assert_eq(totals.current.bytes.allocated, 20 << 20);
    cr_assert_eq(totals.total.allocated, 39 << 20);
}

Test(live, an_oom_is_an_event_of_its_device)
{
    mvt_live *l = mvt_live_new();

    MVT_LIVE(l, OOM, .size = 1 << 30, .stack = mvt_live_stack(l, "f:a.py:7"));
    read_live(l);
    mvt_expect_event(&trace, 0, 0, MV_ACTION_OOM, MV_NO_BYTES, 1 << 30);
}

Test(live, tensors_of_the_cpu_are_a_device_after_the_last)
{
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .cpu = true, .addr = 0x5000, .size = 100);
    mvt_live_block(l, .device = 1, .addr = 0x7f0000000000, .size = 512,
                   .stack = mvt_live_stack(l, "f:a.py:7"));
    mvt_live_block(l, .cpu = true, .addr = 0x6001, .size = 37,
                   .stack = mvt_live_stack(l, "f:a.py:7"));
    mvt_live_free(l, .cpu = true, .addr = 0x5000, .size = 100);
    read_live(l);
    cr_assert_eq(trace.device_count, 3);
    cr_assert_str_eq(mv_fact_find(&trace, "cpu_device"), "2");
    cr_assert_eq(trace.devices[0].events.count, 0);
    mvt_expect_event(&trace, 1, 0, MV_ACTION_ALLOC, 0x7f0000000000, 512);
    mvt_expect_event(&trace, 2, 1, MV_ACTION_ALLOC, 0x6001, 37);
    mvt_expect_event(&trace, 2, 2, MV_ACTION_FREE_REQUESTED, 0x5000, 100);
    cr_assert_eq(trace.devices[1].events.call[0], 0);
    cr_assert_eq(trace.devices[2].events.call[1], 1);
    cr_assert_eq(trace.segments.count, 0);
    mv_totals totals = mvt_audit_of(&trace, 2);
    cr_assert(totals.audit.exact, "%s", totals.audit.count ? totals.audit.notes[0] : "");
    cr_assert_eq(totals.current.bytes.allocated, 37);
    cr_assert_eq(totals.current.allocations, 1);
    cr_assert_eq(totals.peak.bytes.allocated, 137);
    mvt_expect_exact(&trace, 1);
}

static void from_pool(mvt_live *l, uint64_t addr, uint64_t pool, int32_t result)
{
    mvt_live_call(l, .action = MV_API_ALLOC_ASYNC, .addr = addr, .size = 512, .handle = pool,
                  .result = result);
}

/* These records come while device 0 is current. */
Test(live, memory_from_a_pool_is_on_the_pools_device)
{
    mvt_live *l = mvt_live_new();
    const mv_api_calls *c = &trace.api_calls;

    mvt_live_block(l, .device = 1, .addr = 0x7f0000000000, .size = 512);
    mvt_live_call(l, .action = MV_API_POOL_CREATE, .handle = 5, .device = 1);
    mvt_live_call(l, .action = MV_API_POOL_CREATE, .handle = 6, .device = UINT32_MAX);
    mvt_live_call(l, .action = MV_API_POOL_CREATE, .handle = 9, .device = 1, .result = 2);
    from_pool(l, 0x1000, 5, 0);
    from_pool(l, 0, 5, 2);
    from_pool(l, 0x2000, 6, 0);
    from_pool(l, 0x3000, 7, 0);
    from_pool(l, 0x4000, 0, 0);
    mvt_live_call(l, .action = MV_API_POOL_DESTROY, .handle = 5);
    from_pool(l, 0x5000, 5, 0);
    read_live(l);
    cr_assert_eq(c->device[3], 1);
    cr_assert_eq(c->event[3], 1, "of device 1");
    cr_assert_eq(c->device[4], 1, "it was refused there");
    cr_assert_eq(c->device[5], -1, "the host's");
    cr_assert(c->device[6] == 0 && c->device[7] == 0 && c->device[9] == 0, "others");
}

Test(live, heap_calls_are_a_separate_table)
{
    mvt_live *l = mvt_live_new();
    const mv_heap_calls *c = &trace.heap_calls;

    mvt_live_heap(l, .heap_action = MV_HEAP_ALLOC, .addr = 0x1000, .size = 513, .device = 1,
                  .text = mvt_live_string(l, "cupy"), .library = mvt_live_string(l, "libffi.so.8"),
                  .stack = mvt_live_stack(l, "load:train.py:31"));
    mvt_live_heap(l, .heap_action = MV_HEAP_FREE, .addr = 0x1000);
    mvt_live_heap(l, .heap_action = 77, .addr = 0x1000);
    read_live(l);
    cr_assert_eq(trace.api_calls.count, 0);
    cr_assert_eq(c->count, 3);
    cr_assert(c->action[0] == MV_HEAP_ALLOC && c->addr[0] == 0x1000 && c->size[0] == 513);
    cr_assert(c->device[0] == 1 && c->time_us[1] == c->time_us[0] + 10);
    cr_assert_str_eq(mv_string_text(&trace, c->heap[0]), "cupy");
    cr_assert_str_eq(mv_string_text(&trace, c->library[0]), "libffi.so.8");
    cr_assert_neq(c->stack[0].row, MV_NO_ROW);
    cr_assert(c->action[1] == MV_HEAP_FREE && c->heap[1].row == MV_NO_ROW);
    cr_assert_eq(c->action[2], 0);
}

/* ---- order, losses ----------------------------------------------------------------------- */

Test(live, threads_are_merged_by_number)
{
    mvt_live *l = mvt_live_new();

    /* thread 2 frees what thread 1 allocated, and thread 1 then reuses the memory */
    mvt_live_block(l, .thread = 1, .sequence = 1, .addr = 0x1000, .size = 512, .time_us = 1000010);
    mvt_live_block(l, .thread = 1, .sequence = 3, .addr = 0x1000, .size = 1024, .time_us = 1000030);
    mvt_live_free(l, .thread = 2, .sequence = 2, .addr = 0x1000, .size = 512, .time_us = 1000033);
    mvt_live_next_chunk(l, 1, true);
    mvt_live_free(l, .thread = 1, .sequence = 4, .addr = 0x1000, .size = 1024, .time_us = 1000040);
    read_live(l);
    mvt_expect_event(&trace, 0, 0, MV_ACTION_ALLOC, 0x1000, 512);
    mvt_expect_event(&trace, 0, 1, MV_ACTION_FREE_REQUESTED, 0x1000, 512);
    mvt_expect_event(&trace, 0, 3, MV_ACTION_ALLOC, 0x1000, 1024);
    mvt_expect_event(&trace, 0, 4, MV_ACTION_FREE_REQUESTED, 0x1000, 1024);
    cr_assert_eq(notes(MV_NOTE_LOST), 0);
    cr_assert_eq(notes(MV_NOTE_UNSORTED_TIME), 0);
    cr_assert_eq(trace.devices[0].events.time_us[3], 1700000000000033);
    mvt_expect_exact(&trace, 0);
}

/* Older shims took a free's number before the call, and its time after the call. */
Test(live, times_of_calls_rise_with_their_numbers)
{
    mvt_live *l = mvt_live_new();

    mvt_live_call(l, .thread = 1, .action = MV_API_ALLOC, .addr = 0x1000, .size = 512,
                  .sequence = 1, .time_us = 1000010);
    mvt_live_call(l, .thread = 1, .action = MV_API_FREE, .addr = 0x1000, .sequence = 2,
                  .time_us = 3500000);
    mvt_live_call(l, .thread = 2, .action = MV_API_ALLOC, .addr = 0x1000, .size = 512,
                  .sequence = 3, .time_us = 1000030);
    mvt_live_call(l, .thread = 2, .action = MV_API_ALLOC, .addr = 0x2000, .size = 512,
                  .sequence = 4, .time_us = 1000040);
    read_live(l);
    const int64_t *times = trace.api_calls.time_us;
    cr_assert_eq(times[0], 1700000000000010);
    cr_assert_eq(times[1], 1700000000000030);
    cr_assert_eq(times[2], 1700000000000030);
    cr_assert_eq(times[3], 1700000000000040);
}

Test(live, missing_numbers_are_lost_events)
{
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .sequence = 1, .addr = 0x1000, .size = 512);
    mvt_live_block(l, .sequence = 5, .addr = 0x2000, .size = 512);
    mvt_live_block(l, .sequence = 6, .addr = 0x3000, .size = 512);
    mvt_live_block(l, .sequence = 8, .addr = 0x4000, .size = 512);
    read_live(l);
    cr_assert_eq(notes(MV_NOTE_LOST), 4);
    cr_assert_str_eq(trace.notes[MV_NOTE_LOST].first, "number 2 of the capture");
}

/* Thread 1 waits in a free with number 2 while thread 2 records. Thread 3 has lost number 5. */
static void free_under_way(mvt_live *l)
{
    mvt_live_block(l, .thread = 1, .sequence = 1, .addr = 0x1000, .size = 512);
    mvt_live_block(l, .thread = 2, .sequence = 3, .addr = 0x3000, .size = 512);
    mvt_live_block(l, .thread = 3, .sequence = 4, .addr = 0x4000, .size = 512);
    mvt_live_block(l, .thread = 3, .sequence = 6, .addr = 0x6000, .size = 512);
    mvt_live_block(l, .thread = 2, .sequence = 7, .addr = 0x7000, .size = 512);
}

Test(live, a_call_in_progress_is_not_lost)
{
    mvt_live *l = mvt_live_new();

    free_under_way(l);
    read_live(l);
    cr_assert_eq(notes(MV_NOTE_UNDER_WAY), 1);
    cr_assert_eq(notes(MV_NOTE_LOST), 1);
    cr_assert_str_eq(trace.notes[MV_NOTE_LOST].first, "number 5 of the capture");
    mvt_live_fact(l, "end_us", "1002000");
    read_live(l);
    cr_assert_eq(notes(MV_NOTE_UNDER_WAY), 0, "the program has ended");
    cr_assert_eq(notes(MV_NOTE_LOST), 2);

    l = mvt_live_new();
    free_under_way(l);
    mvt_live_next_chunk(l, 1, true);
    read_live(l);
    cr_assert_eq(notes(MV_NOTE_LOST), 2, "the thread's chunk is closed");
}

/* Chunks that are read one after another while threads record. Thread 1's chunks were read before
 * thread 2 was given 3, 5 and 6, for which thread 1 waited. */
Test(live, a_reading_ends_at_the_last_number_seen_first)
{
    mvt_live *l = mvt_live_new();
    mv_build build;
    mv_live_chunks chunks;
    mv_live_merge merge;
    mv_live_record record;
    uint64_t expected = 1, short_of = 0;

    for (uint64_t i = 1; i <= 9; i++)
        mvt_live_block(l, .thread = i == 3 || i == 5 || i == 6 || i == 9 ? 2 : 1, .sequence = i,
                       .addr = i << 12, .size = 512);
    mv_build_init(&build, mvt_memory(), &trace);
    cr_assert(mv_live_chunks_find(mvt_memory(), mvt_live_bytes(l), &build, &chunks));
    for (uint32_t i = 0; i < chunks.count; i++) {
        mv_live_chunk *c = &chunks.rows[i];
        cr_assert(c->kind != MV_LIVE_EVENTS || c->seen == c->records.length);
        if (c->kind == MV_LIVE_EVENTS && c->thread == 2)
            c->seen = 0;
        else if (c->kind == MV_LIVE_EVENTS)
            short_of = c->seen -= 1; /* without the last record, 8 */
    }
    cr_assert_gt(short_of, 0);
    cr_assert(mv_live_merge_init(mvt_memory(), &chunks, false, &build, &merge));
    for (; mv_live_merge_next(&merge, &record); expected++)
        cr_assert_eq(record.sequence, expected);
    cr_assert_eq(expected, 8, "up to 7");
    cr_assert_eq(merge.missing.lost + merge.missing.under_way, 0);
}

Test(live, the_frameworks_totals_are_compared)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, 0x10000000, 2 << 20);
    mvt_live_block(l, .addr = 0x10000000, .size = 512);
    MVT_LIVE(l, TOTALS, .allocated = 512, .reserved = 2 << 20);
    read_live(l);
    cr_assert_eq(notes(MV_NOTE_LOST), 0);
    mvt_live_block(l, .addr = 0x10000200, .size = 512);
    MVT_LIVE(l, TOTALS, .allocated = 3072, .reserved = 2 << 20);
    mvt_live_block(l, .addr = 0x10000400, .size = 512);
    MVT_LIVE(l, TOTALS, .allocated = 3584, .reserved = 2 << 20);
    read_live(l);
    cr_assert_eq(notes(MV_NOTE_LOST), 1);
    cr_assert_str_eq(trace.notes[MV_NOTE_LOST].first,
                     "device 0, event 3: PyTorch has 2048 allocated bytes more");
}

static void mark(mvt_live *l, mv_live_event kind, uint32_t thread, const char *text,
                 uint64_t number)
{
    mvt_live_event(l, kind,
                   (mvt_live_args){.thread = thread,
                                   .text = text ? mvt_live_string(l, text) : 0,
                                   .number = number});
}

static void expect_annotation(uint32_t i, mv_stage stage, const char *name)
{
    const mv_annotations *a = &trace.annotations;

    cr_assert_lt(i, a->count);
    cr_assert_eq(a->stage[i], stage, "annotation %u", i);
    cr_assert_str_eq(mv_string_text(&trace, a->name[i]), name, "annotation %u", i);
    cr_assert_eq(a->device[i], -1);
}

Test(live, ranges_nest_within_their_thread)
{
    mvt_live *l = mvt_live_new();

    mark(l, MV_LIVE_EVENT_PUSH, 1, "outer", 0);
    mark(l, MV_LIVE_EVENT_PUSH, 1, "inner", 0);
    mark(l, MV_LIVE_EVENT_PUSH, 2, "other", 0);
    mark(l, MV_LIVE_EVENT_BEGIN, 1, "numbered", 7);
    mark(l, MV_LIVE_EVENT_POP, 1, NULL, 0);
    mark(l, MV_LIVE_EVENT_MARK, 1, "step 3", 0);
    mark(l, MV_LIVE_EVENT_POP, 2, NULL, 0);
    mark(l, MV_LIVE_EVENT_END, 2, NULL, 7);
    mark(l, MV_LIVE_EVENT_POP, 1, NULL, 0);
    mark(l, MV_LIVE_EVENT_POP, 1, NULL, 0);
    mark(l, MV_LIVE_EVENT_END, 1, NULL, 7);
    read_live(l);
    expect_annotation(0, MV_STAGE_START, "outer");
    expect_annotation(3, MV_STAGE_START, "numbered");
    expect_annotation(4, MV_STAGE_END, "inner");
    expect_annotation(5, MV_STAGE_MARK, "step 3");
    expect_annotation(6, MV_STAGE_END, "other");
    expect_annotation(7, MV_STAGE_END, "numbered");
    expect_annotation(8, MV_STAGE_END, "outer");
    cr_assert_eq(trace.annotations.count, 9);
    cr_assert_eq(notes(MV_NOTE_LOOSE), 2);
}

Test(live, a_thread_that_follows_in_a_chunk_is_another)
{
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .thread = 1, .addr = 0x1000, .size = 512, .device = 1);
    mark(l, MV_LIVE_EVENT_PUSH, 1, "left open", 0);
    mvt_live_follow(l, 1, 4711);
    mark(l, MV_LIVE_EVENT_PUSH, 1, "own", 0);
    mark(l, MV_LIVE_EVENT_POP, 1, NULL, 0);
    mark(l, MV_LIVE_EVENT_POP, 1, NULL, 0);
    mvt_live_free(l, .thread = 1, .addr = 0x1000, .size = 512, .device = 1);
    read_live(l);
    expect_annotation(0, MV_STAGE_START, "left open");
    expect_annotation(1, MV_STAGE_START, "own");
    expect_annotation(2, MV_STAGE_END, "own");
    cr_assert_eq(trace.annotations.count, 3);
    cr_assert_eq(notes(MV_NOTE_LOOSE), 1);
    mvt_expect_event(&trace, 1, 1, MV_ACTION_FREE_REQUESTED, 0x1000, 512);
    cr_assert_eq(notes(MV_NOTE_LOST), 0);
    mvt_expect_exact(&trace, 1);
}

/* ---- stacks, facts ----------------------------------------------------------------------- */

Test(live, frames_of_all_kinds_are_read)
{
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .addr = 0x1000, .size = 512,
                   .stack = mvt_live_stack(l, "f:a.py:7;thread pt_autograd_0"));
    mvt_live_block(l, .addr = 0x2000, .size = 512,
                   .stack = mvt_live_stack(l, "@/nowhere/libfoo.so+4096;f:a.py:7"));
    mvt_live_block(l, .addr = 0x3000, .size = 512, .stack = 99);
    read_live(l);
    const mv_events *e = &trace.devices[0].events;
    expect_frame(e->stack[0], 0, "f", "a.py", 7);
    expect_frame(e->stack[0], 1, "thread pt_autograd_0", "", MV_NO_LINE);
    expect_frame(e->stack[1], 1, "f", "a.py", 7);
    cr_assert_eq(e->stack[2].row, MV_NO_ROW);
    cr_assert_eq(e->call[2], MV_NO_CALL);
    cr_assert_eq(notes(MV_NOTE_DAMAGED), 1);
}

Test(live, the_last_fact_of_a_key_counts)
{
    mvt_live *l = mvt_live_new();

    mvt_live_fact(l, "lost_space", "1");
    mvt_live_fact(l, "lost_space", "2");
    mvt_live_fact(l, "command", "python\ntrain.py");
    read_live(l);
    cr_assert_str_eq(mv_fact_find(&trace, "lost_space"), "2");
    cr_assert_str_eq(mv_fact_find(&trace, "command"), "python\ntrain.py");
    cr_assert_eq(trace.facts.count, 5);
    cr_assert(mv_trace_is_captured(&trace));
    cr_assert_eq(trace.origin.format, MV_FORMAT_BIN);
}

Test(live, facts_of_the_launcher_replace_the_files)
{
    mvt_live *l = mvt_live_new();
    const mv_live_fact facts[] = {{"pid", "77"}, {"samples_off", "no NVML"}};
    const mv_live_opts opts = {.facts = facts, .fact_count = 2};

    mvt_ok(mv_live_read(mvt_memory(), mvt_live_bytes(l), &opts, &trace, mvt_err()));
    cr_assert_str_eq(mv_fact_find(&trace, "pid"), "77");
    cr_assert_str_eq(mv_fact_find(&trace, "samples_off"), "no NVML");
    cr_assert_eq(trace.facts.count, 4);
}

Test(live, times_do_not_decrease_when_the_clock_jumps)
{
    mvt_live *l = mvt_live_new();

    mvt_live_block(l, .thread = 1, .sequence = 1, .addr = 0x1000, .size = 512,
                   .time_us = 1ull << 62);
    mvt_live_block(l, .thread = 2, .sequence = 2, .addr = 0x2000, .size = 512,
                   .time_us = 3ull << 62);
    mvt_live_block(l, .thread = 3, .sequence = 3, .addr = 0x3000, .size = 512, .time_us = 1000010);
    read_live(l);
    cr_assert_eq(trace.devices[0].events.count, 3);
    cr_assert_gt(notes(MV_NOTE_UNSORTED_TIME), 0);
}

static uint64_t rounded(uint64_t size)
{
    return size ? (size + 511) / 512 * 512 : 512;
}

LongTest(live, training_runs_come_back_event_for_event)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        mvt_training_truth truth;
        mvt_trace *t = mvt_new();

        mvt_training(t, seed, (mvt_leak)(seed % MVT_LEAK_COUNT), &truth);
        const mv_trace *from = mvt_done(t);
        trace = mvt_read(mvt_live_of(from));
        cr_assert_eq(notes(MV_NOTE_LOST) + notes(MV_NOTE_DAMAGED), 0, "seed %lu",
                     (unsigned long)seed);
        const mv_events *a = &from->devices[0].events, *b = &trace.devices[0].events;
        cr_assert_eq(b->count, a->count);
        for (uint32_t i = 0; i < a->count; i++) {
            uint32_t n, m;
            const mv_frame_id *f = mv_stack_frames(from, a->stack[i], &n);
            mv_stack_frames(&trace, b->stack[i], &m);
            cr_assert_eq(b->action[i], a->action[i], "event %u", i);
            cr_assert_eq(b->addr[i], a->addr[i], "event %u", i);
            cr_assert_eq(b->size[i], rounded(a->size[i]), "event %u", i);
            cr_assert_eq(b->time_us[i], a->time_us[i] + 1700000000000000, "event %u", i);
            cr_assert_eq(m, n, "event %u", i);
            for (uint32_t k = 0; k < n; k++)
                expect_frame(b->stack[i], k, mv_string_text(from, from->frames.function[f[k].row]),
                             mv_string_text(from, from->frames.file[f[k].row]),
                             from->frames.line[f[k].row]);
        }
        cr_assert_eq(trace.segments.count, from->segments.count);
        cr_assert_eq(trace.segments.allocated[0], from->segments.allocated[0]);
        mvt_expect_exact(&trace, 0);
    }
}

Test(live, a_capture_survives_the_container)
{
    mvt_training_truth truth;
    mvt_trace *t = mvt_new();

    mvt_training(t, 3, MVT_LEAK_LOSS, &truth);
    trace = mvt_read(mvt_live_of(mvt_done(t)));
    mv_trace again = mvt_read(mvt_snapshot_of(mvt_memory(), &trace));
    const char *differs = mvt_difference(&trace, &again);
    cr_assert_null(differs, "%s", differs);
}

static mv_steps steps_of(mvt_live *l)
{
    mv_steps steps;

    read_live(l);
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);
    mvt_ok(mv_steps_find(mvt_memory(), &trace, &lives, &steps, mvt_err()));
    return steps;
}

static void some_step(mvt_live *l)
{
    for (uint32_t i = 0; i < 5; i++) {
        mvt_live_block(l, .addr = 0x10000000 + i * 512, .size = 512,
                       .stack = mvt_live_stack(l, "f:a.py:7"));
        mvt_live_free(l, .addr = 0x10000000 + i * 512, .size = 512);
    }
}

Test(live, marks_are_steps)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, 0x10000000, 2 << 20);
    for (int i = 0; i < 10; i++) {
        mark(l, MV_LIVE_EVENT_MARK, 1, mvt_format("step %d", i), 0);
        mark(l, MV_LIVE_EVENT_PUSH, 1, "aten::add", 0);
        some_step(l);
        mark(l, MV_LIVE_EVENT_POP, 1, NULL, 0);
    }
    mv_steps steps = steps_of(l);
    cr_assert_eq(steps.source, MV_STEPS_MARK);
    cr_assert_eq(steps.count, 10);
    cr_assert_str_eq(steps.name, "step N");
    cr_assert_eq(steps.at[1], 1 + 15);
}

/* The second run has marks with the same name as its ranges. These are two separate series. */
Test(live, ranges_are_steps)
{
    for (int with_marks = 0; with_marks < 2; with_marks++) {
        mvt_live *l = mvt_live_new();

        mvt_live_segment(l, 0x10000000, 2 << 20);
        for (int i = 0; i < 10; i++) {
            const char *name = with_marks ? "step" : mvt_format("iteration %d", i);
            mark(l, MV_LIVE_EVENT_PUSH, 1, name, 0);
            some_step(l);
            mark(l, MV_LIVE_EVENT_POP, 1, NULL, 0);
            if (with_marks && i % 2)
                mark(l, MV_LIVE_EVENT_MARK, 1, name, 0);
        }
        mark(l, MV_LIVE_EVENT_MARK, 1, "done", 0);
        mv_steps steps = steps_of(l);
        cr_assert_eq(steps.source, MV_STEPS_ANNOTATION);
        cr_assert_eq(steps.count, 10);
    }
}

static void keep_and_exit(mvt_live *l, bool in_order)
{
    mvt_live_segment(l, 0x10000000, 2 << 20);
    for (uint32_t i = 0; i < 10; i++) {
        mark(l, MV_LIVE_EVENT_MARK, 1, mvt_format("step %u", i), 0);
        mvt_live_block(l, .addr = 0x10100000, .size = 512, .stack = mvt_live_stack(l, "f:a.py:7"));
        mvt_live_block(l, .addr = 0x10000000 + i * 512, .size = 512,
                       .stack = mvt_live_stack(l, "keep:a.py:9"));
        mvt_live_free(l, .addr = 0x10100000, .size = 512);
    }
    mvt_live_block(l, .addr = 0x10100000, .size = 512, .stack = mvt_live_stack(l, "bye:a.py:11"));
    for (uint32_t i = 0; i < 10; i++)
        mvt_live_free(l, .addr = 0x10000000 + i * 512, .size = 512);
    mvt_live_free(l, .addr = 0x10100000, .size = 512);
    if (in_order)
        mvt_live_fact(l, "end_us", "1234567");
}

static mv_leaks leaks_of(mvt_live *l, mv_lives *lives)
{
    mv_leaks leaks;

    read_live(l);
    *lives = mvt_lives(mvt_memory(), &trace, 0);
    mvt_ok(mv_leaks_find(mvt_memory(), &trace, lives, &leaks, mvt_err()));
    return leaks;
}

Test(live, blocks_that_the_exit_frees_were_kept)
{
    mvt_live *l = mvt_live_new();
    mv_lives lives;

    keep_and_exit(l, true);
    mv_leaks leaks = leaks_of(l, &lives);
    cr_assert_eq(leaks.verdict, MV_VERDICT_LEAK);
    cr_assert_eq(leaks.leaked_bytes, 10 * 512);
    cr_assert_eq(lives.events.action[leaks.exit_event], MV_ACTION_FREE_REQUESTED);
    cr_assert_eq(leaks.exit_event, lives.events.count - 25);
    mvt_expect_exact(&trace, 0);
}

Test(live, a_killed_program_has_no_exit)
{
    mvt_live *l = mvt_live_new();
    mv_lives lives;

    keep_and_exit(l, false);
    mv_leaks leaks = leaks_of(l, &lives);
    cr_assert_eq(leaks.exit_event, lives.events.count);
    cr_assert_eq(leaks.verdict, MV_VERDICT_CLEAN);
}
