/* Printed pictures of memory over time, for synthetic traces and every real snapshot. Shapes must
 * be where a literal model puts them, texts must be legible, and every picture must stay small. */
#include <math.h>

#include "base/size.h"
#include "tests/paper/fixture_paper.h"

typedef struct {
    mv_lives lives;
    mv_paper timeline;
    const mv_filter_bits *matches; /* rows that may be in the picture; NULL: all */
    const mv_filter_bits *largest; /* of those rows, the ones drawn one by one; NULL: all */
} picture;

static picture p;

static bool has(const mv_filter_bits *bits, uint32_t row)
{
    return !bits || mv_filter_has(bits, row);
}

static void draw(const mv_trace *trace, uint32_t device, mv_paper_opts opts)
{
    mvt_picture made = mvt_picture_of(&mv_paper_timeline, trace, device, opts);

    p = (picture){.lives = made.lives, .timeline = made.paper};
}

static int by_top(const void *left, const void *right)
{
    float a = ((const mvt_extent *)left)->top, b = ((const mvt_extent *)right)->top;

    return (a > b) - (a < b);
}

/* Finds the grey area under the allocations, whose outline is the total. */
static const mv_shape *area_of(const mv_scene *scene)
{
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind == MV_SHAPE_POLYGON && s->fill == mv_theme_of(false)->rest)
            return s;
    }
    cr_assert_fail("no area");
    return NULL;
}

/* Finds the allocations at x, from the top down. They must lie between the area and the hatching,
 * have a pointer text, and be inside the area. */
static uint32_t shapes_at(const mv_scene *scene, float x, mvt_extent *out, uint32_t most)
{
    const mv_shape *area = area_of(scene);
    float left = scene->points[area->first].x, bottom = scene->points[area->first].y;
    uint32_t count = 0;

    for (uint32_t i = 0; i < area->count; i++)
        bottom = fmaxf(bottom, scene->points[area->first + i].y);
    for (uint32_t i = (uint32_t)(area - scene->shapes) + 1; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (!mvt_shape_is_filled(s) || !s->title || scene->points[s->first].x < left ||
            scene->points[s->first + s->count / 2].y > bottom + 1 || s->fill == 0)
            continue;
        if (s->fill == mv_theme_of(false)->lane)
            continue;
        count += mvt_scene_cross(scene, s, x, out + count, most - count);
    }
    qsort(out, count, sizeof *out, by_top);
    return count;
}

/* ---- compared with a literal model --------------------------------------------------------- */

/* Makes allocations large enough for a separate shape each, whose addresses are used only once. */
static mvt_trace *random_trace(uint64_t seed, uint32_t events)
{
    mvt_trace *t = mvt_new();
    uint64_t living[32], state = seed, addr = (uint64_t)1 << 40;
    uint32_t count = 0;

    for (uint32_t e = 0; e < events; e++) {
        if (count == 32 || (count > 0 && mvt_random(&state, 100) < 45)) {
            uint32_t i = mvt_random(&state, count);
            mvt_free(t, .addr = living[i]);
            living[i] = living[--count];
            continue;
        }
        mvt_segment_alloc(t, .addr = addr, .bytes = 40 << 20);
        mvt_alloc(t, .addr = addr, .bytes = (10 + mvt_random(&state, 20)) << 20,
                  .stack = mvt_random(&state, 2) ? "f:a.py:1" : "g:b.py:2");
        living[count++] = addr;
        addr += 40 << 20;
    }
    mvt_final_heap(t);
    return t;
}

/* Finds all live allocations that match. */
static uint64_t literal_total(uint32_t event)
{
    const mv_alloc_lives *a = &p.lives.allocs;
    uint64_t total = 0;

    for (uint32_t i = 0; i < a->count; i++)
        if (has(p.matches, i) && (a->birth[i] == MV_BEFORE || a->birth[i] <= event) &&
            a->freed[i] > event)
            total += a->block[i];
    return total;
}

