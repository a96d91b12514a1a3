/* Where the state's boxes are when it is zoomed and moved, on random heaps. */
#include <math.h>

#include "tests/fixture/fixture_heap.h"
#include "viz/pictures/state_place.h"

typedef struct {
    mv_lives lives;
    mv_heap_map map;
    mv_state state;
} heap;

static const mv_box pane = {10, 20, 700, 300};

static heap heap_of(uint32_t seed, bool by_address, uint32_t columns)
{
    mvt_trace *t = mvt_new();
    mvt_heap_truth truth =
        mvt_heap_run(t, (mvt_heap_opts){.seed = seed, .calls = 150, .expandable = seed % 2});
    const mv_trace *trace = mvt_done(t);
    mv_state_opts opts = {
        .most_rows = 30, .most_groups = 9, .columns = columns, .by_address = by_address};
    heap h = {.lives = mvt_lives(mvt_arena(t), trace, 0)};
    mv_heap now;

    mvt_ok(mv_heap_init(mvt_arena(t), trace, &h.lives, &now, mvt_err()));
    mv_heap_advance(&now, truth.events / 2);
    mvt_ok(mv_heap_map_make(mvt_arena(t), &now, &h.map, mvt_err()));
    mvt_ok(
        mv_state_lay(mvt_arena(t), &h.lives, &h.map, truth.events / 2, &opts, &h.state, mvt_err()));
    return h;
}

static bool is_near(float a, float b)
{
    return fabsf(a - b) < 0.5f;
}

Test(state_place, boxes_are_found_where_they_are)
{
    for (uint32_t seed = 1; seed <= 8; seed++) {
        heap h = heap_of(seed, seed % 3 == 0, 640);
        mv_state_shown shown = {0};
        for (int i = 0; i < 6; i++) {
            mv_state_place p = mv_state_place_make(&h.state, pane, 1, shown);
            /* Every box must be found at its middle, if the middle is visible. */
            for (uint32_t j = 0; j < p.state->box_count; j++) {
                mv_box at = mv_state_box_of(&p, &p.state->boxes[j]);
                float x = at.x + at.w / 2, y = at.y + at.h / 2;
                bool is_seen =
                    x >= pane.x && x < pane.x + pane.w && y >= pane.y && y < pane.y + pane.h;
                if (at.w > 1)
                    cr_assert_eq(mv_state_box_at(&p, x, y), is_seen ? &p.state->boxes[j] : NULL);
            }
            shown = mv_state_zoom(&p, 300, 100, 1.7);
        }
    }
}

Test(state_place, rows_of_a_whole_state_fill_the_box_and_do_not_leave_it)
{
    for (uint32_t seed = 1; seed <= 8; seed++) {
        heap h = heap_of(seed, false, 640);
        mv_state_place p = mv_state_place_make(&h.state, pane, 1, (mv_state_shown){0});
        float bottom = mv_state_row_y(&p, h.state.rows - 1) + p.row;
        cr_expect(!mv_state_is_cut(&p));
        cr_expect_eq(mv_state_share(&p).w, 1);
        cr_expect_eq(mv_state_share(&p).h, 1);
        cr_expect_leq(bottom, pane.y + pane.h);
        cr_expect(is_near(mv_state_x(&p, 0), pane.x));
        cr_expect(is_near(mv_state_x(&p, h.state.row_bytes), pane.x + pane.w));
    }
}

/* Zooms in and out again. The point under the pointer must stay there until an outer edge is
 * reached. */
Test(state_place, the_point_under_the_pointer_stays_there)
{
    for (uint32_t seed = 1; seed <= 8; seed++) {
        heap h = heap_of(seed, false, 640);
        mv_state_place p = mv_state_place_make(&h.state, pane, 1, (mv_state_shown){0});
        const mv_state_box *box = &h.state.boxes[h.state.box_count / 2];
        mv_box at = mv_state_box_of(&p, box);
        float x = at.x, y = at.y, bottom = pane.y + pane.h;
        for (int i = 0; i < 12; i++) {
            p = mv_state_place_make(&h.state, pane, 1, mv_state_zoom(&p, x, y, 1.25));
            at = mv_state_box_of(&p, box);
            cr_assert(is_near(at.x, x), "%f %f", (double)at.x, (double)x);
            if (p.shown.top <= 0 || is_near(mv_state_row_y(&p, h.state.rows - 1) + p.row, bottom))
                y = at.y; /* the view is at an outer edge */
            cr_assert(is_near(at.y, y), "%f %f", (double)at.y, (double)y);
        }
        for (int i = 0; i < 30; i++)
            p = mv_state_place_make(&h.state, pane, 1, mv_state_zoom(&p, x, y, 0.8));
        cr_assert_eq(p.shown.zoom, 1);
        cr_assert_eq(p.shown.left, 0);
        cr_assert_eq(p.shown.top, 0);
    }
}

