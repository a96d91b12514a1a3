/* Lanes for several files and devices: their numbers, heights and common scale, and where clicks
 * lead. */
#include "view/timeline/pane_ranks.h"

#include <math.h>

#include "base/size.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

static const char *const names[] = {"leak_in_training", "gpt_train",  "mlp_train", "two_devices",
                                    "no_history",       "state_only", "oom"};
enum { NAMES = sizeof names / sizeof *names };

static mv_view *ranks_of(const char *const *files, uint32_t count)
{
    mv_view *view = mvt_view(files[0]);

    for (uint32_t i = 1; i < count; i++)
        mvt_view_open(view, mvt_snapshot(files[i]));
    mvt_view_do(view, MV_DO_show_ranks, 0);
    return view;
}

static float lane_height(const mv_view *view, uint32_t count)
{
    return floorf(view->timeline->plot.h / (float)count);
}

/* Finds the area of the lane in the picture: the strip whose lower edge is the lane's. */
static const mv_shape *area_of(const mv_view *view, const mv_scene *scene, uint32_t row, float high)
{
    float bottom = view->timeline->plot.y + high * (float)(row + 1);

    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind == MV_SHAPE_STRIP && s->fill == mv_site_colour(0) &&
            fabsf(scene->points[s->first + 1].y - bottom) < 0.01f)
            return s;
    }
    return NULL;
}

static float top_of(const mv_scene *scene, const mv_shape *area)
{
    float top = INFINITY;

    for (uint32_t i = 0; i < area->count; i += 2)
        top = fminf(top, scene->points[area->first + i].y);
    return top;
}

ViewTest(pane_ranks, every_lane_is_as_high_as_its_peak_on_one_scale, ranks_of(names, NAMES))
{
    const mv_scene *scene = mvt_view_frame(view);
    uint32_t count;
    const mv_device_row *rows = mv_device_rows(view, &count);
    float high = lane_height(view, count), bottom = view->timeline->plot.y;
    double unit = 0; /* bytes of a pixel in the first lane, and so in all lanes */

    cr_assert_eq(count, NAMES + 1);
    for (uint32_t i = 0; i < count; i++) {
        const mv_shape *area = area_of(view, scene, i, high);
        cr_assert_not_null(area, "%s", rows[i].name);
        bottom += high;
        float pixels = bottom - top_of(scene, area);
        if (i == 1)
            unit = (double)rows[i].peak / (double)pixels;
    }
    bottom = view->timeline->plot.y;
    for (uint32_t i = 0; i < count; i++) {
        float pixels = (bottom += high) - top_of(scene, area_of(view, scene, i, high));
        cr_assert_leq(fabs((double)pixels - (double)rows[i].peak / unit), 1.1, "%s: %g of %g",
                      rows[i].name, (double)pixels, (double)rows[i].peak / unit);
    }
}

ViewTest(pane_ranks, a_scale_of_its_own_fills_each_lane, ranks_of(names, NAMES))
{
    uint32_t count;

    const mv_scene *scene = mvt_view_do(view, MV_DO_own_scales, 0);
    mv_device_rows(view, &count);
    float high = lane_height(view, count);
    for (uint32_t i = 0; i < count; i++) {
        float top = top_of(scene, area_of(view, scene, i, high));
        float begin = view->timeline->plot.y + high * (float)i;
        cr_assert_leq(top, begin + high * 0.6f, "lane %u", i);
        cr_assert_geq(top, begin, "lane %u", i);
    }
}

enum { MOST_COLUMNS = 4096 };

/* Finds the columns with a tick at the bottom of a lane. */
static void find_ticks(const mv_view *view, const mv_scene *scene, float bottom, bool *out)
{
    const mv_box *plot = &view->timeline->plot;

    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind != MV_SHAPE_RECTS || s->fill != view->ui.theme->outline)
            continue;
        for (uint32_t k = s->first; k + 1 < s->first + s->count; k += 2) {
            const mv_point *a = &scene->points[k], *b = a + 1;
            if (b->x == a->x + 1 && b->y == bottom && a->y >= bottom - 5 && a->x >= plot->x)
                out[(uint32_t)(a->x - plot->x)] = true;
        }
    }
}

