/* The curve of a compared device: all of it can be shown, and its numbers must equal the
 * reports'. */
#include <math.h>

#include "base/size.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"

static const char *const names[] = {
    "gpt_train",         "leak_in_training", "mlp_train",  "late_start",
    "state_only",        "two_devices",      "oom",        "ring",
    "resnet_all",        "profiler_steps",   "no_history", "oom_fragmented",
    "frag_varying_batch"};
enum { NAMES = sizeof names / sizeof *names };

/* Opens the file, and compares the view's device with the file's. */
static mv_view *compare_with(mv_view *view, const char *path)
{
    mvt_view_open(view, path);
    mv_view_write(view)->other_file = 1;
    mv_view_write(view)->other_device = 0;
    return view;
}

static mv_view *pair(const char *shown, const char *other)
{
    return compare_with(mvt_view(shown), mvt_snapshot(other));
}

/* Returns the topmost line in the colour of the compared curve. */
static const mv_shape *curve_of(const mv_view *view, const mv_scene *scene)
{
    const mv_box *plot = &view->timeline->plot;

    for (uint32_t i = scene->shape_count; i-- > 0;) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind == MV_SHAPE_STRIP && s->fill == view->ui.theme->compared &&
            scene->points[s->first].x >= plot->x && scene->points[s->first].x < plot->x + plot->w)
            return s;
    }
    return NULL;
}

/* The highest point of the curve must be the report's peak, and visible. */
static void check_curve(mv_view *view, const char *what)
{
    const mv_scene *scene = mvt_view_frame(view);
    const mv_shape *curve = curve_of(view, scene);
    const mv_timeline_pane *pane = view->timeline;
    const mv_document_device *other = mv_view_other(view);
    uint64_t peak = other->attribution.peak;
    char size[MV_SIZE_TEXT], text[64];
    float top = INFINITY, half = INFINITY;

    cr_assert_eq(peak, other->peak, "%s", what);
    cr_assert_not_null(curve, "%s", what);
    for (uint32_t i = 0; i < curve->count; i += 2) { /* upper and lower edges of the stroke */
        const mv_point *edge = &scene->points[curve->first + i];
        top = fminf(top, edge[0].y);
        half = fminf(half, (edge[1].y - edge[0].y) / 2);
    }
    top += half;
    cr_assert_geq(top, pane->plot.y, "%s: %g is above the plot, %g", what, (double)top,
                  (double)pane->plot.y);
    cr_assert_leq(fabsf(top - mv_viewport_y(&pane->at, (double)peak)), 0.51f, "%s: %g for %g", what,
                  (double)top, (double)mv_viewport_y(&pane->at, (double)peak));
    snprintf(text, sizeof text, "peak %s", mv_size_text(size, peak));
    cr_assert(mvt_scene_says(scene, text), "%s: no text \"%s\"", what, text);
}

LongTest(compare, the_peak_of_the_other_one_is_in_the_picture_and_the_reports)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        const char *a = names[i], *b = names[(i * 3 + 1) % NAMES];
        mv_view *view = pair(a, b);
        const char *what = mvt_format("%s over %s", b, a);
        mv_view_frame(view, 1280, 720, 0);
        mv_view_do(view, MV_DO_show_timeline, 0); /* without events, State is shown first */
        for (int k = 0; k < 2; k++) {
            mv_view_write(view)->fits_height = false;
            mv_view_write(view)->y_to = 4096;
            mv_view_do(view, k ? MV_DO_fit_height : MV_DO_fit_all, 0);
            check_curve(view, what);
        }
        mvt_end_now(view);
    }
}

/* The texts of the legend and the tip do not overlap others. */
LongTest(compare, texts_are_readable)
{
    mv_view *view = pair("leak_in_training", "gpt_train");
    static const float widths[] = {800, 1280, 1920};

    for (int dark = 0; dark < 2; dark++)
        for (uint32_t i = 0; i < 3; i++) {
            mv_view_write_desk(view)->is_dark = dark;
            const mv_scene *scene = mvt_view_sized(view, widths[i], 720);
            mvt_scene_check_texts(scene, "compare");
            mvt_scene_check_contrasts(scene, "compare");
        }
}

