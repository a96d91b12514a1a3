/* The allocator's state in the viewer. Its numbers must equal the reports', it zooms and moves, and
 * it marks what the cursor's event changes. */
#include <math.h>

#include "base/size.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"

static mv_view *state_of(const char *name)
{
    mv_view *view = mvt_view(name);

    mv_view_write(view)->main = MV_MAIN_STATE;
    mvt_view_frame(view);
    return view;
}

static const mv_state_place *place_of(const mv_view *view)
{
    cr_assert_not_null(view->panels->heap_shown);
    return &view->panels->heap_place;
}

/* ---- numbers ----------------------------------------------------------------------------- */

static void says_size(const mv_view *view, const char *name, uint64_t bytes, const char *of)
{
    char size[MV_SIZE_TEXT];
    const char *text = mvt_format("%s %s", mv_size_text(size, bytes), of);

    cr_expect(mvt_scene_says(&view->ui.scene, text), "%s does not say \"%s\"", name, text);
}

/* At the moment of the fragmentation report, shows all of the report's sums in the same words. */
static void check_report(mv_view *view, const char *name)
{
    const mv_fragmentation *f = &mv_view_device(view)->fragmentation;

    mv_view_write(view)->main = MV_MAIN_STATE;
    mv_view_move_cursor(view, f->at.event);
    mvt_view_frame(view);
    const mv_heap_answer *a = view->panels->heap_shown;
    cr_assert_not_null(a);
    cr_expect_eq(a->heap.sums.reserved, f->bytes.reserved, "%s", name);
    cr_expect_eq(a->heap.sums.allocated, f->bytes.allocated, "%s", name);
    cr_expect_eq(a->heap.sums.pending, f->bytes.pending, "%s", name);
    cr_expect_eq(a->heap.sums.free, f->bytes.free, "%s", name);
    cr_expect_eq(a->heap.sums.rounding, f->bytes.rounding, "%s", name);
    cr_expect_eq(a->heap.largest, f->largest, "%s", name);
    cr_expect_eq(a->state.whole, f->whole, "%s", name);
    if (f->bytes.reserved == 0)
        return;
    says_size(view, name, f->bytes.reserved, "reserved = ");
    says_size(view, name, f->bytes.allocated, "allocated");
    if (f->bytes.pending)
        says_size(view, name, f->bytes.pending, "pending");
    if (f->stranded)
        says_size(view, name, f->stranded, "stranded in used segments");
    if (f->whole)
        says_size(view, name, f->whole, f->stranded ? "in unused ones" : "in unused segments");
    if (mv_view_device(view)->lives.events.count && f->at.event != MV_BEFORE &&
        mv_view_device(view)->lives.events.action[f->at.event] == MV_ACTION_OOM)
        return; /* there the holes are compared with the request */
    if (f->bytes.free)
        says_size(view, name, f->bytes.free, "is free");
    if (f->bytes.rounding)
        says_size(view, name, f->bytes.rounding, "is lost to rounding");
}

/* Each segment of the heap must have its bytes in the picture: the sum of its widths in pixels over
 * all rows. */
static void check_segments(mv_view *view, const char *name)
{
    const mv_heap_map *map = &view->panels->heap_shown->heap.map;
    const mv_state_place *p = place_of(view);
    double bytes_of_pixel = (double)p->state->row_bytes / (double)p->box.w;
    uint64_t all = 0;

    for (uint32_t s = 0; s < map->count; s++) {
        uint64_t done = 0;
        double wide = 0;
        mv_box at;
        while (mv_state_range_next(p, s, 0, map->size[s], &done, &at))
            wide += (double)at.w;
        all += map->size[s];
        cr_assert_float_eq(wide * bytes_of_pixel, (double)map->size[s],
                           bytes_of_pixel + (double)map->size[s] / 1000, "%s", name);
    }
    cr_assert_eq(all, view->panels->heap_shown->heap.sums.reserved, "%s", name);
}

static void check_numbers(mv_view *view, const char *name)
{
    check_report(view, name);
    check_segments(view, name);
    /* At every width, all lines above the rows must be legible. */
    static const float widths[] = {800, 1280, 1400, 1920, 3840};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const mv_scene *scene = mv_view_frame(view, widths[i], widths[i] * 0.6f, view->ms + 1000);
        if (view->panels->heap_shown->heap.sums.reserved)
            cr_expect(mvt_scene_says(scene, " reserved = "), "%s at %.0f", name, (double)widths[i]);
        for (uint32_t k = 0; k < scene->shape_count; k++) {
            const mv_shape *s = &scene->shapes[k];
            mv_point at = scene->points[s->first];
            if (s->kind != MV_SHAPE_TEXT || !mv_box_has(view->main_box, at.x, at.y) ||
                at.y > place_of(view)->box.y)
                continue;
            cr_expect_null(strstr(s->text, "\xe2\x80\xa6"), "%s at %.0f: %s", name,
                           (double)widths[i], s->text);
        }
    }
}

EachView(pane_state, the_state_equals_the_report, check_numbers);

/* ---- the event --------------------------------------------------------------------------- */