/* Exactly those columns in which a hit is allocated must have a tick, on each lane for the lane's
 * device. */
ViewTest(pane_ranks, every_lane_marks_its_hits, ranks_of(names, NAMES))
{
    uint32_t count, lanes = 0;

    mv_search_set(view, "size>=1M life<2000");
    const mv_scene *scene = mvt_view_frame(view);
    const mv_device_row *rows = mv_device_rows(view, &count);
    float high = lane_height(view, count);
    float bottom = view->timeline->plot.y;
    for (uint32_t i = 0; i < count; i++) {
        bool want[MOST_COLUMNS] = {0}, got[MOST_COLUMNS] = {0};
        const mv_envelope *e = &view->timeline->ranks->lanes[i].columns;
        const mv_alloc_lives *a = &rows[i].shown->lives.allocs;
        mv_filter_bits bits;
        uint32_t column, marked = 0;
        cr_assert(mv_search_allocs(mvt_memory(), &rows[i].document->trace, rows[i].shown, true,
                                   view->now->search, &bits));
        for (uint32_t r = a->preexisting; r < a->count; r++)
            if (mv_filter_has(&bits, r) && mv_envelope_column(e, a->birth[r], &column))
                want[column] = true;
        find_ticks(view, scene, bottom += high, got);
        for (uint32_t c = 0; c < e->count; c++) {
            marked += got[c];
            cr_assert_eq(got[c], want[c], "%s: column %u", rows[i].name, c);
        }
        lanes += marked > 0;
    }
    cr_expect_geq(lanes, 4);
}

/* ---- numbers and names -------------------------------------------------------------------- */

static bool says_in(const mv_scene *scene, const char *text, float y0, float y1)
{
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind == MV_SHAPE_TEXT && strcmp(s->text, text) == 0 &&
            scene->points[s->first].y > y0 && scene->points[s->first].y < y1)
            return true;
    }
    return false;
}

static bool is_tip(const mv_ui *ui, const char *text)
{
    for (uint32_t i = 0; i < ui->zone_count; i++)
        if (ui->zones[i].tip && strcmp(ui->zones[i].tip, text) == 0)
            return true;
    return false;
}

ViewTest(pane_ranks, lanes_have_the_numbers_and_names_of_the_reports, ranks_of(names, NAMES))
{
    uint32_t count;
    float y;

    mv_view_move_cursor(view, 5000);
    const mv_scene *scene = mvt_view_frame(view);
    const mv_device_row *rows = mv_device_rows(view, &count);
    mv_compared_ranks *found = mv_ranks_find(
        mvt_memory(), NULL, &(mv_ranks_query){view->documents, view->document_count, count});
    cr_assert_not_null(found);
    y = view->timeline->plot.y;
    for (uint32_t i = 0; i < count; i++, y += lane_height(view, count)) {
        float end = y + lane_height(view, count);
        mv_alignment to = mv_rank_alignment(view, &rows[i]);
        char size[MV_SIZE_TEXT];
        mv_pyramid_reader levels;
        uint32_t moment;
        cr_assert_str_eq(rows[i].name, found->found.names[i]);
        cr_assert(says_in(scene, rows[i].name, y, end), "%s", rows[i].name);
        cr_assert(says_in(scene, mv_size_text(size, rows[i].shown->attribution.peak), y, end),
                  "%s: no peak %s", rows[i].name, size);
        mv_pyramid_reader_init(&levels, &rows[i].shown->pyramid);
        cr_assert(mv_alignment_moment(&to, 5000, &moment), "%s", rows[i].name);
        mv_size_text(size, mv_pyramid_at(&levels, moment).allocated);
        cr_assert(says_in(scene, size, y, end), "%s: no value %s", rows[i].name, size);
    }
    cr_assert(mvt_scene_says(scene, mvt_format("%.40s", found->found.verdict)), "no text %s",
              found->found.verdict);
    cr_assert(is_tip(&view->ui, found->found.verdict), "no tip %s", found->found.verdict);
    for (uint32_t i = 0; i < found->found.count; i++) {
        const mv_rank_outlier *o = &found->found.outliers[i];
        const mv_zone *zone = mvt_view_zone(view, MV_DO_show_rank, o->rank);
        cr_assert_not_null(zone);
        cr_assert(strstr(zone->tip, o->text), "%s: %s", zone->tip, o->text);
    }
}

