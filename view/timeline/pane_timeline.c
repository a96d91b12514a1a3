#include "view/timeline/pane_timeline.h"

#include <math.h>

#include "analyze/events/recorder.h"
#include "view/timeline/device_lane.h"
#include "view/timeline/hit_ticks.h"
#include "view/timeline/pane_ranks.h"
#include "viz/core/background.h"

enum {
    EASE_MS = 110,
    FRAME_MS = 16,
    REST_MS = 80,    /* how long the scale must be unchanged before tiles become exact */
    SCALE_BITS = 24, /* precision of a scale in bits, for an error of 0.001 pixel in 10,000 */
    HEIGHT_BITS = 30,
    HEAD = 20,
    GUTTER = 78,
    RULER = 22,
    LEAST_PLOT = 60,   /* minimum height of the plot above the device's lane */
    LEAST_LEGEND = 60, /* minimum height of the legend below the picture, if it makes room */
    LEAST_DEVICE = 60, /* minimum height of the device's lane */
    PAPER_LEGEND = 26, /* width of the legend as a percentage of the pane's width */
    PAPER_LEAST_LEGEND = 236,
    PAPER_MOST_LEGEND = 340,
    PAPER_TIMES = 16,
    SPIKES = 13
};

/* ---- opening ------------------------------------------------------------------------------ */

static bool open_slots(mv_view *view, mv_timeline_pane *pane)
{
    mv_jobs *jobs = view->jobs;

    for (int i = 0; i < 4; i++) {
        mv_slot *slot =
            mv_slot_open(jobs, mv_timeline_rows_make, NULL, sizeof(mv_timeline_rows_query));
        if (!slot)
            return false;
        pane->asked_rows[i / 2][i % 2].slot = slot;
    }
    pane->marks_slot = mv_slot_open(jobs, mv_device_marks_find, NULL, sizeof(mv_marks_query));
    pane->interval_slot = mv_slot_open(jobs, mv_interval_find, NULL, sizeof(mv_interval_query));
    pane->use_slot = mv_slot_open(jobs, mv_segment_use_find, NULL, sizeof(mv_use_query));
    pane->use_all_slot = mv_slot_open(jobs, mv_segment_use_find, NULL, sizeof(mv_use_query));
    pane->requested_slot = mv_slot_open(jobs, mv_pools_find, NULL, sizeof(mv_pools_query));
    pane->requested_at_slot = mv_slot_open(jobs, mv_pools_find, NULL, sizeof(mv_pools_query));
    pane->pools_slot = mv_slot_open(jobs, mv_pools_find, NULL, sizeof(mv_pools_query));
    pane->device_slot = mv_slot_open(jobs, mv_device_lane_find, NULL, sizeof(mv_device_lane_query));
    pane->ledger_slot = mv_slot_open(jobs, mv_ledger_moment_find, NULL, sizeof(mv_ledger_question));
    pane->pointed_slot =
        mv_slot_open(jobs, mv_ledger_moment_find, NULL, sizeof(mv_ledger_question));
    if (!pane->device_slot || !pane->ledger_slot || !pane->pointed_slot)
        return false;
    return pane->marks_slot && pane->interval_slot && pane->use_slot && pane->use_all_slot &&
           pane->pools_slot && pane->requested_slot && pane->requested_at_slot;
}

/* Returns the budget of a tile maker. Together, all tile makers may use a quarter of the view's
 * budget. */
static uint64_t scratch_of(const mv_view *view, uint32_t makers)
{
    uint64_t share = view->budget->limit / 4 / makers;

    return share < MV_TILES_SCRATCH ? share : MV_TILES_SCRATCH;
}

bool mv_timeline_pane_open(mv_view *view)
{
    mv_timeline_pane *pane = mv_push_struct(&view->arena, mv_timeline_pane);
    uint32_t threads =
        view->opts.is_threaded && !view->opts.is_cooperative ? mv_tiles_threads() : 0;
    mv_tiles_opts opts = {.threads = view->opts.is_cooperative ? MV_COOPERATIVE : threads,
                          .bytes = view->opts.tile_bytes,
                          .scratch = scratch_of(view, threads + 1),
                          .wake = view->opts.wake,
                          .user = view->opts.user};

    if (!pane)
        return false;
    view->timeline = pane;
    mv_arena_init(&pane->arena, view->budget);
    mv_arena_init(&pane->hit_arena, view->budget);
    pane->tiles = mv_tiles_open(&pane->arena, &opts);
    return pane->tiles && open_slots(view, pane) && mv_ranks_pane_open(view);
}

