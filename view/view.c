
#include <math.h>
#include <time.h>

#include "base/processors.h"
#include "view/chrome/menu.h"
#include "view/frame/file_badge.h"
#include "view/intents/intents.h"
#include "view/panes/panes.h"
#include "view/timeline/pane_timeline.h"
#include "viz/core/background.h"

enum { MOST_WORKERS = 4, TIP_MS = 350, MOST_FRAMES = 400, FRAME_MS = 16, ONE_ROW = 28 };

static const mv_scene *bare_frame(mv_view *view);

/* ---- opening ----------------------------------------------------------------------------- */

static void wake(void *user)
{
    const mv_view *view = user;

    if (view->opts.wake)
        view->opts.wake(view->opts.user);
}

static uint32_t worker_count(const mv_view_opts *opts)
{
    uint32_t processors = mv_processors();

    if (!opts->is_threaded)
        return 0;
    if (opts->is_cooperative)
        return MV_COOPERATIVE;
    return processors < 3 ? 1 : processors > MOST_WORKERS ? MOST_WORKERS : processors - 1;
}

static bool open_parts(mv_view *view)
{
    uint32_t workers = worker_count(&view->opts);

    view->chrome = mv_push_struct(&view->arena, mv_chrome);
    view->row_field = mv_push_struct(&view->arena, mv_text_field);
    if (!view->chrome || !view->row_field)
        return false;
    mv_arena_init(&view->chrome->open.arena, view->budget);
    view->loader =
        mv_loader_open(&view->arena, view->budget, workers, view->opts.readers, wake, view);
    view->jobs = mv_jobs_open(&view->arena, view->budget, workers, wake, view);
    if (!view->loader || !view->jobs)
        return false;
    return mv_intents_open(view) && mv_search_open(view) && mv_verdicts_open(view) &&
           mv_whatif_open(view) && mv_timeline_pane_open(view) && mv_panels_open(view);
}

static void read_keys(mv_view *view)
{
    char why[128];
    uint32_t line;

    mv_keymap_init(&view->keymap);
    if (!view->opts.keys)
        return;
    line = mv_keymap_read(&view->arena, &view->keymap, view->opts.keys, why, sizeof why);
    if (line)
        mv_view_say(view, true, "key file, line %u: %s; the rest is ignored", line, why);
}

mv_view *mv_view_open(mv_budget *budget, const mv_view_opts *opts)
{
    mv_arena arena;
    mv_view *view;

    mv_arena_init(&arena, budget);
    view = mv_push_struct(&arena, mv_view);
    if (!view)
        return NULL;
    *view = (mv_view){.opts = *opts, .budget = budget, .arena = arena, .bare_frame = bare_frame};
    mv_arena_init(&view->frame_arena, budget);
    mv_arena_init(&view->names.arena, budget);
    view->hover = view->hover_segment = MV_NO_ROW;
    view->spot.place = MV_PART_LOWER;
    view->ui = (mv_ui){.frame = &view->frame_arena, .pointer_x = -1, .pointer_y = -1};
    view->ui.scale = opts->scale > 0 ? opts->scale : 1;
    mv_scene_init(&view->ui.scene, &view->frame_arena, 0, 0, 0);
    if (!open_parts(view)) {
        mv_view_close(view);
        return NULL;
    }
    read_keys(view);
    mv_arena_push(&view->frame_arena, 1, 1);
    view->chrome->frame_start = mv_arena_here(&view->frame_arena);
    return view;
}

void mv_view_close(mv_view *view)
{
    mv_arena arena;

    if (!view)
        return;
    /* Readers are closed before the data that they read. */
    if (view->timeline)
        mv_timeline_pane_close(view);
    mv_jobs_close(view->jobs);
    mv_loader_close(view->loader);
    if (view->panels)
        mv_panels_close(view);
    if (view->whatif_slot)
        mv_whatif_release(&view->whatif_shared);
    if (view->chrome)
        mv_arena_release(&view->chrome->open.arena);
    mv_arena_release(&view->names.arena);
    mv_arena_release(&view->frame_arena);
    arena = view->arena;
    mv_arena_release(&arena);
}

