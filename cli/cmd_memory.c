/* memviz memory: live bytes by stack, for flame graphs. */
#include "cli/report/folded.h"
#include "cli/report/page.h"

int mv_cmd_memory(mv_cli *cli)
{
    if (cli->options.output && mv_page_is_named(cli->options.output))
        return mv_page_run(cli, MV_PAGE_STACKS, "end");
    return mv_folded_run(cli, mv_folded_memory);
}
