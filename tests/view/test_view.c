/* The viewer without a window: files, inputs, and what the window shows. */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

ViewTest(view, shows_a_file, mvt_view("gpt_train"))
{
    const mv_scene *scene = mv_view_frame(view, 1280, 720, 0);

    cr_assert_not(scene->failed);
    cr_assert_not_null(mv_view_device(view));
    cr_assert(mv_view_is_evaluated(view));
    cr_assert_eq(view->now->from, 0);
    cr_assert_eq(view->now->to, mv_view_device(view)->lives.events.count);
    cr_assert(mv_view_is_idle(view));
}

ViewTest(view, explains_why_a_file_is_not_a_snapshot, mvt_view_new(NULL))
{
    mv_view_add(view, MV_SOURCE_DIR "/README.md");
    mv_view_frame(view, 1280, 720, 0);
    const mv_document *document = mv_view_document(view);
    cr_assert_not_null(document);
    cr_assert_eq(document->stage, MV_DOCUMENT_FAILED);
    cr_assert(strstr(document->why, "README.md: byte 0: "), "%s", document->why);
}

Test(view, reports_a_damaged_file)
{
    cr_expect_not(mvt_scene_says(mvt_view_frame(mvt_view("gpt_train")), "damaged file"));
    mv_view *view = mvt_view_new(NULL);
    mvt_view_open(view, MV_TESTDATA "/corpus/reports/calls_without_end.bin");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "damaged file"));
    cr_expect(mvt_scene_says(mvt_view_frame(view), "fine (file damaged)"));
}

/* ---- every text can be read -------------------------------------------------------------- */

/* In all main views and all tabs, no texts may overlap, none may leave the picture, and all must
 * have enough contrast. */
static void check_all(mv_view *view, float width, float height, const char *name)
{
    static const char mains[] = "123", tabs[] = "4567";

    for (int m = 0; mains[m]; m++)
        for (int t = 0; tabs[t]; t++) {
            mvt_view_key(view, (uint32_t)mains[m], 0);
            mvt_view_key(view, (uint32_t)tabs[t], 0);
            const mv_scene *scene = mvt_view_sized(view, width, height);
            const char *what =
                mvt_format("%s %gx%g %s %c%c", name, (double)width, (double)height,
                           view->desk->is_dark ? "dark" : "light", mains[m], tabs[t]);
            cr_assert_not(scene->failed);
            mvt_scene_check_texts(scene, what);
            mvt_scene_check_contrasts(scene, what);
        }
}

static void check_file(const char *name)
{
    mv_view *view = mvt_view(name);

    mv_view_frame(view, 1280, 720, 0);
    mv_view_pin(view, mv_view_device(view)->lives.allocs.count / 2);
    check_all(view, 1280, 720, name);
    mv_view_write_desk(view)->is_dark = false;
    check_all(view, 1600, 900, name);
    check_all(view, 640, 400, name);
    view->ui.scale = 1.5f;
    check_all(view, 1600, 1000, name);
}

Test(view, texts_are_readable)
{
    check_file("frag_pinned_by_small");
    check_file("oom_fragmented");
}

LongTest(view, texts_are_readable_in_training)
{
    check_file("gpt_train");
    check_file("leak_in_training");
}

/* The same view must give the same picture, and frames must not need more and more memory. */
ViewTest(view, frames_are_alike, mvt_view("gpt_train"))
{
    uint64_t used;

    mv_view_frame(view, 1280, 720, 0);
    uint32_t shapes = mv_view_frame(view, 1280, 720, 0)->shape_count;
    used = view->budget->used;
    for (int i = 0; i < 50; i++)
        cr_assert_eq(mv_view_frame(view, 1280, 720, 0)->shape_count, shapes);
    cr_assert_eq(view->budget->used, used);
}

/* Whatever the memory limit, there must be no crash, and no memory may remain. */
LongTest(view, little_memory_is_not_a_crash_and_leaves_nothing)
{
    for (uint64_t limit = 1 << 16; limit < (uint64_t)256 << 20; limit += limit / 3) {
        mv_budget little = {.limit = limit};
        mv_view *view = mv_view_open(&little, &(mv_view_opts){0});
        if (view) {
            mv_view_add(view, MV_TESTDATA "/snapshots/gpt_train.pickle");
            for (uint32_t i = 1; i <= 7; i++) {
                mv_view_frame(view, 1280, 720, 0);
                mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = '0' + i});
            }
            mv_view_frame(view, 1280, 720, 0);
        }
        mv_view_close(view);
        cr_assert_eq(little.used, 0);
    }
}

/* One thread does everything, one piece at a time. Loading waits too, and the result is the
 * same. */
Test(view, in_turns_it_becomes_the_same_picture)
{
    mv_view *view = mvt_view_new(
                &(mv_view_opts){.is_dark = true, .is_threaded = true, .is_cooperative = true}),
            *other = mvt_view("gpt_train");
    double ms = 0;
    int turns = 0;

    mv_view_add(view, MV_TESTDATA "/snapshots/gpt_train.pickle");
    mv_view_frame(view, 1280, 720, ms);
    cr_assert_eq(mv_view_document(view)->stage, MV_DOCUMENT_WAITING);
    cr_assert_not(mv_view_is_idle(view));
    for (; !mv_view_is_idle(view) && turns < 10000; turns++) {
        mv_view_run_one_task(view);
        mv_view_frame(view, 1280, 720, ms += 16);
    }
    cr_assert(mv_view_is_evaluated(view));
    cr_assert_geq(
        turns, 1 + 7 + 6 + 5 + 2 + 6,
        "read; pieces of lifetimes, other pieces of the picture, the leaks, two more of the "
        "categories, other reports");
    cr_assert_not(mv_view_run_one_task(view));
    const char *got = mvt_scene_printed(mv_view_frame(view, 1280, 720, ms += 1000));
    cr_assert_str_eq(got, mvt_scene_printed(mvt_view_sized(other, 1280, 720)));
}