/* ---- the frame --------------------------------------------------------------------------- */

static void (*const painters[MV_PANE_COUNT])(mv_view *, mv_box) = {
    [MV_PANE_TIMELINE] = mv_timeline_paint, [MV_PANE_MINIMAP] = mv_minimap_paint,
    [MV_PANE_STATE] = mv_state_paint,       [MV_PANE_RANKS] = mv_ranks_paint,
    [MV_PANE_FLAME] = mv_flame_paint,       [MV_PANE_TABLES] = mv_tables_paint,
    [MV_PANE_DETAILS] = mv_details_paint,   [MV_PANE_REPORTS] = mv_reports_paint,
    [MV_PANE_WHATIF] = mv_whatif_paint};

static void paint_pane(mv_view *view, mv_pane pane, mv_box box)
{
    if (box.w < 1 || box.h < 1)
        return;
    if (mv_ui_is_hot(&view->ui, box))
        view->hover = view->hover_segment = MV_NO_ROW;
    mv_scene_clip(&view->ui.scene, box.x, box.y, box.w, box.h);
    painters[pane](view, box);
    mv_scene_unclip(&view->ui.scene);
}

static void paint_panes(mv_view *view)
{
    const mv_view_layout *l = &view->chrome->layout;
    mv_ui *ui = &view->ui;

    mv_scroll_show(view);
    paint_pane(view, mv_chrome_main(view), l->main);
    paint_pane(view, MV_PANE_MINIMAP, l->minimap);
    mv_ui_fill(ui, l->splitter, ui->theme->grid);
    mv_tabs_paint(view, l->tabs);
    paint_pane(view, mv_chrome_lower(view), l->lower);
    mv_scroll_keep(view);
}

static void paint_overlay(mv_view *view, mv_box box)
{
    static void (*const overlays[MV_FOCUS_COUNT])(mv_view *, mv_box) = {
        [MV_FOCUS_PALETTE] = mv_command_list_paint, [MV_FOCUS_OPEN] = mv_open_paint,
        [MV_FOCUS_EXPORT] = mv_export_paint,        [MV_FOCUS_GO] = mv_go_paint,
        [MV_FOCUS_BOOKMARK] = mv_bookmark_paint,    [MV_FOCUS_MENU] = mv_menu_paint,
        [MV_FOCUS_DEVICES] = mv_device_list_paint};

    if (view->desk->has_help)
        mv_help_paint(view, box);
    else if (overlays[view->desk->focus])
        overlays[view->desk->focus](view, box);
    else if (view->desk->tour && view->desk->focus == MV_FOCUS_PANES && mv_view_device(view))
        mv_tour_paint(view, box);
    else
        mv_search_paint(view);
}

/* Returns what a button does, and its key. Rows and boxes of panes have no keys for their commands,
 * and describe themselves. */
static const char *tip_of(mv_view *view, const mv_zone *zone)
{
    const mv_view_command *command = &mv_view_commands[zone->command];
    const char *keys = view->keymap.keys[zone->command];
    size_t first = strcspn(keys, " ");

    if (zone->tip || first == 0)
        return zone->tip;
    return mv_scene_format(&view->ui.scene, "%s (%.*s). %s", command->title, (int)first, keys,
                           command->help);
}

/* Returns the next line of a text, NUL-terminated in frame memory. *text then points after that
 * line. */
static const char *next_line(mv_ui *ui, const char **text)
{
    size_t length = strcspn(*text, "\n");
    const char *line = mv_arena_text(ui->frame, *text, length);

    *text += length + ((*text)[length] == '\n');
    return line ? line : "";
}

