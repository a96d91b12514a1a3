/* Narrow windows, such as those on a phone or a tablet: everything must be reachable and
 * legible. */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"

static const float widths[] = {360, 390, 600, 640, 820, 1100};
enum { WIDTHS = sizeof widths / sizeof *widths, HIGH = 780 };

/* Returns a text that was truncated in this part of the window, or NULL if there is none. */
static const char *cut_text(const mv_scene *scene, mv_box box)
{
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *shape = &scene->shapes[i];
        const mv_point *at = &scene->points[shape->first];
        if (shape->kind == MV_SHAPE_TEXT && strstr(shape->text, "\xe2\x80\xa6") &&
            mv_box_has(box, at->x, at->y))
            return shape->text;
    }
    return NULL;
}

static uint32_t zones_of(const mv_view *view, mv_command_id command, float width)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < view->ui.zone_count; i++) {
        const mv_zone *zone = &view->ui.zones[i];
        if (zone->command != command)
            continue;
        cr_expect(zone->box.w > 4 && zone->box.x >= 0 && zone->box.x + zone->box.w <= width,
                  "%s at %g", mv_view_commands[command].name, (double)width);
        count++;
    }
    return count;
}

/* Each view has a button or is in the list of one. */
static void check_views(mv_view *view, float width)
{
    static const mv_command_id views[] = {MV_DO_show_timeline, MV_DO_show_segments,
                                          MV_DO_show_state, MV_DO_show_pools};

    if (zones_of(view, MV_DO_view_menu, width)) {
        mv_view_do(view, MV_DO_view_menu, 0);
        mvt_view_sized(view, width, HIGH);
    }
    for (uint32_t i = 0; i < 4; i++)
        cr_expect(zones_of(view, views[i], width), "%s at %g", mv_view_commands[views[i]].name,
                  (double)width);
    if (view->desk->focus == MV_FOCUS_MENU)
        mv_view_do(view, MV_DO_cancel, 0);
}

ViewTest(view_narrow, the_bars_are_whole, mvt_view("leak_in_training"))
{
    for (int w = 0; w < WIDTHS; w++)
        for (int searches = 0; searches < 2; searches++) {
            const mv_view_layout *l = &view->chrome->layout;
            mv_search_set(view, searches ? "size>1M" : "");
            const mv_scene *scene = mvt_view_sized(view, widths[w], HIGH);
            mv_box bar = l->toolbar;
            mv_box_cut_left(&bar, view->chrome->search_box.x > 0 ? 180 : 0); /* the file's name */
            cr_expect_null(cut_text(scene, bar), "%g: %s", (double)widths[w], cut_text(scene, bar));
            cr_expect_null(cut_text(scene, l->status), "%g", (double)widths[w]);
            cr_expect_geq(view->chrome->search_box.w, 150, "%g", (double)widths[w]);
            check_views(view, widths[w]);
        }
}

Test(view_narrow, colours_have_a_legend)
{
    static const mv_command_id views[] = {MV_DO_show_timeline, MV_DO_show_state, MV_DO_show_pools};
    mv_view *view = mvt_view("leak_in_training");

    for (int w = 0; w < WIDTHS; w++)
        for (int v = 0; v < 3; v++) {
            const mv_legend_rows *rows = &view->timeline->legend_rows;
            mv_view_do(view, views[v], 0);
            mvt_view_sized(view, widths[w], HIGH);
            cr_expect_geq(rows->count, v == 1 ? 2 : 3, "%s at %g", mv_view_commands[views[v]].name,
                          (double)widths[w]);
            cr_expect_eq(zones_of(view, MV_DO_legend_row, widths[w]), rows->count);
        }
}

/* The lane of the whole device, its legend, and enough of the timeline, in every capture. */
static void check_device_lane(const char *name)
{
    mv_view *view = mvt_view(name);

    for (int w = 0; w < WIDTHS; w++) {
        const mv_scene *scene = mvt_view_sized(view, widths[w], HIGH);
        mv_plot p;
        cr_expect(mv_plot_open(&p, view, view->main_box), "%s at %g: too low", name,
                  (double)widths[w]);
        cr_expect_geq(p.plot.h, 55, "%s at %g", name, (double)widths[w]);
        cr_expect_geq(p.device_lane.h, 55, "%s at %g", name, (double)widths[w]);
        cr_expect_gt(p.device_legend.h, 0, "%s at %g: the lane has a key", name, (double)widths[w]);
        cr_expect_null(cut_text(scene, p.device_legend), "%s at %g: %s", name, (double)widths[w],
                       cut_text(scene, p.device_legend));
    }
}

