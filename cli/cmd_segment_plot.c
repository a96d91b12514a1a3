/* memviz segment_plot: draws the allocator's segments, over time or at one point in time. */
#include "cli/pictures/pictures.h"

int mv_cmd_segment_plot(mv_cli *cli)
{
    if (mv_view_is_wanted(cli))
        return mv_cmd_view(cli);
    return mv_picture_run(cli, mv_picture_wanted(cli), NULL);
}
