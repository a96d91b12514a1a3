/* The pinned block's line of code, and an editor that opens it. */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

static char edited[600];

static const char *line(const char *path, int64_t number)
{
    return strstr(path, "train.py") && number == 62 ? "h = self.mlp(h)" : "";
}

static bool edit(const char *path, int64_t number, char why[MV_SOURCE_WHY])
{
    snprintf(edited, sizeof edited, "%s:%lld", path, (long long)number);
    snprintf(why, MV_SOURCE_WHY, "no editor is named");
    return number != 62;
}

static const mv_source_files sources = {line, edit};

/* An allocation of this line of code. */
static void pin_line(mv_view *view, const char *words)
{
    mv_search_set(view, words);
    mvt_view_frame(view);
    mvt_view_do(view, MV_DO_next_hit, 0);
    cr_assert_neq(view->now->pinned, MV_NO_ROW);
}

ViewTest(view_source, details_show_the_line_and_the_editor_opens_it,
         mvt_view_new(&(mv_view_opts){.sources = &sources}))
{
    mvt_view_open(view, mvt_snapshot("gpt_train"));
    pin_line(view, "site:train.py:62");
    cr_expect(mvt_scene_says(mvt_view_do(view, MV_DO_show_details, 0), "h = self.mlp(h)"));
    mv_view_do(view, MV_DO_edit_source, 0);
    cr_expect_not_null(strstr(edited, "train.py:62"), "%s", edited);
    cr_expect_str_eq(view->message, "no editor is named");
    pin_line(view, "site:train.py:75");
    mv_view_do(view, MV_DO_edit_source, 0);
    cr_expect_not_null(strstr(view->message, "train.py:75 is opened in the editor"));
}

ViewTest(view_source, a_page_has_neither, mvt_view("gpt_train"))
{
    pin_line(view, "site:train.py:62");
    mv_view_do(view, MV_DO_edit_source, 0);
    cr_expect_not_null(strstr(view->message, "only a window"));
}