/* Finds the tip of the event's mark. Returns false if there is no mark. */
static bool find_sign(const mv_view *view, mv_point *out)
{
    const mv_scene *scene = &view->ui.scene;
    const mv_box *rows = &place_of(view)->box;

    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind != MV_SHAPE_POLYGON || s->count != 3 || s->fill != view->ui.theme->alarm)
            continue;
        *out = scene->points[s->first + 2];
        if (out->x <= rows->x + rows->w) /* not the key */
            return true;
    }
    return false;
}

/* The mark must be at the block that the event allocates or frees, or where the block was once it
 * is gone. */
static void check_mark(mv_view *view, uint32_t event)
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    const mv_heap_map *map = &view->panels->heap_shown->heap.map;
    const mv_state_place *p = place_of(view);
    uint8_t action = lives->events.action[event];
    bool is_segment = action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP;
    uint64_t addr = lives->events.addr[event], done = 0;
    mv_point sign;
    mv_box at;

    if (!is_segment && action != MV_ACTION_ALLOC && action != MV_ACTION_FREE_REQUESTED &&
        action != MV_ACTION_FREE_COMPLETED) {
        cr_assert_not(find_sign(view, &sign), "event %u", event);
        return;
    }
    uint32_t segment = mv_state_segment_at(map, addr);
    cr_assert_neq(segment, MV_NO_ROW, "event %u", event);
    cr_assert(find_sign(view, &sign), "event %u", event);
    cr_assert(mv_state_range_next(p, segment, addr - map->addr[segment],
                                  is_segment ? lives->events.size[event]
                                             : lives->allocs.block[lives->alloc_of[event]],
                                  &done, &at));
    at.x = fmaxf(at.x, p->box.x);
    cr_assert(sign.x >= at.x - 1 && sign.x <= at.x + fmaxf(at.w, 3) + 2, "event %u", event);
    cr_assert_float_eq(sign.y, at.y, 3, "event %u", event);
    cr_assert(mv_box_has(p->box, sign.x, sign.y), "event %u", event);
}

static void check_events(const char *name, uint32_t step)
{
    mv_view *view = state_of(name);
    uint32_t events = mv_view_device(view)->lives.events.count;

    for (uint32_t event = 0; event < events; event += step) {
        mv_view_move_cursor(view, event);
        mvt_view_frame(view);
        check_mark(view, event);
    }
}

LongTest(pane_state, the_state_marks_the_change_of_the_event)
{
    check_events("frag_pinned_by_small", 1);
    check_events("gpt_train_expandable", 131);
    check_events("streams", 1);
    check_events("mempool", 1);
}

/* The same in a zoomed view, in which the mark must scroll into view. */
ViewTest(pane_state, a_zoomed_state_follows_the_event, state_of("gpt_train"))
{
    view->ui.pointer_x = 900;
    view->ui.pointer_y = 250;
    for (int i = 0; i < 6; i++)
        mvt_view_do(view, MV_DO_zoom_in, 0);
    cr_assert_gt(place_of(view)->shown.zoom, 10);
    for (uint32_t event = 40; event < 6500; event += 97) {
        mv_view_move_cursor(view, event);
        mvt_view_do(view, MV_DO_event_on, 0);
        check_mark(view, view->now->cursor);
    }
}

ViewTest(pane_state, the_state_describes_the_event, state_of("gpt_train"))
{
    mv_view_move_cursor(view, 2150);
    mvt_view_frame(view);
    cr_expect(mvt_scene_says(&view->ui.scene, "Allocates 64.0 MiB at 0x"));
    cr_expect(mvt_scene_says(&view->ui.scene, "changed by the event"));
    view = state_of("no_history");
    cr_expect(mvt_scene_says(&view->ui.scene, "no events were recorded"));
}

/* ---- zooming and moving ------------------------------------------------------------------ */

static void point(mv_view *view, mv_input_kind kind, float x, float y)
{
    mvt_view_point(view, kind, x, y, kind != MV_INPUT_MOVE);
    mvt_view_frame(view);
}

static void wheel(mv_view *view, float x, float y, float dy)
{
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_WHEEL, .x = x, .y = y, .dy = dy});
    mvt_view_frame(view);
}

ViewTest(pane_state, the_state_zooms_at_the_pointer, state_of("gpt_train"))
{
    uint32_t segment, alloc, before;
    float x = 430, y = 220, wide;

    while (!mv_state_at(view, x, y, &before, &segment))
        cr_assert_lt(y++, 300);
    point(view, MV_INPUT_MOVE, x, y);
    wide = mv_state_x(place_of(view), 1 << 20) - mv_state_x(place_of(view), 0);
    for (int i = 0; i < 5; i++) {
        wheel(view, x, y, 1);
        cr_assert(mv_state_at(view, x, y, &alloc, &segment));
        cr_assert_eq(alloc, before);
    }
    cr_expect_float_eq(mv_state_x(place_of(view), 1 << 20) - mv_state_x(place_of(view), 0),
                       wide * 3.0518f, 0.1);
    mvt_view_do(view, MV_DO_fit_all, 0);
    cr_expect_eq(place_of(view)->shown.zoom, 1);
    cr_expect_not(mv_state_is_cut(place_of(view)));
}

