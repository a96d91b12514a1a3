/* Segments as rows of a stack, compared with a literal allocator. */
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/segment_rows.h"
#include "viz/pictures/layout.h"

Test(segment_rows, rows_equal_those_of_a_literal_allocator)
{
    for (uint32_t seed = 1; seed <= 24; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_truth truth = mvt_heap_run(t, (mvt_heap_opts){.seed = seed,
                                                               .calls = 150,
                                                               .unrecorded = seed % 3 ? 0 : 50,
                                                               .expandable = seed % 2,
                                                               .drains = seed % 4 == 0});
        /* The rows alive after each event must add up to the literal allocator's reserved bytes,
         * and so must the layout's columns, one for each event. */
        mv_arena *arena = mvt_arena(t);
        mv_lives segments;
        mv_series series;
        mv_layout layout = {.to = truth.events};
        mv_layout_opts opts = {
            .to = truth.events, .columns = truth.events, .least = 1, .visible = 1};
        const mv_alloc_lives *a = &segments.allocs;
        mv_lives lives = mvt_lives(arena, mvt_done(t), 0);
        mvt_ok(mv_segment_lives_as_allocs(arena, &lives, &segments, mvt_err()));
        mvt_ok(mv_totals_series(arena, &lives, &series, mvt_err()));
        for (uint32_t i = 1; i < a->count; i++)
            cr_assert_leq(a->birth[i - 1] + 1, a->birth[i] + 1);
        opts.site_of = mv_push_array(arena, uint32_t, a->count);
        opts.instant =
            mvt_instants(arena, (mv_window){0, truth.events}, truth.events, series.reserved);
        mvt_ok(mv_layout_find(arena, &segments, &opts, &layout, mvt_err()));
        for (uint32_t e = 0; e < truth.events; e++) {
            uint64_t bytes = 0;
            for (uint32_t i = 0; i < a->count; i++)
                if ((a->birth[i] == MV_BEFORE || a->birth[i] <= e) && a->freed[i] > e)
                    bytes += a->block[i];
            cr_assert_eq(bytes, truth.levels[e].reserved);
            cr_assert_eq(layout.allocated[e], bytes, "event %u", e);
        }
    }
}
