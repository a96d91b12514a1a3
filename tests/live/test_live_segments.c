/* Segments of PyTorch's allocator in live files: the calls that make them, and the calls that end
 * them. */
#include "tests/fixture/fixture_live.h"

static mv_trace trace;

static void read_live(mvt_live *l)
{
    trace = mvt_read(mvt_live_bytes(l));
}

static uint64_t lost(void)
{
    return trace.notes[MV_NOTE_LOST].count;
}

/* A call by PyTorch's allocator. */
#define allocator_calls(l, what, ...)                                                 \
    mvt_live_call(l, .action = MV_API_##what, .stack = mvt_live_stack(l, "f:a.py:7"), \
                  .library = mvt_live_string(l, "/venv/torch/lib/libc10_cuda.so"), __VA_ARGS__)

Test(live_segments, pieces_of_one_mapping_are_one_event)
{
    mvt_live *l = mvt_live_new();
    uint32_t stack = mvt_live_stack(l, "f:a.py:7");

    allocator_calls(l, RESERVE, .addr = 0x40000000, .size = 1 << 30);
    for (uint64_t i = 0; i < 3; i++)
        allocator_calls(l, MAP, .addr = 0x40000000 + (i << 21), .size = 2 << 20);
    mvt_live_block(l, .addr = 0x40000000, .size = 5 << 20, .stack = stack);
    allocator_calls(l, MAP, .addr = 0x40600000, .size = 2 << 20);
    mvt_live_block(l, .addr = 0x40500000, .size = 2 << 20, .stack = stack);
    mvt_live_free(l, .addr = 0x40500000, .size = 2 << 20);
    allocator_calls(l, UNMAP, .addr = 0x40600000, .size = 2 << 20);
    read_live(l);
    mvt_expect_event(&trace, 0, 0, MV_ACTION_SEGMENT_MAP, 0x40000000, 6 << 20);
    mvt_expect_event(&trace, 0, 1, MV_ACTION_ALLOC, 0x40000000, 5 << 20);
    mvt_expect_event(&trace, 0, 2, MV_ACTION_SEGMENT_MAP, 0x40600000, 2 << 20);
    mvt_expect_event(&trace, 0, 6, MV_ACTION_SEGMENT_UNMAP, 0x40600000, 2 << 20);
    cr_assert_eq(trace.devices[0].events.call[0], trace.devices[0].events.call[1]);
    cr_assert_neq(trace.devices[0].events.call[1], trace.devices[0].events.call[2]);
    cr_assert_eq(trace.api_calls.count, 6);
    cr_assert_eq(trace.api_calls.event[4], 2);
    cr_assert_eq(trace.api_calls.action[4], MV_API_MAP);
    cr_assert_eq(trace.segments.count, 1);
    cr_assert_eq(trace.segments.total_size[0], 6 << 20);
    cr_assert(trace.segments.is_expandable[0]);
    mvt_expect_exact(&trace, 0);
}

/* CUDA reports that device 1 does not exist (101) and that device 2 is full (2). */
Test(live_segments, a_device_that_does_not_exist_is_not_listed)
{
    mvt_live *l = mvt_live_new();
    uint32_t name = mvt_live_string(l, "cudaMalloc");

    mvt_live_call(l, .action = MV_API_ALLOC, .addr = 0x1000, .size = 4096, .text = name);
    mvt_live_call(l, .action = MV_API_CONTEXT_CREATE, .text = name, .device = 1, .result = 101);
    read_live(l);
    cr_assert_eq(trace.device_count, 1);
    cr_assert_eq(trace.api_calls.device[1], -1);

    mvt_live_call(l, .action = MV_API_ALLOC, .size = 1 << 30, .text = name, .device = 2,
                  .result = 2);
    read_live(l);
    cr_assert_eq(trace.device_count, 3);
    cr_assert_eq(trace.api_calls.device[2], 2);
}