ViewTest(compare, the_tip_has_the_value_at_that_place, pair("leak_in_training", "gpt_train"))
{
    const mv_timeline_pane *pane = view->timeline;
    mv_pyramid_reader levels;
    char size[MV_SIZE_TEXT];
    uint32_t moment;

    mv_view_write(view)->align = MV_ALIGN_SHARE;
    mvt_view_frame(view);
    const mv_document_device *other = mv_view_other(view);
    mv_pyramid_reader_init(&levels, &other->pyramid);
    float x = pane->plot.x + floorf(pane->plot.w * 0.6f);
    mvt_view_point(view, MV_INPUT_MOVE, x, pane->plot.y + pane->plot.h - 8, 0);
    const mv_scene *scene = mvt_view_frame(view);
    /* The event of this column that the tip describes, which is the highest one. */
    mv_window column = mv_viewport_column(&pane->at, (uint32_t)(x - pane->plot.x));
    double place = mv_pyramid_range(&view->levels, column.first, column.end).allocated_event;
    moment =
        (uint32_t)(place * other->lives.events.count / mv_view_device(view)->lives.events.count);
    const char *text = mvt_format("gpt_train.pickle: %s",
                                  mv_size_text(size, mv_pyramid_at(&levels, moment).allocated));
    cr_assert(mvt_scene_says(scene, text), "no text \"%s\"", text);
}

/* Makes a device with `steps` steps of `step` events, beginning at `begin` microseconds. The second
 * half of a step's events frees the blocks that the first half allocates. */
static mvt_trace *stepping(uint32_t steps, uint32_t step, int64_t begin, int64_t us)
{
    mvt_trace *t = mvt_new();
    int64_t time = begin;

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 64 * MIB, .time_us = time);
    for (uint32_t s = 0; s < steps; s++) {
        for (uint32_t i = 0; i < step / 2; i++)
            mvt_alloc(t, .addr = 0x10000000 + i * MIB, .bytes = MIB, .time_us = time += us,
                      .stack = i ? "forward:train.py:62" : "step:train.py:5");
        for (uint32_t i = 0; i < step / 2; i++)
            mvt_free(t, .addr = 0x10000000 + i * MIB, .time_us = time += us);
    }
    mvt_final_heap(t);
    return t;
}

static mv_view *stepping_pair(mvt_trace *a, mvt_trace *b)
{
    mv_view *view = compare_with(mvt_view_of(a), mvt_temp_file(mvt_snapshot_bytes(b)));

    mvt_view_frame(view);
    return view;
}

static mv_alignment alignment_of(mv_view *view, mv_align by)
{
    return mv_alignment_make(mv_view_device(view), mv_view_other(view), by);
}

ViewTest(compare, equal_steps_are_at_equal_places,
         stepping_pair(stepping(6, 8, 1000, 10), stepping(6, 12, 900000, 10)))
{
    mv_alignment a = alignment_of(view, MV_ALIGN_AUTO);
    const mv_steps *here = &mv_view_device(view)->leaks.steps;
    const mv_steps *there = &mv_view_other(view)->leaks.steps;

    cr_assert_eq(a.by, MV_ALIGN_STEPS, "%s", mv_align_name(a.by));
    for (uint32_t i = 0; i < here->count; i++) {
        mv_window at;
        cr_assert(mv_alignment_column(&a, here->at[i], here->at[i] + 0.5, &at));
        cr_assert_eq(at.first, there->at[i], "step %u", i);
    }
}

ViewTest(compare, clocks_that_hardly_overlap_are_not_laid_over_each_other,
         stepping_pair(stepping(6, 8, 1000, 10), stepping(6, 8, 1470, 10)))
{
    cr_assert_eq(alignment_of(view, MV_ALIGN_CLOCK).by, MV_ALIGN_CLOCK);
    cr_assert_neq(alignment_of(view, MV_ALIGN_AUTO).by, MV_ALIGN_CLOCK);
}

ViewTest(compare, a_common_clock_wins,
         stepping_pair(stepping(6, 8, 1000, 10), stepping(6, 8, 1010, 10)))
{
    cr_assert_eq(alignment_of(view, MV_ALIGN_AUTO).by, MV_ALIGN_CLOCK);
}

/* The key cycles through the possible alignments, and the view names each. */
ViewTest(compare, the_key_cycles_through_possible_values,
         stepping_pair(stepping(6, 8, 1000, 10), stepping(6, 8, 900000, 10)))
{
    static const mv_align expected[] = {MV_ALIGN_STEPS, MV_ALIGN_START, MV_ALIGN_SHARE,
                                        MV_ALIGN_AUTO};

    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(mv_view_do(view, MV_DO_next_align, 0));
        cr_assert_eq(view->now->align, expected[i], "%u: %s", i,
                     mv_align_name((mv_align)view->now->align));
        const char *text = mvt_format(
            "aligned by %s", mv_align_name(alignment_of(view, (mv_align)view->now->align).by));
        cr_assert(mvt_scene_says(mvt_view_frame(view), text), "no text \"%s\"", text);
    }
}

