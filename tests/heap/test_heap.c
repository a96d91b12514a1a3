#include "analyze/heap/heap.h"

#include <inttypes.h>

#include "tests/fixture/fixture_heap.h"

/* ---- the slow way: rows that are alive, sorted by address ---------------------------------- */

typedef struct {
    uint64_t addr, end;
    uint32_t row;
} span;

typedef struct {
    const mv_lives *lives;
    const mv_domains *domains;
    uint32_t event;
    span *segments, *blocks;
    uint32_t segment_count, block_count;
} slow;

static int by_addr(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

static slow slow_heap(mv_arena *arena, const mv_heap *heap, bool settled)
{
    const mv_lives *lives = heap->lives;
    const mv_alloc_lives *a = &lives->allocs;
    const mv_segment_lives *s = &lives->segments;
    slow h = {lives, &heap->domains, heap->event, NULL, NULL, 0, 0};

    h.segments = mv_push_array(arena, span, s->count);
    h.blocks = mv_push_array(arena, span, a->count);
    for (uint32_t i = 0; i < s->count; i++)
        if (mv_segment_is_held(lives, i, h.event))
            h.segments[h.segment_count++] = (span){s->addr[i], s->addr[i] + s->size[i], i};
    for (uint32_t i = 0; i < a->count; i++)
        if (settled ? mv_alloc_is_allocated(lives, i, h.event)
                    : mv_alloc_is_active(lives, i, h.event))
            h.blocks[h.block_count++] = (span){a->addr[i], a->addr[i] + a->block[i], i};
    qsort(h.segments, h.segment_count, sizeof *h.segments, by_addr);
    qsort(h.blocks, h.block_count, sizeof *h.blocks, by_addr);
    return h;
}

static bool continues(const slow *h, uint32_t i)
{
    const mv_segment_lives *s = &h->lives->segments;
    uint32_t a = h->segments[i].row, b = h->segments[i + 1].row;

    return h->segments[i].end == h->segments[i + 1].addr && s->is_expandable[a] &&
           s->is_expandable[b] && h->domains->of_segment[a] == h->domains->of_segment[b];
}

typedef struct {
    uint64_t *free, *largest, *least; /* [domains] */
} slow_sums;

static void expect_holes(mv_arena *arena, const mv_heap *heap, bool settled, const char *what)
{
    uint32_t domains = heap->domains.count;
    slow_sums sums = {mv_push_array(arena, uint64_t, domains),
                      mv_push_array(arena, uint64_t, domains),
                      mv_push_array(arena, uint64_t, domains)};
    const mv_holes *holes = settled ? mv_heap_settled(heap) : &heap->now;
    slow h = slow_heap(arena, heap, settled);

    /* Adds each run's holes to their domain, with the largest and the smallest of each. */
    uint32_t k = 0;
    for (uint32_t i = 0, end; i < h.segment_count; i = end + 1) {
        uint32_t domain = h.domains->of_segment[h.segments[i].row];
        uint64_t at = h.segments[i].addr;
        for (end = i; end + 1 < h.segment_count && continues(&h, end);)
            end++;
        while (k < h.block_count && h.blocks[k].addr < at)
            k++;
        for (;; k++) {
            bool is_last = k == h.block_count || h.blocks[k].addr >= h.segments[end].end;
            uint64_t to = is_last ? h.segments[end].end : h.blocks[k].addr;
            cr_assert_geq(to, at);
            sums.free[domain] += to - at;
            if (to - at > sums.largest[domain])
                sums.largest[domain] = to - at;
            if (to > at && (sums.least[domain] == 0 || to - at < sums.least[domain]))
                sums.least[domain] = to - at;
            uint64_t size = to - at;
            uint32_t rank = mv_address_rank(holes->ranks, at);
            if (rank < holes->ranks->count && holes->ranks->addr[rank] < at + size)
                cr_assert_eq(mv_holes_around(holes, rank), size);
            if (!is_last)
                cr_assert_eq(mv_holes_around(holes, mv_address_rank(holes->ranks, to)), 0);
            if (is_last)
                break;
            at = h.blocks[k].end;
        }
    }
    for (uint32_t d = 0; d < domains; d++) {
        mv_domain_span own = {d, d + 1};
        cr_assert_eq(holes->free[d], sums.free[d], "%s domain %u: free %" PRIu64 ", not %" PRIu64,
                     what, d, holes->free[d], sums.free[d]);
        cr_assert_eq(mv_holes_largest(holes, own), sums.largest[d], "%s domain %u: largest", what,
                     d);
        if (settled) /* callers ignore the smallest of these */
            continue;
        cr_assert_eq(mv_holes_least(holes, d, 1), sums.least[d], "%s domain %u: least", what, d);
        cr_assert_eq(mv_holes_least(holes, d, sums.largest[d] + 1), 0, "%s", what);
        if (sums.largest[d])
            cr_assert_eq(mv_holes_least(holes, d, sums.largest[d]), sums.largest[d], "%s", what);
    }
}

static void expect_sums(const mv_heap *heap, const char *what)
{
    mv_heap_sums total = mv_heap_total(heap), sum = {0};

    for (uint32_t d = 0; d < heap->domains.count; d++) {
        mv_heap_sums s = mv_heap_domain(heap, d);
        cr_assert_eq(mv_heap_unexplained(&s), 0, "%s domain %u", what, d);
        sum.reserved += s.reserved;
        sum.allocated += s.allocated;
        sum.pending += s.pending;
        sum.rounding += s.rounding;
        sum.free += s.free;
    }
    cr_assert(memcmp(&sum, &total, sizeof sum) == 0, "%s: domains do not add up", what);
    cr_assert_eq(mv_heap_unexplained(&total), 0, "%s", what);
}

static mv_heap_map expect_map_sums(mv_arena *arena, const mv_heap *heap, const char *what)
{
    mv_heap_sums total = mv_heap_total(heap);
    uint64_t reserved = 0, free = 0;
    mv_heap_map map;

    mvt_ok(mv_heap_map_make(arena, heap, &map, mvt_err()));
    for (uint32_t i = 0; i < map.count; i++) {
        reserved += map.size[i];
        free += map.free[i];
        cr_assert_leq(map.whole[i], map.free[i], "%s", what);
    }
    cr_assert_eq(reserved, total.reserved, "%s", what);
    cr_assert_eq(free, total.free, "%s", what);
    return map;
}

static void expect_map(mv_arena *arena, const mv_heap *heap, const char *what)
{
    mv_heap_sums total = mv_heap_total(heap);
    mv_heap_map map = expect_map_sums(arena, heap, what);
    uint64_t used = 0, end = 0;

    for (uint32_t i = 0; i < map.count; i++) {
        uint64_t at = map.addr[i];
        cr_assert_geq(at, end, "%s", what);
        end = at + map.size[i];
        for (uint32_t p = map.first_piece[i]; p < map.first_piece[i + 1]; p++) {
            cr_assert_eq(map.piece_addr[p], at, "%s", what);
            at += map.piece_size[p];
            used += map.piece_row[p] == MV_NO_ROW ? 0 : map.piece_size[p];
        }
        cr_assert_eq(at, end, "%s: pieces do not tile their segment", what);
    }
    cr_assert_eq(used, total.allocated + total.pending, "%s", what);
}

static void expect_levels(const mv_heap *heap, const mv_levels *levels, const char *what)
{
    mv_heap_sums s = mv_heap_total(heap);

    cr_assert_eq(s.reserved, levels->reserved, "%s", what);
    cr_assert_eq(s.allocated, levels->allocated, "%s", what);
    cr_assert_eq(s.allocated + s.pending, levels->active, "%s", what);
    cr_assert_eq(s.allocated + s.pending - s.rounding, levels->requested, "%s", what);
}

static void begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_heap *heap)
{
    mvt_ok(mv_heap_init(arena, trace, lives, heap, mvt_err()));
    cr_assert(mv_holes_order_sizes(arena, &heap->now));
}

