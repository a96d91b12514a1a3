/* Where texts are placed next to points: inside the plot, without overlaps. */
#include <criterion/criterion.h>

#include "viz/scene/callouts.h"

static const mv_box plot = {100, 50, 400, 200};
static const mv_callout_size size = {60, 18, 10, 13, 150};

/* Allocations fill the picture below y = 150. */
static bool is_above(const void *picture, mv_box box)
{
    (void)picture;
    return box.y + box.h <= 150;
}

static mv_callouts callouts;
static mv_box box; /* of the text that was placed last */

static bool place(float x, float y)
{
    return mv_callouts_place(&callouts, plot, (mv_point){x, y}, size, is_above, NULL, &box);
}

static bool overlap(mv_box a, mv_box b)
{
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

Test(callouts, the_first_text_is_right_of_its_point)
{
    cr_assert(place(200, 100));
    cr_assert(box.x == 210 && box.y == 87 && box.w == 60 && box.h == 18);
}

Test(callouts, texts_at_the_right_edge_are_left_of_their_point)
{
    cr_assert(place(490, 100));
    cr_assert_eq(box.x, 420);
}

Test(callouts, texts_never_cover_named_shapes)
{
    cr_assert(place(200, 170));
    cr_assert(is_above(NULL, box));
    cr_assert(place(200, 245));
    cr_assert(is_above(NULL, box));
    cr_assert_leq(mv_callouts_distance(box, (mv_point){200, 245}), size.far);
    cr_assert_not(place(200, 320), "nothing above is near enough");
}

Test(callouts, texts_do_not_overlap_or_leave_the_plot)
{
    uint32_t placed = 0;

    mv_callouts_take(&callouts, (mv_box){200, 60, 100, 40});
    while (place(250, 120))
        placed++;
    cr_assert_geq(placed, 4);
    cr_assert_eq(callouts.count, placed + 1);
    for (uint32_t i = 1; i < callouts.count; i++) {
        mv_box a = callouts.taken[i];
        cr_assert(a.x >= plot.x && a.x + a.w <= plot.x + plot.w && a.y >= plot.y &&
                  a.y + a.h <= plot.y + plot.h);
        for (uint32_t k = 0; k < i; k++)
            cr_assert_not(overlap(a, callouts.taken[k]), "%u and %u", i, k);
    }
}

/* A mark surrounds the point, so its text is further away. Other texts stay off the line between
 * the two. */
Test(callouts, no_text_lies_on_a_line_to_another)
{
    mv_callouts_take(&callouts, (mv_box){210, 85, 80, 60});
    cr_assert(place(250, 120));
    cr_assert_eq(callouts.leader_count, 1);
    for (float x = 110; x < 480; x += 5)
        if (mv_callouts_is_free(&callouts, plot, (mv_box){x, 100, 1, 1}))
            place(x, 100);
    cr_assert_gt(callouts.count, 4);
    for (uint32_t i = 0; i < callouts.leader_count; i++)
        for (int at = 0; at <= 100; at++)
            for (uint32_t k = 1; k < callouts.count; k++) {
                const mv_point *l = callouts.leaders[i];
                mv_box b = callouts.taken[k];
                float x = l[0].x + (l[1].x - l[0].x) * (float)at / 100;
                float y = l[0].y + (l[1].y - l[0].y) * (float)at / 100;
                cr_assert_not(x > b.x + 0.01f && x < b.x + b.w - 0.01f && y > b.y + 0.01f &&
                                  y < b.y + b.h - 0.01f,
                              "line %u runs through text %u", i, k);
            }
}

Test(callouts, the_number_of_texts_is_bounded)
{
    uint32_t placed = 0;

    callouts.most = 3;
    for (float x = 110; x < 480; x += 10)
        placed += place(x, 60);
    cr_assert_eq(placed, 3);
    callouts = (mv_callouts){0};
    for (uint32_t i = 0; i < 2 * MV_MOST_CALLOUTS; i++)
        mv_callouts_take(&callouts, (mv_box){0, 0, 1, 1});
    cr_assert_eq(callouts.count, MV_MOST_CALLOUTS);
}
