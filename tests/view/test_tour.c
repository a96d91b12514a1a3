/* The tour: when it begins, how the user walks through it, and that it ends for good. */

#include "tests/fixture/fixture_view.h"
#include "view/chrome/spoken.h"

static mv_view *view_with_tour(void)
{
    setenv("XDG_CACHE_HOME", mvt_temp_folder(), 1);
    cr_assert(mv_disk_files.offers_tour());
    mv_view *view = mvt_view_new(&(mv_view_opts){.files = &mv_disk_files, .offers_tour = true});
    cr_expect_eq(view->desk->tour, 0, "nothing is shown yet");
    mvt_view_open(view, mvt_snapshot("gpt_train"));
    mvt_view_frame(view);
    return view;
}

Test(tour, each_step_is_spoken_and_points_at_its_part)
{
    static const char *const titles[] = {"Memory over time", "Legend", "Reports", "Search", "Help"};
    mv_view *view = view_with_tour();

    for (uint32_t step = 1; step <= MV_TOUR_STEPS; step++) {
        const char *spoken = mv_view_spoken(view), *status = strstr(spoken, "status\t");
        cr_assert_eq(view->desk->tour, step);
        cr_assert_not_null(status);
        cr_expect(strncmp(strrchr(status, '\t') + 1, titles[step - 1], strlen(titles[step - 1])) ==
                      0,
                  "%s", status);
        cr_expect_null(strstr(status, "MiB"), "what the card covers is not said: %s", status);
        mvt_view_key(view, MV_KEY_ENTER, 0);
    }
    cr_expect_eq(view->desk->tour, 0);
    cr_expect_not(mv_disk_files.offers_tour(), "it has ended");
}

ViewTest(tour, keys_and_clicks_go_on_back_and_away_and_the_panes_stay_in_use, view_with_tour())
{
    const mv_zone *next = mvt_view_zone(view, MV_DO_tour_step, 2);
    uint32_t cursor = view->now->cursor;

    cr_assert_not_null(next);
    mvt_view_click(view, view->chrome->tour_box.x + 20, view->chrome->tour_box.y + 60);
    cr_expect_eq(view->desk->tour, 1, "a click on the card does not reach the pane");
    cr_expect_eq(view->now->pinned, MV_NO_ROW);
    mvt_view_click(view, next->box.x + 5, next->box.y + 5);
    cr_expect_eq(view->desk->tour, 2);
    mvt_view_key(view, MV_KEY_LEFT, 0);
    cr_expect_eq(view->desk->tour, 1);
    mvt_view_key(view, ',', 0);
    cr_expect_neq(view->now->cursor, cursor, "other keys are commands");
    cr_expect_eq(view->desk->tour, 1);
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    cr_expect_eq(view->desk->tour, 0);
    cr_expect_not(mv_disk_files.offers_tour());
    mv_view_do(view, MV_DO_tour, 0);
    cr_expect_eq(view->desk->tour, 1, "the list of commands has it");
}

Test(tour, is_not_offered_where_its_end_cannot_be_noted)
{
    const char *folder = mvt_temp_folder();
    mv_view *view = mvt_view("gpt_train");

    cr_expect_eq(view->desk->tour, 0, "without a window");
    setenv("MEMVIZ_CACHE", "off", 1);
    cr_expect_not(mv_disk_files.offers_tour());
    unsetenv("MEMVIZ_CACHE");
    setenv("XDG_CACHE_HOME", mvt_format("%s/a/b/c", folder), 1);
    cr_expect_not(mv_disk_files.offers_tour());
}
