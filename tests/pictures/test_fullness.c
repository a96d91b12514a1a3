/* How full segments are, compared with literally summed overlaps, and the colours for it. */
#include "analyze/lives/alive.h"
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/segment_rows.h"
#include "viz/pictures/fullness.h"

/* Returns the bytes of live blocks in [addr, addr + size). */
static uint64_t literal(const mv_lives *lives, uint64_t addr, uint64_t size, uint32_t event)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint64_t used = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t from = a->addr[i] > addr ? a->addr[i] : addr;
        uint64_t to =
            a->addr[i] + a->block[i] < addr + size ? a->addr[i] + a->block[i] : addr + size;
        if (mv_alloc_is_allocated(lives, i, event) && from < to)
            used += to - from;
    }
    return used;
}

/* Each row is an element, and each event is a column. */
static void check_samples(mv_arena *arena, const mv_lives *lives, const mv_lives *rows)
{
    uint32_t events = lives->events.count;
    mv_layout_opts opts = {.to = events, .columns = events, .least = 1, .visible = 1};
    mv_layout layout;
    mv_series series;

    opts.site_of = mv_push_array(arena, uint32_t, rows->allocs.count);
    mvt_ok(mv_totals_series(arena, lives, &series, mvt_err()));
    opts.instant = mvt_instants(arena, (mv_window){0, events}, events, series.reserved);
    mvt_ok(mv_layout_find(arena, rows, &opts, &layout, mvt_err()));
    uint64_t *used = mv_fullness_of_samples(arena, lives, rows, &layout);
    cr_assert(used);
    cr_assert(events == 0 || layout.sample_count > 0);
    for (uint32_t i = 0; i < layout.sample_count; i++) {
        uint32_t row = layout.elements[layout.samples[i].element].first;
        cr_assert_eq(used[i], literal(lives, rows->allocs.addr[row], rows->allocs.block[row],
                                      layout.instant[layout.samples[i].column]));
        cr_assert_leq(used[i], layout.samples[i].bytes);
    }
}

Test(fullness, segments_of_random_heaps_are_as_full_as_a_literal_sum)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        mvt_heap_opts opts = {.seed = seed,
                              .calls = 120,
                              .unrecorded = seed % 3 * 40,
                              .expandable = seed % 2,
                              .drains = seed % 4 == 0};
        mvt_trace *t = mvt_new();
        mv_arena *arena = mvt_arena(t);
        mv_lives rows;
        mvt_heap_run(t, opts);
        mv_lives lives = mvt_lives(arena, mvt_done(t), 0);
        mvt_ok(mv_segment_lives_as_allocs(arena, &lives, &rows, mvt_err()));
        for (uint32_t e = 0; e <= lives.events.count; e += 5) {
            uint32_t event = e - 1;
            uint64_t *used = mv_fullness_after(arena, &lives, &rows, event);
            cr_assert(used);
            for (uint32_t i = 0; i < rows.allocs.count; i++)
                if (mv_segment_is_held(&lives, rows.allocs.segment[i], event))
                    cr_assert_eq(used[i],
                                 literal(&lives, rows.allocs.addr[i], rows.allocs.block[i], event));
        }
        if (lives.events.count > 0)
            check_samples(arena, &lives, &rows);
    }
}

Test(fullness, levels_have_equal_widths)
{
    cr_expect_eq(mv_fullness_level(0, 0), 0);
    cr_expect_eq(mv_fullness_level(0, 100), 0);
    cr_expect_eq(mv_fullness_level(1, UINT64_MAX), 1);
    cr_expect_eq(mv_fullness_level(24, 100), 1);
    cr_expect_eq(mv_fullness_level(25, 100), 2);
    cr_expect_eq(mv_fullness_level(50, 100), 3);
    cr_expect_eq(mv_fullness_level(75, 100), 4);
    cr_expect_eq(mv_fullness_level(100, 100), 4);
    cr_expect_eq(mv_fullness_level(UINT64_MAX - 1, UINT64_MAX), 4);
    cr_expect_eq(mv_fullness_level(7, 5), 4);
}

/* Converts a colour to grey: its share of light, as on a printer. */
static double grey(uint32_t colour)
{
    return (0.299 * (colour >> 24) + 0.587 * (colour >> 16 & 0xff) + 0.114 * (colour >> 8 & 0xff)) /
           255;
}

Test(fullness, colours_differ_in_lightness)
{
    for (uint32_t level = 0; level + 1 < MV_FULLNESS_LEVELS; level++) {
        cr_expect_gt(grey(mv_fullness_colour(level, false)),
                     grey(mv_fullness_colour(level + 1, false)) + 0.12);
        cr_expect_gt(grey(mv_fullness_colour(level, true)),
                     grey(mv_fullness_colour(level + 1, true)) + 0.12);
    }
}
