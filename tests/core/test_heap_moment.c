/* The heap after an event, computed from the live blocks, compared with the heap after a replay of
 * the events. */
#include "tests/fixture/fixture_heap.h"
#include "viz/core/heap_moment.h"

typedef struct {
    mv_lives lives;
    mv_index active;
    mv_heap heap;
} bench;

static void open_bench(bench *b, const mv_trace *trace, uint32_t device)
{
    b->lives = mvt_lives(mvt_memory(), trace, device);
    mvt_ok(mv_index_make(mvt_memory(), &b->lives, MV_INDEX_ACTIVE, &b->active, mvt_err()));
    mvt_ok(mv_heap_init(mvt_memory(), trace, &b->lives, &b->heap, mvt_err()));
}

static bool same(const void *a, const void *b, uint64_t count, uint64_t size)
{
    return count == 0 || memcmp(a, b, count * size) == 0;
}

static bool is_same_map(const mv_heap_map *a, const mv_heap_map *b)
{
    if (a->count != b->count || !same(a->first_piece, b->first_piece, a->count + 1, 4))
        return false;
    uint32_t pieces = a->first_piece[a->count];
    return same(a->addr, b->addr, a->count, 8) && same(a->size, b->size, a->count, 8) &&
           same(a->free, b->free, a->count, 8) && same(a->whole, b->whole, a->count, 8) &&
           same(a->segment, b->segment, a->count, 4) &&
           same(a->piece_addr, b->piece_addr, pieces, 8) &&
           same(a->piece_size, b->piece_size, pieces, 8) &&
           same(a->piece_whole, b->piece_whole, pieces, 8) &&
           same(a->piece_row, b->piece_row, pieces, 4);
}

/* Compares the heap after the event that the replay has reached. */
static void compare(bench *b, const char *name)
{
    mv_heap_sums sums = mv_heap_total(&b->heap);
    uint32_t event = b->heap.event;
    mv_heap_moment found;
    mv_heap_map map;

    mvt_ok(mv_heap_map_make(mvt_memory(), &b->heap, &map, mvt_err()));
    mvt_ok(mv_heap_moment_find(mvt_memory(), &b->lives, &b->active, event, &found, mvt_err()));
    cr_assert(is_same_map(&found.map, &map), "%s: map after event %u", name, event);
    cr_assert(memcmp(&sums, &found.sums, sizeof sums) == 0, "%s: sums after event %u", name, event);
    cr_assert_eq(found.largest,
                 mv_holes_largest(&b->heap.now, (mv_domain_span){0, b->heap.domains.count}));
}

static void check_trace(const mv_trace *trace, const char *name, uint32_t moments)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++) {
        bench b;
        open_bench(&b, trace, device);
        uint32_t step = b.lives.events.count / moments + 1;
        compare(&b, name);
        while (mv_heap_next(&b.heap))
            if (b.heap.event % step == step - 1 || b.heap.event + 1 == b.lives.events.count)
                compare(&b, name);
    }
}

LongTest(heap_moment, the_heap_equals_that_of_a_replay_after_every_event)
{
    for (uint32_t seed = 1; seed <= 40; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed,
                                        .calls = 220,
                                        .unrecorded = seed % 3 ? 0 : 60,
                                        .max_split = seed % 5 ? 0 : (uint64_t)20 << 20,
                                        .expandable = seed % 2});
        check_trace(mvt_done(t), "random", UINT32_MAX);
    }
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    check_trace(trace, name, 60);
}

EachSnapshot(heap_moment, the_heap_equals_that_of_a_replay_in_every_snapshot, check_snapshot);

Test(heap_moment, blocks_without_a_segment_are_counted_and_have_no_place)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 1 << 21, .bytes = 2 << 20);
    mvt_alloc(t, .addr = 1 << 21, .bytes = 512);
    mvt_alloc(t, .addr = (1 << 21) + 1024, .bytes = 700);
    mvt_alloc(t, .addr = 512, .bytes = 512);
    mvt_free_requested(t, .addr = 1 << 21);
    mvt_segment_alloc(t, .addr = 3 << 21, .bytes = 2 << 20);
    mvt_free_completed(t, .addr = 1 << 21);
    check_trace(mvt_done(t), "outside", UINT32_MAX);
}

Test(heap_moment, almost_empty_traces_have_a_moment)
{
    mvt_trace *empty = mvt_new(), *senseless = mvt_new();

    check_trace(mvt_done(empty), "empty", 10);
    mvt_oom(senseless, .addr = UINT64_MAX, .bytes = UINT64_MAX);
    mvt_free(senseless, .addr = 512, .bytes = UINT64_MAX);
    mvt_segment_alloc(senseless, .addr = 4096, .bytes = UINT64_MAX - 8192);
    check_trace(mvt_done(senseless), "senseless", UINT32_MAX);
}

Test(heap_moment, fails_when_memory_is_out)
{
    mvt_trace *t = mvt_new();
    bench b;

    mvt_heap_run(t, (mvt_heap_opts){.seed = 3, .calls = 300});
    open_bench(&b, mvt_done(t), 0);
    for (mvt_limit l = {.step = 4096}; mvt_more_memory(&l);) {
        mv_heap_moment found;
        l.code = mv_heap_moment_find(&l.arena, &b.lives, &b.active, b.lives.events.count / 2,
                                     &found, mvt_err());
    }
}