static float widest(mv_ui *ui, const char *text)
{
    float width = 0;

    while (*text)
        width = fmaxf(width, mv_ui_text_width(ui, MV_UI_SMALL, next_line(ui, &text)));
    return width;
}

/* Returns the tooltip, wrapped into more lines if it is wider than the window. */
static const char *tip_that_fits(mv_ui *ui, const char *text, float most)
{
    uint32_t letters = (uint32_t)strlen(text);
    const char *broken = text;

    while (letters > 20 && widest(ui, broken) > most) {
        letters -= letters / 8;
        broken = mv_ui_broken(ui, text, letters);
    }
    return broken;
}

/* Returns where a tooltip of this size goes. The tooltip of a button, a column head or a row is above
 * it, since what the user reads next is below, and a finger covers that anyway; at the top of the
 * window it is below. The tooltip of a row in a legend beside the picture is to the left of the row.
 * In a larger zone, such as the picture, the tooltip is below the pointer. */
static mv_box place_tip(const mv_ui *ui, const mv_zone *zone, float width, float height)
{
    float pad = mv_ui_px(ui, 6), gap = mv_ui_px(ui, 3);
    mv_box box = {ui->pointer_x + pad, ui->pointer_y + mv_ui_px(ui, 18),
                  fminf(width, ui->scene.width - 2 * pad), height};

    box.x = fmaxf(pad, fminf(box.x, ui->scene.width - pad - box.w));
    if (zone->command == MV_DO_legend_row && zone->box.x - box.w - pad > 0) {
        box.x = zone->box.x - box.w - pad;
        box.y = zone->box.y;
    } else if (zone->box.h <= mv_ui_px(ui, ONE_ROW)) {
        box.y = zone->box.y - gap - height;
        if (box.y < 0)
            box.y = zone->box.y + zone->box.h + gap;
    }
    if (box.y + box.h > ui->scene.height)
        box.y = fminf(ui->pointer_y, zone->box.y + zone->box.h) - box.h - pad;
    return box;
}

static void paint_tip_lines(mv_ui *ui, const char *text, const mv_zone *zone)
{
    float pad = mv_ui_px(ui, 6), line = mv_ui_px(ui, MV_UI_LINE - 2);
    uint32_t count = 0;
    mv_box box;

    text = tip_that_fits(ui, text, ui->scene.width - 4 * pad - 2);
    for (const char *at = text; *at; count++)
        next_line(ui, &at);
    box =
        place_tip(ui, zone, widest(ui, text) + 2 * pad + 2, line * (float)count + mv_ui_px(ui, 4));
    mv_ui_fill(ui, box, ui->theme->background);
    mv_ui_frame(ui, box, ui->theme->faint_text);
    box = (mv_box){box.x + pad, box.y + mv_ui_px(ui, 2), box.w - 2 * pad, line};
    for (const char *at = text; *at; box.y += line)
        mv_ui_text(ui, box, MV_UI_SMALL, ui->theme->text, MV_ANCHOR_START, next_line(ui, &at));
}

static void paint_tip(mv_view *view)
{
    mv_ui *ui = &view->ui;
    const mv_zone *zone = mv_ui_zone_at(ui, ui->pointer_x, ui->pointer_y);
    bool is_covered = zone && mv_chrome_is_covered(view) &&
                      (uint32_t)(zone - ui->zones) < view->chrome->overlay_zone;
    const char *text = zone && !view->chrome->captured && !is_covered ? tip_of(view, zone) : NULL;

    if (!text || !*text)
        return;
    if (view->ms > 0 && view->ms < view->chrome->moved_ms + TIP_MS) {
        ui->is_animating = true;
        return;
    }
    paint_tip_lines(ui, text, zone);
}