/* Every live allocation must be on top of the previous one, in order of birth, from the top
 * down. */
static uint32_t literal(uint32_t event, double scale, float bottom, mvt_extent *out)
{
    const mv_alloc_lives *a = &p.lives.allocs;
    uint32_t count = 0;
    uint64_t offset = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        if (!has(p.matches, i) || !has(p.largest, i) ||
            (a->birth[i] != MV_BEFORE && a->birth[i] > event) || a->freed[i] <= event)
            continue;
        out[count].bottom = bottom - (float)((double)offset * scale);
        offset += a->block[i];
        out[count++].top = bottom - (float)((double)offset * scale);
    }
    qsort(out, count, sizeof *out, by_top);
    return count;
}

/* Finds the middle of a pixel column that shows only the heap after this event. Returns false if
 * there is none. */
static bool middle_of(float left, float right, double event, double events, float *x)
{
    double width = (double)right - (double)left;
    double first = ceil(width * event / events + 0.01);
    double end = floor(width * (event + 1) / events - 0.01);

    *x = left + (float)first + 0.5f;
    return first < end;
}

static void compare_at(uint32_t event, uint32_t from, uint32_t to, double scale, float bottom)
{
    const mv_scene *scene = &p.timeline.scene;
    const mv_shape *area = area_of(scene);
    float left = scene->points[area->first].x;
    float right = scene->points[area->first + area->count - 2].x;
    mvt_extent drawn[128], meant[128];
    float x;

    if (!middle_of(left, right, event - from, to - from, &x))
        return;
    uint32_t found = shapes_at(scene, x, drawn, 128);
    cr_assert_eq(found, literal(event, scale, bottom, meant), "event %u of %u to %u: %u shapes",
                 event, from, to, found);
    for (uint32_t i = 0; i < found; i++) {
        cr_assert_float_eq(drawn[i].top, meant[i].top, 0.11, "event %u: %g for %g", event,
                           (double)drawn[i].top, (double)meant[i].top);
        cr_assert_float_eq(drawn[i].bottom, meant[i].bottom, 0.11);
    }
    if (found > 0) {
        float top = bottom - (float)((double)literal_total(event) * scale);
        mvt_extent total[4];
        cr_assert_eq(mvt_scene_cross(scene, area, x, total, 4), 1);
        cr_assert_float_eq(total[0].top, top, 0.11, "the outline is the total");
    }
}

/* Computes the picture's scale from its highest point, which is the peak. */
static double scale_of(uint32_t from, uint32_t to, float *bottom)
{
    const mv_scene *scene = &p.timeline.scene;
    const mv_shape *area = area_of(scene);
    float top = 1e9f;
    uint64_t peak = 1;

    *bottom = 0;
    for (uint32_t i = 0; i < area->count; i++) {
        top = fminf(top, scene->points[area->first + i].y);
        *bottom = fmaxf(*bottom, scene->points[area->first + i].y);
    }
    for (uint32_t e = from; e < to; e++)
        peak = literal_total(e) > peak ? literal_total(e) : peak;
    return (double)(*bottom - top) / (double)peak;
}

static void compare(const mv_trace *trace, uint32_t from, uint32_t to)
{
    float bottom;

    draw(trace, 0, (mv_paper_opts){.window = {from, to}});
    cr_assert_eq(p.timeline.events, to - from);
    double scale = scale_of(from, to, &bottom);
    for (uint32_t e = from; e < to; e++)
        compare_at(e, from, to, scale, bottom);
}

LongTest(paper_timeline, shapes_are_where_a_literal_model_puts_them)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        mvt_trace *t = random_trace(seed, 40 + 20 * (uint32_t)seed);
        const mv_trace *trace = mvt_done(t);
        uint32_t events = mv_trace_events(trace, 0).count;
        compare(trace, 0, events);
        compare(trace, events / 3, events - 7);
    }
}

/* ---- parts of everything ----------------------------------------------------------------- */

