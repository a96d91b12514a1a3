/* The requested bytes in the viewer: the line, its key, and its number at the cursor. */
#include "base/size.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

static void check_cursor(mv_view *view, uint32_t event)
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    char size[MV_SIZE_TEXT], text[64];
    uint64_t want = 0;

    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (mv_alloc_is_active(lives, i, event))
            want += lives->allocs.requested[i];
    mv_view_move_cursor(view, event);
    mvt_view_frame(view);
    cr_assert_eq(view->requested, want, "event %u", event);
    snprintf(text, sizeof text, "requested %s", mv_size_text(size, want));
    cr_expect(mvt_scene_says(&view->ui.scene, text), "event %u: \"%s\"", event, text);
}

ViewTest(requested, requested_bytes_are_shown_on_request, mvt_view("gpt_train"))
{
    mvt_view_frame(view);
    cr_expect_not(mvt_scene_says(&view->ui.scene, "requested by the program"));
    cr_expect_eq(view->requested, MV_NO_BYTES);
    mvt_view_do(view, MV_DO_show_requested, 0);
    cr_expect(mvt_scene_says(&view->ui.scene, "requested by the program"));
    check_cursor(view, 0);
    check_cursor(view, 2150);
    check_cursor(view, 6561);
}

ViewTest(requested, requested_bytes_are_known_for_heaps_that_existed_before, mvt_view("late_start"))
{
    mv_view_do(view, MV_DO_show_requested, 0);
    for (uint32_t event = 0; event < 2000; event += 311)
        check_cursor(view, event);
}
