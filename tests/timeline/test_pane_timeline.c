/* The timeline pane as a user experiences it: the item under the pointer, compared with a literal
 * stack; what inputs and commands do; and legible texts. */
#include <math.h>

#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "tests/truth/fixture_truth.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"

static void wheel(mv_view *view, float x, float y, float dy, uint8_t mods)
{
    mv_view_input(view,
                  &(mv_input){.kind = MV_INPUT_WHEEL, .mods = mods, .x = x, .y = y, .dy = dy});
    mvt_view_frame(view);
}

/* ---- the pointer -------------------------------------------------------------------------- */

/* Returns the row that covers a byte after an event, counting from the bottom, or MV_NO_ROW. */
static uint32_t literal_hit(const mv_index *x, const uint64_t *rows, uint32_t event, uint64_t byte)
{
    uint64_t below = 0;

    for (uint32_t r = 0; r < x->count; r++) {
        if (!mv_index_is_alive(x, r, event) || (rows && !(rows[r >> 6] >> (r & 63) & 1)))
            continue;
        below += x->bytes[r];
        if (byte < below)
            return r;
    }
    return MV_NO_ROW;
}

/* Pixels all over the plot. Slides hold bytes open only between events. */
static void check_hits(mv_view *view)
{
    const mv_timeline_pane *pane = view->timeline;
    uint32_t hits = 0;
    mv_plot p;

    for (float x = pane->plot.x + 3; x < pane->plot.x + pane->plot.w; x += 37)
        for (float y = pane->plot.y + 2; y < pane->plot.y + pane->plot.h; y += 11) {
            uint32_t event;
            mv_hit hit;
            cr_assert(mv_plot_open(&p, view, view->main_box));
            p.at = pane->at;
            cr_assert(mv_plot_hit(&p, x, y, &event, &hit));
            double byte = p.at.y + (double)(p.at.box.y + p.at.box.h - floorf(y) - 0.5f) * p.at.dy;
            byte = fmax(0, byte);
            uint32_t found = literal_hit(p.index, p.rows->only, event, (uint64_t)byte);
            if (hit.rank == found)
                hits += found != MV_NO_ROW;
            else /* the byte is at the border of two rows */
                cr_assert_neq(
                    literal_hit(p.index, p.rows->only, event, (uint64_t)fmax(0, byte - p.at.dy)),
                    literal_hit(p.index, p.rows->only, event, (uint64_t)(byte + p.at.dy)),
                    "at %g, %g: %u is hit, %u is there", (double)x, (double)y, hit.rank, found);
        }
    cr_assert_gt(hits, 20);
}

ViewTest(pane_timeline, the_pointer_finds_the_block_of_the_byte, mvt_view("annotated"))
{
    check_hits(view);
    mvt_view_do(view, MV_DO_next_clock, 0);
    check_hits(view);
    mvt_view_do(view, MV_DO_show_segments, 0);
    check_hits(view);
}

ViewTest(pane_timeline, isolated_rows_are_stacked_on_each_other, mvt_view("gpt_train"))
{
    snprintf(mv_view_write(view)->search, sizeof view->now->search, "attention");
    mv_view_write(view)->show = MV_SHOW_ISOLATE;
    mvt_view_sized(view, 1280, 720);
    cr_assert_not_null(mv_timeline_rows_of(view, false)->only);
    check_hits(view);
}

ViewTest(pane_timeline, hover_and_click_name_an_allocation, mvt_view("gpt_train"))
{
    mv_box plot = view->timeline->plot;
    float x = plot.x + plot.w / 2, y = plot.y + plot.h - 5;

    mvt_view_point(view, MV_INPUT_MOVE, x, y, 0);
    mv_view_frame(view, 1280, 720, 0);
    cr_assert_neq(view->hover, MV_NO_ROW);
    cr_assert(mvt_scene_says(&view->ui.scene, "train.py:81 gpt_train"));
    cr_assert(mvt_scene_says(&view->ui.scene, "never freed"));
    mvt_view_click(view, x, y);
    cr_assert_eq(view->now->pinned, view->hover);
    cr_assert(
        mv_index_is_alive(&mv_view_device(view)->index, view->now->pinned, view->now->cursor));
}