/* The reports are ready: "oom" ran out of memory, and "leak_in_training" leaks. */
Test(pane_ranks, lanes_are_sorted_by_peak_or_by_verdict)
{
    static const char *const by_peak[] = {"oom", "gpt_train", "leak_in_training"};
    mv_view *view = ranks_of(names, NAMES);
    uint64_t last = UINT64_MAX;
    bool has_plain = false;
    uint32_t count;

    mv_device_rows(view, &count);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(mv_rank_row(view, i)->file, i < 4 ? i : i - 1);
    mvt_view_do(view, MV_DO_next_lane_order, 0);
    for (uint32_t i = 0; i < count; i++) {
        const mv_device_row *row = mv_rank_row(view, i);
        cr_assert_leq(row->peak, last);
        last = row->peak;
        if (i < 3)
            cr_assert(mvt_view_zone(view, MV_DO_show_rank, i) &&
                          strstr(mvt_view_zone(view, MV_DO_show_rank, i)->tip, by_peak[i]),
                      "lane %u: %s", i, row->name);
    }
    mvt_view_do(view, MV_DO_next_lane_order, 0);
    for (uint32_t i = 0; i < count; i++) { /* the tip of a rank that differs has the reason */
        const char *tip = mvt_view_zone(view, MV_DO_show_rank, i)->tip;
        bool differs = strchr(strstr(strchr(tip, '\n') + 1, "\n") + 1, '\n') != NULL;
        cr_assert(!differs || !has_plain, "%s", tip);
        has_plain = has_plain || !differs;
    }
    cr_assert(has_plain);
    cr_assert(mv_view_do(view, MV_DO_show_rank, 0));
    cr_assert_eq(view->now->file, 0, "%u", view->now->file);
}

/* The minimap used to be as wide as the window, although the lanes begin after the names. */
ViewTest(pane_ranks, minimap_is_as_wide_as_the_lanes, ranks_of(names, NAMES))
{
    cr_assert_eq(view->timeline->map_at.box.x, roundf(view->timeline->plot.x));
    cr_assert_eq(view->timeline->map_at.box.w, floorf(view->timeline->plot.w));
}

/* ---- many ---------------------------------------------------------------------------------- */

static mvt_trace *small(uint32_t blocks)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 256 * MIB);
    for (uint32_t i = 0; i < blocks; i++)
        mvt_alloc(t, .addr = 0x10000000 + i * MIB, .bytes = MIB, .stack = "step:train.py:5");
    mvt_final_heap(t);
    return t;
}

static mv_view *many(uint32_t count)
{
    mv_view *view = mvt_view_of(small(10));

    for (uint32_t i = 1; i < count; i++)
        mvt_view_open(view, mvt_temp_file(mvt_snapshot_bytes(small(10 + i % 3))));
    cr_assert(mv_view_do(view, MV_DO_show_ranks, 0));
    return view;
}

static uint32_t lanes_in(const mv_view *view)
{
    uint32_t lanes = 0;

    for (uint32_t i = 0; i < view->ui.zone_count; i++)
        lanes += view->ui.zones[i].command == MV_DO_show_rank;
    return lanes;
}

LongTest(pane_ranks, many_lanes_scroll)
{
    mv_view *view = many(120);
    mv_box plot;

    mvt_view_frame(view);
    plot = view->timeline->plot;
    uint32_t shown = lanes_in(view);
    cr_assert_gt(shown, 10);
    cr_assert_lt(shown, 120);
    cr_assert_null(mvt_view_zone(view, MV_DO_show_rank, 119));
    for (int i = 0; i < 60; i++)
        mv_view_input(
            view,
            &(mv_input){.kind = MV_INPUT_WHEEL, .x = plot.x - 40, .y = plot.y + 20, .dy = -1});
    mvt_view_frame(view);
    cr_assert_not_null(mvt_view_zone(view, MV_DO_show_rank, 119));
    cr_assert_eq(lanes_in(view), shown);
}

