/* Stubs for commands that need Linux; they report that. */
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/live/live_files.h"
#include "cli/report/fields.h"

bool mv_live_files_find(mv_cli *cli, mv_arena *arena, bool is_followed)
{
    (void)cli;
    (void)arena;
    (void)is_followed;
    return true;
}

/* A command that reports what needs Linux, and what to use instead. */
#define NEEDS_LINUX(command, what, instead)                             \
    int command(mv_cli *cli)                                            \
    {                                                                   \
        (void)cli;                                                      \
        return mv_complain_of(NULL, what " needs Linux: use " instead); \
    }
NEEDS_LINUX(mv_cmd_run, "recording", "memviz on the machine with the GPU")
NEEDS_LINUX(mv_cmd_dry_run, "a dry run", "memviz.dry_run() of the Python package")
NEEDS_LINUX(mv_cmd_attach, "attaching", "memviz on the machine with the GPU")
NEEDS_LINUX(mv_cmd_top, "watching a program", "memviz on the machine with the GPU")
NEEDS_LINUX(mv_cmd_ctl, "steering a run", "memviz on the machine with the GPU")
NEEDS_LINUX(mv_cmd_serve, "serving", "memviz where the files are, or convert IN OUT.html")

const mv_table mv_report_attach = {0}, mv_report_ctl = {0}, mv_report_serve = {0},
               mv_report_top = {0};
