/* Stubs for commands and files that are not available in a page. The commands report that they are
 * not available. */
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/live/live_files.h"
#include "cli/report/fields.h"
#include "export/export.h"
#include "parse/sample.h"
#include "view/viewer.h"

bool mv_sample_is(const char *path)
{
    (void)path;
    return false; /* the page has a button for the sample */
}

mv_span mv_sample(void)
{
    return (mv_span){0};
}

bool mv_live_files_find(mv_cli *cli, mv_arena *arena, bool is_followed)
{
    (void)cli;
    (void)arena;
    (void)is_followed;
    return true;
}

/* A command that reports what a page cannot do. */
#define LEFT_OUT(command, what)                                                                  \
    int command(mv_cli *cli)                                                                     \
    {                                                                                            \
        (void)cli;                                                                               \
        return mv_complain_of(NULL, "a page cannot " what ": use memviz on the machine itself"); \
    }
LEFT_OUT(mv_cmd_attach, "reach processes")
LEFT_OUT(mv_cmd_ctl, "reach processes")
LEFT_OUT(mv_cmd_top, "reach processes")
LEFT_OUT(mv_cmd_dry_run, "start programs")
LEFT_OUT(mv_cmd_run, "start programs")
LEFT_OUT(mv_cmd_serve, "serve files")
LEFT_OUT(mv_cmd_mcp, "serve files")

const mv_table mv_report_attach = {0}, mv_report_ctl = {0}, mv_report_serve = {0};

static mv_code refuse_window(mv_err *err)
{
    return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "the page is the viewer: drop the file on it");
}

bool mv_viewer_can_show(void)
{
    return false;
}

mv_code mv_viewer_show(const mv_viewer_opts *opts, mv_err *err)
{
    (void)opts;
    return refuse_window(err);
}

mv_code mv_viewer_play(const mv_viewer_opts *opts, const mv_viewer_play_opts *play,
                       mv_viewer_timing *out, mv_err *err)
{
    (void)opts, (void)play;
    *out = (mv_viewer_timing){0};
    return refuse_window(err);
}

mv_code mv_sqlite_write(const mv_budget *budget, const mv_export *export, mv_sink *sink,
                        mv_err *err)
{
    (void)budget, (void)export, (void)sink;
    return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "a page cannot write SQLite: use the program");
}