static mv_filter_bits random_rows(uint32_t rows, uint64_t *state)
{
    mv_filter_bits bits = {.rows = rows,
                           .words = mv_push_array(mvt_memory(), uint64_t, rows / 64 + 1)};

    for (uint32_t i = 0; i < rows; i++)
        if (mvt_random(state, 2)) {
            bits.words[i / 64] |= UINT64_C(1) << i % 64;
            bits.matches++;
        }
    return bits;
}

/* Finds the `top` largest rows of `among`, one by one. */
static mv_filter_bits largest_rows(const mv_filter_bits *among, uint32_t from, uint32_t to,
                                   uint32_t top)
{
    const mv_alloc_lives *a = &p.lives.allocs;
    mv_filter_bits bits = {.rows = a->count,
                           .words = mv_push_array(mvt_memory(), uint64_t, a->count / 64 + 1)};

    for (; top > 0; top--) {
        uint32_t best = MV_NO_ROW;
        for (uint32_t i = 0; i < a->count; i++)
            if (has(among, i) && !mv_filter_has(&bits, i) && a->birth[i] < to &&
                a->freed[i] >= from && (best == MV_NO_ROW || a->block[i] > a->block[best]))
                best = i;
        if (best == MV_NO_ROW)
            break;
        bits.words[best / 64] |= UINT64_C(1) << best % 64;
        bits.matches++;
    }
    return bits;
}

static void compare_part(const mv_trace *trace, uint32_t from, uint32_t to, uint64_t seed,
                         bool is_filtered, uint32_t top)
{
    float bottom;

    draw(trace, 0, (mv_paper_opts){.window = {from, to}});
    mv_filter_bits matches = random_rows(p.lives.allocs.count, &seed);
    mv_filter_bits largest = largest_rows(is_filtered ? &matches : NULL, from, to, top);
    draw(trace, 0,
         (mv_paper_opts){.window = {from, to},
                         .only = is_filtered ? &matches : NULL,
                         .filter = "half",
                         .top = top});
    p.matches = is_filtered ? &matches : NULL;
    p.largest = top ? &largest : NULL;
    cr_assert_leq(p.timeline.drawn, top ? top : matches.matches);
    double scale = scale_of(from, to, &bottom);
    for (uint32_t e = from; e < to; e++)
        compare_at(e, from, to, scale, bottom);
    mvt_scene_check(&p.timeline.scene, "part");
}

LongTest(paper_timeline, parts_are_stacked_without_the_others)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        mvt_trace *t = random_trace(seed, 60 + 20 * (uint32_t)seed);
        const mv_trace *trace = mvt_done(t);
        uint32_t events = mv_trace_events(trace, 0).count;
        compare_part(trace, 0, events, seed, true, 0);
        compare_part(trace, events / 3, events - 7, seed, true, 0);
        compare_part(trace, 0, events, seed, false, 9);
        compare_part(trace, events / 3, events - 7, seed, true, 4);
    }
}

Test(paper_timeline, a_picture_names_its_part)
{
    mvt_trace *t = mvt_new();
    uint64_t word = 2;
    mv_filter_bits second = {.rows = 3, .matches = 1, .words = &word}, none = {.rows = 3};
    uint64_t nothing = 0;

    none.words = &nothing;
    mvt_alloc(t, .addr = 0x100000, .bytes = 5 << 20, .stack = "f:a.py:1");
    mvt_alloc(t, .addr = 0x800000, .bytes = 4 << 20, .stack = "g:b.py:2");
    mvt_alloc(t, .addr = 0xf00000, .bytes = 1 << 20);
    draw(mvt_done(t), 0, (mv_paper_opts){.only = &second, .filter = "g <b>"});
    cr_expect_eq(p.timeline.matches, 1);
    cr_expect(mvt_scene_says(&p.timeline.scene, "peak allocated about 10.0 MiB"));
    cr_expect(mvt_scene_says(&p.timeline.scene,
                             "only g <b>: 1 of 3 allocations, 4.00 MiB (40.0 %) of the peak of "
                             "10.0 MiB"));
    cr_expect(mvt_scene_says(&p.timeline.scene, "most of these 4.00 MiB"));
    draw(mvt_done(t), 0, (mv_paper_opts){.only = &none, .filter = "h"});
    cr_expect(mvt_scene_says(&p.timeline.scene, "only h: none of the 3 allocations matches"));
    draw(mvt_done(t), 0, (mv_paper_opts){.top = 1});
    cr_expect_eq(p.timeline.drawn, 1);
    cr_expect(mvt_scene_says(&p.timeline.scene, "the 1 largest of 3 allocations separately, all "
                                                "others as a grey band on top"));
    cr_expect(mvt_scene_says(&p.timeline.scene, "2 other blocks"));
}

