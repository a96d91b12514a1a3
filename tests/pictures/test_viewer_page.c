/* `convert IN OUT.html`: the viewer's page with a snapshot inside. The page here is a small one;
 * that the real one shows what is inside, tests/web/browser.cjs sees. */
#include <string.h>

#include "tests/fixture/fixture_program.h"

#define PAGE "printf 'before<!--snapshot-->after' >page.html; export MEMVIZ_PAGE=$PWD/page.html; "

Test(viewer_page, has_the_container_inside)
{
    mvt_run r = mvt_sh(PAGE "$MEMVIZ convert -q $SNAPS/gpt_train.pickle x.html && "
                            "$MEMVIZ convert -q $SNAPS/gpt_train.pickle x.bin && "
                            "sed 's/.*\">//; s/<.*//' x.html | base64 -d | cmp - x.bin && "
                            "sed 's/>[A-Za-z0-9+/=]*</></' x.html");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_str_eq(r.out, "before<script type=\"text/plain\" id=\"snapshot\" "
                            "data-name=\"gpt_train.pickle\"></script>after");
}

Test(viewer_page, a_hostile_name_is_text)
{
    mvt_run r = mvt_sh(PAGE "cp $SNAPS/gpt_train.pickle '\"><script>.pickle' && "
                            "$MEMVIZ convert -q '\"><script>.pickle' x.html && cat x.html");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_not_null(strstr(r.out, "data-name=\"&quot;&gt;&lt;script&gt;.pickle\""));
    cr_assert_null(strstr(r.out, "<script>"));
}

Test(viewer_page, without_a_page_one_line_says_how_to_get_it)
{
    mvt_run r = mvt_sh("cp $MEMVIZ program && ./program convert $SNAPS/gpt_train.pickle x.html; "
                       "test $? = 1 && test ! -e x.html");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_str_eq(r.err, "memviz: memviz.html is not there: scripts/web makes it "
                            "(docs/web.md)\n");
}

Test(viewer_page, a_page_without_a_place_is_refused)
{
    mvt_run r = mvt_sh("echo no place >page.html; MEMVIZ_PAGE=page.html $MEMVIZ convert "
                       "$SNAPS/gpt_train.pickle x.html; test $? = 1 && test ! -e x.html");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_not_null(strstr(r.err, "memviz.html has no place for a snapshot"));
}