/* ---- random heaps -------------------------------------------------------------------------- */

/* Walks in strides of several events, or by one event at a time. Returns whether frees wait. */
static bool check_random(uint32_t seed, uint32_t stride)
{
    mvt_trace *t = mvt_new();
    mvt_heap_opts opts = {.seed = seed,
                          .calls = 160,
                          .expandable = seed % 3 == 0,
                          .max_split = seed % 3 == 1 ? 32 << 20 : 0,
                          .unrecorded = seed % 5 == 0 ? 60 : 0,
                          .drains = seed % 4 == 0};
    mvt_heap_truth truth = mvt_heap_run(t, opts);
    mv_arena *arena = mvt_arena(t);
    mv_lives lives = mvt_lives(arena, mvt_done(t), 0);
    mv_arena scratch;
    mv_heap heap;

    begin(arena, mvt_done(t), &lives, &heap);
    mv_arena_init(&scratch, arena->budget);
    if (opts.unrecorded == 0)
        expect_levels(&heap, &truth.before, mvt_format("seed %u before", seed));
    for (uint32_t event = stride - 1; event < truth.events; event += stride) {
        const char *what = mvt_format("seed %u event %u of %u", seed, event, stride);
        if (stride == 1)
            cr_assert(mv_heap_next(&heap), "%s", what);
        else
            mv_heap_advance(&heap, event);
        cr_assert_eq(heap.event, event, "%s", what);
        if (opts.unrecorded == 0)
            expect_levels(&heap, &truth.levels[event], what);
        expect_sums(&heap, what);
        expect_holes(&scratch, &heap, false, what);
        if (heap.defers)
            expect_holes(&scratch, &heap, true, what);
        if (event % 7 == 0)
            expect_map(&scratch, &heap, what);
        mv_arena_release(&scratch);
    }
    mv_heap_advance(&heap, UINT32_MAX - 1);
    cr_assert_eq(heap.event + 1, truth.events);
    cr_assert_not(mv_heap_next(&heap));
    return heap.defers;
}

