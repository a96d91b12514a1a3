/* The life of an allocation and of its address, compared with a literal pass over the events. */
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/allocation_history.h"

static void check(mv_arena *arena, const mv_view *view, uint32_t alloc)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_alloc_lives *a = &d->lives.allocs;
    uint64_t first = a->addr[alloc];
    uint32_t covered = 0, version = 0, at = 0;
    mv_pyramid_reader reader;
    mv_allocation_history found;

    mvt_ok(mv_allocation_history_find(arena, &mv_view_document(view)->trace, d, alloc, &found,
                                      mvt_err()));
    for (uint32_t i = 0; i < a->count; i++) {
        bool does =
            a->addr[i] <= first && (first < a->addr[i] + a->block[i] || a->addr[i] == first);
        covered += does;
        if (does && at < found.count)
            cr_assert_eq(found.history[at++], i);
        version += a->birth[i] != MV_BEFORE && a->addr[i] == first && i <= alloc;
    }
    cr_assert_eq(found.covered, covered);
    cr_assert_eq(at, covered);
    cr_assert_eq(found.version, version);
    mv_pyramid_reader_init(&reader, &d->pyramid);
    cr_assert_eq(found.total, mv_pyramid_at(&reader, a->birth[alloc]).allocated);
}

Test(allocation_history, the_history_equals_a_literal_pass)
{
    for (uint32_t seed = 1; seed <= 4; seed++) {
        mvt_trace *t = mvt_new();
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed, .calls = 500, .unrecorded = 60});
        mv_view *view = mvt_view_of(t);
        for (uint32_t i = 0; i < mv_view_device(view)->lives.allocs.count; i += 3)
            check(mvt_memory(), view, i);
    }
}

/* Must equal "0x7f00#3" in `memviz trace`. */
ViewTest(allocation_history, versions_equal_those_of_the_trace_report, mvt_view("leak_in_training"))
{
    const mv_document_device *d = mv_view_device(view);
    cJSON *json =
        mvt_json(0, "$MEMVIZ trace --json --limit 1500 '%s'", mv_view_document(view)->path);
    const cJSON *event;
    uint32_t row = 0, later = 0;

    cJSON_ArrayForEach(event, cJSON_GetObjectItem(json, "events")) {
        mv_allocation_history found;
        if (d->lives.events.action[row] == MV_ACTION_ALLOC) {
            mvt_ok(mv_allocation_history_find(mvt_memory(), &mv_view_document(view)->trace, d,
                                              d->lives.alloc_of[row], &found, mvt_err()));
            cr_assert_eq((double)found.version, mvt_json_number(event, "version"));
            later += found.version > 1;
        }
        row++;
    }
    cr_expect_gt(later, 50);
}

Test(allocation_history, a_long_history_keeps_the_latest)
{
    mvt_trace *t = mvt_new();
    mv_allocation_history found;

    mvt_segment_alloc(t, .addr = 1 << 21, .bytes = 2 << 20);
    for (uint32_t i = 0; i < MV_MOST_OCCUPANTS + 100; i++) {
        mvt_alloc(t, .addr = 1 << 21, .bytes = 512);
        mvt_free(t, .addr = 1 << 21);
    }
    mv_view *view = mvt_view_of(t);
    mvt_ok(mv_allocation_history_find(mvt_memory(), &mv_view_document(view)->trace,
                                      mv_view_device(view), 7, &found, mvt_err()));
    cr_expect_eq(found.covered, MV_MOST_OCCUPANTS + 100);
    cr_expect_eq(found.count, MV_MOST_OCCUPANTS);
    cr_expect_eq(found.history[0], 100);
    cr_expect_eq(found.history[found.count - 1], MV_MOST_OCCUPANTS + 99);
    cr_expect_eq(found.version, 8);
}