void mv_timeline_pane_close(mv_view *view)
{
    mv_timeline_pane *pane = view->timeline;

    mv_tiles_close(pane->tiles);
    mv_legend_release(&pane->legend);
    mv_legend_release(&pane->counting);
    mv_arena_release(&pane->hit_arena);
    mv_arena_release(&pane->arena);
    view->timeline = NULL;
}

bool mv_timeline_is_idle(const mv_view *view)
{
    return !view->timeline || mv_tiles_are_idle(view->timeline->tiles);
}

bool mv_timeline_run_one_task(mv_view *view)
{
    return mv_tiles_run_one_task(view->timeline->tiles);
}

/* ---- the moving window ------------------------------------------------------------------- */

/* Adds room for a line of text above the highest level, so that a label hides nothing. */
static double with_headroom(const mv_plot *p, double most)
{
    float room = mv_ui_px(p->ui, MV_CALLOUT_HEIGHT + 5) / fmaxf(1, p->plot.h);

    return mv_viewport_top((uint64_t)(most / 1.04 / (1 - (double)fminf(fmaxf(room, 0.04f), 0.3f))));
}

/* Returns the highest level in the window. */
static double top_of(mv_plot *p, mv_stretch shown)
{
    const mv_trace_marks *l = &p->device->trace_marks;
    uint32_t first = (uint32_t)shown.from, end = (uint32_t)ceil(shown.to);
    mv_extent e = mv_pyramid_range(p->levels, first == 0 ? MV_BEFORE : first, end);
    uint64_t most = e.most.reserved, oom, other = mv_plot_other_most(p, shown);
    uint64_t replayed = mv_plot_whatif_most(p, shown);

    other = other > replayed ? other : replayed;
    if (p->rows->only) { /* reserved bytes cannot be attributed to a part of the rows */
        most = p->of_segments ? most : e.most.active;
        return with_headroom(p, (double)(other > most ? other : most));
    }
    most = e.most.active > most ? e.most.active : most;
    most = e.most.allocated > most ? e.most.allocated : most;
    oom = mv_listed_event_after(l->ooms, l->oom_count, first == 0 ? MV_BEFORE : first - 1);
    if (oom < end && p->lives->events.size[oom] < most)
        most += p->lives->events.size[oom];
    return with_headroom(p, (double)(other > most ? other : most));
}

static bool is_same_goal(const mv_timeline_pane *pane, mv_stretch goal, double y_from, double y_to)
{
    return pane->goal.from == goal.from && pane->goal.to == goal.to &&
           pane->goal_y_from == y_from && pane->goal_y_to == y_to;
}

static void set_goal(mv_plot *p, bool is_new)
{
    mv_timeline_pane *pane = p->pane;
    const mv_view_state *now = p->view->now;
    mv_stretch goal = mv_stretch_valid(&p->rows->scale, (mv_stretch){now->from, now->to});
    double y_from = now->fits_height ? 0 : (double)now->y_from;
    double y_to = now->fits_height ? top_of(p, goal) : (double)now->y_to;

    if (!is_new && is_same_goal(pane, goal, y_from, y_to))
        return;
    pane->start = pane->shown;
    pane->start_y_from = pane->y_from;
    pane->start_y_to = pane->y_to;
    /* Moves by one frame even if the target has just changed. Otherwise the window would stand
     * still while the wheel turns. */
    pane->start_ms = p->view->ms - FRAME_MS;
    pane->goal = goal;
    pane->goal_y_from = y_from;
    pane->goal_y_to = y_to;
    if (is_new || pane->jumps || !p->view->opts.is_threaded)
        pane->start_ms -= EASE_MS;
    pane->jumps = false;
}

static void ease(mv_plot *p)
{
    mv_timeline_pane *pane = p->pane;
    double share = fmin(fmax((p->view->ms - pane->start_ms) / EASE_MS, 0), 1);

    share = 1 - (1 - share) * (1 - share) * (1 - share);
    pane->shown = mv_stretch_between(&p->rows->scale, pane->start, pane->goal, share);
    pane->y_from = pane->start_y_from + share * (pane->goal_y_from - pane->start_y_from);
    pane->y_to = pane->start_y_to + share * (pane->goal_y_to - pane->start_y_to);
    pane->is_easing = share < 1;
    if (pane->is_easing)
        p->ui->is_animating = true;
}

static double rounded(double scale, int bits)
{
    int exponent;
    double mantissa = frexp(scale, &exponent);

    return ldexp(nearbyint(ldexp(mantissa, bits)), exponent - bits);
}