/* ---- every real snapshot ----------------------------------------------------------------- */

/* Checks at a few places that shapes do not overlap and do not leave the area of the total. */
static void check_stack(const mv_scene *scene, const char *name)
{
    const mv_shape *area = area_of(scene);
    float left = scene->points[area->first].x;
    float right = scene->points[area->first + area->count - 2].x;

    for (int i = 0; i < 40; i++) {
        float x = left + (right - left) * ((float)i + 0.37f) / 40;
        static mvt_extent found[4096];
        mvt_extent total[4];
        uint32_t count = shapes_at(scene, x, found, 4096);
        cr_assert_eq(mvt_scene_cross(scene, area, x, total, 4), 1);
        for (uint32_t s = 0; s < count; s++) {
            cr_expect_geq(found[s].top, total[0].top - 0.01f, "%s", name);
            cr_expect_leq(found[s].bottom, total[0].bottom + 0.01f, "%s", name);
            cr_expect(s == 0 || found[s].top >= found[s - 1].bottom - 0.01f,
                      "%s: %g to %g, then %g", name, (double)found[s - 1].top,
                      (double)found[s - 1].bottom, (double)found[s].top);
        }
    }
}

static void check_picture(const mv_trace *trace, const char *name, uint32_t device, bool is_dark)
{
    const mv_scene *scene = &p.timeline.scene;

    draw(trace, device, (mv_paper_opts){.title = name, .is_dark = is_dark});
    mvt_scene_check_inside(scene, name);
    mvt_scene_check_texts(scene, name);
    /* The title must have the peaks from `memviz stats`. */
    char allocated[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];
    const char *peak = mv_recording_is_state_only(&p.lives) ? "" : "peak ";
    mv_bounds bounds = mv_bounds_of(&p.lives);
    const char *least = p.lives.doubts.inexact_blocks ? "at least " : "";
    mv_totals totals;
    mvt_ok(mv_totals_find(mvt_memory(), trace, &p.lives, &totals, mvt_err()));
    const char *text =
        mvt_format("%sallocated %s%s \xc2\xb7 %sreserved %s%s \xc2\xb7", peak,
                   bounds.allocated == MV_BOUND_LEAST ? least : mv_bound_words(bounds.allocated),
                   mv_size_text(allocated, totals.peak.bytes.allocated), peak,
                   bounds.reserved == MV_BOUND_LEAST ? "" : mv_bound_words(bounds.reserved),
                   mv_size_text(reserved, totals.peak.bytes.reserved));
    cr_expect(mvt_scene_says(&p.timeline.scene, text), "%s does not say \"%s\"", name, text);
    mvt_scene_check_contrasts(scene, name);
    if (!is_dark)
        check_stack(scene, name);
    cr_expect_lt(mvt_scene_svg_bytes(scene), 5000000, "%s", name);
    cr_expect_eq(p.timeline.events, p.lives.events.count);
    cr_expect_leq(p.timeline.drawn, p.lives.allocs.count);
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    for (uint32_t device = 0; device < mv_trace_devices(trace); device++) {
        check_picture(trace, name, device, false);
        check_picture(trace, name, device, true);
    }
}

