/* The right mouse button, and marks on hits that are thinner than a pixel. */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/chrome/menu.h"
#include "view/timeline/hit_ticks.h"
#include "view/timeline/pane_ranks.h"

static void press_right(mv_view *view, float x, float y)
{
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_MOVE, .x = x, .y = y});
    mvt_view_frame(view);
    mv_view_input(
        view, &(mv_input){
                  .kind = MV_INPUT_PRESS, .button = MV_BUTTON_RIGHT, .clicks = 1, .x = x, .y = y});
    mv_view_input(view,
                  &(mv_input){.kind = MV_INPUT_RELEASE, .button = MV_BUTTON_RIGHT, .x = x, .y = y});
    mvt_view_frame(view);
}

/* Chooses the row of the menu with this command. */
static void choose(mv_view *view, mv_command_id command)
{
    mv_menu_row rows[MV_MENU_MOST];

    for (uint32_t i = 0; i < mv_menu_rows(view, rows); i++)
        if (rows[i].command == command)
            view->chrome->row = i;
    mvt_view_key(view, MV_KEY_ENTER, 0);
}

ViewTest(view_here, the_right_button_lists_actions, mvt_view("gpt_train"))
{
    mv_menu_row rows[MV_MENU_MOST];

    mvt_view_frame(view);
    press_right(view, view->main_box.x + 500, view->main_box.y + view->main_box.h * 0.7f);
    cr_assert_eq(view->desk->focus, MV_FOCUS_MENU);
    cr_assert_eq(view->desk->menu, MV_MENU_HERE);
    cr_expect_neq(view->now->pinned, MV_NO_ROW, "the block under the pointer is pinned");
    cr_expect_gt(mv_menu_rows(view, rows), 8);
    cr_expect_not_null(mvt_view_zone(view, MV_DO_search_line, UINT64_MAX));
    choose(view, MV_DO_search_line);
    cr_expect_eq(view->desk->focus, MV_FOCUS_PANES);
    cr_assert(view->matches && mv_filter_has(view->matches, view->now->pinned));
}

ViewTest(view_here, a_row_of_a_table_is_chosen_first, mvt_view("gpt_train"))
{
    mvt_view_do(view, MV_DO_show_tables, 0);
    const mv_zone *zone = mvt_view_zone(view, MV_DO_table_row, 1);
    cr_assert_not_null(zone);
    press_right(view, zone->box.x + 20, zone->box.y + 4);
    cr_expect_eq(view->desk->menu, MV_MENU_HERE);
    cr_expect_neq(view->now->pinned, MV_NO_ROW);
    cr_expect(*view->now->search);
}

/* Ticks must be where hits are born, and nowhere else. */
ViewTest(view_here, hits_are_marked, mvt_view("gpt_train"))
{
    uint32_t events, marked = 0;

    mvt_view_frame(view);
    cr_expect_not(mv_hits_are_marked(view));
    mv_search_set(view, "size>=32M life<400");
    mvt_view_frame(view);
    cr_assert(mv_hits_are_marked(view));
    const mv_alloc_lives *a = &mv_view_device(view)->lives.allocs;
    events = mv_view_device(view)->lives.events.count;
    for (uint32_t e = 1; e < events; e++) {
        bool is_born = false;
        for (uint32_t i = 0; i < a->count && a->birth[i] + 1 <= e + 1; i++)
            is_born |= a->birth[i] == e && mv_filter_has(view->matches, i);
        marked += is_born;
        cr_assert_eq(mv_hit_is_born(&mv_view_device(view)->index, view->matches, e - 1, e), is_born,
                     "event %u", e);
    }
    cr_expect_gt(marked, 0);
}

/* The ten stacks that hold the most memory at the peak must have ten colours. */
static void check_stack_colours(mv_view *view, const char *name)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_index *index = &d->index;
    uint32_t stacks = mv_view_document(view)->trace.stacks.count, used = 0;
    uint64_t *bytes = mv_push_array(mvt_memory(), uint64_t, (uint64_t)stacks + 1);

    for (uint32_t r = 0; r < mv_index_born(index, d->peak_event); r++)
        if (mv_index_is_alive(index, r, d->peak_event) && d->lives.allocs.stack[r].row < stacks)
            bytes[d->lives.allocs.stack[r].row] += index->bytes[r];
    bytes[0] = 0; /* without frames: grey */
    for (int rank = 0; rank < 10; rank++) {
        uint32_t most = 0;
        for (uint32_t s = 1; s < stacks; s++)
            most = bytes[s] > bytes[most] ? s : most;
        if (bytes[most] == 0)
            return;
        bytes[most] = 0;
        uint8_t hue = d->site_colours.by_content[most];
        cr_expect(hue < MV_HUE_MUTED && !(used >> hue & 1), "%s: stack %u has another's colour",
                  name, most);
        used |= 1u << (hue % 32);
    }
}

EachView(view_here, the_largest_stacks_are_told_apart, check_stack_colours);

/* In the ranks view, the menu is about the lane under the pointer, not about the shown device's
 * lane. */
ViewTest(view_here, a_lane_is_pinned_by_the_right_button, mvt_view("two_devices"))
{
    mvt_view_do(view, MV_DO_show_ranks, 0);
    const mv_zone *zone = mvt_view_zone(view, MV_DO_show_rank, 1);
    cr_assert_not_null(zone);
    press_right(view, zone->box.x + zone->box.w + 200, zone->box.y + 10);
    cr_assert_eq(view->desk->menu, MV_MENU_HERE);
    cr_expect_eq(view->now->pinned, MV_NO_ROW);
    choose(view, MV_DO_lane_pin);
    cr_expect_eq(mv_rank_row(view, 0)->device, 1);
    cr_expect(mvt_scene_says(&view->ui.scene, "pinned"));
    cr_expect_not_null(mvt_view_zone(view, MV_DO_show_rank, 0));
}
