/* memviz trace_plot: draws the memory timeline. */
#include "cli/pictures/pictures.h"

int mv_cmd_trace_plot(mv_cli *cli)
{
    if (mv_view_is_wanted(cli))
        return mv_cmd_view(cli);
    return mv_picture_run(cli, mv_picture_wanted(cli), NULL);
}
