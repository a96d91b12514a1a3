/* A viewer's data on disk (mv_document_file). */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

Test(filed, a_viewer_shows_the_same_picture)
{
    mv_view *view = mvt_view("gpt_train");
    const char *before = mvt_scene_printed(mvt_view_frame(view));
    static mv_disk disk; /* lives longer than the view */

    mv_disk_open(&disk, ".", 0);
    view->budget->disk = &disk;
    mv_document_file(view->documents[0], 0, MV_LONG_EVENTS);
    cr_assert_eq(disk.used, 0, "too short for that");
    mv_document_file(view->documents[0], 0, 1);
    cr_assert_gt(disk.used, 0);
    cr_assert_str_eq(mvt_scene_printed(mvt_view_frame(view)), before);
}