/* If its cache is off, PyTorch itself reports nothing. */
Test(live_segments, each_call_is_a_block_without_the_cache)
{
    mvt_live *l = mvt_live_new();

    mvt_live_fact(l, "no_caching", "1");
    allocator_calls(l, ALLOC, .addr = 0x100000, .size = 3000);
    allocator_calls(l, ALLOC, .addr = 0x200000, .size = 4096);
    allocator_calls(l, FREE, .addr = 0x100000);
    read_live(l);
    cr_assert_eq(lost(), 0);
    mvt_expect_event(&trace, 0, 0, MV_ACTION_SEGMENT_ALLOC, 0x100000, 3000);
    mvt_expect_event(&trace, 0, 1, MV_ACTION_ALLOC, 0x100000, 3000);
    mvt_expect_event(&trace, 0, 5, MV_ACTION_FREE_COMPLETED, 0x100000, 3000);
    mvt_expect_event(&trace, 0, 6, MV_ACTION_SEGMENT_FREE, 0x100000, 3000);
    mvt_expect_exact(&trace, 0);
    mv_totals totals = mvt_audit_of(&trace, 0);
    cr_assert_eq(totals.current.bytes.allocated, 4096);
    cr_assert_eq(totals.peak.bytes.reserved, 7096);
}

/* PyTorch empties its caches for all devices, whichever device is current. */
Test(live_segments, an_unmap_ends_mappings_on_another_device)
{
    mvt_live *l = mvt_live_new();

    for (uint64_t i = 0; i < 3; i++)
        allocator_calls(l, MAP, .device = 1, .addr = 0x40000000 + (i << 21), .size = 2 << 20);
    allocator_calls(l, MAP, .device = 0, .addr = 0x40600000, .size = 2 << 20);
    allocator_calls(l, UNMAP, .device = 0, .addr = 0x40000000, .size = 2 << 20);
    mvt_live_block(l, .device = 1, .addr = 0x40400000, .size = 512);
    mvt_live_free(l, .device = 1, .addr = 0x40400000, .size = 512);
    /* one unmap call covers mappings of both devices */
    allocator_calls(l, UNMAP, .device = 0, .addr = 0x40200000, .size = 6 << 20);
    read_live(l);
    cr_assert_eq(lost(), 0);
    mvt_expect_event(&trace, 0, 0, MV_ACTION_SEGMENT_MAP, 0x40600000, 2 << 20);
    mvt_expect_event(&trace, 0, 1, MV_ACTION_SEGMENT_UNMAP, 0x40600000, 2 << 20);
    mvt_expect_event(&trace, 1, 1, MV_ACTION_SEGMENT_UNMAP, 0x40000000, 2 << 20);
    mvt_expect_event(&trace, 1, 5, MV_ACTION_SEGMENT_UNMAP, 0x40200000, 4 << 20);
    cr_assert_eq(trace.segments.count, 0);
    mvt_expect_exact(&trace, 0);
    mvt_expect_exact(&trace, 1);
    mv_totals totals = mvt_audit_of(&trace, 1);
    cr_assert_eq(totals.current.bytes.reserved, 0);
    cr_assert_eq(totals.peak.bytes.reserved, 6 << 20);
}

Test(live_segments, memory_of_another_process_is_not_a_segment)
{
    mvt_live *l = mvt_live_new();

    allocator_calls(l, CREATE, .handle = 5, .size = 2 << 20);
    allocator_calls(l, MAP, .handle = 5, .addr = 0x40000000, .size = 2 << 20);
    allocator_calls(l, IMPORT, .handle = 6);
    allocator_calls(l, MAP, .handle = 6, .addr = 0x50000000, .size = 2 << 20);
    allocator_calls(l, MAP, .handle = 6, .addr = 0x50200000, .size = 2 << 20);
    mvt_live_block(l, .addr = 0x40000000, .size = 2 << 20);
    MVT_LIVE(l, TOTALS, .allocated = 2 << 20, .reserved = 2 << 20);
    allocator_calls(l, UNMAP, .addr = 0x50000000, .size = 4 << 20);
    /* the handle's number is reused for different memory */
    allocator_calls(l, CREATE, .handle = 6, .size = 2 << 20);
    allocator_calls(l, MAP, .handle = 6, .addr = 0x50000000, .size = 2 << 20);
    read_live(l);
    cr_assert_eq(lost(), 0, "%s", trace.notes[MV_NOTE_LOST].first);
    cr_assert_eq(trace.devices[0].events.count, 3);
    mvt_expect_event(&trace, 0, 2, MV_ACTION_SEGMENT_MAP, 0x50000000, 2 << 20);
    cr_assert_eq(trace.segments.count, 2);
    mvt_expect_exact(&trace, 0);
}

