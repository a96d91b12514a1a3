/* memviz memory: live bytes by stack, for flame graphs. */
#include "cli/folded.h"

static mv_code find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, uint32_t event,
                    const mv_sites *sites, mv_flame *out, mv_err *err)
{
    (void)trace;
    return mv_flame_memory(arena, lives, event, sites, out, err);
}

int mv_cmd_memory(mv_cli *cli)
{
    return mv_folded_run(cli, find);
}