/* The keyboard must reach lanes that are not shown, and Enter must open one. */
LongTest(pane_ranks, keys_reach_every_lane)
{
    mv_view *view = many(120);

    mvt_view_frame(view);
    for (int i = 0; i < 5 && view->spot.command != MV_DO_show_rank; i++) {
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = MV_KEY_TAB});
        for (int k = 0; k < 4 && view->spot.place == MV_PART_MAIN; k++)
            if (view->spot.command != MV_DO_show_rank)
                mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = MV_KEY_DOWN});
        mvt_view_frame(view);
    }
    cr_assert_eq(view->spot.command, MV_DO_show_rank);
    for (int i = 0; i < 200; i++) {
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = MV_KEY_DOWN});
        if (view->spot.arg == 119)
            break;
    }
    mvt_view_frame(view);
    cr_assert_eq(view->spot.arg, 119);
    cr_assert_not_null(mvt_view_zone(view, MV_DO_show_rank, 119));
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = MV_KEY_ENTER});
    cr_assert_eq(view->now->file, 119);
    cr_assert_eq(view->now->main, MV_MAIN_TIMELINE);
}

LongTest(pane_ranks, texts_are_readable)
{
    static const float widths[] = {800, 1280, 1920};
    mv_view *views[] = {ranks_of(names, NAMES), many(60)};

    for (uint32_t v = 0; v < 2; v++)
        for (int dark = 0; dark < 2; dark++)
            for (uint32_t i = 0; i < 3; i++) {
                mv_view_write_desk(views[v])->is_dark = dark;
                const mv_scene *scene = mvt_view_sized(views[v], widths[i], 720);
                mvt_scene_check_texts(scene, "ranks");
                mvt_scene_check_contrasts(scene, "ranks");
            }
}

ViewTest(pane_ranks, a_click_goes_to_that_device_and_place, ranks_of(names, NAMES))
{
    uint32_t count, moment;
    const mv_device_row *rows = mv_device_rows(view, &count);
    mv_box plot = view->timeline->plot;
    float x = plot.x + floorf(plot.w / 2) + 7, y = plot.y + lane_height(view, count) * 1.5f;
    mv_alignment to = mv_rank_alignment(view, &rows[1]);

    cr_assert(mv_alignment_moment(
        &to, mv_viewport_border(&view->timeline->at, (uint32_t)(x - plot.x)), &moment));
    mvt_view_click(view, x, y);
    cr_assert_eq(view->now->file, 1);
    cr_assert_eq(view->now->main, MV_MAIN_TIMELINE);
    cr_assert_eq(view->now->cursor, moment, "%u, not %u", view->now->cursor, moment);
    mvt_view_do(view, MV_DO_back, 0);
    cr_assert_eq(view->now->file, 0);
    cr_assert_eq(view->now->main, MV_MAIN_RANKS);
}

/* A drag must select events of the shown device, as on the device's timeline. */
ViewTest(pane_ranks, a_drag_selects_events, ranks_of(names, NAMES))
{
    mv_box plot = view->timeline->plot;

    mvt_view_point(view, MV_INPUT_MOVE, plot.x + 100, plot.y + 9, 0);
    mvt_view_point(view, MV_INPUT_PRESS, plot.x + 100, plot.y + 9, 0);
    mvt_view_point(view, MV_INPUT_MOVE, plot.x + 300, plot.y + 9, 0);
    mvt_view_point(view, MV_INPUT_RELEASE, plot.x + 300, plot.y + 9, 0);
    cr_assert(view->now->has_interval);
    cr_assert_eq(view->now->main, MV_MAIN_RANKS);
}

/* Returns the row of the nth painted lane. */
static uint32_t placed_row(const mv_view *view, uint32_t nth)
{
    const mv_ranks_pane *pane = view->timeline->ranks;

    return nth < pane->placed ? pane->order[pane->placed_lane[nth]] : MV_NO_ROW;
}

