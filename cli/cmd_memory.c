/* memviz memory: live bytes by stack, for flame graphs. */
#include "cli/folded.h"

int mv_cmd_memory(mv_cli *cli)
{
    return mv_folded_run(cli, mv_folded_memory);
}
