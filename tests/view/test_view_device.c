/* The lane for the whole device and the ledger's tab: their numbers must equal those of `memviz
 * ledger`, and a colour in the legend must be a colour in the picture. */
#include "base/size.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"
#include "view/timeline/device_lane.h"
#include "view/timeline/pane_timeline.h"
#include "viz/scene/raster.h"

static const cJSON *ledger_at(const char *name, uint32_t event)
{
    return mvt_member(
        mvt_json(0, "$MEMVIZ ledger --json --limit 0 --at %u %s", event, mvt_snapshot(name)),
        "devices.0");
}

/* ---- the tab ----------------------------------------------------------------------------- */

static mv_cell cell(const mv_listing *table, uint32_t row, uint32_t column)
{
    return table->cells[(uint64_t)table->order[row] * table->column_count + column];
}

static void expect_tab(mv_view *view, const char *name, uint32_t event)
{
    const cJSON *ledger = ledger_at(name, event), *row;
    const mv_listing *table;
    uint32_t i = 0;

    mvt_view_do(view, MV_DO_go_to_event, event);
    cr_assert_eq(view->now->tab, MV_TAB_LEDGER);
    table = &view->panels->table_shown->table;
    cJSON_ArrayForEach(row, mvt_member(ledger, "by")) {
        cr_assert_eq((double)cell(table, i, 0).number, mvt_json_number(row, "bytes"), "%s %u", name,
                     event);
        cr_assert_eq((double)cell(table, i, 2).number, mvt_json_number(row, "count"));
        cr_assert_str_eq(cell(table, i, 3).text, mvt_json_text(row, "name"));
        cr_assert_str_eq(cell(table, i, 4).text, mvt_json_text(row, "api"));
        i++;
    }
    cr_assert_eq(table->count, i + 2);
    cr_assert_eq((double)(int64_t)cell(table, i, 0).number,
                 mvt_json_number(ledger, "context_estimate"));
    cr_assert_eq((double)(int64_t)cell(table, i + 1, 0).number,
                 mvt_json_number(ledger, "unexplained"));
    cr_assert_eq((double)table->total[0].number, mvt_json_number(ledger, "used"));
}

LongTest(view_device, the_tab_has_the_numbers_of_the_ledger, .timeout = 250)
{
    static const char *const names[] = {"train", "sleep", "cupy_leak", "pinned_leak"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view_at_level(names[i], NULL);
        uint32_t events = mv_view_device(view)->lives.events.count;
        mv_view_do(view, MV_DO_show_ledger, 0);
        expect_tab(view, names[i], 0);
        expect_tab(view, names[i], events / 3);
        expect_tab(view, names[i], events - 1);
        mvt_end_now(view);
    }
}

ViewTest(view_device, a_row_of_the_tab_leads_to_the_blocks_of_the_library,
         mvt_view_at_level("sleep", NULL))
{
    const mv_listing *table;
    uint64_t held = 0;
    uint32_t row = 0;

    mvt_view_do(view, MV_DO_show_ledger, 0);
    table = &view->panels->table_shown->table;
    while (strcmp(cell(table, row, 3).text, "cuBLAS") != 0)
        row++;
    held = cell(table, row, 0).number;
    mvt_view_do(view, MV_DO_table_row, row);
    cr_assert_str_eq(mv_view_document(view)->trace.origin.level, "cuda");
    cr_assert_str_empty(view->search_why);
    cr_assert_eq(view->timeline->legend.hits.bytes, held);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_str_empty(view->now->level);
}

ViewTest(view_device, files_without_calls_have_neither, mvt_view("gpt_train"))
{
    mvt_view_frame(view);
    cr_assert_not(mv_view_command_is_enabled(view, MV_DO_show_ledger));
    cr_assert_not(mv_view_command_is_enabled(view, MV_DO_show_device));
    cr_assert_null(mvt_view_zone(view, MV_DO_show_ledger, UINT64_MAX));
    for (uint32_t i = 0; i < MV_TAB_COUNT; i++) {
        cr_assert_neq(view->now->tab, MV_TAB_LEDGER);
        mv_view_do(view, MV_DO_next_tab, 0);
    }
}

/* ---- the lane ---------------------------------------------------------------------------- */

/* Returns the bytes next to a name in the lane's legend, or "" if the row is missing. */
static const char *legend_text(const mv_scene *scene, const char *name)
{
    const mv_shape *text = mvt_scene_text(scene, name);

    return text && text[1].kind == MV_SHAPE_TEXT ? text[1].text : "";
}

static double sum_of(const cJSON *ledger, const char *library)
{
    const cJSON *row;
    double sum = 0;

    cJSON_ArrayForEach(row, mvt_member(ledger, "by")) {
        if (strcmp(mvt_json_text(row, "name"), library) == 0)
            sum += mvt_json_number(row, "bytes");
    }
    return sum;
}

static void expect_bytes(const mv_scene *scene, const char *name, double bytes)
{
    char size[MV_SIZE_TEXT];

    cr_assert_str_eq(legend_text(scene, name), mv_size_signed_text(size, (int64_t)bytes), "%s",
                     name);
}

static void expect_legend(mv_view *view, const cJSON *ledger)
{
    const mv_scene *scene = mvt_view_frame(view);
    const cJSON *row;

    expect_bytes(scene, "in use, as sampled by NVML", mvt_json_number(ledger, "used"));
    expect_bytes(scene, "context, code (estimate)", mvt_json_number(ledger, "context_estimate"));
    expect_bytes(scene, "unexplained", mvt_json_number(ledger, "unexplained"));
    cJSON_ArrayForEach(row, mvt_member(ledger, "by")) {
        const char *library = mvt_json_text(row, "name");
        if (strcmp(library, "PyTorch") != 0)
            expect_bytes(scene, library, sum_of(ledger, library));
    }
}

