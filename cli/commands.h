/* The commands of memviz: one table, which dispatch, --help, completion and the tests read.
 * To add one: write cmd_NAME.c and add a row in commands.c. */
#ifndef MV_COMMANDS_H
#define MV_COMMANDS_H

#include "cli/options.h"
#include "cli/report/out.h"
#include "parse/model/trace.h"

/* Exit statuses: the contract with scripts. */
enum { MV_EXIT_DONE = 0, MV_EXIT_FAILED = 1, MV_EXIT_USAGE = 2, MV_EXIT_FOUND = 3 };

typedef struct mv_command mv_command;

/* One run of one command: what it was asked, its memory and where its results go. */
typedef struct {
    const mv_command *command;
    mv_options options;
    mv_budget budget;
    mv_arena arena;   /* the trace and what is found in it */
    mv_arena scratch; /* temporary; both draw on the budget */
    mv_out out;       /* open while the command runs */
    mv_gates gates;   /* what --fail-on asked for, and what became of it */
    bool stands;      /* the report is whole although the status is that of a failure */
} mv_cli;

struct mv_command {
    const char *name;
    const char *alias;       /* another name, or NULL */
    int (*run)(mv_cli *cli); /* returns the exit status; messages are already out */
    uint64_t options;        /* MV_HAS bits beside the common ones */
    int least_files, most_files;
    uint32_t gates;        /* MV_GATES bits: what --fail-on may name, where it is an option */
    bool writes_file;      /* -o names a product of its own, not the report's place */
    bool writes_last;      /* the last file is written, not read */
    bool starts_program;   /* which is to find SIGPIPE as memviz found it */
    const char *arguments; /* "FILE" */
    const char *summary;   /* for the list of commands */
    const char *help;      /* a paragraph; lines end with \n */
    const char *example;   /* command lines, each ends with \n */
};

extern const mv_command mv_commands[]; /* ends with a NULL name */

/* By name or alias. NULL when there is none. */
const mv_command *mv_command_find(const char *name);

int mv_cmd_info(mv_cli *cli);
int mv_cmd_stats(mv_cli *cli);
int mv_cmd_trace(mv_cli *cli);
int mv_cmd_leaks(mv_cli *cli);
int mv_cmd_diff(mv_cli *cli);
int mv_cmd_ranks(mv_cli *cli);
int mv_cmd_summarize(mv_cli *cli);
int mv_cmd_peak(mv_cli *cli);
int mv_cmd_lines(mv_cli *cli);
int mv_cmd_fragmentation(mv_cli *cli);
int mv_cmd_memory(mv_cli *cli);
int mv_cmd_segments(mv_cli *cli);
int mv_cmd_oom(mv_cli *cli);
int mv_cmd_whatif(mv_cli *cli);
int mv_cmd_trace_plot(mv_cli *cli);
int mv_cmd_segment_plot(mv_cli *cli);
int mv_cmd_ledger(mv_cli *cli);
int mv_cmd_view(mv_cli *cli);
int mv_cmd_run(mv_cli *cli);
int mv_cmd_convert(mv_cli *cli);
int mv_cmd_export(mv_cli *cli);
int mv_cmd_dump(mv_cli *cli);
int mv_cmd_help(mv_cli *cli);
int mv_cmd_version(mv_cli *cli);
int mv_cmd_completion(mv_cli *cli);

/* Whether a plot is for somebody who sits before a display: on a terminal, without -o or anything
 * else that only a file can be. Then mv_cmd_view shows it. */
bool mv_view_is_wanted(const mv_cli *cli);

/* The screens of `memviz --help` and `memviz help COMMAND`. */
void mv_help_overview(mv_out *out);
void mv_help_command(mv_out *out, const mv_command *command);

#endif
