/* The sums of the viewer's flame graph, compared with a literal pass over all allocations. */
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_training.h"
#include "tests/pictures/fixture_tree.h"
#include "view/panes/flames.h"

typedef struct {
    mv_arena *arena;
    const mv_trace *trace;
    mv_lives lives;
    mv_sites sites;
    mv_index index;
} bench;

static bench b;

static void open_bench(const mv_trace *trace)
{
    b = (bench){.arena = mvt_memory(), .trace = trace};
    b.lives = mvt_lives(b.arena, trace, 0);
    mvt_ok(mv_sites_find(b.arena, trace, &b.sites, mvt_err()));
    mvt_ok(mv_index_make(b.arena, &b.lives, MV_INDEX_ALLOCATED, &b.index, mvt_err()));
}

/* Returns whether an allocation is in the query, according to the query's definition. */
static bool is_meant(const mv_lives *lives, mv_flames_query ask, uint32_t row)
{
    const mv_alloc_lives *a = &lives->allocs;
    bool is_born_within =
        a->birth[row] != MV_BEFORE && a->birth[row] >= ask.a && a->birth[row] < ask.b;

    switch (ask.source) {
    case MV_FLAMES_HELD:
        return is_born_within && a->freed[row] >= ask.b;
    case MV_FLAMES_TEMPORARY:
        return is_born_within && a->freed[row] < ask.b;
    default:
        return mv_alloc_is_allocated(lives, row, ask.event);
    }
}

static void check(mv_flames_query ask)
{
    uint64_t bytes = 0, blocks = 0;
    mv_flames found;
    mv_alive rows;
    uint32_t at = 0;

    mvt_ok(mv_flames_find(b.arena, b.trace, &b.sites, &b.index, ask, &found, mvt_err()));
    mvt_ok(mv_flames_rows(b.arena, &b.index, ask, &rows, mvt_err()));
    for (uint32_t i = 0; i < b.lives.allocs.count; i++) {
        if (!is_meant(&b.lives, ask, i))
            continue;
        cr_assert_lt(at, rows.count);
        cr_assert_eq(rows.row[at++], i);
        bytes += b.lives.allocs.block[i];
        blocks++;
    }
    cr_assert_eq(at, rows.count);
    cr_assert_eq(found.bytes, bytes);
    cr_assert_eq(found.blocks, blocks);
    cr_assert_eq(found.tree.nodes[0].bytes, ask.by_blocks ? blocks : bytes);
    cr_assert_eq(found.tree.nodes[0].blocks, ask.by_blocks ? bytes : blocks);
    mvt_check_tree(&found.tree);
    for (uint32_t i = 0; i < found.tree.count; i++)
        cr_assert_eq(mv_flames_node(&found, found.path[i]), i, "a path leads to its node");
}

static void check_all(void)
{
    uint32_t events = b.lives.events.count;

    for (uint32_t kind = 0; kind < 8; kind++)
        for (uint32_t k = 0; k <= 6; k++) {
            mv_flames_query ask = {.by_blocks = kind & 1,
                                   .is_inverted = kind >> 1 & 1,
                                   .has_all_frames = kind >> 2,
                                   .event = events / 6 * k - 1,
                                   .a = events / 7 * k,
                                   .b = events / 7 * k + events / 5};
            if (ask.b > events)
                ask.b = events;
            check(ask);
            ask.source = MV_FLAMES_HELD;
            check(ask);
            ask.source = MV_FLAMES_TEMPORARY;
            check(ask);
        }
}

LongTest(flames, sums_equal_those_of_a_literal_pass)
{
    for (uint32_t seed = 1; seed <= 6; seed++) {
        mvt_trace *t = mvt_new();
        mvt_training_truth truth;
        mvt_training(t, seed, (mvt_leak)(seed % MVT_LEAK_COUNT), &truth);
        open_bench(mvt_done(t));
        check_all();
    }
    for (uint32_t seed = 1; seed <= 6; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed, .calls = 400, .unrecorded = 50});
        open_bench(mvt_done(t));
        check_all();
    }
}

static mvt_trace *three_stacks(void)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 1 << 21, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 1 << 21, .bytes = 512, .stack = "leaf:a.py:3;mid:a.py:2;main:a.py:1");
    mvt_alloc(t, .addr = (1 << 21) + 512, .bytes = 4096, .stack = "leaf:a.py:3;main:a.py:1");
    mvt_alloc(t, .addr = (1 << 21) + 8192, .bytes = 1024, .stack = "other:a.py:9;main:a.py:1");
    return t;
}

Test(flames, inverted_graphs_begin_with_the_innermost_frame)
{
    mvt_trace *t = three_stacks();
    mv_flames found;

    open_bench(mvt_done(t));
    mvt_ok(mv_flames_find(b.arena, b.trace, &b.sites, &b.index,
                          (mv_flames_query){.event = 3, .is_inverted = true}, &found, mvt_err()));
    cr_expect_str_eq(found.tree.nodes[found.tree.nodes[0].child].label, "a.py:3 leaf");
    cr_expect_eq(found.tree.nodes[found.tree.nodes[0].child].bytes, 4608);
    mvt_ok(mv_flames_find(b.arena, b.trace, &b.sites, &b.index,
                          (mv_flames_query){.event = 3, .by_blocks = true, .is_inverted = true},
                          &found, mvt_err()));
    cr_expect_eq(found.tree.nodes[found.tree.nodes[0].child].bytes, 2, "blocks");
    cr_expect_eq(found.tree.nodes[found.tree.nodes[0].child].blocks, 4608, "bytes");
}

Test(flames, largest_below_a_node_passes_through_it)
{
    mvt_trace *t = three_stacks();
    mv_flames_query ask = {.event = 3};
    mv_flames found;

    open_bench(mvt_done(t));
    mvt_ok(mv_flames_find(b.arena, b.trace, &b.sites, &b.index, ask, &found, mvt_err()));
    cr_expect_eq(mv_flames_largest(b.arena, b.trace, &b.sites, &b.index, ask, &found, 0), 1);
    for (uint32_t i = 1; i < found.tree.count; i++) {
        uint32_t row = mv_flames_largest(b.arena, b.trace, &b.sites, &b.index, ask, &found, i);
        const char *label = found.tree.nodes[i].label;
        if (strcmp(label, "a.py:2 mid") == 0)
            cr_expect_eq(row, 0);
        else if (strcmp(label, "a.py:9 other") == 0)
            cr_expect_eq(row, 2);
        else if (strcmp(label, "a.py:1 main") == 0)
            cr_expect_eq(row, 1);
    }
}

Test(flames, at_the_end_of_a_snapshot_it_equals_the_counters_of_pytorch)
{
    mv_flames found;
    mv_trace trace = mvt_load(mvt_memory(), "gpt_train");

    open_bench(&trace);
    check_all();
    mvt_ok(mv_flames_find(b.arena, &trace, &b.sites, &b.index,
                          (mv_flames_query){.event = b.lives.events.count - 1}, &found, mvt_err()));
    cr_expect_eq(found.bytes, 633159680, "`allocated` of gpt_train.truth.json");
}