ViewTest(pane_timeline, the_wheel_zooms_at_the_pointer, mvt_view("gpt_train"))
{
    mv_box plot = view->timeline->plot;
    float x = plot.x + plot.w * 0.3f;
    double before = mv_viewport_event(&view->timeline->at, x);

    wheel(view, x, plot.y + 50, 4, 0);
    cr_assert_float_eq(view->now->to - view->now->from, 6562 / pow(1.25, 4), 1e-3);
    cr_assert_float_eq(mv_viewport_event(&view->timeline->at, x), before, 1e-3);
    wheel(view, x, plot.y + 50, 2, MV_MOD_SHIFT);
    cr_assert_not(view->now->fits_height);
    mvt_view_do(view, MV_DO_fit_all, 0);
    cr_assert_eq(view->now->from, 0);
    cr_assert_eq(view->now->to, 6562);
    cr_assert(view->now->fits_height);
}

ViewTest(pane_timeline, a_double_click_fits_the_life, mvt_view("gpt_train"))
{
    mv_box plot = view->timeline->plot;
    const mv_alloc_lives *a = &mv_view_device(view)->lives.allocs;
    float x = plot.x + plot.w * 0.35f, y = plot.y + plot.h * 0.4f;

    mvt_view_point(view, MV_INPUT_PRESS, x, y, 1);
    mvt_view_point(view, MV_INPUT_RELEASE, x, y, 1);
    mvt_view_point(view, MV_INPUT_PRESS, x, y, 2);
    mvt_view_point(view, MV_INPUT_RELEASE, x, y, 2);
    mv_view_frame(view, 1280, 720, 0);
    cr_assert_neq(view->now->pinned, MV_NO_ROW);
    cr_assert_lt(a->freed[view->now->pinned], MV_NEVER);
    double life = a->freed[view->now->pinned] - a->birth[view->now->pinned];
    cr_assert_leq(view->now->from, a->birth[view->now->pinned]);
    cr_assert_geq(view->now->to, a->freed[view->now->pinned]);
    cr_assert_leq(view->now->to - view->now->from, fmax(4, life * 1.3));
    mvt_view_do(view, MV_DO_fit_selection, 0);
    cr_assert_not(view->now->fits_height);
}

ViewTest(pane_timeline, the_minimap_moves_the_window, mvt_view("gpt_train"))
{
    mv_box plot = view->timeline->plot;
    float y;

    wheel(view, plot.x + plot.w / 2, plot.y + 50, 6, 0);
    y = view->minimap_box.y + view->minimap_box.h / 2;
    float middle = mv_viewport_x(&view->timeline->map_at, (view->now->from + view->now->to) / 2);
    mvt_view_point(view, MV_INPUT_PRESS, middle, y, 1);
    mvt_view_point(view, MV_INPUT_MOVE, middle - 100, y, 0);
    mvt_view_point(view, MV_INPUT_RELEASE, middle - 100, y, 1);
    mv_view_frame(view, 1280, 720, 0);
    cr_assert_float_eq(
        mv_viewport_x(&view->timeline->map_at, (view->now->from + view->now->to) / 2), middle - 100,
        0.6f);
    mvt_view_point(view, MV_INPUT_PRESS, middle, y, 2);
    cr_assert_eq(view->now->to - view->now->from, 6562);
}

/* ---- the selection ------------------------------------------------------------------------ */

ViewTest(pane_timeline, an_interval_adds_up, mvt_view("gpt_train"))
{
    mv_box plot = view->timeline->plot;
    const mv_document_device *d = mv_view_device(view);

    mvt_view_point(view, MV_INPUT_PRESS, plot.x + 200, plot.y + 20, 1);
    mvt_view_point(view, MV_INPUT_MOVE, plot.x + 600, plot.y + 90, 0);
    mvt_view_point(view, MV_INPUT_RELEASE, plot.x + 600, plot.y + 90, 1);
    cr_assert(view->now->has_interval);
    cr_assert_lt(view->now->a, view->now->b);
    mv_view_frame(view, 1280, 720, 0);
    cr_assert(mvt_scene_says(&view->ui.scene, "selected events"));
    for (uint32_t from = 0; from < 6000; from += 700) {
        mv_interval_query ask = {&d->index, &d->pyramid, from, from + 500, false};
        const mv_interval_sums *found = mv_interval_find(mvt_memory(), NULL, &ask);
        const mv_index *x = &d->index;
        uint32_t b = from + 500;
        mv_interval_sums s = {0};
        for (uint32_t r = 0; r < x->count; r++) {
            bool is_born = x->birth[r] != MV_BEFORE && x->birth[r] >= from && x->birth[r] < b;
            if (!mv_index_is_ever_alive(x, r))
                continue;
            if (x->end[r] >= from && x->end[r] < b) {
                s.freed += x->bytes[r];
                s.frees++;
            }
            if (!is_born)
                continue;
            s.allocated += x->bytes[r];
            s.allocs++;
            if (x->end[r] >= b) {
                s.held += x->bytes[r];
                s.held_blocks++;
            }
        }
        cr_assert_eq(found->allocated, s.allocated);
        cr_assert_eq(found->freed, s.freed);
        cr_assert_eq(found->allocs, s.allocs);
        cr_assert_eq(found->frees, s.frees);
        cr_assert_eq(found->held, s.held);
        cr_assert_eq(found->held_blocks, s.held_blocks);
    }
    mvt_view_do(view, MV_DO_zoom_interval, 0);
    cr_assert_eq(view->now->from, view->now->a);
    cr_assert_eq(view->now->to, view->now->b);
}