Test(heap, random_heaps_agree_with_a_sort_by_address)
{
    uint32_t defer = 0;

    for (uint32_t seed = 1; seed <= 18; seed++)
        defer += check_random(seed, 1);
    cr_expect_gt(defer, 9);
}

/* Blocks that come and go within one stride. */
Test(heap, blocks_that_come_and_go_on_the_way_leave_nothing)
{
    for (uint32_t seed = 1; seed <= 12; seed++)
        check_random(seed, 2 + seed % 5 * 7);
}

static void check_snapshot(const mv_trace *trace, uint32_t device, const char *name)
{
    mv_heap heap;
    mv_lives lives = mvt_lives(mvt_memory(), trace, device);
    begin(mvt_memory(), trace, &lives, &heap);
    expect_sums(&heap, name);
    while (mv_heap_next(&heap)) {
        if (heap.event % 997 == 0) {
            expect_sums(&heap, name);
            expect_holes(mvt_memory(), &heap, false, name);
        }
    }
    expect_sums(&heap, name);
    expect_map(mvt_memory(), &heap, name);
    /* The file's segments and the blocks in use, in the file's order, compared with the heap
     * after the last event. */
    mv_arena *arena = mvt_memory();
    const mv_segments *s = &trace->segments;
    mv_heap_map map;
    uint32_t at = 0;
    mvt_ok(mv_heap_map_make(arena, &heap, &map, mvt_err()));
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t free = 0;
        if (s->device[i] != (int32_t)heap.lives->device)
            continue;
        cr_assert_lt(at, map.count, "%s", name);
        cr_expect_eq(map.addr[at], s->address[i], "%s segment %u", name, i);
        cr_expect_eq(map.size[at], s->total_size[i], "%s segment %u", name, i);
        for (uint32_t b = s->first_block[i]; b < s->first_block[i] + s->blocks[i]; b++)
            free += mv_block_is_active(trace, b) ? 0 : trace->blocks.size[b];
        cr_expect_eq(map.free[at], free, "%s segment %u: %" PRIu64 " free, not %" PRIu64, name, i,
                     map.free[at], free);
        at++;
    }
    cr_expect_eq(at, map.count, "%s", name);
}

EachDevice(heap, after_the_last_event_it_is_the_final_heap, check_snapshot);

Test(heap, traces_that_contradict_themselves_keep_their_sums)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        mvt_trace *t = mvt_new();
        mv_heap heap;
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed, .calls = 200, .expandable = seed % 2});
        mv_trace trace = *mvt_done(t);
        /* Changes the action, address, or size of some events. */
        mv_events *ev = &trace.devices[0].events;
        uint64_t state = seed;
        for (uint32_t k = 0; k < 1 + ev->count / 20; k++) {
            uint32_t i = mvt_random(&state, ev->count), j = mvt_random(&state, ev->count);
            switch (mvt_random(&state, 6)) {
            case 0:
                ev->action[i] = (uint8_t)mvt_random(&state, MV_ACTION_COUNT);
                break;
            case 1:
                ev->addr[i] = ev->addr[j];
                break;
            case 2:
                ev->addr[i] += 512 * mvt_random(&state, 100000);
                break;
            case 3:
                ev->size[i] = ev->size[j];
                break;
            case 4:
                ev->size[i] = mvt_random(&state, 8) ? ev->size[i] * 3 : UINT64_MAX - 5;
                break;
            default:
                ev->stream[i] = ev->stream[j];
            }
        }
        mv_lives lives = mvt_lives(mvt_arena(t), &trace, 0);
        begin(mvt_arena(t), &trace, &lives, &heap);
        do {
            const char *what = mvt_format("seed %u event %u", seed, heap.event);
            if ((heap.event + 1) % 5 == 0) {
                mv_heap_sums total = mv_heap_total(&heap);
                cr_assert_leq(total.free, total.reserved, "%s", what);
                expect_map_sums(mvt_arena(t), &heap, what);
                for (uint32_t d = 0; d < heap.domains.count; d++)
                    cr_assert_leq(mv_holes_largest(&heap.now, (mv_domain_span){d, d + 1}),
                                  heap.now.free[d], "%s", what);
            }
        } while (mv_heap_next(&heap));
    }
}
