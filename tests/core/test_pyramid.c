/* The pyramid of levels, compared with one row of numbers per event. */
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/pyramid.h"

static mv_levels level_at(const mv_series *s, uint32_t event)
{
    if (event == MV_BEFORE)
        return s->before;
    return (mv_levels){s->allocated[event], s->active[event], s->requested[event],
                       s->reserved[event]};
}

static void widen(uint64_t *least, uint64_t *most, uint64_t value)
{
    *least = value < *least ? value : *least;
    *most = value > *most ? value : *most;
}

static mv_extent literal(const mv_series *s, uint32_t first, uint32_t end)
{
    mv_levels now = level_at(s, first);
    mv_extent x = {now, now, first, first};

    for (uint32_t e = first + 1; e < end; e++) {
        now = level_at(s, e);
        if (now.allocated > x.most.allocated)
            x.allocated_event = e;
        if (now.reserved > x.most.reserved)
            x.reserved_event = e;
        widen(&x.least.allocated, &x.most.allocated, now.allocated);
        widen(&x.least.active, &x.most.active, now.active);
        widen(&x.least.requested, &x.most.requested, now.requested);
        widen(&x.least.reserved, &x.most.reserved, now.reserved);
    }
    return x;
}

static void expect_levels(const mv_levels *got, const mv_levels *want, const char *what)
{
    cr_assert_eq(got->allocated, want->allocated, "%s", what);
    cr_assert_eq(got->active, want->active, "%s", what);
    cr_assert_eq(got->requested, want->requested, "%s", what);
    cr_assert_eq(got->reserved, want->reserved, "%s", what);
}

static void check_range(mv_pyramid_reader *r, const mv_series *s, uint32_t first, uint32_t end)
{
    mv_extent got = mv_pyramid_range(r, first, end), want = literal(s, first, end);

    expect_levels(&got.least, &want.least, "least");
    expect_levels(&got.most, &want.most, "most");
    cr_assert_eq(got.allocated_event, want.allocated_event, "[%u, %u): %u, not %u", first, end,
                 got.allocated_event, want.allocated_event);
    cr_assert_eq(got.reserved_event, want.reserved_event, "[%u, %u)", first, end);
}

static void check_pyramid(mv_arena *arena, const mv_lives *lives, uint64_t seed, uint32_t ranges)
{
    uint32_t events = lives->events.count;
    mv_pyramid_reader r;
    mv_pyramid p;
    mv_series s;

    mvt_ok(mv_pyramid_begin(arena, lives, &p, mvt_err()));
    while (mv_pyramid_some(&p, 1 + mvt_random(&seed, 300)))
        continue;
    mvt_ok(mv_totals_series(arena, lives, &s, mvt_err()));
    mv_pyramid_reader_init(&r, &p);
    check_range(&r, &s, MV_BEFORE, events);
    check_range(&r, &s, MV_BEFORE, 0);
    for (uint32_t i = 0; i < ranges && events; i++) {
        uint32_t first = mvt_random(&seed, events), end;
        end = first + mvt_random(&seed, i % 2 ? events - first + 1 : 200);
        end = end < events ? end : events;
        check_range(&r, &s, i % 7 ? first : MV_BEFORE, end);
        if (i % 16 == 0) {
            /* The expected table of totals is computed from the series. In addition, a few of its
             * entries are summed row by row. */
            uint32_t event = i ? first : MV_BEFORE;
            const mv_alloc_lives *a = &lives->allocs;
            mv_levels got = mv_pyramid_at(&r, event), want = {0};
            for (uint32_t j = 0; j < a->count; j++) {
                want.allocated += mv_alloc_is_allocated(lives, j, event) ? a->block[j] : 0;
                want.active += mv_alloc_is_active(lives, j, event) ? a->block[j] : 0;
                want.requested += mv_alloc_is_active(lives, j, event) ? a->requested[j] : 0;
            }
            for (uint32_t j = 0; j < lives->segments.count; j++)
                want.reserved += mv_segment_is_held(lives, j, event) ? lives->segments.size[j] : 0;
            expect_levels(&got, &want, "sum");
        }
    }
}

LongTest(pyramid, every_range_of_a_short_trace_is_right)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        mv_arena *arena = mvt_memory();
        mv_pyramid_reader r;
        mv_pyramid p;
        mv_series s;
        mv_lives lives =
            mvt_random_lives(arena, (mvt_lives_opts){seed, 1 + 5 * (uint32_t)seed, true});
        mvt_ok(mv_pyramid_find(arena, &lives, &p, mvt_err()));
        mvt_ok(mv_totals_series(arena, &lives, &s, mvt_err()));
        mv_pyramid_reader_init(&r, &p);
        for (uint32_t first = 0; first <= lives.events.count; first++)
            for (uint32_t end = first; end <= lives.events.count; end++)
                check_range(&r, &s, first - 1, end);
    }
}

LongTest(pyramid, ranges_of_random_tables_are_right)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        mv_lives lives =
            mvt_random_lives(mvt_memory(), (mvt_lives_opts){seed, 100 * (uint32_t)seed, true});
        check_pyramid(mvt_memory(), &lives, seed, 300);
    }
}

LongTest(pyramid, ranges_of_random_heaps_are_right)
{
    for (uint32_t seed = 1; seed <= 12; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed,
                                        .calls = 200 * seed,
                                        .unrecorded = seed % 3 * 40,
                                        .expandable = seed % 2});
        mv_lives lives = mvt_lives(mvt_arena(t), mvt_done(t), 0);
        check_pyramid(mvt_arena(t), &lives, seed, 1000);
    }
}

static void check_snapshot(const mv_trace *trace, uint32_t d, const char *name)
{
    (void)name;
    mv_lives lives = mvt_lives(mvt_memory(), trace, d);
    check_pyramid(mvt_memory(), &lives, d + 1, 50);
}

EachDevice(pyramid, ranges_of_real_snapshots_are_right, check_snapshot);

Test(pyramid, cuts_are_close_and_in_order)
{
    for (uint32_t width = 1; width < 5000; width += 37)
        for (uint32_t event = 0; event < 3000; event++) {
            uint32_t cut = mv_pyramid_cut(event, width);
            uint32_t most = width / 4 < MV_PYRAMID_CUT ? MV_PYRAMID_CUT : width / 4;
            cr_assert(cut <= event && event - cut < width && event - cut < most);
            cr_assert(width < MV_PYRAMID_CUT ? cut == event : cut % MV_PYRAMID_CUT == 0);
            cr_assert(width < 4096 || cut % 1024 == 0);
            cr_assert_leq(cut, mv_pyramid_cut(event + 1, width));
        }
}

LongTest(pyramid, a_pyramid_takes_a_byte_and_a_half_for_each_event)
{
    mv_arena *pyramid = mvt_arena_new();
    mv_pyramid p;

    mv_lives lives = mvt_random_lives(mvt_memory(), (mvt_lives_opts){5, 4000000, true});
    cr_assert_gt(lives.events.count, 1000000);
    mvt_ok(mv_pyramid_find(pyramid, &lives, &p, mvt_err()));
    cr_assert_leq(pyramid->budget->used, lives.events.count * 3 / 2 + (1u << 20),
                  "%llu bytes for %u events", (unsigned long long)pyramid->budget->used,
                  lives.events.count);
}

Test(pyramid, a_pyramid_without_memory_fails)
{
    mv_lives lives = mvt_random_lives(mvt_memory(), (mvt_lives_opts){3, 5000, true});
    mv_pyramid p;

    cr_assert_eq(mv_pyramid_find(mvt_arena_of(0), &lives, &p, mvt_err()), MV_NOMEM);
}
