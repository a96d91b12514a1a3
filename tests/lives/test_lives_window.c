/* The lives in a window: the heap at each of its events must equal that of the whole trace. Also
 * leaks within a window. */
#include "analyze/leaks/leaks.h"
#include "analyze/lives/lives_window.h"
#include "analyze/totals/moment.h"
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

static void expect_levels(const mv_levels *a, const mv_levels *b, const char *name, uint32_t event)
{
    cr_assert_eq(a->allocated, b->allocated, "%s event %u", name, event);
    cr_assert_eq(a->active, b->active, "%s event %u", name, event);
    cr_assert_eq(a->requested, b->requested, "%s event %u", name, event);
    cr_assert_eq(a->reserved, b->reserved, "%s event %u", name, event);
}

/* A few windows of every real snapshot, each checked at a few events. */
static void check_snapshot(const mv_trace *trace, const char *name)
{
    mv_lives whole = mvt_lives(mvt_memory(), trace, 0), part;

    for (uint32_t k = 0; k < 4 && whole.events.count > 8; k++) {
        uint32_t count = whole.events.count;
        mv_window w = {k * (count / 9), count - k * (count / 7)};

        mvt_ok(mv_lives_within(mvt_memory(), &whole, w, &part, mvt_err()));
        cr_assert_eq(part.events.count, w.end - w.first);
        cr_expect_eq(part.has_later_events, w.end < count);
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t event = i * (part.events.count / 8);
            mv_levels in_part = mv_moment_levels(&part, event);
            mv_levels in_whole = mv_moment_levels(&whole, w.first + event);
            expect_levels(&in_part, &in_whole, name, w.first + event);
        }
        for (uint32_t i = 1; i < part.allocs.preexisting; i++)
            cr_assert_leq(part.allocs.addr[i - 1], part.allocs.addr[i]);
    }
}

EachSnapshot(lives_window, a_window_has_the_heap_of_the_whole_trace, check_snapshot);

Test(lives_window, a_window_reports_its_history)
{
    mvt_trace *t = mvt_new();
    mv_lives part;

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 2u << 20, .stack = "f:a.py:1");
    mvt_alloc(t, .addr = 0x200000, .bytes = 512, .stack = "f:a.py:1");
    mvt_free(t, .addr = 0x200000);
    mvt_alloc(t, .addr = 0x200000, .bytes = 1024, .stack = "f:a.py:2");
    mv_lives whole = mvt_lives(mvt_arena(t), mvt_done(t), 0);
    mvt_ok(mv_lives_within(mvt_arena(t), &whole, MV_ALL_EVENTS, &part, mvt_err()));
    cr_expect_eq(part.history, whole.history);
    cr_expect_eq(part.allocs.addr, whole.allocs.addr);
    mvt_ok(mv_lives_within(mvt_arena(t), &whole, (mv_window){2, 4}, &part, mvt_err()));
    cr_expect_eq(part.history, MV_HISTORY_LATE);
    cr_expect_eq(part.allocs.count, 1);
    cr_expect_eq(part.allocs.preexisting, 1);
    cr_expect_eq(part.allocs.freed[0], 0);
    cr_expect_eq(part.allocs.completed[0], 1);
    mvt_ok(mv_lives_within(mvt_arena(t), &whole, (mv_window){4, 4}, &part, mvt_err()));
    cr_expect_eq(part.events.count, 0);
    mvt_ok(mv_lives_within(mvt_arena(t), &whole, (mv_window){9, 3}, &part, mvt_err()));
    cr_expect_eq(part.events.count, 0);
}

/* Half of the steps leak half as much. Events keep their numbers from the whole trace. */
Test(lives_window, leaks_of_a_window_are_found)
{
    cJSON *all = mvt_json(0, "$MEMVIZ leaks --json $SNAPS/leak_in_training.pickle");
    cJSON *half = mvt_json(0, "$MEMVIZ leaks --json --from @Optimizer.step#AdamW.step#5 "
                              "--to @Optimizer.step#AdamW.step#12 $SNAPS/leak_in_training.pickle");
    cJSON *none = mvt_json(0, "$MEMVIZ leaks --json --to 40 $SNAPS/leak_in_training.pickle");

    cr_expect_eq(mvt_json_number(all, "leaks.0.blocks"), 12);
    cr_expect_str_eq(mvt_json_text(half, "verdict"), "leak");
    cr_expect_eq(cJSON_GetArraySize(mvt_member(half, "leaks")), 1);
    cr_expect_eq(mvt_json_number(half, "leaks.0.blocks"), 7);
    cr_expect_str_eq(mvt_json_text(half, "leaks.0.culprit"), "train.py:62 forward");
    cr_expect_gt(mvt_json_number(half, "leaks.0.first_event"),
                 mvt_json_number(all, "leaks.0.first_event"));
    cr_expect_leq(mvt_json_number(half, "leaks.0.last_event"),
                  mvt_json_number(all, "leaks.0.last_event"));
    cr_expect_str_eq(mvt_json_text(none, "verdict"), "unknown");
}

Test(lives_window, ranks_are_compared_within_a_window)
{
    cJSON *r = mvt_json(0, "$MEMVIZ ranks --json --from 0 --to 60 $SNAPS/two_devices.pickle");
    cJSON *peak = mvt_json(0, "$MEMVIZ peak --json --device 0 --from 0 --to 60 "
                              "$SNAPS/two_devices.pickle");

    cr_expect_eq(mvt_json_number(r, "ranks.0.events"), 60);
    cr_expect_eq(mvt_json_number(r, "ranks.0.peak_allocated"),
                 mvt_json_number(peak, "at.allocated"));
}
