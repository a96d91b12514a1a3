/* memviz memory: live bytes by stack, for flame graphs. */
#include "cli/pictures/pictures.h"

int mv_cmd_memory(mv_cli *cli)
{
    return mv_picture_run(cli, MV_PICTURE_STACKS, NULL);
}