ViewTest(pane_state, a_drag_moves_and_a_click_pins, state_of("gpt_train"))
{
    float x = 430, y = 220, at;

    mv_view_write(view)->heap_zoom = 8;
    mv_view_write(view)->heap_left = 0.4;
    mvt_view_frame(view);
    at = mv_state_x(place_of(view), 0);
    point(view, MV_INPUT_MOVE, x, y);
    point(view, MV_INPUT_PRESS, x, y);
    point(view, MV_INPUT_MOVE, x + 50, y);
    point(view, MV_INPUT_RELEASE, x + 50, y);
    cr_expect_float_eq(mv_state_x(place_of(view), 0), at + 50, 1);
    cr_expect_eq(view->now->pinned, MV_NO_ROW);
    mvt_view_click(view, x, y);
    cr_expect_neq(view->now->pinned, MV_NO_ROW);
    cr_expect(mvt_scene_says(&view->ui.scene, "pinned"));
    mvt_view_do(view, MV_DO_pan_right, 0);
    cr_expect_lt(mv_state_x(place_of(view), 0), at);
}

ViewTest(pane_state, the_state_fits_the_pinned_block, state_of("gpt_train"))
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    const mv_heap_map *map;
    uint32_t small = MV_NO_ROW, segment;
    uint64_t done = 0;
    mv_box at;

    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (mv_alloc_is_active(lives, i, view->now->cursor) && lives->allocs.block[i] == 512)
            small = i;
    cr_assert_neq(small, MV_NO_ROW);
    mv_view_pin(view, small);
    mvt_view_do(view, MV_DO_fit_selection, 0);
    map = &view->panels->heap_shown->heap.map;
    segment = mv_state_segment_at(map, lives->allocs.addr[small]);
    cr_assert(mv_state_range_next(place_of(view), segment,
                                  lives->allocs.addr[small] - map->addr[segment], 512, &done, &at));
    cr_expect_gt(at.w, 8);
    cr_expect(mv_box_has(place_of(view)->box, at.x + at.w / 2, at.y + at.h / 2));
}

/* The minimap below the state moves the moment, and the list of events next to it follows. */
ViewTest(pane_state, the_minimap_moves_the_moment, state_of("gpt_train"))
{
    float y = view->minimap_box.y + view->minimap_box.h / 2, w = view->minimap_box.w;
    uint32_t before = view->now->cursor, from = (uint32_t)view->now->from;

    for (int i = 1; i < 8; i++) {
        float x = view->minimap_box.x + w * (float)i / 8;
        point(view, MV_INPUT_MOVE, x, y);
        point(view, MV_INPUT_PRESS, x, y);
        uint32_t pressed = view->now->cursor;
        cr_expect_neq(pressed, before, "a click at %d of 8", i);
        point(view, MV_INPUT_MOVE, x + w / 20, y);
        cr_expect_gt(view->now->cursor, pressed, "a drag");
        cr_expect_eq(view->panels->heap_shown->ask.event, view->now->cursor);
        cr_expect_not_null(mvt_view_zone(view, MV_DO_go_to_event, view->now->cursor),
                           "the list shows the cursor's event");
        point(view, MV_INPUT_RELEASE, x + w / 20, y);
        before = view->now->cursor;
    }
    cr_expect_eq((uint32_t)view->now->from, from, "the timeline's window stays");
    wheel(view, view->minimap_box.x + 300, y, -1);
    cr_expect_eq(view->now->cursor, before + 1);
}

ViewTest(pane_state, a_click_in_the_list_goes_to_the_event, state_of("gpt_train"))
{
    mv_view_move_cursor(view, 2150);
    mvt_view_frame(view);
    mvt_view_click_zone(view, MV_DO_go_to_event, 2153);
    cr_expect_eq(view->now->cursor, 2153);
    const mv_zone *zone = mvt_view_zone(view, MV_DO_go_to_event, 2153);
    cr_assert_not_null(zone);
    wheel(view, zone->box.x + 30, zone->box.y, 1);
    cr_expect_eq(view->now->cursor, 2152);
}

/* A heap of a few segments uses the height of any pane. */
Test(pane_state, a_small_heap_fills_a_large_pane)
{
    static const char *const names[] = {"mempool", "leak_cycle", "streams", "oom", "mlp_train"};
    static const float sizes[][2] = {{390, 844}, {1280, 800}, {3840, 2160}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int s = 0; s < 3; s++) {
            mv_view *view = state_of(names[i]);
            mvt_view_sized(view, sizes[s][0], sizes[s][1]);
            const mv_state_place *p = place_of(view);
            float bottom = mv_state_row_y(p, p->state->rows - 1) + p->row;
            cr_expect_geq(bottom, p->box.y + p->box.h * 0.97f - 4, "%s at %g", names[i],
                          (double)sizes[s][0]);
            cr_expect_leq(bottom, p->box.y + p->box.h, "%s at %g", names[i], (double)sizes[s][0]);
            mvt_end_now(view);
        }
}
