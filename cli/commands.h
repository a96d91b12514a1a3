/* The commands of memviz: one table, read by dispatch, --help, completion and the tests. To add
 * one: write cmd_NAME.c and add a row in commands.c. */
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
    MV_EXIT_FOUND = 3,  /* a gate of --fail-on is met */
    MV_EXIT_UNKNOWN = 4 /* no gate is met, but an answer is unknown */
};

/* Whether a report was written with that status. */
static inline bool mv_exit_has_report(int status)
{
    return status != MV_EXIT_FAILED && status != MV_EXIT_USAGE;
}

typedef struct mv_command mv_command;

struct mv_kept_files; /* cli/input/kept_files.h */

typedef struct mv_cli mv_cli;

/* Drops the rights that the command does not need once its files are known
 * (cli/confine/places.h). */
typedef void mv_confine_fn(const mv_cli *cli);

/* One run of one command: its options, its memory and its output. */
struct mv_cli {
    const mv_command *command;
    mv_options options;
    mv_budget budget;
    mv_arena arena;             /* the trace and the results */
    mv_arena scratch;           /* temporary; both draw on the budget */
    mv_out out;                 /* open while the command runs */
    mv_gates gates;             /* gates that --fail-on named, and their answers */
    const char *level;          /* level of the reported memory; NULL: the command has no levels */
    const struct mv_join *with; /* the result of --with; NULL: not given */
    const mv_trace *as_read;    /* on levels other than pytorch: the original trace; else NULL */
    int64_t start_us;           /* time when the command started */
    mv_error_texts *errors;     /* errors in a text given instead of a snapshot; NULL: texts are
                                 * rejected */
    struct mv_pieces *pieces;   /* pieces of the file (parse/pieces.h); NULL: read as a whole */
    bool reads_whole;           /* the file must be read as a whole: a piece is damaged */
    struct mv_kept_files *kept; /* files that earlier commands have read, or NULL */
    bool keeps_report;          /* the report is written even if the exit status is a failure */
    mv_confine_fn *confine;     /* confines the process; NULL: not confined, as it has other work */
};

/* The heading for a command in the overview. */
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

/* The part of the events that a command needs, if the file allows reading only a part
 * (mv_read_opts.part). */
typedef enum {
    MV_PART_NONE,   /* all events */
    MV_PART_DEVICE, /* the events of --device */
    MV_PART_EVENTS, /* the events of that device in the window */
    MV_PART_LIVING, /* ... and the blocks alive before the window */
    MV_PART_MOMENT  /* the event of --at, or the last one, and the blocks alive before it */
} mv_part_use;

struct mv_command {
    const char *name;
    const char *alias; /* another name, or NULL */
    mv_command_group group;
    const char *also_tried;  /* words that users may try instead, separated by spaces; or NULL */
    int (*run)(mv_cli *cli); /* returns the exit status; prints its messages */
    mv_option_set options;   /* options that it accepts besides the common ones, as MV_HAS bits */
    int least_files, most_files;
    uint32_t gates;       /* MV_GATES bits: the gates that its --fail-on can name */
    bool writes_file;     /* -o names a file other than the report */
    const char *pictures; /* other suffixes of -o for its report, or NULL */
    bool writes_last;     /* the last file is written, not read */
    bool takes_folders;   /* a folder means the snapshots in it */
    bool confines_itself; /* confines itself, as it needs more rights until its files are open */
    bool starts_program;  /* keeps SIGPIPE as it was, for the program that it starts */
    bool opens_window;    /* opens a window if neither -o nor --headless is given */
    bool is_interactive;  /* its output is never paged */
    bool serves;          /* continues after a request that runs out of memory */
    bool writes_beside;   /* without -o, writes to a file next to its input */
    bool reads_summaries; /* accepts summaries, even in folders */
    bool takes_words;     /* its arguments are not files */
    bool takes_sizes;     /* its arguments are FILE=N; --at also takes sizes */
    bool adds_nothing;    /* accepts files whose sums would overflow */
    uint8_t reads_part;   /* the part of the events to read (mv_part_use) */
    bool reads_pieces;    /* the command goes through the pieces of a file (parse/pieces.h) */
    bool needs_no_events; /* a digest of the events suffices: parse/model/digest.h */
    bool needs_failures;  /* ... if the digest shows that no request failed */
    bool lists_notes;     /* its report contains the notes about damage */
    bool copies_tables;   /* exports the tables of a file as they are, without --level */
    const char *needs;    /* required data that only PyTorch's allocator records; or NULL */
    const struct mv_table *report; /* the report that --json and --csv print; NULL: neither */
    const char *arguments;         /* "FILE" */
    const char *summary;           /* one line for the list of commands */
    const char *help;    /* paragraphs, which are wrapped, and lines that begin with blanks */
    const char *example; /* command lines, each ends with \n */
};

extern const mv_command mv_commands[]; /* ends with a NULL name */

/* The command with this name or alias; NULL if there is none. */
const mv_command *mv_command_find(const char *name);

/* The command that users mean by this word, such as `tree`; NULL: none. */
const mv_command *mv_command_meant(const char *word);

/* The fields of reports, each in its cmd_NAME.c. */
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

/* Whether mv_cmd_view shows a plot instead of writing it: memviz runs on a terminal with a display,
 * and neither -o nor another option requests a file. */
bool mv_view_is_wanted(const mv_cli *cli);

/* The screens of `memviz --help` and `memviz help COMMAND`. */
void mv_help_command(mv_out *out, const mv_command *command);

#endif