/* Panning changes the last bits of a window's width, which must not turn the pan into a zoom. These
 * bits are dropped, so that the same window always has the same scale, however it was reached. */
static void settle_scale(mv_plot *p)
{
    mv_timeline_pane *pane = p->pane;
    bool is_threaded = p->view->opts.is_threaded;

    p->at.dx = rounded(p->at.dx, SCALE_BITS);
    p->at.dy = rounded(p->at.dy, HEIGHT_BITS);
    if (p->at.dx != pane->dx || p->at.dy != pane->dy) {
        pane->zoomed_ms = p->view->ms;
        pane->dx = p->at.dx;
        pane->dy = p->at.dy;
    }
    pane->is_zooming = is_threaded && p->view->ms < pane->zoomed_ms + REST_MS;
    if (pane->is_zooming)
        p->ui->is_animating = true;
}

/* ---- layout ------------------------------------------------------------------------------ */

static float spikes_height(const mv_plot *p)
{
    bool has_spikes = !p->of_segments && !p->of_pools && p->lives->events.count > 0;

    return mv_ui_px(p->ui, has_spikes ? SPIKES : 2);
}

/* Takes height from the legend of the colours below the picture, which keeps a few rows. Returns the
 * height that was taken. */
static float take_from_legend(mv_plot *p, mv_box *rest, float height)
{
    float taken = fminf(ceilf(height), p->legend.h - mv_ui_px(p->ui, LEAST_LEGEND));

    if (height <= 0 || taken < height)
        return 0;
    mv_box_cut_top(&p->legend, taken);
    rest->h += taken;
    return taken;
}

/* Places the device's lane below the plot, with its legend next to it or below it. The timeline has
 * priority. If there is no room, the lane first loses some of its height, then takes rows of the
 * other legend, then loses the legend below it, and is finally dropped. */
static void place_device(mv_plot *p, mv_box *rest)
{
    const mv_ui *ui = p->ui;
    float left = rest->h - mv_ui_px(ui, RULER + LEAST_PLOT) - mv_lanes_height(ui, p->marks) -
                 spikes_height(p);
    float height = fminf(mv_plot_device_height(p, rest->h), left);
    float keys = mv_plot_device_keys(p, rest->w - mv_ui_px(ui, MV_UI_PAD));

    if (height < mv_ui_px(ui, LEAST_DEVICE))
        return;
    if (p->is_legend_below)
        left += take_from_legend(p, rest, mv_ui_px(ui, LEAST_DEVICE) + keys - left);
    if (p->is_legend_below && p->legend.w > 0 && mv_ui_px(ui, LEAST_DEVICE) + keys <= left) {
        height = fminf(height, left - keys);
        p->device_legend = mv_box_cut_bottom(rest, keys);
        mv_box_cut_left(&p->device_legend, mv_ui_px(p->ui, MV_UI_PAD));
    }
    p->device_lane = mv_box_cut_bottom(rest, height);
    mv_box_cut_left(&p->device_lane, mv_ui_px(p->ui, GUTTER));
    if (p->legend.w > 0 && !p->is_legend_below)
        p->device_legend = mv_box_cut_bottom(&p->legend, height);
}

/* Places the picture with its axes and lanes in the space next to the legend. */
static void place_plot(mv_plot *p, mv_box rest)
{
    const mv_ui *ui = p->ui;

    p->ruler = mv_box_cut_bottom(&rest, mv_ui_px(ui, RULER));
    p->scale = mv_box_cut_left(&rest, mv_ui_px(ui, GUTTER));
    p->ruler.x = rest.x;
    p->ruler.w = rest.w;
    p->lanes = mv_box_cut_top(&rest, mv_lanes_height(ui, p->marks));
    p->spikes = mv_box_cut_top(&rest, spikes_height(p));
    p->plot = (mv_box){rest.x, rest.y, fmaxf(rest.w, 1), fmaxf(rest.h, 1)};
}

/* Places everything in a printed picture. The legend is always shown, and because the clock cannot
 * be changed there, times are below events. */
static void place_on_paper(mv_plot *p, mv_box rest)
{
    const mv_ui *ui = p->ui;
    float pad = mv_ui_px(ui, MV_UI_PAD);
    float legend = fmaxf(rest.w * PAPER_LEGEND / 100, mv_ui_px(ui, PAPER_LEAST_LEGEND));
    bool has_times = *mv_plot_time(p, 0) != '\0';

    p->legend = mv_box_cut_right(&rest, fminf(legend, mv_ui_px(ui, PAPER_MOST_LEGEND)));
    mv_box_cut_right(&rest, 2 * pad);
    place_device(p, &rest);
    p->times = mv_box_cut_bottom(&rest, has_times ? mv_ui_px(ui, PAPER_TIMES) : 0);
    place_plot(p, rest);
}