/* The middle of the sums used to be cut out: "+174 Mi\xe2\x80\xa6n 210". */
LongTest(pane_timeline, sums_of_an_interval_are_whole_at_any_width)
{
    mv_view *view = mvt_view("gpt_train");

    mv_view_do(view, MV_DO_select_range, 1001 | (uint64_t)5432 << 32);
    for (float width = 500; width < 1700; width += 70) {
        bool is_whole = false;
        const mv_scene *scene = mv_view_frame(view, width, 720, 0);
        for (uint32_t i = 0; i < scene->shape_count; i++) {
            const char *text = scene->shapes[i].kind == MV_SHAPE_TEXT ? scene->shapes[i].text : "";
            if (strstr(text, "highest") && strchr(text, '+')) {
                is_whole = true;
                cr_expect_not(strstr(text, "\xe2\x80\xa6"), "%.0f pixels: %s", (double)width, text);
            }
        }
        cr_expect(is_whole, "%.0f pixels", (double)width);
    }
}

/* As in Perfetto, selecting an area must show its table at once. */
ViewTest(pane_timeline, a_selected_interval_opens_its_table, mvt_view("gpt_train"))
{
    mv_box plot = view->timeline->plot;

    mvt_view_point(view, MV_INPUT_PRESS, plot.x + 200, plot.y + 20, 1);
    mvt_view_point(view, MV_INPUT_MOVE, plot.x + 600, plot.y + 20, 0);
    mvt_view_point(view, MV_INPUT_RELEASE, plot.x + 600, plot.y + 20, 1);
    cr_expect_eq(view->now->tab, MV_TAB_TABLES);
    cr_expect_eq(view->now->table_kind, MV_LISTING_LINES);
    mv_view_frame(view, 1280, 720, 0);
    cr_expect(mvt_scene_says(&view->ui.scene, "all lines"));
    mvt_view_do(view, MV_DO_back, 0); /* Back undoes the interval and the tab together */
    cr_expect_not(view->now->has_interval);
    cr_expect_eq(view->now->tab, MV_TAB_REPORTS);
    mvt_view_do(view, MV_DO_forward, 0);
    mv_view_do(view, MV_DO_table_kind, MV_LISTING_CATEGORIES);
    mvt_view_do(view, MV_DO_cancel, 0);
    mv_view_do(view, MV_DO_select_range, 100 | (uint64_t)300 << 32);
    cr_expect_eq(view->now->table_kind, MV_LISTING_CATEGORIES, "the choice between the two stays");
}

/* The flame graph of an interval, the reason to drag one. */
ViewTest(pane_timeline, a_flame_graph_of_the_interval_stays, mvt_view("gpt_train"))
{
    mvt_view_do(view, MV_DO_show_flame, 0);
    mv_view_do(view, MV_DO_flame_source, MV_FLAMES_HELD);
    mv_view_do(view, MV_DO_select_range, 100 | (uint64_t)300 << 32);
    cr_expect_eq(view->now->tab, MV_TAB_FLAME);
    mv_view_do(view, MV_DO_flame_source, MV_FLAMES_CURSOR);
    mv_view_do(view, MV_DO_select_range, 100 | (uint64_t)400 << 32);
    cr_expect_eq(view->now->tab, MV_TAB_TABLES);
}

