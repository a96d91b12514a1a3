/* The minimap's window, zooming to the selection, exported pictures, and the help. */
#include <math.h>
#include <unistd.h>

#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/timeline/plot.h"

static float x_of(const mv_view *view, double event)
{
    return mv_viewport_x(&view->timeline->map_at, event);
}

static void drag(mv_view *view, float from, float to)
{
    float y = view->minimap_box.y + view->minimap_box.h / 2;

    mvt_view_point(view, MV_INPUT_PRESS, from, y, 1);
    mvt_view_point(view, MV_INPUT_MOVE, (from + to) / 2, y, 0);
    mvt_view_point(view, MV_INPUT_MOVE, to, y, 0);
    mvt_view_point(view, MV_INPUT_RELEASE, to, y, 1);
    mvt_view_frame(view);
}

/* If the window covers the whole trace, or the drag begins outside of it, there is no window to
 * move, so a drag makes a new one. */
ViewTest(minimap, a_drag_makes_a_window, mvt_view("gpt_train"))
{
    mvt_view_frame(view);
    drag(view, x_of(view, 1000), x_of(view, 2000));
    cr_assert_float_eq(view->now->from, 1000, 10);
    cr_assert_float_eq(view->now->to, 2000, 10);
    drag(view, x_of(view, 5000), x_of(view, 3000)); /* from right to left */
    cr_assert_float_eq(view->now->from, 3000, 10);
    cr_assert_float_eq(view->now->to, 5000, 10);
    drag(view, x_of(view, 4000), x_of(view, 4500)); /* inside: it moves */
    cr_assert_float_eq(view->now->from, 3500, 20);
    cr_assert_float_eq(view->now->to, 5500, 20);
    drag(view, x_of(view, 1500), x_of(view, 1500)); /* a click outside: it jumps there */
    cr_assert_float_eq((view->now->from + view->now->to) / 2, 1500, 20);
    cr_assert_float_eq(view->now->to - view->now->from, 2000, 5);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_neq(view->now->from, 500);
}

/* If the window becomes too small for a plot, nothing of the minimap remains. */
ViewTest(minimap, is_within_a_window_that_became_small, mvt_view("annotated"))
{
    mv_viewport at;

    mvt_view_sized(view, 1600, 900);
    mv_view_frame(view, 400, 300, 2000);
    cr_assert(mv_minimap_open(view, (mv_box){10, 200, 380, 40}, &at));
    cr_expect_leq(at.box.x + at.box.w, 390);
}

/* A drag selects in every view that has a time axis. */
ViewTest(drag, selects_in_all_views_alike, mvt_view("two_devices"))
{
    static const mv_command_id views[] = {MV_DO_show_timeline, MV_DO_show_segments,
                                          MV_DO_show_pools, MV_DO_show_ranks};
    uint32_t a = 0, b = 0;

    for (int i = 0; i < 4; i++) {
        mv_box plot;
        mv_view_do(view, MV_DO_show_timeline, 0);
        mv_view_do(view, MV_DO_fit_all, 0);
        mvt_view_do(view, views[i], 0);
        plot = view->timeline->plot;
        for (int step = 0; step < 4; step++)
            mvt_view_point(view,
                           step == 0   ? MV_INPUT_PRESS
                           : step == 3 ? MV_INPUT_RELEASE
                                       : MV_INPUT_MOVE,
                           plot.x + plot.w * (0.2f + 0.1f * (float)step), plot.y + plot.h / 2, 1);
        cr_assert(view->now->has_interval, "%s", mv_view_commands[views[i]].title);
        if (i > 0) {
            cr_assert_leq(abs((int)view->now->a - (int)a), 2, "%s",
                          mv_view_commands[views[i]].title);
            cr_assert_leq(abs((int)view->now->b - (int)b), 2, "%s",
                          mv_view_commands[views[i]].title);
        }
        a = view->now->a;
        b = view->now->b;
        mv_view_do(view, MV_DO_cancel, 0);
        cr_assert_not(view->now->has_interval);
    }
}

/* Z shows the interval. Without an interval, it shows the life of the pinned block. */
ViewTest(zoom, to_the_selection, mvt_view("gpt_train"))
{
    uint32_t birth;

    mv_view_pin(view, 900);
    birth = mv_view_device(view)->lives.allocs.birth[900];
    mv_view_do(view, MV_DO_zoom_interval, 0);
    cr_assert(view->now->from <= birth && view->now->to - view->now->from < 6000);
    mv_view_do(view, MV_DO_select_range, 100 | (uint64_t)300 << 32);
    mv_view_do(view, MV_DO_zoom_interval, 0);
    cr_assert_eq(view->now->from, 100);
    cr_assert_eq(view->now->to, 300);
}

