/* The timeline by pool in the viewer. Its levels must equal the device's, and it must react to the
 * pointer and the search. */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/timeline/plot.h"

static mv_view *pools_of(const char *name)
{
    mv_view *view = mvt_view(name);

    mvt_view_do(view, MV_DO_show_pools, 0);
    return view;
}

/* The contents of the last frame. */
static const mv_pools_answer *answer_of(mv_view *view)
{
    bool is_current;
    mv_plot p;

    cr_assert(mv_plot_open(&p, view, view->main_box));
    mv_plot_look(&p);
    mv_pools_query ask = mv_plot_pools_query(&p);
    const mv_pools_answer *a = mv_slot_query(view->timeline->pools_slot, &ask, &is_current);
    cr_assert(a && is_current);
    return a;
}

/* In columns of one moment, all pools together hold the device's bytes. */
static void check_levels(mv_view *view)
{
    const mv_pools_answer *a = answer_of(view);
    uint32_t moments = 0;

    for (uint32_t c = 0; c < a->levels.columns; c++) {
        mv_levels levels = mv_pyramid_at(&view->levels, a->columns[c].first);
        uint64_t held = 0, allocated = 0, stacked = 0;
        if (a->columns[c].end != a->columns[c].first + 1)
            continue;
        moments++;
        for (uint32_t e = 0; e < a->levels.envelopes; e++) {
            held += mv_pool_level_of(&a->levels, e, c)->held;
            allocated += mv_pool_level_of(&a->levels, e, c)->allocated;
            for (uint32_t g = 0; g < a->levels.groups; g++)
                stacked += mv_pool_stack_of(&a->levels, e, c)[g];
        }
        cr_assert_eq(held, levels.reserved, "column %u", c);
        cr_assert_eq(allocated, levels.allocated, "column %u", c);
        cr_assert_eq(stacked, levels.allocated, "column %u", c);
    }
    cr_assert_gt(moments, 0);
}

Test(timeline_pools, levels_of_all_pools_equal_those_of_the_device)
{
    static const char *const names[] = {"graphs", "mempool", "streams"};

    for (int i = 0; i < 3; i++) {
        mv_view *view = pools_of(names[i]);
        check_levels(view);
        mv_view_write(view)->clock = MV_CLOCK_TIME;
        mvt_view_frame(view);
        check_levels(view);
        mvt_view_do(view, MV_DO_zoom_in, 0);
        check_levels(view);
    }
}

ViewTest(timeline_pools, the_picture_has_the_bytes_of_each_pool, pools_of("graphs"))
{
    cr_expect(mvt_scene_says(&view->ui.scene,
                             "private pool (1, 0): at most 40.0 MiB reserved, at most 39.5 MiB "
                             "allocated"));
    cr_expect(mvt_scene_says(&view->ui.scene, "default pool: at most 84.0 MiB reserved"));
    view = pools_of("no_history");
    cr_expect(mvt_scene_says(&view->ui.scene, "default pool: at most "));
}

/* Over all columns. */
static uint64_t allocated_in(const mv_pools_answer *a)
{
    uint64_t bytes = 0;

    for (uint32_t e = 0; e < a->levels.envelopes; e++)
        for (uint32_t c = 0; c < a->levels.columns; c++)
            bytes += mv_pool_level_of(&a->levels, e, c)->allocated;
    return bytes;
}

/* Counts the groups with bytes in their colour. */
static uint32_t coloured_in(const mv_pools_answer *a)
{
    uint64_t bytes[MV_POOL_GROUPS] = {0};
    uint32_t count = 0;

    for (uint32_t e = 0; e < a->levels.envelopes; e++)
        for (uint32_t c = 0; c < a->levels.columns; c++)
            for (uint32_t g = 0; g + 1 < a->levels.groups; g++)
                bytes[g] += mv_pool_stack_of(&a->levels, e, c)[g];
    for (uint32_t g = 0; g < MV_POOL_GROUPS; g++)
        count += bytes[g] > 0;
    return count;
}

ViewTest(timeline_pools, a_heap_without_events_has_its_colours, pools_of("no_history"))
{
    cr_expect_gt(coloured_in(answer_of(view)), 0);
}

/* Isolated hits are shown alone here, too; with highlighted hits the others are grey. */
ViewTest(timeline_pools, the_picture_follows_the_search, pools_of("gpt_train"))
{
    uint64_t all = allocated_in(answer_of(view)), some;

    mv_search_set(view, "train.py:62");
    mvt_view_frame(view);
    cr_expect_eq(allocated_in(answer_of(view)), all);
    uint32_t groups = coloured_in(answer_of(view));
    mvt_view_do(view, MV_DO_isolate, 0);
    some = allocated_in(answer_of(view));
    cr_expect_lt(some, all);
    cr_expect_gt(some, 0);
    cr_expect(groups > 0 && groups < 4, "only the hits have colours");
}

ViewTest(timeline_pools, a_click_moves_the_cursor_and_pins_nothing, pools_of("gpt_train"))
{
    mvt_view_click(view, 500, 250);
    cr_expect_eq(view->now->pinned, MV_NO_ROW);
    cr_expect_gt(view->now->cursor, 1000);
    cr_expect_lt(view->now->cursor, 5000);
}
