/* Replaces the window if memviz was built without SDL2. */
#include "view/viewer.h"

static mv_code refuse(mv_err *err)
{
    return mv_fail(
        err, MV_IO, MV_NO_OFFSET, "%s",
        "this memviz was built without SDL2: install libsdl2-dev and build again, or see "
        "trace_plot -o X.html");
}

bool mv_viewer_can_show(void)
{
    return false;
}

mv_code mv_viewer_show(const mv_viewer_opts *opts, mv_err *err)
{
    (void)opts;
    return refuse(err);
}