ViewTest(pane_timeline, commands_go_places, mvt_view("oom"))
{
    const mv_document_device *d = mv_view_device(view);

    mvt_view_do(view, MV_DO_fit_all, 0);
    cr_assert(mv_view_do(view, MV_DO_go_to_event, 3));
    cr_assert_eq(view->now->cursor, 3);
    mvt_view_do(view, MV_DO_event_on, 0);
    cr_assert_eq(view->now->cursor, 4);
    mvt_view_do(view, MV_DO_event_far_back, 0);
    cr_assert_eq(view->now->cursor, MV_BEFORE);
    mvt_view_do(view, MV_DO_oom_on, 0);
    cr_assert_eq(d->lives.events.action[view->now->cursor], MV_ACTION_OOM);
    mvt_view_do(view, MV_DO_peak, 0);
    cr_assert_eq(view->now->cursor, d->peak_event);
    cr_assert(mvt_scene_says(&view->ui.scene, "out of memory: requested"));
    view = mvt_view("annotated");
    cr_assert(mv_view_do(view, MV_DO_go_to_event, 0));
    mvt_view_do(view, MV_DO_mark_on, 0);
    cr_assert_gt(view->now->cursor, 0);
    cr_assert(mvt_scene_says(&view->ui.scene, "backward"));
}

/* Returns the event that the tip under the pointer names in its last line, or MV_NO_ROW if there is
 * no tip. */
static uint32_t event_of_tip(const mv_scene *scene)
{
    const char *before = "";
    uint32_t event = 0;

    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const char *text = scene->shapes[i].text ? scene->shapes[i].text : "";
        bool is_of_pool = strncmp(text, "event ", 6) == 0 && strstr(before, " requested");
        const char *at =
            is_of_pool || strncmp(text, "here ", 5) == 0 ? strstr(text, "event ") : NULL;
        if (*text)
            before = text;
        if (!at)
            continue;
        for (at += 6; *at == ',' || (*at >= '0' && *at <= '9'); at++)
            event = *at == ',' ? event : event * 10 + (uint32_t)(*at - '0');
        return event;
    }
    return MV_NO_ROW;
}

static void expect_clicks_where_tips_say(mv_view *view, const char *name)
{
    const mv_box *plot = &view->timeline->plot;
    uint32_t tips = 0;

    for (int i = 1; i < 40; i++) {
        float x = roundf(plot->x + plot->w * (float)i / 40), y = plot->y + plot->h - 3;
        mvt_view_point(view, MV_INPUT_MOVE, x, y, 0);
        mvt_view_frame(view);
        uint32_t event = event_of_tip(&view->ui.scene);
        if (event == MV_NO_ROW) /* before the first allocation */
            continue;
        tips++;
        mvt_view_click(view, x, y);
        cr_expect_eq(view->now->cursor, event, "%s: the tip says %u, a click goes to %u", name,
                     event, view->now->cursor);
    }
    cr_expect_gt(tips, 20, "%s: %u", name, tips);
}

/* On a level of calls, which are several events, too. */
Test(pane_timeline, a_click_goes_to_the_event_of_the_tip)
{
    static const char *const names[] = {"cupy_leak", "annotated", "gpt_train"};

    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        mv_view *view = mvt_view(names[n]);
        expect_clicks_where_tips_say(view, names[n]);
        mvt_view_do(view, MV_DO_show_pools, 0);
        expect_clicks_where_tips_say(view, "its pools");
    }
}

/* A failed request at the edge of the window: the bars of what was asked for and free are inside. */
ViewTest(pane_timeline, bars_of_a_failed_request_stay_inside, mvt_view("oom_fragmented"))
{
    const mv_scene *scene = &view->ui.scene;
    const mv_box *plot = &view->timeline->plot;
    uint32_t bars = 0;

    mvt_view_do(view, MV_DO_oom_on, 0);
    mv_view_do(view, MV_DO_select_range, (uint64_t)(view->now->cursor + 1) << 32);
    mvt_view_do(view, MV_DO_zoom_interval, 0);
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_point *at = scene->points + scene->shapes[i].first;
        if (scene->shapes[i].kind != MV_SHAPE_RECTS || scene->shapes[i].count != 8 ||
            at[1].x - at[0].x > 12 || at[0].x < plot->x + plot->w - 30 || at[0].y < plot->y - 1 ||
            at[3].y > plot->y + plot->h)
            continue;
        bars++;
        cr_expect_leq(at[1].x, plot->x + plot->w, "%f beyond %f", at[1].x, plot->x + plot->w);
    }
    cr_expect_geq(bars, 2, "%u", bars);
}

ViewTest(pane_timeline, a_row_of_the_legend_searches, mvt_view("gpt_train"))
{
    cr_assert(mvt_scene_says(&view->ui.scene, "train.py:62 forward"));
    mvt_view_do(view, MV_DO_legend_row, 0);
    cr_assert_str_eq(view->now->search, "site:train.py:62");
    cr_assert_not_null(view->matches);
    cr_assert_gt(view->matches->matches, 0);
}

