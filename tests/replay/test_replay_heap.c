/* The simulated allocator by itself: examples of its rules. */
#include "analyze/replay/replay_heap.h"

#include "tests/fixture/fixture_test.h"

static mv_replay_heap heap;

static void begin(const char *conf)
{
    mv_alloc_conf parsed;
    char why[128];

    cr_assert(mv_alloc_conf_parse(conf, &parsed, why, sizeof why), "%s", why);
    cr_assert(mv_replay_heap_init(&heap, mvt_memory(), &parsed, 2));
}

static uint32_t get(uint64_t bytes)
{
    heap.effect_count = 0;
    return mv_replay_malloc(&heap, bytes, 0, 0, false);
}

static void give(uint32_t block)
{
    heap.effect_count = 0;
    mv_replay_request_free(&heap, block);
    mv_replay_complete_free(&heap, block);
}

static uint64_t addr(uint32_t block)
{
    return heap.blocks[block].addr;
}

static uint64_t size(uint32_t block)
{
    return heap.blocks[block].size;
}

static void expect_effect(uint32_t i, mv_action action, uint64_t bytes)
{
    cr_assert_gt(heap.effect_count, i);
    cr_expect_eq(heap.effects[i].action, action);
    cr_expect_eq(heap.effects[i].size, bytes);
}

Test(replay_heap, the_worked_example_gives_its_addresses)
{
    begin("");
    uint32_t a = get(1000);
    expect_effect(0, MV_ACTION_SEGMENT_ALLOC, 2 * MIB);
    cr_expect_eq(size(a), 1024);
    uint32_t b = get(1048576);
    cr_expect_eq(addr(b), addr(a) + 1024);
    cr_expect_eq(heap.effect_count, 0);
    uint32_t c = get(1048577);
    expect_effect(0, MV_ACTION_SEGMENT_ALLOC, 20 * MIB);
    cr_expect_eq(size(c), 1049088);
    uint32_t d = get(10 * MIB);
    cr_expect_eq(addr(d), addr(c) + 1049088);
    uint32_t f = get(10 * MIB);
    expect_effect(0, MV_ACTION_SEGMENT_ALLOC, 10 * MIB);
    cr_expect_eq(size(f), 10 * MIB);
    give(c);
    give(d);
    uint32_t g = get(19922944);
    cr_expect_eq(heap.effect_count, 0);
    cr_expect_eq(size(g), 20 * MIB, "exactly 1 MiB remains: not split");
    mv_replay_empty_cache(&heap);
    cr_expect_eq(heap.effect_count, 0, "every segment is in use");
    cr_expect_eq(heap.now.reserved, 32 * MIB);
}

Test(replay_heap, segments_have_the_sizes_of_the_rules)
{
    static const struct {
        uint64_t bytes, block, segment;
    } rows[] = {
        {1, 512, 2 * MIB},
        {1048576, 1048576, 2 * MIB},
        {1048577, 1049088, 20 * MIB},
        {10485759, 10485760, 10 * MIB},
        {10485761, 10486272, 12 * MIB},
        {19922432, 19922432, 20 * MIB},
        {19922944, 20 * MIB, 20 * MIB},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin("");
        uint32_t block = get(rows[i].bytes);
        expect_effect(0, MV_ACTION_SEGMENT_ALLOC, rows[i].segment);
        cr_expect_eq(size(block), rows[i].block);
    }
}

Test(replay_heap, an_expandable_segment_grows_in_place)
{
    begin("expandable_segments:True");
    uint32_t a = get(1048577);
    expect_effect(0, MV_ACTION_SEGMENT_MAP, 20 * MIB);
    uint32_t b = get(31457280);
    expect_effect(0, MV_ACTION_SEGMENT_MAP, 20 * MIB);
    cr_expect_eq(heap.effects[0].addr, addr(a) + 20 * MIB);
    cr_expect_eq(addr(b), addr(a) + 1049088);
    give(b);
    mv_replay_empty_cache(&heap);
    expect_effect(0, MV_ACTION_SEGMENT_UNMAP, 20 * MIB);
    cr_expect_eq(heap.effects[0].addr, addr(a) + 20 * MIB);
    cr_expect_eq(heap.now.reserved, 20 * MIB);
}

