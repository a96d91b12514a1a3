/* The commands of memviz. Dispatch, --help, completion and the tests all use one table. To add a
 * command, write cmd_NAME.c and add a row to commands.c. */
#pragma once

#include "cli/options.h"
#include "cli/report/out.h"
#include "parse/error_text/error_text.h"

/* Exit statuses. Scripts rely on them. */
enum {
    MV_EXIT_DONE = 0,
    MV_EXIT_FAILED = 1,
    MV_EXIT_USAGE = 2,
    MV_EXIT_FOUND = 3,  /* a gate of --fail-on is met */
    MV_EXIT_UNKNOWN = 4 /* no gate is met, but an answer is unknown */
};

/* Whether a command that ended with that status has written a report. */
static inline bool mv_exit_has_report(int status)
{
    return status != MV_EXIT_FAILED && status != MV_EXIT_USAGE;
}

typedef struct mv_command mv_command;

struct mv_kept_files; /* cli/input/kept_files.h */

typedef struct mv_cli mv_cli;

/* Drops the rights that a command does not need once its files are known (cli/confine/places.h). */
typedef void mv_confine_fn(const mv_cli *cli);

/* One run of a command: its options, its memory and its output. */
struct mv_cli {
    const mv_command *command;
    mv_options options;
    mv_budget budget;
    mv_disk disk;               /* the budget's disk, if it has one */
    mv_arena arena;             /* holds the trace and the results */
    mv_arena scratch;           /* holds temporary data; both arenas draw on the budget */
    mv_out out;                 /* open while the command runs */
    mv_gates gates;             /* the gates that --fail-on named, and their answers */
    const char *level;          /* the level that the command reports on; NULL: the command has no
                                 * levels */
    const struct mv_join *with; /* the result of --with; NULL: not given */
    const mv_trace *as_read;    /* on levels other than pytorch: the trace as read from the file;
                                 * else NULL */
    int64_t start_us;           /* time when the command started */
    mv_error_texts *errors;     /* errors found in a text that was given instead of a snapshot;
                                 * NULL: texts are rejected */
    struct mv_pieces *pieces;   /* pieces of the file (parse/pieces.h); NULL: read as a whole */
    bool reads_pieces;          /* the command can process the file piece by piece */
    bool reads_whole;           /* the file must be read as a whole, because a piece is damaged */
    uint32_t columns;           /* set of columns of events (MV_EVENT_addr) that the command reads
                                 * once the lives are known, if the file has one device, no request
                                 * failed and no option selects events other than a window or a
                                 * moment. All other columns may then be NULL; 0: it needs all
                                 * events */
    uint32_t columns_of_few;    /* further columns of few events (mv_lives_kept.of_few); 0: the
                                  * command does not follow the heap */
    uint32_t columns_if_few;    /* further columns, if there are at most MV_WITHOUT_EVENTS events */
    uint64_t whole_events;      /* up to this number of events, all columns are needed */
    const struct mv_lives *joined; /* lives found while the file was read in pieces; NULL: none */
    struct mv_kept_files *kept;    /* files that earlier commands have read, or NULL */
    bool keeps_report;             /* the report is kept even if the exit status is a failure */
    mv_confine_fn *confine; /* confines the process; NULL: the process has other work, so it is
                                 * not confined */
};

/* Headings of the overview of commands. */
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
    MV_COMMAND_GROUP_LIST(MV_COMMAND_GROUP_ENUM) MV_COMMAND_GROUP_COUNT
} mv_command_group;

/* Which events a command needs, if the file allows reading only some of them
 * (mv_read_opts.part). */
typedef enum {
    MV_PART_NONE,   /* all events */
    MV_PART_DEVICE, /* the events of --device */
    MV_PART_EVENTS, /* the events of --device in the window */
    MV_PART_LIVING, /* like EVENTS, and the blocks that were live before the window */
    MV_PART_MOMENT  /* the event that --at names, or the last one, and the blocks that were live
                     * before it */
} mv_part_use;