void mv_view_frame_begin(mv_view *view, float width, float height, double ms)
{
    mv_ui *ui = &view->ui;

    view->ms = ms;
    view->requested = MV_NO_BYTES;
    mv_arena_rewind(&view->frame_arena, view->chrome->frame_start);
    ui->theme = mv_theme_of(view->desk->is_dark);
    ui->scale = (float)view->desk->scale;
    mv_scene_clear(&ui->scene, width, height, ui->theme->background);
    ui->zones = NULL;
    ui->zone_count = ui->zone_capacity = ui->list_count = 0;
    ui->has_no_buttons = view->chrome->only_panes;
    ui->is_animating = false;
    ui->ran_out_of_memory = false;
    view->chrome->hover_before = view->hover;
    view->chrome->hover_segment_before = view->hover_segment;
    mv_view_settle(view);
    mv_search_update(view);
    mv_verdicts_update(view);
    mv_whatif_update(view);
}

static void paint_frame(mv_view *view, float width, float height, double ms)
{
    mv_chrome *c = view->chrome;
    mv_ui *ui = &view->ui;
    float x = ui->pointer_x, y = ui->pointer_y;
    mv_box ignored, below;

    mv_view_frame_begin(view, width, height, ms);
    mv_chrome_lay_out(view, width, height);
    if (mv_chrome_is_covered(view) || c->only_panes)
        ui->pointer_x = ui->pointer_y = -1;
    if (mv_chrome_pane_at(view, ui->pointer_x, ui->pointer_y, &ignored) == MV_PANE_NONE)
        view->hover = view->hover_segment = MV_NO_ROW;
    if (!mv_loading_paint(view, c->layout.main))
        paint_panes(view);
    if (c->only_panes)
        mv_file_heading_paint(view, c->layout.toolbar);
    else
        mv_toolbar_paint(view, c->layout.toolbar);
    if (c->layout.banner.h > 0)
        mv_loading_banner(view, c->layout.banner);
    mv_status_bar_paint(view, c->layout.status);
    ui->pointer_x = x;
    ui->pointer_y = y;
    if (c->only_panes)
        return;
    mv_spot_paint(view);
    view->spot.has_moved = false;
    below =
        (mv_box){0, c->layout.toolbar.h, width, height - c->layout.toolbar.h - c->layout.status.h};
    c->overlay_zone = ui->zone_count;
    c->overlay_shape = ui->scene.shape_count;
    paint_overlay(view, below);
    paint_tip(view);
}

const mv_scene *mv_view_frame(mv_view *view, float width, float height, double ms)
{
    uint64_t before = mv_jobs_missed(view->jobs);

    paint_frame(view, width, height, ms);
    view->chrome->dropped = 0;
    view->is_incomplete = mv_jobs_missed(view->jobs) != before;
    return &view->ui.scene;
}

bool mv_view_is_animating(const mv_view *view)
{
    return view->ui.is_animating || view->hover != view->chrome->hover_before ||
           view->hover_segment != view->chrome->hover_segment_before;
}

bool mv_view_is_idle(const mv_view *view)
{
    return !view->is_incomplete && mv_loader_is_idle(view->loader) &&
           mv_jobs_are_idle(view->jobs) && mv_timeline_is_idle(view) && !mv_view_is_animating(view);
}

/* Paints the frame without overlays and buttons. The frame is complete, because this function waits
 * until other threads have finished all missing tiles and tables. */
static const mv_scene *bare_frame(mv_view *view)
{
    float width = view->ui.scene.width, height = view->ui.scene.height;
    const mv_scene *scene;

    view->chrome->only_panes = true;
    scene = mv_view_frame(view, width, height, view->ms);
    for (int i = 0; i < MOST_FRAMES && !mv_view_is_idle(view); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        scene = mv_view_frame(view, width, height, view->ms > 0 ? view->ms + FRAME_MS : 0);
    }
    view->chrome->only_panes = false;
    return scene;
}

bool mv_view_run_one_task(mv_view *view)
{
    return mv_timeline_run_one_task(view) || mv_jobs_run_one_task(view->jobs) ||
           mv_loader_run_one_task(view->loader);
}