Test(replay_heap, streams_and_pools_do_not_share)
{
    begin("");
    uint32_t a = get(5 * MIB);
    give(a);
    uint32_t b = mv_replay_malloc(&heap, 5 * MIB, 7, 0, false);
    cr_expect_eq(heap.counts.segment_allocs, 2);
    mv_replay_malloc(&heap, 5 * MIB, 0, 1, true);
    cr_expect_eq(heap.counts.segment_allocs, 3);
    give(b);
    mv_replay_empty_cache(&heap);
    cr_expect_eq(heap.counts.segment_frees, 2, "a private pool keeps what it has");
}

Test(replay_heap, a_pending_block_neither_merges_nor_serves)
{
    begin("");
    uint32_t a = get(15 * MIB);
    mv_replay_request_free(&heap, a);
    cr_expect_eq(heap.now.allocated, 0);
    cr_expect_eq(heap.now.active, 16 * MIB, "1 MiB is left: not split");
    uint32_t b = get(15 * MIB);
    cr_expect_neq(addr(b), addr(a));
    mv_replay_complete_free(&heap, a);
    cr_expect_eq(addr(get(15 * MIB)), addr(a));
}

Test(replay_heap, max_split_size_keeps_large_blocks_whole)
{
    begin("max_split_size_mb:64");
    uint32_t big = get(100 * MIB);
    give(big);
    uint32_t small = get(30 * MIB);
    cr_expect_eq(heap.effect_count, 1, "a block of max_split_size is not cut for a small request");
    cr_expect_eq(addr(get(90 * MIB)), addr(big), "within 20 MiB it serves whole");
    cr_expect_eq(size(big), 100 * MIB);
    give(big);
    get(79 * MIB);
    cr_expect_eq(heap.effect_count, 1, "21 MiB would be wasted");
    give(small);
}

Test(replay_heap, a_request_beyond_the_limit_releases_first)
{
    begin("");
    heap.limit = 100 * MIB;
    uint32_t a = get(40 * MIB);
    uint32_t b = get(40 * MIB);
    give(a);
    heap.effect_count = 0;
    a = mv_replay_malloc(&heap, 50 * MIB, 0, 0, false);
    cr_assert_neq(a, MV_NO_ROW);
    expect_effect(0, MV_ACTION_SEGMENT_FREE, 40 * MIB);
    expect_effect(1, MV_ACTION_SEGMENT_ALLOC, 50 * MIB);
    cr_expect_eq(heap.counts.retries, 1);
    cr_expect_eq(mv_replay_malloc(&heap, 20 * MIB, 0, 0, false), MV_NO_ROW);
    cr_expect_eq(heap.counts.ooms, 1);
    give(b);
}

/* After releasing its cache, PyTorch does not search again. A request can therefore fail although
 * waiting for a stream has just freed a block that fits, and succeed when it is repeated. */
Test(replay_heap, a_block_freed_by_waiting_is_found_only_by_the_next_request)
{
    begin("");
    heap.limit = 20 * MIB;
    uint32_t a = get(5 * MIB);
    get(14 * MIB);
    mv_replay_request_free(&heap, a);
    cr_expect_eq(get(4 * MIB), MV_NO_ROW);
    cr_expect_eq(addr(get(4 * MIB)), addr(a));
}

Test(replay_heap, garbage_collection_frees_the_old_segments)
{
    begin("garbage_collection_threshold:0.5");
    heap.limit = 200 * MIB;
    uint32_t old = get(50 * MIB);
    uint32_t fresh = get(60 * MIB);
    give(old);
    for (int i = 0; i < 4; i++)
        give(get(3 * MIB));
    give(fresh);
    get(70 * MIB);
    expect_effect(0, MV_ACTION_SEGMENT_FREE, 50 * MIB);
}