Test(view_narrow, the_lane_of_the_device_is_whole)
{
    check_device_lane("sleep");
    check_device_lane("nccl_leak.0");
    check_device_lane("fsdp.0");
}

/* Each row of the reports must be there with all of its words, even if it is longer than a line. */
static void check_reports(mv_view *view)
{
    mv_view_do(view, MV_DO_show_reports, 0);
    for (int w = 0; w < WIDTHS; w++) {
        const mv_scene *scene = NULL;
        for (int page = 0; page < 40; page++) {
            scene = mvt_view_sized(view, widths[w], HIGH);
            cr_expect_null(cut_text(scene, view->lower_box), "%g: %s", (double)widths[w],
                           cut_text(scene, view->lower_box));
            mv_view_input(
                view, &(mv_input){
                          .kind = MV_INPUT_WHEEL, .x = 100, .y = view->lower_box.y + 40, .dy = -1});
        }
        cr_expect(mvt_scene_says(scene, "FINE"), "%g: the last row", (double)widths[w]);
    }
}

Test(view_narrow, reports_are_whole)
{
    check_reports(mvt_view("leak_in_training"));
    check_reports(mvt_view("nccl_leak.0"));
}

/* The line of code comes first, and other columns make room for it. */
ViewTest(view_narrow, tables_show_the_line_of_code, mvt_view("leak_in_training"))
{
    mv_view_do(view, MV_DO_show_tables, 0);
    for (int w = 0; w < WIDTHS; w++) {
        mv_view_do(view, MV_DO_table_kind, MV_LISTING_STACKS);
        cr_expect(mvt_scene_says(mvt_view_sized(view, widths[w], HIGH), "train.py:75 train_step"),
                  "%g", (double)widths[w]);
        cr_expect_eq(zones_of(view, MV_DO_table_kind, widths[w]), MV_LISTING_LEDGER);
        cr_expect_eq(zones_of(view, MV_DO_table_copy, widths[w]), 1);
    }
}

ViewTest(view_narrow, the_flame_graph_has_all_buttons, mvt_view("leak_in_training"))
{
    mv_view_do(view, MV_DO_show_flame, 0);
    for (int w = 0; w < WIDTHS; w++) {
        mvt_view_sized(view, widths[w], HIGH);
        cr_expect_eq(zones_of(view, MV_DO_flame_source, widths[w]), MV_FLAMES_CHANGE);
        cr_expect_eq(zones_of(view, MV_DO_flame_frames, widths[w]), 1);
    }
}

/* ---- words -------------------------------------------------------------------------------- */

/* The legend of the segments has all colours, also after a view whose legend is shorter. */
ViewTest(view_narrow, how_full_segments_are_is_explained, mvt_view("oom_fragmented"))
{
    for (int w = 0; w < WIDTHS; w++) {
        mv_view_do(view, MV_DO_show_timeline, 0);
        mvt_view_sized(view, widths[w], HIGH);
        mv_view_do(view, MV_DO_show_segments, 0);
        const mv_scene *scene = mvt_view_sized(view, widths[w], HIGH);
        for (uint32_t level = 0; level < MV_FULLNESS_LEVELS; level++)
            cr_expect(mvt_scene_says(scene, mv_fullness_name(level)), "%s at %g",
                      mv_fullness_name(level), (double)widths[w]);
    }
}

