/* memviz segments: reserved bytes by segment, what is in it, and stack, for flame graphs. */
#include "cli/folded.h"

int mv_cmd_segments(mv_cli *cli)
{
    return mv_folded_run(cli, mv_flame_segments);
}