LongTest(view_device, the_legend_has_the_numbers_of_the_ledger, .timeout = 250)
{
    static const char *const names[] = {"train", "sleep", "cupy_leak"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view_at_level(names[i], NULL);
        uint32_t events = mv_view_device(view)->lives.events.count;
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t event = (events - 1) * k / 2;
            mv_view_do(view, MV_DO_go_to_event, event);
            expect_legend(view, ledger_at(names[i], event));
        }
        mvt_end_now(view);
    }
}

/* PyTorch's part is what its allocator reserves, split by the allocator's own figures. */
ViewTest(view_device, pytorch_is_split_into_allocated_and_unused_memory,
         mvt_view_at_level("train", "all"))
{
    mv_levels levels;

    const mv_scene *scene = mvt_view_do(view, MV_DO_peak, 0);
    levels = mv_pyramid_at(&view->levels, view->now->cursor);
    expect_bytes(scene, "PyTorch: not in use", (double)(levels.reserved - levels.allocated));
    expect_bytes(scene, "PyTorch: allocated",
                 sum_of(ledger_at("train", 0), "PyTorch") > 0
                     ? (double)levels.allocated - 128 * 1024 * 1024.0
                     : 0);
}

static const uint8_t *pixel(const mv_image *image, float x, float y)
{
    return image->pixels + 4 * ((uint64_t)y * image->width + (uint64_t)x);
}

/* Returns whether a column of the box has a pixel of that colour. */
static bool has_pixel(const mv_image *image, mv_box box, uint32_t column, const uint8_t *want)
{
    for (float y = box.y; y < box.y + box.h; y++)
        if (memcmp(pixel(image, box.x + (float)column, y), want, 4) == 0)
            return true;
    return false;
}

static void expect_colours(mv_view *view)
{
    const mv_scene *scene = mvt_view_frame(view);
    const mv_zone *zone = mvt_view_zone(view, MV_DO_go_to_event, UINT64_MAX);
    mv_raster *raster = mv_raster_open(view->budget, &(mv_raster_opts){0});
    const mv_device_lane *lane = view->timeline->device_shown;
    mv_raster_frame frame;
    uint32_t compared = 0;

    mvt_ok(mv_raster_next(raster, scene, &frame, mvt_err()));
    for (uint32_t part = 0; part < MV_DEVICE_UNEXPLAINED; part++) {
        const char *name = mv_device_part_name(lane, (mv_device_part)part);
        const mv_shape *text = name ? mvt_scene_text(scene, name) : NULL;
        uint32_t column = lane->ask.columns;
        for (uint32_t c = 4; c + 4 < lane->ask.columns; c++) /* where it is high */
            if (lane->parts[c].bytes[part] > (48 << 20))
                column = c;
        if (!text || column == lane->ask.columns)
            continue;
        const mv_point *swatch = &scene->points[text[-1].first]; /* before the row's texts */
        compared++;
        cr_assert(has_pixel(&frame.image, zone->box, column,
                            pixel(&frame.image, swatch->x + 2, swatch->y + 3)),
                  "%s", name);
    }
    cr_assert_geq(compared, 3);
    mv_raster_close(raster);
}

LongTest(view_device, a_colour_of_the_legend_is_in_the_lane)
{
    static const char *const names[] = {"train", "sleep", "cupy_leak"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view_at_level(names[i], NULL);
        expect_colours(view);
        mv_view_do(view, MV_DO_theme, 0);
        expect_colours(view);
        mvt_end_now(view);
    }
}

/* ---- the pointer, the switch -------------------------------------------------------- */

ViewTest(view_device, the_tip_is_the_ledger_of_the_pointers_time_and_a_click_goes_there,
         mvt_view_at_level("sleep", NULL))
{
    char size[MV_SIZE_TEXT];

    mvt_view_frame(view);
    const mv_zone *zone = mvt_view_zone(view, MV_DO_go_to_event, UINT64_MAX);
    mvt_view_point(view, MV_INPUT_MOVE, zone->box.x + zone->box.w / 2,
                   zone->box.y + zone->box.h / 2, 0);
    mvt_view_frame(view);
    zone = mvt_view_zone(view, MV_DO_go_to_event, UINT64_MAX);
    uint32_t event = (uint32_t)zone->arg;
    const cJSON *ledger = ledger_at("sleep", event);
    mv_size_text(size, (uint64_t)mvt_json_number(ledger, "used"));
    cr_assert_not_null(strstr(zone->tip, size), "%s", zone->tip);
    mv_size_text(size, (uint64_t)sum_of(ledger, "cuBLAS"));
    cr_assert_not_null(strstr(zone->tip, mvt_format("%s cuBLAS", size)), "%s", zone->tip);
    mvt_view_click(view, zone->box.x + zone->box.w / 2, zone->box.y + zone->box.h / 2);
    cr_assert_eq(view->now->cursor, event);
}

ViewTest(view_device, the_lane_can_be_switched_off, mvt_view_at_level("train", NULL))
{
    mvt_view_frame(view);
    float low = view->timeline->plot.h;
    cr_assert_not_null(mvt_view_zone(view, MV_DO_go_to_event, UINT64_MAX));
    mvt_view_do(view, MV_DO_show_device, 0);
    float high = view->timeline->plot.h;
    cr_assert_null(mvt_view_zone(view, MV_DO_go_to_event, UINT64_MAX));
    cr_assert_gt(high, low + 50);
    mvt_view_do(view, MV_DO_back, 0);
    cr_assert_eq(view->timeline->plot.h, low);
}