/* A recording that ends early must not be drawn as if it continued. */
ViewTest(compare, nothing_is_shown_after_the_end,
         stepping_pair(stepping(8, 8, 1000, 10), stepping(2, 8, 1000, 10)))
{
    mv_alignment a = alignment_of(view, MV_ALIGN_START);
    uint32_t end = mv_view_other(view)->lives.events.count, moment;

    cr_assert(mv_alignment_moment(&a, end - 1, &moment));
    cr_assert_eq(moment, end - 1, "%u of %u", moment, end);
    cr_assert_not(mv_alignment_moment(&a, end + 1, &moment));
    cr_assert(mvt_scene_says(mvt_view_frame(view), "peak"));
}

/* The picture must add up to the figures of `memviz diff`. */
LongTest(compare, the_difference_is_that_of_the_report)
{
    static const char *const pairs[][2] = {
        {"gpt_train", "leak_in_training"}, {"mlp_train", "gpt_train"}, {"oom", "oom_fragmented"}};

    for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        mv_view *view = pair(pairs[i][0], pairs[i][1]);
        const cJSON *report = mvt_json(0, "$MEMVIZ diff --json $SNAPS/%s.pickle $SNAPS/%s.pickle",
                                       pairs[i][1], pairs[i][0]);
        char text[64], change[MV_SIZE_TEXT];
        mv_view_frame(view, 1280, 720, 0);
        mv_view_do(view, MV_DO_show_flame, 0);
        const mv_scene *scene = mvt_view_do(view, MV_DO_flame_source, MV_FLAMES_CHANGE);
        const mv_flames_answer *a = view->panels->flames_shown;
        cr_assert_not_null(a);
        cr_assert_eq((double)mv_flame_change(&a->flames.tree.nodes[0]),
                     mvt_json_number(report, "delta"));
        snprintf(text, sizeof text, "all \xc2\xb7 %s",
                 mv_size_change_text(change, mv_flame_change(&a->flames.tree.nodes[0])));
        cr_assert(mvt_scene_says(scene, text), "no text \"%s\"", text);
        for (int dark = 0; dark < 2; dark++) {
            mv_view_write_desk(view)->is_dark = dark;
            scene = mvt_view_frame(view);
            mvt_scene_check_texts(scene, "difference");
            mvt_scene_check_contrasts(scene, "difference");
        }
        mvt_end_now(view);
    }
}

/* Without a compared device there is a hint, and a search for a removed frame is not an error. */
ViewTest(compare, a_difference_needs_another_device, pair("gpt_train", "leak_in_training"))
{
    mv_view_do(view, MV_DO_show_flame, 0);
    mvt_view_do(view, MV_DO_flame_source, MV_FLAMES_CHANGE);
    for (uint32_t i = view->panels->flames_shown->flames.tree.count; i-- > 1;)
        if (view->panels->flames_shown->flames.tree.nodes[i].side == 0) {
            mvt_view_do(view, MV_DO_flame_focus, i);
            break;
        }
    mv_view_write(view)->other_file = mv_view_write(view)->other_device = MV_NO_ROW;
    cr_assert(mvt_scene_says(mvt_view_frame(view), "no device is compared"));
}

/* The list of devices to compare with leaves out the shown one, so Enter takes another one. */
ViewTest(compare, a_device_is_not_compared_with_itself, mvt_view("leak_in_training"))
{
    mvt_view_open(view, mvt_snapshot("two_devices"));
    mvt_view_frame(view);
    mvt_view_do(view, MV_DO_compare, 0);
    cr_assert_eq(view->desk->focus, MV_FOCUS_DEVICES);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_neq(view->now->other_file, MV_NO_ROW);
    cr_expect(view->now->other_file != view->now->file ||
              view->now->other_device != view->now->device);
}

/* The key has room for the alignment in a narrow window, too. */
Test(compare, the_alignment_is_named_in_whole_words)
{
    static const float widths[] = {360, 390, 820, 1280};
    mv_view *view = pair("leak_in_training", "no_leak_warmup");

    for (int w = 0; w < 4; w++) {
        mvt_view_sized(view, widths[w], 844);
        const mv_zone *zone = mvt_view_zone(view, MV_DO_next_align, 0);
        cr_assert_not_null(zone, "%g", (double)widths[w]);
        cr_expect(mvt_scene_says(&view->ui.scene, "by the clock"), "%g", (double)widths[w]);
        for (uint32_t i = 0; i < view->ui.scene.shape_count; i++) {
            const mv_shape *s = &view->ui.scene.shapes[i];
            cr_expect(s->kind != MV_SHAPE_TEXT || !strstr(s->text, "aligned") ||
                          !strstr(s->text, "\xe2\x80\xa6"),
                      "%s at %g", s->text, (double)widths[w]);
        }
    }
}
