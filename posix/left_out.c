/* Stubs for commands that need Linux; they report that. */
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/live/live_files.h"
#include "cli/report/fields.h"

int mv_cmd_run(mv_cli *cli)
{
    (void)cli;
    return mv_complain_of(NULL, "recording needs Linux: use memviz on the machine with the GPU");
}

int mv_cmd_dry_run(mv_cli *cli)
{
    (void)cli;
    return mv_complain_of(NULL,
                          "a dry run needs Linux: use memviz.dry_run() of the Python package");
}

int mv_cmd_attach(mv_cli *cli)
{
    (void)cli;
    return mv_complain_of(NULL, "attaching needs Linux: use memviz on the machine with the GPU");
}

bool mv_live_files_find(mv_cli *cli, mv_arena *arena, bool is_followed)
{
    (void)cli;
    (void)arena;
    (void)is_followed;
    return true;
}

int mv_cmd_top(mv_cli *cli)
{
    (void)cli;
    return mv_complain_of(NULL, "watching a program needs Linux: use memviz on the machine with "
                                "the GPU");
}

int mv_cmd_ctl(mv_cli *cli)
{
    (void)cli;
    return mv_complain_of(NULL, "steering a run needs Linux: use memviz on the machine with the "
                                "GPU");
}

int mv_cmd_serve(mv_cli *cli)
{
    (void)cli;
    return mv_complain_of(NULL, "serving needs Linux: use memviz where the files are, or convert "
                                "IN OUT.html");
}

const mv_table mv_report_attach = {0}, mv_report_ctl = {0}, mv_report_serve = {0},
               mv_report_top = {0};
