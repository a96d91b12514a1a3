/* The commands of memviz: one table, which dispatch, --help, completion and the tests read.
 * To add one: write cmd_NAME.c and add a row in commands.c. */
#ifndef MV_COMMANDS_H
#define MV_COMMANDS_H

#include "cli/options.h"
#include "cli/report/out.h"
#include "parse/error_text/error_text.h"
#include "parse/model/trace.h"

/* Exit statuses: the contract with scripts. */
enum {
    MV_EXIT_DONE = 0,
    MV_EXIT_FAILED = 1,
    MV_EXIT_USAGE = 2,
    MV_EXIT_FOUND = 3,  /* --fail-on found what it names */
    MV_EXIT_UNKNOWN = 4 /* it found nothing, but could not know everything */
};

/* Whether there is a report with that status. */
static inline bool mv_exit_has_report(int status)
{
    return status != MV_EXIT_FAILED && status != MV_EXIT_USAGE;
}

typedef struct mv_command mv_command;

struct mv_kept_files; /* cli/input/kept_files.h */

typedef struct mv_cli mv_cli;

/* Takes from the process what the command does not need once its files are known
 * (cli/confine/places.h). */
typedef void mv_confine_fn(const mv_cli *cli);

/* One run of one command: its options, its memory and its output. */
struct mv_cli {
    const mv_command *command;
    mv_options options;
    mv_budget budget;
    mv_arena arena;          /* the trace and what is found in it */
    mv_arena scratch;        /* temporary; both draw on the budget */
    mv_out out;              /* open while the command runs */
    mv_gates gates;          /* those of --fail-on, and their answers */
    const char *level;       /* of memory that the report is about; NULL: it takes none */
    const mv_trace *as_read; /* of other levels than pytorch: the trace as it was read; else NULL */
    int64_t start_us;        /* of these: from which times count */
    mv_error_texts
        *errors; /* of a text that is given in place of a snapshot; NULL: that is refused */
    struct mv_kept_files *kept; /* files that earlier commands have read, or NULL */
    bool keeps_report;      /* the report is written even if the exit status is that of a failure */
    mv_confine_fn *confine; /* NULL: the process does other things, too */
};

/* Under which heading the overview has a command. */
#define MV_COMMAND_GROUP_LIST(X)               \
    X(FIRST, "Start here")                     \
    X(REPORTS, "Questions about one snapshot") \
    X(SEVERAL, "Several snapshots")            \
    X(PICTURES, "Pictures, and the viewer")    \
    X(RECORD, "Record a program")              \
    X(OTHERS, "For other programs and agents") \
    X(HELP, "Help")

typedef enum {
#define MV_COMMAND_GROUP_ENUM(id, title) MV_COMMAND_GROUP_##id,
    MV_COMMAND_GROUP_LIST(MV_COMMAND_GROUP_ENUM)
#undef MV_COMMAND_GROUP_ENUM
        MV_COMMAND_GROUP_COUNT
} mv_command_group;

struct mv_command {
    const char *name;
    const char *alias; /* another name, or NULL */
    mv_command_group group;
    const char *also_tried;  /* words that people try for it, with a space between; or NULL */
    int (*run)(mv_cli *cli); /* returns the exit status; has printed its messages */
    uint64_t options;        /* MV_HAS bits beside the common ones */
    int least_files, most_files;
    uint32_t gates;                /* MV_GATES bits: what --fail-on can name, if it is an option */
    bool writes_file;              /* -o names another file than the report */
    const char *pictures;          /* endings of -o that its report has too, or NULL */
    bool writes_last;              /* the last file is written, not read */
    bool takes_folders;            /* a folder means the snapshots in it */
    bool confines_itself;          /* it needs more until its files are open */
    bool starts_program;           /* SIGPIPE is left as it was, for that program */
    const struct mv_table *report; /* what --json and --csv print; NULL: it has neither */
    const char *arguments;         /* "FILE" */
    const char *summary;           /* for the list of commands */
    const char *help;              /* lines end with \n and are wrapped anew, but for those that
                                    * begin with blanks */
    const char *example;           /* command lines, each ends with \n */
};

extern const mv_command mv_commands[]; /* ends with a NULL name */

/* By name or alias. NULL when there is none. */
const mv_command *mv_command_find(const char *name);

/* The fields of reports, each in its cmd_NAME.c. */
extern const struct mv_table mv_report_convert, mv_report_diff, mv_report_export,
    mv_report_fragmentation, mv_report_info, mv_report_leaks, mv_report_ledger, mv_report_lines,
    mv_report_memory, mv_report_oom, mv_report_peak, mv_report_pictures, mv_report_ranks,
    mv_report_serve, mv_report_stats, mv_report_summarize, mv_report_trace, mv_report_triage,
    mv_report_view, mv_report_whatif;

int mv_cmd_triage(mv_cli *cli);
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
int mv_cmd_serve(mv_cli *cli);
int mv_cmd_mcp(mv_cli *cli);
int mv_cmd_run(mv_cli *cli);
int mv_cmd_convert(mv_cli *cli);
int mv_cmd_export(mv_cli *cli);
int mv_cmd_dump(mv_cli *cli);
int mv_cmd_help(mv_cli *cli);
int mv_cmd_version(mv_cli *cli);
int mv_cmd_completion(mv_cli *cli);

/* Whether mv_cmd_view shows a plot instead of writing it: memviz runs on a terminal with a display,
 * and neither -o nor another option asks for a file. */
bool mv_view_is_wanted(const mv_cli *cli);

/* The screens of `memviz --help` and `memviz help COMMAND`. */
void mv_help_overview(mv_out *out);
void mv_help_command(mv_out *out, const mv_command *command);

#endif
