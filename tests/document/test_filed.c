/* A viewer's data on disk (mv_document_file). */
#include "tests/fixture/fixture_view.h"

static char *frame_of(mv_view *view)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    mv_scene_print(mvt_view_frame(view), out);
    fclose(out);
    return text;
}

Test(filed, a_viewer_shows_the_same_picture)
{
    mv_view *view = mvt_view("gpt_train");
    char *before = frame_of(view), *after;
    static mv_disk disk; /* lives longer than the view */

    mv_disk_open(&disk, ".", 0);
    view->budget->disk = &disk;
    mv_document_file(view->documents[0], 0, MV_LONG_EVENTS);
    cr_assert_eq(disk.used, 0, "too short for that");
    mv_document_file(view->documents[0], 0, 1);
    cr_assert_gt(disk.used, 0);
    after = frame_of(view);
    cr_assert_str_eq(before, after);
    free(before);
    free(after);
}