struct mv_command {
    const char *name;
    const char *alias; /* second name of the command, or NULL */
    mv_command_group group;
    const char *also_tried;  /* words that users may try instead of the name, separated by spaces;
                              * or NULL */
    int (*run)(mv_cli *cli); /* prints its own messages and returns the exit status */
    mv_option_set options;   /* MV_HAS bits of the options that it accepts in addition to the common
                              * ones */
    int least_files, most_files;
    uint32_t gates;       /* MV_GATES bits of the gates that --fail-on can name */
    bool writes_file;     /* -o names a file other than the report */
    const char *pictures; /* suffixes for which -o writes a picture or page of its report; or
                           * NULL */
    bool writes_last;     /* the last file on the command line is written, not read */
    bool takes_folders;   /* a directory stands for the snapshots in it */
    bool confines_itself; /* the command confines itself later, because it needs more rights until
                           * its files are open */
    bool starts_program;  /* leaves SIGPIPE unchanged, for the program that it starts */
    bool opens_window;    /* opens a window if neither -o nor --headless is given */
    bool is_interactive;  /* its output is never paged */
    bool serves;          /* continues after a request that runs out of memory */
    bool writes_beside;   /* without -o, writes a file next to its input */
    bool reads_summaries; /* accepts summary files, even in directories */
    bool takes_words;     /* its arguments are not files */
    bool takes_sizes;     /* its arguments are FILE=N; --at also takes sizes */
    bool adds_nothing;    /* accepts files whose sums would overflow */
    uint8_t reads_part;   /* which events it reads (mv_part_use) */
    bool needs_no_events; /* a digest of the events is sufficient (parse/model/digest.h) */
    bool needs_failures;  /* a digest is sufficient if it shows that no request failed */
    bool lists_notes;     /* its report lists the notes about damage */
    bool copies_tables;   /* exports a file's tables unchanged, without --level */
    const char *needs;    /* what it needs that only PyTorch's allocator records; or NULL */
    const struct mv_table *report; /* the report that --json and --csv print; NULL: the command has
                                    * neither option */
    const char *arguments;         /* "FILE" */
    const char *summary;           /* one line for the list of commands */
    const char *help;    /* paragraphs, which are wrapped, and lines that begin with blanks, which
                          * are not */
    const char *example; /* command lines, each ending with \n */
};

extern const mv_command mv_commands[]; /* ends with a NULL name */

/* Returns the command with this name or alias; NULL: none. */
const mv_command *mv_command_find(const char *name);

/* Returns the command that users probably mean by a word such as `tree`; NULL: none. */
const mv_command *mv_command_meant(const char *word);

/* The reports' tables, each defined in its cmd_NAME.c. */
extern const struct mv_table mv_report_attach, mv_report_convert, mv_report_ctl, mv_report_diff,
    mv_report_export, mv_report_fit, mv_report_floor, mv_report_fragmentation, mv_report_info,
    mv_report_leaks, mv_report_ledger, mv_report_lines, mv_report_memory, mv_report_oom,
    mv_report_peak, mv_report_pictures, mv_report_ranks, mv_report_serve, mv_report_stats,
    mv_report_summarize, mv_report_top, mv_report_trace, mv_report_triage, mv_report_view,
    mv_report_whatif;

int mv_cmd_triage(mv_cli *cli);
int mv_cmd_attach(mv_cli *cli);
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
int mv_cmd_floor(mv_cli *cli);
int mv_cmd_fit(mv_cli *cli);
int mv_cmd_trace_plot(mv_cli *cli);
int mv_cmd_segment_plot(mv_cli *cli);
int mv_cmd_ledger(mv_cli *cli);
int mv_cmd_view(mv_cli *cli);
int mv_cmd_serve(mv_cli *cli);
int mv_cmd_mcp(mv_cli *cli);
int mv_cmd_run(mv_cli *cli);
int mv_cmd_top(mv_cli *cli);
int mv_cmd_ctl(mv_cli *cli);
int mv_cmd_dry_run(mv_cli *cli);
int mv_cmd_convert(mv_cli *cli);
int mv_cmd_export(mv_cli *cli);
int mv_cmd_dump(mv_cli *cli);
int mv_cmd_help(mv_cli *cli);
int mv_cmd_version(mv_cli *cli);
int mv_cmd_completion(mv_cli *cli);

/* Whether mv_cmd_view shows a plot in the window instead of writing a file: memviz runs on a
 * terminal that has a display, and neither -o nor another option asks for a file. */
bool mv_view_is_wanted(const mv_cli *cli);

/* Print the texts of `memviz --help` and `memviz help COMMAND`. */
void mv_help_command(mv_out *out, const mv_command *command);