Test(live_segments, memory_of_this_process_where_anothers_was_is_a_segment)
{
    mvt_live *l = mvt_live_new();

    allocator_calls(l, IMPORT, .handle = 6);
    allocator_calls(l, MAP, .handle = 6, .addr = 0x50000000, .size = 4 << 20);
    allocator_calls(l, CREATE, .handle = 7, .size = 2 << 20);
    allocator_calls(l, MAP, .handle = 7, .addr = 0x50000000, .size = 2 << 20);
    allocator_calls(l, UNMAP, .addr = 0x50000000, .size = 2 << 20);
    read_live(l);
    cr_assert_eq(lost(), 0);
    mvt_expect_event(&trace, 0, 1, MV_ACTION_SEGMENT_UNMAP, 0x50000000, 2 << 20);
    cr_assert_eq(trace.segments.count, 0);
}

Test(live_segments, touching_mappings_of_two_reservations_are_two_segments)
{
    mvt_live *l = mvt_live_new();

    allocator_calls(l, RESERVE, .addr = 0x40000000, .size = 2 << 20);
    allocator_calls(l, RESERVE, .addr = 0x40200000, .size = 20 << 20);
    allocator_calls(l, MAP, .addr = 0x40000000, .size = 2 << 20);
    mvt_live_block(l, .addr = 0x40000000, .size = 512);
    allocator_calls(l, MAP, .addr = 0x40200000, .size = 20 << 20);
    mvt_live_block(l, .addr = 0x40200000, .size = 20 << 20);
    read_live(l);
    cr_assert_eq(trace.segments.count, 2);
    cr_assert_eq(trace.segments.kind[0], MV_SEGMENT_SMALL);
    cr_assert_eq(trace.segments.kind[1], MV_SEGMENT_LARGE);
    mvt_expect_exact(&trace, 0);
}

Test(live_segments, calls_of_others_and_failed_ones_make_no_segment)
{
    mvt_live *l = mvt_live_new();
    uint32_t malloc_name = mvt_live_string(l, "cudaMalloc");

    mvt_live_call(l, .action = MV_API_ALLOC, .addr = 0x1000, .size = 4096, .text = malloc_name,
                  .library = mvt_live_string(l, "/venv/lib/libnccl.so.2"), .handle = 77);
    mvt_live_call(l, .action = MV_API_ALLOC, .size = 1 << 30, .text = malloc_name, .result = 2,
                  .library = mvt_live_string(l, "/venv/lib/libc10_cuda.so"));
    mvt_live_call(l, .action = MV_API_ALLOC, .addr = 0x9000, .size = 1, .text = malloc_name);
    read_live(l);
    cr_assert_eq(trace.devices[0].events.count, 0);
    cr_assert_eq(trace.api_calls.count, 3);
    cr_assert_str_eq(mv_string_text(&trace, trace.api_calls.library[0]), "/venv/lib/libnccl.so.2");
    cr_assert_str_eq(mv_string_text(&trace, trace.api_calls.api[0]), "cudaMalloc");
    cr_assert_eq(trace.api_calls.handle[0], 77);
    cr_assert_eq(trace.api_calls.result[1], 2);
    cr_assert_eq(trace.api_calls.addr[1], MV_NO_BYTES);
    cr_assert_eq(trace.api_calls.library[2].row, MV_NO_ROW);
}

Test(live_segments, a_released_segment_has_its_size)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, 0x10000000, 2 << 20);
    mvt_live_call(l, .action = MV_API_FREE, .addr = 0x10000000, .device = 3,
                  .library = mvt_live_string(l, "/venv/torch/lib/libc10_cuda.so"));
    read_live(l);
    mvt_expect_event(&trace, 0, 1, MV_ACTION_SEGMENT_FREE, 0x10000000, 2 << 20);
    cr_assert_eq(trace.segments.count, 0);
    mvt_expect_exact(&trace, 0);
}

Test(live_segments, blocks_without_a_segment_get_one_if_others_have_one)
{
    mvt_live *l = mvt_live_new();

    mvt_live_segment(l, 0x10000000, 2 << 20);
    mvt_live_block(l, .addr = 0x30000000, .size = 512);
    mvt_live_block(l, .addr = 0x30000200, .size = 512);
    read_live(l);
    cr_assert_eq(trace.segments.count, 2);
    cr_assert_eq(trace.segments.total_size[1], 1024);
    cr_assert_gt(lost(), 0);
    cr_assert_not(mvt_audit_of(&trace, 0).audit.exact);
}