EachSnapshot(paper_timeline, pictures_of_every_snapshot_are_legible, check_snapshot);

static void check_narrow(const mv_trace *trace, const char *name)
{
    const mv_paper_kind *kinds[] = {&mv_paper_timeline, &mv_paper_segments};
    const mv_theme *theme = mv_theme_of(false);

    for (int i = 0; i < 2; i++) {
        mvt_picture narrow = mvt_picture_of(
            kinds[i], trace, 0, (mv_paper_opts){.title = name, .width = 800, .height = 360});
        const mv_scene *scene = &narrow.paper.scene;
        mvt_scene_check_inside(scene, name);
        mvt_scene_check_texts(scene, name);
        /* Figures must never be truncated; they move to another line instead. */
        for (uint32_t j = 0; j < scene->shape_count; j++) {
            const mv_shape *s = &scene->shapes[j];
            if (s->kind == MV_SHAPE_TEXT && s->fill == theme->faint_text && s->width >= 13)
                cr_expect_not(strstr(s->text, "\xe2\x80\xa6"), "%s: %s", name, s->text);
        }
    }
}

EachSnapshot(paper_timeline, narrow_pictures_of_every_snapshot_are_legible, check_narrow);

/* An axis with only one number shows no scale. */
Test(paper_timeline, a_small_picture_has_several_ticks)
{
    static const float widths[] = {600, 700, 1200};
    mv_trace trace = mvt_load(mvt_memory(), "leak_in_training");
    mv_lives lives = mvt_lives(mvt_memory(), &trace, 0);

    for (int w = 0; w < 3; w++) {
        mv_paper_opts opts = {.title = "x", .width = (uint32_t)widths[w], .height = 400};
        uint32_t numbers = 0;
        mv_paper paper;
        mvt_ok(mv_paper_find(mvt_memory(), &trace, &lives, &mv_paper_timeline, &opts, &paper,
                             mvt_err()));
        for (uint32_t i = 0; i < paper.scene.shape_count; i++) {
            const mv_shape *s = &paper.scene.shapes[i];
            numbers += s->kind == MV_SHAPE_TEXT && strlen(s->text) == 5 && s->text[1] == ',' &&
                       strcmp(s->text + 2, "000") == 0;
        }
        cr_expect_geq(numbers, 3, "%g: %u", (double)widths[w], numbers);
        mvt_scene_check_texts(&paper.scene, "x");
    }
}

static void check_part_of_snapshot(const mv_trace *trace, const char *name)
{
    uint64_t state = 11;

    draw(trace, 0, (mv_paper_opts){.title = name});
    mv_filter_bits matches = random_rows(p.lives.allocs.count, &state);
    for (uint32_t top = 0; top <= 30; top += 30) {
        draw(trace, 0,
             (mv_paper_opts){.title = name, .only = &matches, .filter = "a filter", .top = top});
        mvt_scene_check(&p.timeline.scene, name);
        check_stack(&p.timeline.scene, name);
    }
}

EachSnapshot(paper_timeline, parts_of_every_snapshot_are_legible, check_part_of_snapshot);

/* ---- the texts of a picture ---------------------------------------------------------------- */

#define SAYS(...) MVT_PICTURE_SAYS(&mv_paper_timeline, __VA_ARGS__)

LongTest(paper_timeline, a_picture_lists_contents_and_missing_data)
{
    SAYS("gpt_train", "peak allocated 1.15 GiB", "peak reserved 1.19 GiB", "6,562 events",
         "peak 1.15 GiB \xc2\xb7 event 2,150 \xc2\xb7 2.948 s", "train.py:62 forward",
         "complete history", "no leak", "Optimizer.step#AdamW.step", "4.00 MiB (4,194,304 bytes)",
         "spikes");
    SAYS("annotated", "train.py:58 attention \xc2\xb7 32.0 MiB");
    SAYS("oom", "out of memory: requested 100 MiB, 134 GiB free on the device");
    SAYS("leak_in_training", "leak: train.py:62 forward keeps 2.00 MiB a step, 24.0 MiB at the end",
         "leak: train.py:62 forward", "part of a leak", "hatched");
    SAYS("no_history", "no events recorded", "No events were recorded");
    SAYS("ring", "history truncated");
    SAYS("late_start", "recording began late",
         "from before the first event (allocation not recorded) to event");
    SAYS("two_devices", "device 0 of 2");
    SAYS("streams", "active");
}

