/* Memory that runs out at any time: part of a frame is missing, and nothing else happens. */
#include "tests/fixture/fixture_view.h"
#include "tests/fuzz/failing_push.h"

static void type(mv_view *view, uint32_t key, const char *text)
{
    mv_input input = {.kind = MV_INPUT_TEXT};

    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = key});
    snprintf(input.text, sizeof input.text, "%s", text);
    mv_view_input(view, &input);
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = MV_KEY_ENTER});
    mv_view_frame(view, 400, 300, 0);
}

static void press_everything(mv_view *view, mv_command_id from, mv_command_id to)
{
    for (mv_command_id id = from; id < to; id++) {
        if (id == MV_DO_quit)
            continue;
        mv_view_do(view, id, 1);
        mv_view_frame(view, 400, 300, 0);
    }
}

static void save(mv_view *view)
{
    mv_session session;
    mv_arena arena;

    mv_arena_init(&arena, view->budget);
    if (mv_view_session(view, &arena, &session))
        mv_session_text(&arena, &session);
    mv_command_line(view, &arena);
    mv_arena_release(&arena);
}

/* A script that uses every pane and every list once, with or without a push that fails. */
static void use(const char *path, uint32_t nth)
{
    mv_budget budget = {.limit = 1 << 30};

    mvt_fail_push(nth);
    mv_view *view = mv_view_open(&budget, &(mv_view_opts){.is_dark = true});
    if (view) {
        mv_view_add(view, path);
        mv_view_frame(view, 400, 300, 0);
        press_everything(view, MV_DO_NOTHING + 1, MV_DO_COUNT);
        mv_view_do(view, MV_DO_cancel, 0);
        type(view, '/', "size>1k");
        press_everything(view, MV_DO_show_timeline, MV_DO_next_tab);
        save(view);
    }
    mv_view_close(view);
    cr_assert_eq(budget.used, 0, "push %u: %llu bytes remain", nth,
                 (unsigned long long)budget.used);
}

/* Makes each of the first pushes fail, and then pushes that are further and further apart, by an
 * eighth of those before. */
static void check(const char *path)
{
    use(path, 0);
    uint32_t all = mvt_pushes();
    cr_assert_gt(all, 1000);
    for (uint32_t nth = 1; nth <= all; nth += 1 + nth / 8) {
        use(path, nth);
        cr_assert(mvt_push_has_failed(), "push %u of %u", nth, all);
    }
    mvt_fail_push(0);
}

LongTest(view_failing, any_push_of_a_snapshot_may_fail)
{
    check(mvt_snapshot("oom_outside"));
}

LongTest(view_failing, any_push_of_a_capture_may_fail)
{
    check(MV_TESTDATA "/captures/plain_pinned.bin");
}