/* Places the lanes of ranks: names on the left, lanes on the right, and titles above them. There is
 * no legend. */
static void place_ranks(mv_plot *p, mv_box rest)
{
    const mv_ui *ui = p->ui;
    float names = roundf(fminf(mv_ranks_names_width(p->view), rest.w * 0.45f));

    mv_box_cut_right(&rest, mv_ui_px(ui, MV_RANK_BAR));
    p->ruler = mv_box_cut_bottom(&rest, mv_ui_px(ui, RULER));
    p->lanes = mv_box_cut_top(&rest, mv_ui_px(ui, MV_UI_LINE));
    p->lanes.w = names;
    p->scale = mv_box_cut_left(&rest, names);
    p->ruler.x = rest.x;
    p->ruler.w = rest.w;
    p->spikes = rest;
    p->spikes.h = 0;
    p->plot = (mv_box){rest.x, rest.y, fmaxf(rest.w, 1), fmaxf(rest.h, 1)};
}

static void place(mv_plot *p, mv_box box)
{
    const mv_ui *ui = p->ui;
    float pad = mv_ui_px(ui, MV_UI_PAD);
    mv_box rest = {roundf(box.x), roundf(box.y), floorf(box.w), floorf(box.h)};

    if (p->view->sheet) {
        place_on_paper(p, rest);
        return;
    }
    p->head = mv_box_cut_top(&rest, mv_ui_px(ui, HEAD));
    if (p->of_ranks) {
        place_ranks(p, rest);
        return;
    }
    p->legend = mv_legend_cut(p->view, &rest, &p->legend_columns);
    p->is_legend_below = p->legend.x < rest.x + rest.w;
    if (p->is_legend_below)
        mv_box_cut_left(&p->legend, pad);
    mv_box_cut_right(&p->legend, pad);
    mv_box_cut_right(&rest, pad);
    place_device(p, &rest);
    place_plot(p, rest);
}

static mv_pyramid_reader *levels_of(mv_plot *p)
{
    mv_pyramid_reader *part = &p->pane->part_levels;

    if (!p->rows || !p->rows->only)
        return &p->view->levels;
    if (part->pyramid != &p->rows->levels || p->pane->part_rows != p->rows->ask.id)
        mv_pyramid_reader_init(part, &p->rows->levels);
    p->pane->part_rows = p->rows->ask.id;
    return part;
}

bool mv_plot_open(mv_plot *p, mv_view *view, mv_box box)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_device_marks *marks;

    *p = (mv_plot){.view = view,
                   .ui = &view->ui,
                   .pane = view->timeline,
                   .document = mv_view_document(view),
                   .device = d,
                   .of_segments = view->now->main == MV_MAIN_SEGMENTS,
                   .of_ranks = view->now->main == MV_MAIN_RANKS,

                   .of_pools = view->now->main == MV_MAIN_POOLS};
    if (!d)
        return false;
    p->trace = &p->document->trace;
    p->lives = p->of_segments ? &d->segment_lives : &d->lives;
    p->index = p->of_segments ? &d->segment_index : &d->index;
    p->rows = mv_timeline_rows_of(view, p->of_segments);
    p->levels = levels_of(p);
    marks = mv_timeline_device_marks(view);
    p->marks = marks ? &marks->lanes : NULL;
    p->has_pending = marks && marks->has_pending;
    place(p, box);
    return p->rows && p->plot.w >= 16 && p->plot.h >= 16;
}

void mv_plot_look(mv_plot *p)
{
    const mv_timeline_pane *pane = p->pane;

    p->at = mv_viewport_make(&p->rows->scale, p->plot, pane->shown, pane->y_from, pane->y_to);
    p->shown = mv_viewport_events(&p->at);
}

/* ---- painting ----------------------------------------------------------------------------- */

static void paint_waiting(mv_plot *p)
{
    if (p->device && p->plot.w >= 16)
        mv_ui_fill(p->ui, p->plot, p->ui->theme->plot);
    mv_ui_text(p->ui, p->plot, MV_UI_TEXT, p->ui->theme->faint_text, MV_ANCHOR_MIDDLE,
               p->device && p->plot.h < 16 ? "too low to draw"
                                           : "preparing the picture\xe2\x80\xa6");
}