/* The bars and the line above the picture say in whole words which device is shown, and its bytes. */
Test(view_narrow, the_shown_device_is_named)
{
    static const char *const names[] = {"two_devices", "no_history"};

    for (int n = 0; n < 2; n++) {
        mv_view *view = mvt_view(names[n]);
        mv_view_do(view, MV_DO_show_timeline, 0);
        for (int w = 0; w < WIDTHS; w++) {
            const mv_scene *scene = mvt_view_sized(view, widths[w], HIGH);
            mv_box head = view->chrome->layout.main;
            head.h = 20;
            cr_expect_null(cut_text(scene, head), "%s at %g", names[n], (double)widths[w]);
            cr_expect_null(cut_text(scene, view->chrome->layout.status), "%s at %g", names[n],
                           (double)widths[w]);
            cr_expect(n == 1 || mvt_scene_says(scene, "\xc2\xb7 device 1") ||
                          mvt_scene_says(scene, "\xc2\xb7 device 0"),
                      "%g", (double)widths[w]);
        }
        mvt_end_now(view);
    }
}

/* A message, and the reason why a search is invalid, take as many lines as they need. */
ViewTest(view_narrow, messages_and_reasons_are_whole, mvt_view("gpt_train"))
{
    for (int w = 0; w < WIDTHS; w++) {
        mv_box all = {0, 0, widths[w], HIGH};
        mvt_view_sized(view, widths[w], HIGH);
        mv_view_do(view, MV_DO_show_ledger, 0);
        const mv_scene *scene = mvt_view_sized(view, widths[w], HIGH);
        cr_expect(mvt_scene_says(scene, "host memory"), "%g", (double)widths[w]);
        mv_search_set(view, "size>");
        mv_view_do(view, MV_DO_search, 0);
        scene = mvt_view_sized(view, widths[w], HIGH);
        cr_expect(mvt_scene_says(scene, "size>64M"), "%g", (double)widths[w]);
        all.y = view->chrome->layout.toolbar.h;
        all.h = 60;
        cr_expect_null(cut_text(scene, all), "%g: %s", (double)widths[w], cut_text(scene, all));
        mv_search_set(view, "");
        mv_view_do(view, MV_DO_cancel, 0);
    }
}

ViewTest(view_narrow, the_help_is_whole, mvt_view("gpt_train"))
{
    mv_view_do(view, MV_DO_help, 0);
    for (int w = 0; w < WIDTHS; w++)
        for (int scale = 1; scale <= 2 && widths[w] >= 390 * (float)scale; scale++) {
            mv_view_write_desk(view)->scale = scale;
            const mv_scene *scene = mvt_view_sized(view, widths[w], HIGH);
            for (uint32_t i = view->chrome->overlay_shape; i < scene->shape_count; i++)
                if (scene->shapes[i].kind == MV_SHAPE_TEXT)
                    cr_expect_null(strstr(scene->shapes[i].text, "\xe2\x80\xa6"), "%g: %s",
                                   (double)widths[w], scene->shapes[i].text);
        }
}

/* The tip of a row has the texts that were cut in it. */
ViewTest(view_narrow, tips_have_the_texts_of_tables_that_were_cut, mvt_view("leak_in_training"))
{
    uint32_t cut = 0;

    mv_view_do(view, MV_DO_show_tables, 0);
    mv_view_do(view, MV_DO_table_kind, MV_LISTING_STACKS);
    for (int w = 0; w < WIDTHS; w++) {
        mvt_view_sized(view, widths[w], HIGH);
        for (uint32_t i = 0; i < view->ui.zone_count; i++) {
            const mv_zone *zone = &view->ui.zones[i];
            const char *text =
                zone->command == MV_DO_table_row ? cut_text(&view->ui.scene, zone->box) : NULL;
            if (!text)
                continue;
            cut++;
            cr_expect(zone->tip && strncmp(zone->tip, text, 8) == 0, "%s at %g", text,
                      (double)widths[w]);
        }
    }
    cr_expect_gt(cut, 0);
}

/* The reason why a pane shows nothing is whole. */
Test(view_narrow, reasons_of_empty_panes_are_whole)
{
    mv_view *view = mvt_view("jax"); /* its calls cannot be replayed */

    mv_view_do(view, MV_DO_show_whatif, 0);
    for (int w = 0; w < WIDTHS; w++) {
        const mv_scene *scene = mvt_view_sized(view, widths[w], HIGH);
        cr_expect_null(cut_text(scene, view->lower_box), "%g: %s", (double)widths[w],
                       cut_text(scene, view->lower_box));
        cr_expect(mvt_scene_says(scene, "replayed"), "%g", (double)widths[w]);
    }
}