/* Selecting an interval used to require a drag. */
ViewTest(interval, is_selected_by_keys, mvt_view("gpt_train"))
{
    mv_view_move_cursor(view, 100);
    mv_view_do(view, MV_DO_interval_begin, 0);
    cr_assert(view->now->has_interval);
    cr_assert_eq(view->now->b, mv_view_device(view)->lives.events.count);
    mv_view_move_cursor(view, 299);
    mv_view_do(view, MV_DO_interval_end, 0);
    cr_assert_eq(view->now->a, 100);
    cr_assert_eq(view->now->b, 300);
    mv_view_move_cursor(view, 40);
    mv_view_do(view, MV_DO_interval_end, 0);
    cr_assert_eq(view->now->a, 0);
    cr_assert_eq(view->now->b, 41);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(view->now->b, 300);
}

/* Keys must move the edges of panes as far as the pointer does. */
LongTest(layout, edges_are_moved_by_keys)
{
    mv_view *view = mvt_view("gpt_train");

    mv_view_frame(view, 1280, 720, 0);
    float high = view->lower_box.h;
    float wide = view->timeline->plot.w;
    mv_view_do(view, MV_DO_raise_lower, 0);
    mv_view_do(view, MV_DO_widen_legend, 0);
    mv_view_frame(view, 1280, 720, 0);
    cr_assert_gt(view->lower_box.h, high + 10);
    cr_assert_lt(view->timeline->plot.w, wide - 10);
    for (int i = 0; i < 40; i++) {
        mv_view_do(view, MV_DO_drop_lower, 0);
        mv_view_do(view, MV_DO_narrow_legend, 0);
        mv_view_frame(view, 1280, 720, 0);
    }
    cr_assert_eq(view->desk->lower_share, MV_LEAST_LOWER);
    mv_view_do(view, MV_DO_widen_legend, 0);
    wide = view->timeline->plot.w;
    mv_view_frame(view, 1280, 720, 0);
    cr_assert_lt(view->timeline->plot.w, wide - 10);
}

/* ---- files ------------------------------------------------------------------------------- */

/* A picture has the file's name and verdict, and nothing that can only be clicked. */
ViewTest(export, has_no_buttons, mvt_view("leak_in_training"))
{
    static const char *const buttons[] = {
        "Commands", "Dark", "Light", "Search: ", "Colour: ", "Flame graph", "Tables", "all keys"};
    const char *path = mvt_temp_file((mv_span){0});

    mvt_view_frame(view);
    const char *name = mvt_format("%s.svg", path);
    cr_assert(mv_export_write(view, name), "%s", view->message);
    char *text = mvt_text(name);
    unlink(name);
    cr_assert(strstr(text, "leak_in_training.pickle"));
    cr_assert(strstr(text, mv_view_device(view)->headline.line), "%s",
              mv_view_device(view)->headline.line);
    cr_assert(strstr(text, "Reports")); /* what the lower pane shows */
    for (size_t i = 0; i < sizeof buttons / sizeof *buttons; i++)
        cr_assert_null(strstr(text, buttons[i]), "%s", buttons[i]);
    mvt_view_frame(view); /* and they are back in the window */
    cr_assert_not_null(mvt_view_zone(view, MV_DO_palette, 0));
}

/* ---- help -------------------------------------------------------------------------------- */

/* All of it must be visible at any size, by scrolling. */
Test(help, explains_the_picture)
{
    static const char *const texts[] = {
        "from before the first event", "reserved by PyTorch", "a leak",  "no stack was recorded",
        "the cursor: a moment",        "In the picture:",     "Not now:"};
    static const float sizes[][2] = {{640, 400}, {1280, 720}, {3840, 2160}};
    mv_view *view = mvt_view("gpt_train");

    for (int s = 0; s < 3; s++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            bool is_shown = false;
            mv_view_do(view, MV_DO_help, 0);
            for (int page = 0; page < 40 && !is_shown; page++) {
                const mv_scene *scene = mv_view_frame(view, sizes[s][0], sizes[s][1], 0);
                is_shown = mvt_scene_text(scene, texts[i]);
                for (int k = 0; k < 4; k++)
                    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = MV_KEY_DOWN});
            }
            cr_assert(is_shown, "%s at %g", texts[i], (double)sizes[s][0]);
            mv_view_do(view, MV_DO_cancel, 0);
        }
}

