/* memviz segments: a flame graph of reserved bytes by segment, state and stack. */
#include "cli/pictures/pictures.h"

int mv_cmd_segments(mv_cli *cli)
{
    return mv_picture_run(cli, MV_PICTURE_SEGMENT_STACKS, NULL);
}
