/* The viewer without a window: files, inputs, what is shown. */
#include <criterion/criterion.h>

#include "viz/view/view.h"

static mv_budget budget = {.limit = (uint64_t)4 << 30};

static mv_view *open_with(const char *name)
{
    mv_view *view = mv_view_open(&budget, &(mv_view_opts){.is_dark = true});
    char path[512];

    cr_assert_not_null(view);
    snprintf(path, sizeof path, "%s/snapshots/%s.pickle", MV_TESTDATA, name);
    mv_view_add(view, path);
    return view;
}

Test(view, shows_a_file)
{
    mv_view *view = open_with("gpt_train");
    const mv_scene *scene = mv_view_frame(view, 1280, 720, 0);

    cr_assert_not(scene->failed);
    cr_assert_not_null(mv_view_device(view));
    cr_assert(mv_view_is_judged(view));
    cr_assert_eq(view->now.from, 0);
    cr_assert_eq(view->now.to, mv_view_device(view)->lives.events.count);
    cr_assert(mv_view_is_idle(view));
    mv_view_close(view);
    cr_assert_eq(budget.used, 0);
}

Test(view, tells_why_a_file_is_none)
{
    mv_view *view = mv_view_open(&budget, &(mv_view_opts){.is_dark = true});
    const mv_document *document;

    mv_view_add(view, MV_SOURCE_DIR "/README.md");
    mv_view_frame(view, 1280, 720, 0);
    document = mv_view_document(view);
    cr_assert_not_null(document);
    cr_assert_eq(document->stage, MV_DOCUMENT_FAILED);
    cr_assert(strstr(document->why, "README.md: byte 0: "), "%s", document->why);
    mv_view_close(view);
    cr_assert_eq(budget.used, 0);
}