/* A picture of a level without a problem must not speak for the whole file. */
Test(paper_timeline, names_a_problem_of_another_level)
{
    SAYS("pinned_leak", "PyTorch's allocator: no leak",
         "leak on level host: pinned memory: gpu_levels.py:122");
}

/* The key must contain only items that are visible. */
Test(paper_timeline, the_key_has_only_visible_areas)
{
    mv_trace trace = mvt_load(mvt_memory(), "two_devices");

    draw(&trace, 0, (mv_paper_opts){.title = "two_devices"});
    cr_expect_not(mvt_scene_says(&p.timeline.scene, "small allocations together"));
    cr_expect_not(mvt_scene_says(&p.timeline.scene, "from before the first event"));
}

/* Marks are drawn at the events that follow them. Their names are shown where there is room, and in
 * the pointer texts. */
Test(paper_timeline, marks_of_the_program_are_drawn)
{
    for (int with_ranges = 0; with_ranges < 2; with_ranges++) {
        mvt_trace *t = mvt_new();
        uint32_t marks = 0;
        if (with_ranges)
            mvt_annotate(t, "a range", true, 0);
        for (uint64_t i = 0; i < 40; i++) {
            if (i % 10 == 5)
                mvt_mark(t, i == 5 ? "warm up ends" : "epoch", 0);
            mvt_alloc(t, .addr = (i + 1) << 20, .bytes = 1 << 20);
        }
        if (with_ranges)
            mvt_annotate(t, "a range", false, 0);
        draw(mvt_done(t), 0, (mv_paper_opts){0});
        const mv_shape *area = area_of(&p.timeline.scene);
        float left = p.timeline.scene.points[area->first].x;
        float right = p.timeline.scene.points[area->first + area->count - 2].x;
        mvt_scene_check(&p.timeline.scene, "marks");
        cr_expect(mvt_scene_says(&p.timeline.scene, "warm up ends"));
        cr_expect(mvt_scene_says(&p.timeline.scene, "marks"));
        cr_expect_eq(mvt_scene_says(&p.timeline.scene, "annotations"), with_ranges);
        cr_expect(mvt_scene_hovers(&p.timeline.scene, "epoch: before event 35"));
        for (uint32_t i = 0; i < p.timeline.scene.shape_count; i++) {
            const mv_shape *s = &p.timeline.scene.shapes[i];
            const mv_point *at = p.timeline.scene.points + s->first;
            if (!s->title || !strstr(s->title, ": before event "))
                continue;
            cr_expect_float_eq(at->x, left + (right - left) * (5 + 10.f * (float)marks) / 40, 0.51);
            marks++;
        }
        cr_expect_eq(marks, 4);
    }
}

/* Memory that waits for a stream is not allocated, even if no event shows that it waits. */
Test(paper_timeline, blocks_that_wait_are_not_in_the_stack)
{
    mvt_trace *t = mvt_new();

    mvt_segment(t, .addr = 1 << 21, .bytes = 4 << 20);
    mvt_block(t, .bytes = 3 << 20, .state = MV_BLOCK_PENDING_FREE, .stack = "f:a.py:1");
    mvt_block(t, .bytes = 1 << 20, .state = MV_BLOCK_ALLOCATED, .stack = "g:b.py:2");
    draw(mvt_done(t), 0, (mv_paper_opts){0});
    cr_expect(mvt_scene_says(&p.timeline.scene, "allocated 1.00 MiB"));
    cr_expect(mvt_scene_says(&p.timeline.scene, "100 %"));
    cr_expect_not(mvt_scene_says(&p.timeline.scene, "a.py:1 f"));
    cr_expect_eq(p.timeline.drawn, 1);
    mvt_scene_check(&p.timeline.scene, "waiting");
}