ViewTest(pane_ranks, lanes_are_moved_pinned_and_folded, ranks_of(names, NAMES))
{
    const mv_ranks_pane *pane = view->timeline->ranks;

    mv_view_do(view, MV_DO_lane_up, 3); /* lanes are counted from 1 */
    mvt_view_frame(view);
    cr_expect_eq(placed_row(view, 0), 0);
    cr_expect_eq(placed_row(view, 1), 2);
    cr_expect_eq(placed_row(view, 2), 1);
    cr_expect_eq(view->now->lane_order, MV_LANES_CHOSEN);
    mv_view_do(view, MV_DO_lane_up, 1); /* there is none above it */
    mvt_view_do(view, MV_DO_lane_pin, 3);
    cr_expect_eq(placed_row(view, 0), 1);
    cr_expect_eq(placed_row(view, 1), 0);
    mv_view_do(view, MV_DO_lane_up, 2); /* pinned lanes stay above the others */
    mvt_view_frame(view);
    cr_expect_eq(placed_row(view, 0), 1);
    float high = pane->placed_h[2];
    mv_view_do(view, MV_DO_lane_fold, 2);
    mv_view_state there = *view->now;
    mvt_view_frame(view);
    cr_expect_eq(pane->placed_h[1], MV_RANK_LEAST);
    cr_expect_gt(pane->placed_h[2], high); /* the others get its room */
    cr_expect(strncmp(view->now->lanes, "+1:0 -0:0 2:0 ", 14) == 0, "%s", view->now->lanes);
    mv_view_do(view, MV_DO_lane_fold, 2);
    mvt_view_do(view, MV_DO_lane_pin, 1);
    cr_expect_eq(pane->placed_h[0], pane->placed_h[1]);
    mv_view_put(view, &there);
    mvt_view_frame(view);
    cr_expect_eq(placed_row(view, 0), 1);
    cr_expect_eq(pane->placed_h[1], MV_RANK_LEAST);
}

/* A pinned lane stays visible while the others scroll. The keyboard moves its current lane. */
LongTest(pane_ranks, pinned_lanes_do_not_scroll)
{
    mv_view *view = many(120);
    mv_box plot;

    mvt_view_frame(view);
    mv_view_do(view, MV_DO_lane_pin, 8);
    mvt_view_do(view, MV_DO_lane_pin, 9);
    plot = view->timeline->plot;
    for (int i = 0; i < 60; i++)
        mv_view_input(
            view,
            &(mv_input){.kind = MV_INPUT_WHEEL, .x = plot.x - 40, .y = plot.y + 200, .dy = -1});
    mvt_view_frame(view);
    cr_expect_eq(placed_row(view, 0), 7);
    cr_expect_eq(placed_row(view, 1), 8);
    cr_expect_eq(placed_row(view, view->timeline->ranks->placed - 1), 119);
    view->spot.is_shown = true;
    view->spot.command = MV_DO_show_rank;
    view->spot.arg = 119;
    mvt_view_do(view, MV_DO_lane_up, 0);
    cr_expect_eq(view->spot.arg, 118);
    cr_expect_eq(placed_row(view, view->timeline->ranks->placed - 1), 118);
}

/* All memory levels of a capture, one below the other; a click shows the level. */
ViewTest(pane_ranks, levels_have_lanes, mvt_view("train"))
{
    const mv_level_list *levels = mv_view_levels(view);
    uint32_t shown = mv_view_level(view);

    cr_assert_gt(levels->count, 2);
    mvt_view_do(view, MV_DO_level_lanes, 0);
    cr_assert_eq(view->now->main, MV_MAIN_RANKS);
    cr_expect_eq(view->timeline->ranks->placed, levels->count);
    for (uint32_t i = 0; i < levels->count; i++)
        if (i != shown)
            cr_expect(mvt_scene_says(&view->ui.scene, levels->name[i]), "%s", levels->name[i]);
    const mv_device_row *row = mv_rank_row(view, 1);
    cr_assert(row && row->level && row->shown);
    mv_view_do(view, MV_DO_show_rank, 1);
    cr_expect_str_eq(view->now->level, row->level);
    mv_view_do(view, MV_DO_back, 0);
    mvt_view_do(view, MV_DO_level_lanes, 0);
    cr_expect_eq(view->timeline->ranks->placed, 1);
}
