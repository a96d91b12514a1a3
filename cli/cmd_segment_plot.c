/* memviz segment_plot: the allocator's segments as a picture, over time or at a moment. */
#include "cli/pictures/pictures.h"

int mv_cmd_segment_plot(mv_cli *cli)
{
    if (mv_view_is_wanted(cli))
        return mv_cmd_view(cli);
    return mv_picture_run(cli, mv_picture_wanted(cli), NULL);
}