/* In a printed picture, a heap without events is a bar with this text next to it. */
static void paint_no_events(mv_plot *p)
{
    const char *const lines[] = {
        "No events were recorded: this is the heap when the snapshot was taken.",
        "To see its history, start recording before the work that matters:",
        mv_recorder_of(p->trace)->call,
    };
    mv_ui_lines style = {.size = MV_UI_TEXT,
                         .line = MV_UI_LINE,
                         .colour = p->ui->theme->text,
                         .most = 3,
                         .gap = " "};
    mv_box box = p->plot;

    mv_box_cut_left(&box, roundf(box.w * 0.28f)); /* the bar */
    mv_box_cut_top(&box, box.h / 3);
    for (uint32_t i = 0; i < sizeof lines / sizeof *lines; i++)
        box = mv_ui_paragraph(p->ui, box, &style, lines[i]);
}

static void paint_picture(mv_plot *p)
{
    mv_scene *scene = &p->ui->scene;

    if (p->of_pools) {
        mv_plot_axes(p);
        mv_plot_pools(p);
        mv_plot_lanes(p);
        mv_plot_veil(p);
        mv_plot_interval(p);
        return;
    }
    mv_plot_keep_off_cuts(p);
    mv_scene_clip(scene, p->plot.x, p->plot.y, p->plot.w, p->plot.h);
    if (p->view->sheet)
        mv_plot_stack_shapes(p);
    else
        mv_plot_stack(p);
    mv_scene_unclip(scene);
    mv_plot_axes(p);
    mv_plot_lanes(p);
    mv_plot_curves(p);
    mv_plot_requested(p);
    mv_plot_cuts(p);
    mv_plot_veil(p);
    mv_plot_peaks(p);
    mv_plot_other_peak(p);
    mv_plot_notes(p);
    mv_plot_interval(p);
}

/* Returns the strip for hits, which is at the bottom of the plot, where blocks are largest. */
static mv_box hit_strip(const mv_plot *p)
{
    float h = mv_ui_px(p->ui, 6);

    return (mv_box){p->plot.x, p->plot.y + p->plot.h - h, p->plot.w, h};
}

static void paint_plot(mv_plot *p)
{
    mv_ui_fill(p->ui, p->plot, p->ui->theme->plot);
    paint_picture(p);
    if (!p->of_segments && !p->of_pools)
        mv_hit_ticks(p->view, &p->at, hit_strip(p));
    if (!p->view->sheet) {
        mv_plot_cursor(p);
        mv_bookmark_flags(p->view, &p->at, p->plot.y + p->plot.h);
        mv_plot_readout(p);
    }
    if (p->view->sheet && !p->of_pools && p->lives->events.count == 0)
        paint_no_events(p);
    mv_plot_legend(p);
    mv_plot_device(p);
    mv_plot_hover(p);
}

/* Finds the levels of the columns. They are exact when nothing moves; otherwise each frame refines
 * some of them. */
static void find_envelope(mv_plot *p)
{
    mv_timeline_pane *pane = p->pane;
    bool is_moving = pane->is_easing || pane->is_zooming || pane->drag.kind == MV_DRAG_PAN;
    uint32_t most = !p->view->opts.is_threaded ? UINT32_MAX : is_moving ? 0 : MV_EXACT_COLUMNS;

    if (!mv_envelope_find(pane, &pane->envelope, p->levels, p->at, NULL, most) && most > 0)
        p->ui->is_animating = true;
}

bool mv_plot_begin(mv_plot *p, mv_view *view, mv_box box)
{
    mv_timeline_pane *pane = view->timeline;
    bool is_new = pane->device != mv_view_device(view) || !pane->has_viewport;

    pane->turn++;
    if (!mv_plot_open(p, view, box)) {
        paint_waiting(p);
        pane->has_viewport = false;
        return false;
    }
    pane->device = p->device;
    mv_plot_other_find(p);
    set_goal(p, is_new);
    ease(p);
    mv_plot_look(p);
    settle_scale(p);
    pane->has_viewport = true;
    pane->at = p->at;
    pane->plot = p->plot;
    return true;
}

void mv_timeline_paint(mv_view *view, mv_box box)
{
    mv_plot p;

    if (!mv_plot_begin(&p, view, box))
        return;
    find_envelope(&p);
    p.most =
        mv_pyramid_range(p.levels, p.shown.first == 0 ? MV_BEFORE : p.shown.first, p.shown.end);
    paint_plot(&p);
}