Test(state_place, moving_shows_other_bytes_and_ends_at_the_edges)
{
    heap h = heap_of(3, false, 640);
    mv_state_place p = mv_state_place_make(&h.state, pane, 1, (mv_state_shown){.zoom = 8}), to;
    float x = mv_state_x(&p, h.state.row_bytes / 2);

    to = mv_state_place_make(&h.state, pane, 1, mv_state_pan(&p, -100, 0));
    cr_expect(is_near(mv_state_x(&to, h.state.row_bytes / 2), x - 100));
    to = mv_state_place_make(&h.state, pane, 1, mv_state_pan(&p, -1e6f, -1e6f));
    cr_expect_float_eq(mv_state_share(&to).x + mv_state_share(&to).w, 1, 1e-5);
    cr_expect_float_eq(mv_state_share(&to).y + mv_state_share(&to).h, 1, 1e-5);
    cr_expect(is_near(mv_state_x(&to, h.state.row_bytes), pane.x + pane.w));
    cr_expect(is_near(mv_state_row_y(&to, h.state.rows - 1) + to.row, pane.y + pane.h) ||
              to.shown.top == 0);
    to = mv_state_place_make(&h.state, pane, 1, mv_state_pan(&to, 1e6f, 1e6f));
    cr_expect_eq(to.shown.left, 0);
    cr_expect_eq(to.shown.top, 0);
}

/* Each piece must scroll into view, and nothing may move if it is already visible. */
Test(state_place, any_piece_can_be_scrolled_into_view)
{
    for (uint32_t seed = 1; seed <= 6; seed++) {
        heap h = heap_of(seed, seed % 2, 100000);
        mv_state_place p = mv_state_place_make(&h.state, pane, 1, (mv_state_shown){.zoom = 5});
        for (uint32_t s = 0; s < h.map.count; s++)
            for (uint32_t i = h.map.first_piece[s]; i < h.map.first_piece[s + 1]; i++) {
                uint64_t offset = h.map.piece_addr[i] - h.map.addr[s], done = 0;
                mv_box at;
                p = mv_state_place_make(&h.state, pane, 1,
                                        mv_state_reveal(&p, s, offset, h.map.piece_size[i]));
                cr_assert(mv_state_range_next(&p, s, offset, h.map.piece_size[i], &done, &at));
                cr_assert_geq(at.x, pane.x - 1);
                cr_assert(at.x + at.w <= pane.x + pane.w + 1 || at.x <= pane.x + 1);
                cr_assert_geq(at.y, pane.y - 1);
                cr_assert_leq(at.y + at.h, pane.y + pane.h + 1);
                mv_state_shown shown = mv_state_reveal(&p, s, offset, h.map.piece_size[i]);
                cr_assert_float_eq(shown.left, p.shown.left, 1e-6);
                cr_assert_float_eq(shown.top, p.shown.top, 1e-3);
                p.shown = mv_state_fit(&p, s, offset, h.map.piece_size[i]);
                p = mv_state_place_make(&h.state, pane, 1, (mv_state_shown){.zoom = 5});
            }
    }
}

Test(state_place, columns_follow_the_zoom_in_steps_of_two)
{
    cr_expect_eq(mv_state_columns(640, 0), 320);
    cr_expect_eq(mv_state_columns(640, 1), 320);
    cr_expect_eq(mv_state_columns(640, 1.1), 640);
    cr_expect_eq(mv_state_columns(640, 2), 640);
    cr_expect_eq(mv_state_columns(640, 1e30), 1 << 24);
    cr_expect_eq(mv_state_columns(0, 1), 2);
}