ViewTest(open, a_file_takes_the_place_of_one_that_could_not_be_read, mvt_view_new(NULL))
{
    uint8_t nothing[] = {1, 2, 3};

    mv_view_add(view, mvt_temp_file((mv_span){.data = nothing, .length = sizeof nothing}));
    mvt_view_frame(view);
    cr_assert_eq(mv_view_document(view)->stage, MV_DOCUMENT_FAILED);
    mvt_view_open(view, mvt_snapshot("gpt_train"));
    cr_assert_eq(view->now->file, 1);
    mvt_view_open(view, mvt_snapshot("mlp_train"));
    cr_assert_eq(view->now->file, 1, "one that is shown keeps its place");
}

/* As on the command line, which opens several files as ranks. */
Test(open, files_dropped_together_are_ranks)
{
    uint8_t nothing[] = {1, 2, 3};
    mv_view *both = mvt_view_new(NULL), *later = mvt_view_new(NULL), *one = mvt_view_new(NULL);

    mv_view_input(both, &(mv_input){.kind = MV_INPUT_DROP, .path = mvt_snapshot("gpt_train")});
    mvt_view_drop(both, mvt_snapshot("mlp_train"));
    cr_expect_eq(both->now->main, MV_MAIN_RANKS);
    mvt_view_drop(later, mvt_snapshot("gpt_train"));
    mvt_view_drop(later, mvt_snapshot("mlp_train"));
    cr_expect_eq(later->now->main, MV_MAIN_TIMELINE, "what was shown stays");
    mvt_view_drop(one, mvt_temp_file((mv_span){.data = nothing, .length = sizeof nothing}));
    mvt_view_drop(one, mvt_snapshot("mlp_train"));
    cr_expect_eq(one->now->main, MV_MAIN_TIMELINE, "one of the two cannot be read");
}

/* ---- tips ---------------------------------------------------------------------------------- */

/* Returns the box of the tip that the pointer at the middle of the zone shows, which is the last frame
 * of the scene, or an empty box. */
static mv_box tip_at(mv_view *view, const mv_zone *of, float width, float height)
{
    mv_box zone = of->box;

    mvt_view_point(view, MV_INPUT_MOVE, -1, -1, 0);
    uint32_t before = mv_view_frame(view, width, height, 0)->shape_count;
    mvt_view_point(view, MV_INPUT_MOVE, zone.x + fminf(zone.w / 2, 40), zone.y + zone.h / 2, 0);
    const mv_scene *scene = mv_view_frame(view, width, height, 0);
    for (uint32_t i = scene->shape_count; i-- > 0 && scene->shape_count > before;) {
        const mv_shape *shape = &scene->shapes[i];
        const mv_point *at = &scene->points[shape->first];
        if (shape->kind == MV_SHAPE_RECTS)
            return (mv_box){at[0].x, at[0].y, at[1].x - at[0].x, at[1].y - at[0].y};
    }
    return (mv_box){0};
}

/* The tip of a tab or a column head covers neither the head nor the rows below it. */
Test(tips, leave_the_rows_below_tabs_and_heads_free)
{
    static const float sizes[][2] = {{390, 844}, {820, 1180}, {1280, 800}, {3840, 2160}};
    static const mv_command_id commands[] = {MV_DO_show_tables, MV_DO_show_details,
                                             MV_DO_table_sort, MV_DO_show_whatif};
    mv_view *view = mvt_view("gpt_train");

    mv_view_do(view, MV_DO_show_tables, 0);
    for (int s = 0; s < 4; s++) {
        mvt_view_sized(view, sizes[s][0], sizes[s][1]);
        for (int c = 0; c < 4; c++) {
            const mv_zone *zone = mvt_view_zone(view, commands[c], 0);
            cr_assert_not_null(zone, "%s", mv_view_commands[commands[c]].name);
            float top = zone->box.y;
            mv_box tip = tip_at(view, zone, sizes[s][0], sizes[s][1]);
            cr_expect_gt(tip.h, 0, "%s at %g", mv_view_commands[commands[c]].name,
                         (double)sizes[s][0]);
            cr_expect_leq(tip.y + tip.h, top, "%s at %g", mv_view_commands[commands[c]].name,
                          (double)sizes[s][0]);
            cr_expect_geq(tip.x, 0);
            cr_expect_leq(tip.x + tip.w, sizes[s][0]);
        }
    }
}

/* A list over the panes hides their tips. */
ViewTest(tips, of_covered_panes_are_hidden, mvt_view("gpt_train"))
{
    mvt_view_do(view, MV_DO_palette, 0);
    cr_expect_eq(tip_at(view, mvt_view_zone(view, MV_DO_show_details, 0), 1280, 720).h, 0);
}