Test(paper_timeline, a_storm_of_marks_stays_small)
{
    mvt_trace *t = mvt_new();

    for (uint64_t i = 0; i < 20000; i++) {
        mvt_mark(t, "a", 0);
        if (i % 10 == 0)
            mvt_alloc(t, .addr = (i + 1) << 20, .bytes = 1 << 20);
    }
    draw(mvt_done(t), 0, (mv_paper_opts){0});
    mvt_scene_check(&p.timeline.scene, "marks");
    cr_expect_lt(p.timeline.scene.shape_count, 4000);
}

Test(paper_timeline, a_picture_names_its_window)
{
    mvt_trace *t = random_trace(3, 100);
    const mv_trace *trace = mvt_done(t);

    draw(trace, 0, (mv_paper_opts){.window = {10, 30}});
    cr_expect_eq(p.timeline.events, 20);
    cr_expect(mvt_scene_says(&p.timeline.scene, "20 of "));
}

Test(paper_timeline, almost_empty_traces_are_drawn)
{
    mvt_trace *empty = mvt_new(), *one = mvt_new(), *bare = mvt_new();

    draw(mvt_done(empty), 0, (mv_paper_opts){0});
    cr_expect_eq(p.timeline.drawn, 0);
    mvt_scene_check_texts(&p.timeline.scene, "empty");
    mvt_alloc(one, .addr = 512, .bytes = 512);
    check_picture(mvt_done(one), "one event without a stack", 0, false);
    mvt_oom(bare, .addr = UINT64_MAX, .bytes = UINT64_MAX);
    mvt_free(bare, .addr = 512, .bytes = UINT64_MAX);
    check_picture(mvt_done(bare), "senseless events", 0, false);
}

/* Many code lines, tiny to large sizes, short and long lives, so that nothing can be merged. Even
 * so, the file must stay small and texts must not overlap. */
LongTest(paper_timeline, a_picture_of_anything_stays_small)
{
    enum { EVENTS = 60000, LIVING = 3000 };
    mvt_trace *t = mvt_new();
    static uint64_t living[LIVING];
    uint64_t state = 99, addr = (uint64_t)1 << 40;

    for (uint32_t e = 0; e < EVENTS; e++) {
        uint64_t *slot = &living[mvt_random(&state, LIVING)];
        if (*slot)
            mvt_free(t, .addr = *slot);
        *slot = addr;
        const char *stack =
            mvt_format("\"a_function&&&&with<<<<quite>>>>a_long_name_%u:some/folder/file_%u.py:%u;"
                       "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\":m.py:1",
                       (unsigned)(mvt_random(&state, 40)), (unsigned)(mvt_random(&state, 20)),
                       (unsigned)(mvt_random(&state, 50)));
        mvt_alloc(t, .addr = addr, .bytes = (uint64_t)512 << mvt_random(&state, 16),
                  .stack = stack);
        addr += 64 << 20;
    }
    draw(mvt_done(t), 0, (mv_paper_opts){0});
    cr_expect_lt(mvt_scene_svg_bytes(&p.timeline.scene), 5000000);
    mvt_scene_check_inside(&p.timeline.scene, "anything");
    mvt_scene_check_texts(&p.timeline.scene, "anything");
    check_stack(&p.timeline.scene, "anything");
    cr_expect_gt(p.timeline.drawn, 1000);
}

LongTest(paper_timeline, fails_when_memory_is_out)
{
    mvt_picture_without_memory(&mv_paper_timeline, mvt_done(random_trace(5, 60)),
                               (mv_paper_opts){0});
}

Test(paper_timeline, the_scene_of_a_small_trace_is_unchanged)
{
    mvt_picture_golden(&mv_paper_timeline, "small", (mv_paper_opts){0});
}