/* Levels at the samples equal the exact bytes. */
static void check_levels(const mv_view *view)
{
    const mv_document_device *d = mv_view_device(view);
    mv_use_query ask = {&d->index, &d->segment_index, 0, d->lives.events.count};
    const mv_segment_use *use = mv_segment_use_find(mvt_memory(), NULL, &ask);

    for (uint32_t i = 0; i < use->count; i += 53) {
        const uint8_t *level = mv_segment_use_at(use, use->event[i]);
        for (uint32_t r = 0; r < d->segment_index.count; r++) {
            bool is_there = mv_index_is_alive(&d->segment_index, r, use->event[i]);
            uint64_t used = mv_segment_used(&d->index, &d->segment_index, r, use->event[i]);
            cr_assert_eq(level[r] != 0, is_there);
            if (is_there)
                cr_assert_eq(level[r], 1 + mv_fullness_level(used, d->segment_index.bytes[r]));
        }
    }
}

Test(pane_timeline, segments_are_as_full_as_their_blocks_make_them)
{
    static const char *const names[] = {"frag_pinned_by_small", "frag_pinned_by_small_expandable",
                                        "gpt_train_expandable"};

    for (int i = 0; i < 3; i++) {
        mv_view *view = mvt_view(names[i]);
        const mv_document_device *d = mv_view_device(view);
        mv_pyramid_reader levels = view->levels;
        for (uint32_t event = 0; event < d->lives.events.count; event += 97) {
            uint64_t used = 0;
            for (uint32_t r = 0; r < d->segment_index.count; r++)
                if (mv_index_is_alive(&d->segment_index, r, event))
                    used += mv_segment_used(&d->index, &d->segment_index, r, event);
            cr_assert_eq(used, mv_pyramid_at(&levels, event).allocated, "event %u", event);
        }
        check_levels(view);
        mvt_view_do(view, MV_DO_show_segments, 0);
        cr_assert(mvt_scene_says(&view->ui.scene, "How full segments are"));
    }
}

static void check_picture(mv_view *view, const char *name, float width, float height)
{
    *view->message = '\0'; /* a message that is too long for the bar covers what is above it */
    const mv_scene *scene = mv_view_frame(view, width, height, 0);
    cr_assert_not(scene->failed);
    mvt_scene_check_texts(scene, name);
}

LongTest(pane_timeline, texts_never_meet)
{
    static const char *const names[] = {
        "gpt_train",        "frag_pinned_by_small", "oom",        "annotated", "streams",
        "leak_in_training", "two_devices",          "state_only", "no_history"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view(names[i]);
        check_picture(view, names[i], 1280, 720);
        mv_view_do(view, MV_DO_theme, 0);
        mv_view_do(view, MV_DO_next_clock, 0);
        check_picture(view, names[i], 1600, 900);
        mv_view_do(view, MV_DO_show_segments, 0);
        check_picture(view, names[i], 900, 600);
        check_picture(view, names[i], 320, 240);
    }
}

/* Returns whether it is a row's colour, or that of a row shaded as every other row or as an
 * edge. */
static bool is_of_row(const mv_view *view, uint32_t pixel)
{
    static uint32_t known[4096], count;
    uint32_t rows = mv_view_device(view)->lives.allocs.count;

    for (uint32_t i = 0; i < count; i++)
        if (known[i] == pixel)
            return true;
    for (uint32_t i = 0; i < rows && count < 4096; i++) {
        if (mvt_is_shade_of(pixel, mv_view_colour(view, i))) {
            known[count++] = pixel;
            return true;
        }
    }
    return false;
}

/* However thin rows are, each pixel of the stack must have the colour of one of them. */
ViewTest(pane_timeline, thin_rows_do_not_blend, mvt_view("gpt_train"))
{
    for (uint64_t mode = MV_COLOUR_SITE; mode <= MV_COLOUR_STACK; mode++) {
        uint32_t images = 0, last = view->ui.theme->plot;
        const mv_scene *scene = mvt_view_do(view, MV_DO_colour, mode);
        for (uint32_t i = 0; i < scene->shape_count; i++) {
            const mv_pixels *p = scene->shapes[i].image;
            if (scene->shapes[i].kind != MV_SHAPE_IMAGE)
                continue;
            images++;
            for (uint64_t k = 0; k < (uint64_t)p->width * p->height; last = p->pixels[k++])
                if (p->pixels[k] != last && p->pixels[k] != view->ui.theme->plot)
                    cr_assert(is_of_row(view, p->pixels[k]), "%08x", p->pixels[k]);
        }
        cr_expect_gt(images, 0);
    }
}
