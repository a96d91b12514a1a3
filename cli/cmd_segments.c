/* memviz segments: reserved bytes by segment, state and stack, for flame graphs. */
#include "cli/pictures/pictures.h"

int mv_cmd_segments(mv_cli *cli)
{
    return mv_picture_run(cli, MV_PICTURE_SEGMENT_STACKS, NULL);
}
