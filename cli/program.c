#include "cli/program.h"
#include "base/text.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/processors.h"
#include "cli/complain.h"
#include "cli/input/folder_files.h"
#include "cli/input/input.h"
#include "cli/input/overwrite.h"
#include "cli/output_limit.h"
#include "cli/report/gate_page.h"
#include "cli/report/table.h"
#include "cli/report/terminal.h"
#include "parse/sample.h"

/* Without --max-memory, the limit is three quarters of the memory of the machine or of the control
 * group, but not more than the process's address space (`ulimit -v`) or than files of this size can
 * need. No report needs 4 KiB for each byte of a file, but a crafted file with compressed or
 * constant rows can request more. Memory and disk together have the same limit. */
#define SMALL_FILE_MEMORY (UINT64_C(1) << 30)
#define MEMORY_OF_BYTE    4096
#define MEMORY_OF_PIXEL   16

/* In a window, the user may open other files later. */
static bool may_open_more(const mv_command *command, const mv_options *o)
{
    return command->opens_window && !o->output && !mv_option_given(o, MV_HAS(HEADLESS));
}

/* Returns the size of all inputs in bytes, or UINT64_MAX if it is unknown until they are read. */
static uint64_t input_bytes(const mv_command *command, const mv_options *options)
{
    int files = options->files - (command->writes_last && options->files > 1);
    uint64_t bytes = 0;
    struct stat st;

    if (command->starts_program || options->files == 0 || may_open_more(command, options))
        return UINT64_MAX;
    for (int i = 0; i < files; i++) {
        if (stat(options->file[i], &st) != 0 || !S_ISREG(st.st_mode) ||
            (uint64_t)st.st_size > UINT64_MAX / 2 - bytes)
            return UINT64_MAX;
        bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

/* Returns the most bytes that a report on files of this size can need. */
static uint64_t most_needed(const mv_options *options, uint64_t bytes)
{
    uint64_t needed = SMALL_FILE_MEMORY + options->mem +
                      (uint64_t)options->width * options->height * MEMORY_OF_PIXEL;

    if (bytes > (UINT64_MAX - needed) / MEMORY_OF_BYTE)
        return UINT64_MAX;
    return needed + bytes * MEMORY_OF_BYTE;
}

static uint64_t most_of(const mv_options *options, uint64_t bytes)
{
    uint64_t most = most_needed(options, bytes), space = mv_address_space();

    return most < space ? most : space;
}

static uint64_t default_memory(const mv_options *options, uint64_t bytes)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t machine = mv_group_memory(""), most = most_of(options, bytes);

    if (pages > 0 && page > 0 && (uint64_t)pages * (uint64_t)page < machine)
        machine = (uint64_t)pages * (uint64_t)page;
    machine = machine == UINT64_MAX ? machine : machine / 4 * 3;
    return machine < most ? machine : most;
}

/* The file must be created before the process is confined. A process with other work keeps to its
 * memory. */
static void open_disk(mv_cli *cli, uint64_t bytes)
{
    const mv_options *o = &cli->options;
    uint64_t most = most_of(o, bytes), limit = cli->budget.limit;
    bool is_given = mv_option_given(o, MV_HAS(MAX_DISK));

    if (cli->kept || cli->command->serves || cli->command->starts_program ||
        cli->command->takes_words || (o->files == 0 && !may_open_more(cli->command, o)) ||
        limit >= most)
        return;
    mv_err_name_disk();
    if (is_given && o->max_disk == 0)
        return;
    mv_disk_open(&cli->disk, NULL, is_given ? o->max_disk : 0);
    if (cli->disk.limit > most - limit)
        cli->disk.limit = most - limit;
    if (cli->disk.file >= 0)
        cli->budget.disk = &cli->disk;
}

/* There is only one mv_cli, because it contains a buffer of 64 KiB, which is too large for a small
 * stack. */
static mv_cli *cli_new(const mv_command *command, const mv_options *options,
                       struct mv_kept_files *kept)
{
    mv_cli *cli = calloc(1, sizeof *cli);
    uint64_t bytes = input_bytes(command, options);

    if (!cli)
        return NULL;
    mv_output_limit(bytes);
    cli->command = command;
    cli->options = *options;
    cli->kept = kept;
    cli->budget.limit = options->max_memory ? options->max_memory : default_memory(options, bytes);
    mv_arena_init(&cli->arena, &cli->budget);
    mv_arena_init(&cli->scratch, &cli->budget);
    open_disk(cli, bytes);
    return cli;
}

static void cli_end(mv_cli *cli)
{
    mv_arena_release(&cli->arena);
    mv_arena_release(&cli->scratch);
    if (cli->budget.disk)
        mv_disk_close(&cli->disk);
    free(cli);
}

/* Reports that a command took disk space. The viewer takes some for long traces in any case. */
static void report_disk(const mv_cli *cli)
{
    bool is_viewer = cli->command->opens_window && !cli->options.output;
    char taken[MV_SIZE_TEXT], limit[MV_SIZE_TEXT];

    if (cli->disk.peak == 0 || is_viewer || mv_option_given(&cli->options, MV_HAS(QUIET)))
        return;
    mv_complain_of(NULL,
                   "%s did not fit into the memory limit of %s, and went to a file in %s (see "
                   "--max-disk)",
                   mv_size_text(taken, cli->disk.peak), mv_size_text(limit, cli->budget.limit),
                   cli->disk.folder);
}

static bool wants_color(const mv_options *options)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    if (options->color != MV_COLOR_AUTO)
        return options->color == MV_COLOR_ALWAYS;
    if ((no_color && *no_color) || options->output)
        return false;
    return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

/* Whether to use a pager: on a terminal, for commands that only print. */
static bool wants_pager(const mv_cli *cli)
{
    const char *terminal = getenv("TERM");
    const mv_command *c = cli->command;

    return cli->out.rows && !c->starts_program && !c->is_interactive &&
           !mv_option_given(&cli->options, MV_HAS(NO_PAGER)) && terminal &&
           strcmp(terminal, "dumb") != 0 && isatty(STDOUT_FILENO);
}

/* If memory runs out, the whole report or picture fails, because parts of it could be missing.
 * Commands that continue after that (a window, a server, a recorded program) handle the failure
 * themselves. */
static bool ran_out_of_memory(const mv_cli *cli)
{
    const mv_command *c = cli->command;

    return cli->budget.lacked && !c->starts_program && !c->serves &&
           !may_open_more(c, &cli->options);
}

/* A damaged piece is detected before anything is printed, so the command can run again. */
static int run_pieces(mv_cli *cli)
{
    int status = cli->command->run(cli);

    mv_input_close(cli);
    return cli->reads_whole ? cli->command->run(cli) : status;
}

static int run_in_output(mv_cli *cli)
{
    bool own = cli->command->writes_file, is_page = mv_option_given(&cli->options, MV_HAS(PAGE));
    mv_gate_page page = {0};
    mv_err err = {0};
    int status;

    if (mv_out_open(&cli->out, own ? NULL : cli->options.output, &err) != MV_OK)
        return mv_complain(NULL, &err);
    cli->out.color = !is_page && wants_color(&cli->options);
    if (!cli->options.output && !is_page) {
        mv_terminal terminal = mv_terminal_find();
        cli->out.columns = terminal.columns;
        cli->out.rows = terminal.rows;
        if (wants_pager(cli))
            mv_pager_start(&cli->out.pager);
    }
    if (mv_option_given(&cli->options, MV_HAS(HELP))) {
        mv_help_command(&cli->out, cli->command);
        status = MV_EXIT_DONE;
    } else {
        if (cli->confine && !cli->command->confines_itself)
            cli->confine(cli);
        if (is_page && !mv_gate_page_begin(&page, cli))
            status = mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
        else
            status = run_pieces(cli);
        if (is_page)
            mv_gate_page_end(&page, cli, status);
    }
    if (ran_out_of_memory(cli) && status != MV_EXIT_FAILED) {
        status = mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
        cli->keeps_report = false;
    }
    if (!mv_exit_has_report(status) && !cli->keeps_report) {
        mv_out_abort(&cli->out);
        return status;
    }
    if (mv_out_close(&cli->out, &err) != MV_OK)
        return mv_complain(NULL, &err);
    return status;
}

/* Checks that --from, --to and --at are well formed, without looking at a file. */
static bool check_places(const mv_command *command, const mv_options *o)
{
    static const char window[] =
        "'%s' is not a valid %s: expected an event number, time (1.5s) or annotation (@NAME)";

    if (o->from && !mv_position_is_valid(o->from))
        mv_complain_usage(command->name, window, o->from, "--from");
    else if (o->to && !mv_position_is_valid(o->to))
        mv_complain_usage(command->name, window, o->to, "--to");
    else if (o->at && !command->takes_sizes && !mv_moment_is_valid(o->at))
        mv_complain_usage(command->name, MV_MOMENT_USAGE, o->at);
    else
        return true;
    return false;
}

/* Checks that --json, --csv and --table can be combined with each other and with the report. */
static bool check_tables(const mv_command *command, const mv_options *o)
{
    char tables[MV_TABLE_PATHS];

    if (mv_option_given(o, MV_HAS(PAGE)) && mv_option_given(o, MV_HAS(CSV) | MV_HAS(JSON)))
        mv_complain_usage(command->name, "--format cannot be combined with --json or --csv");
    else if (mv_option_given(o, MV_HAS(PAGE)) && o->page == MV_PAGE_JUNIT && !o->fail_ons)
        mv_complain_usage(command->name, "--format junit reports gates: name them with --fail-on");
    else if (!mv_option_given(o, MV_HAS(CSV)))
        if ((command->options & MV_HAS(CSV)) && mv_option_given(o, MV_HAS(TABLE)))
            mv_complain_usage(command->name, "--table needs --csv");
        else
            return true;
    else if (mv_option_given(o, MV_HAS(JSON)))
        mv_complain_usage(command->name, "--csv and --json cannot be combined");
    else if (o->table && !mv_table_has(command->report, o->table))
        mv_complain_usage(command->name, "no table '%s'; expected one of: %s", o->table,
                          mv_table_paths(command->report, tables));
    else
        return true;
    return false;
}

/* Returns the name's suffix if it implies a format; NULL: it does not. */
static const char *format_ending(const char *name)
{
    static const char *const endings[] = {".json",   ".csv", ".html", ".svg", ".png",
                                          ".folded", ".jpg", ".jpeg", ".gif", ".pdf"};

    for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++)
        if (mv_text_has_ending(name, endings[i]))
            return endings[i];
    return NULL;
}

/* Returns the suffix that --json or --csv implies; NULL: neither was given. */
static const char *table_ending(const mv_options *o)
{
    return mv_option_given(o, MV_HAS(JSON))  ? ".json"
           : mv_option_given(o, MV_HAS(CSV)) ? ".csv"
                                             : NULL;
}

/* Checks that the name in -o, if given, suits the output. A report cannot be a page, picture or
 * folded stacks unless the command supports that; .json requires --json, and .csv requires --csv.
 * Commands that write other files choose their format by the name themselves. Returns false, with a
 * message, if the name is wrong. */
static bool does_name_fit(const mv_command *command, const mv_options *o)
{
    const char *ending = !o->output || command->writes_file ? NULL : format_ending(o->output);
    const char *pictures = command->pictures, *table = table_ending(o);
    bool is_table = ending && (strcmp(ending, ".json") == 0 || strcmp(ending, ".csv") == 0);

    if (ending && mv_option_given(o, MV_HAS(PAGE))) {
        mv_complain_usage(command->name, "%s: the output is --format, which does not match %s",
                          o->output, ending);
        return false;
    }
    if (!ending || (table && strcmp(ending, table) == 0) ||
        (!table && pictures && strstr(pictures, ending)))
        return true;
    if (table)
        mv_complain_usage(command->name, "%s: the output is --%s, which does not match %s",
                          o->output, table + 1, ending);
    else if (is_table && (command->options & MV_HAS(JSON)))
        mv_complain_usage(command->name, "%s: add --%s", o->output, ending + 1);
    else
        mv_complain_usage(command->name, "%s: %s writes %s; choose another name for text",
                          o->output, command->name, pictures ? pictures : "no pictures");
    return false;
}

/* Whether a directory is named where a report needs a snapshot. If so, prints a message. */
static bool names_folder(const mv_command *command, const mv_options *o)
{
    int files = command->report && !command->serves ? o->files : 0;
    struct stat st;

    for (int i = 0; i < files - command->writes_last; i++)
        if (stat(o->file[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            mv_complain_of(
                o->file[i],
                "this is a folder: memviz %s and memviz ranks %s read the snapshots in it",
                o->file[i], o->file[i]);
            return true;
        }
    return false;
}

/* Replaces directories with the snapshots in them. Returns false, with a message, if there are
 * none. */
static bool open_folders(const mv_command *command, mv_options *o, mv_arena *arena)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    o->named_files = o->files;
    o->named_file = o->file;
    if (!command->takes_folders)
        return !names_folder(command, o);
    if (mv_folder_files(arena, o->file, o->files, command->reads_summaries, &o->file, &o->files,
                        &err) == MV_OK)
        return true;
    mv_complain(NULL, &err);
    return false;
}

/* Splits FILE=SIZE into its two parts. Returns false, with a message, if one of them is missing. */
static bool split_sizes(const mv_command *command, mv_options *o, mv_arena *arena)
{
    char **file;

    if (!command->takes_sizes)
        return true;
    file = mv_push_array(arena, char *, (uint64_t)o->files);
    o->file_size = mv_push_array(arena, const char *, (uint64_t)o->files);
    for (int i = 0; file && o->file_size && i < o->files; i++) {
        const char *sign = strrchr(o->file[i], '=');
        if (!sign || sign == o->file[i]) {
            mv_complain_usage(command->name,
                              "expected FILE=SIZE, such as batch8.pickle=8, not '%s'", o->file[i]);
            return false;
        }
        o->file_size[i] = sign + 1;
        file[i] = mv_arena_text(arena, o->file[i], (uint64_t)(sign - o->file[i]));
        if (!file[i])
            break;
    }
    o->file = file;
    return file && o->file_size;
}

/* Complains about more files than the command accepts. */
static void refuse_file(const mv_command *command, const char *file)
{
    if (command->report && command->most_files == 1)
        mv_complain_usage(command->name,
                          "%s takes one file, so '%s' is too many: memviz FILE... and memviz ranks "
                          "FILE... take several",
                          command->name, file);
    else
        mv_complain_usage(command->name, "unexpected argument '%s'", file);
}

/* Checks that the options suit the command. Returns false, with a message, if they do not. */
static bool check_options(const mv_command *command, const mv_options *o, mv_gates *gates)
{
    char why[400];

    for (uint32_t i = 0; i < o->fail_ons; i++)
        if (!mv_gates_read(o->fail_on[i], command->name, command->gates, gates, why, sizeof why)) {
            mv_complain_usage(command->name, "%s", why);
            return false;
        }
    if (o->files < command->least_files)
        mv_complain_usage(command->name, "expected %s", command->arguments);
    else if (o->files > command->most_files)
        refuse_file(command, o->file[command->most_files]);
    else
        return check_places(command, o) && check_tables(command, o) && does_name_fit(command, o) &&
               !mv_overwrite_is_asked(command, o);
    return false;
}

static int run_command(const mv_command *command, int argc, char **argv, struct mv_kept_files *kept,
                       mv_confine_fn *confine)
{
    mv_budget folders = {.limit = SMALL_FILE_MEMORY};
    mv_arena arena;
    mv_options options;
    mv_gates gates = {0};
    char why[400];
    mv_cli *cli;
    int status;

    if (!mv_options_read(command->options | MV_COMMON_OPTIONS, argc, argv, &options, why,
                         sizeof why))
        return mv_complain_usage(command->name, "%s", why);
    mv_arena_init(&arena, &folders);
    if (!mv_option_given(&options, MV_HAS(HELP))) {
        status = !split_sizes(command, &options, &arena)     ? MV_EXIT_USAGE
                 : !open_folders(command, &options, &arena)  ? MV_EXIT_FAILED
                 : !check_options(command, &options, &gates) ? MV_EXIT_USAGE
                                                             : MV_EXIT_DONE;
        if (status != MV_EXIT_DONE) {
            mv_arena_release(&arena);
            return status;
        }
    }
    cli = cli_new(command, &options, kept);
    if (cli) {
        gates.file = options.files == 1 ? mv_input_name(cli) : NULL;
        cli->gates = gates;
        cli->confine = confine;
        status = run_in_output(cli);
        report_disk(cli);
        cli_end(cli);
    } else {
        status = mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    }
    mv_arena_release(&arena);
    return status;
}

static int refuse(const char *word)
{
    const mv_command *meant;
    mv_nearest nearest = {0};
    struct stat st;

    if (!*word)
        return mv_complain_usage(NULL, "expected a command or a file, not an empty argument");
    if (*word == '-')
        return mv_complain_usage(NULL, "expected a command or a file before '%s'", word);
    if (lstat(word, &st) == 0 && S_ISLNK(st.st_mode))
        return mv_complain_of(word, "this is a symbolic link to a file that does not exist");
    meant = mv_command_meant(word);
    if (meant)
        return mv_complain_usage(NULL, "no command '%s'; did you mean '%s'?", word, meant->name);
    for (const mv_command *c = mv_commands; c->name; c++)
        mv_nearest_try(&nearest, word, c->name);
    if (nearest.word)
        return mv_complain_usage(NULL, "no command '%s'; did you mean '%s'?", word, nearest.word);
    return mv_complain_usage(NULL, "no command '%s', and no such file", word);
}

static bool is_there(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 || mv_sample_is(path) || stat(path, &st) == 0;
}

/* Whether the next word is the argument of an option. If an option takes an argument only in some
 * commands, the next word is its argument unless that is the name of a command. */
static bool has_argument(int at, int argc, char **argv)
{
    if (mv_option_may_take_next(argv[at]))
        return at + 2 < argc && argv[at + 1][0] != '-' && !mv_command_find(argv[at + 1]);
    return mv_option_takes_next(argv[at]);
}

/* Returns the index of the next word, starting at `at`, that is neither an option nor an option's
 * argument; `argc`: there is none. Words after "--" are not options. */
static int next_word(int at, int argc, char **argv)
{
    bool is_end = false;

    while (at < argc && !is_end && argv[at][0] == '-' && argv[at][1]) {
        is_end = strcmp(argv[at], "--") == 0;
        at += 1 + has_argument(at, argc, argv);
    }
    return at < argc ? at : argc;
}

/* Options in front of a command belong to the command, so they are moved behind it. Words after
 * "--" are not commands. */
static const mv_command *find_command(int word, char **argv)
{
    char *name = argv[word];
    const mv_command *command = strcmp(argv[word - 1], "--") == 0 ? NULL : mv_command_find(name);

    if (!command)
        return NULL;
    memmove(argv + 2, argv + 1, (size_t)(word - 1) * sizeof *argv);
    argv[1] = name;
    return command;
}

/* `memviz FILE` means `memviz triage FILE`. A word that contains a dot or a slash is not a command,
 * so it is a file, even if that file is missing. */
static int look_first(int word, int argc, char **argv, struct mv_kept_files *kept,
                      mv_confine_fn *confine)
{
    const char *file = argv[word];
    int later = word;

    if (!is_there(file) && !strpbrk(file, "./"))
        return refuse(file);
    while ((later = next_word(later + 1, argc, argv)) < argc)
        if (mv_command_find(argv[later]) && !is_there(argv[later]))
            return mv_complain_usage(NULL, "no file '%s'; did you mean 'memviz %s %s'?",
                                     argv[later], argv[later], file);
    return run_command(mv_command_find("triage"), argc, argv, kept, confine);
}

/* If a reader such as head closes the pipe, the program ends quietly, even if its parent ignored
 * SIGPIPE. If a file would grow beyond its limit (ulimit -f), the write fails with a message
 * instead of a signal. */
static void set_signals(void)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
}

static int program(int argc, char **argv, struct mv_kept_files *kept, mv_confine_fn *confine)
{
    const mv_command *command;
    int word;

    if (argc < 2)
        return mv_complain_usage(NULL, "expected a command or a file");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        argv[1] = "help";
    else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        argv[1] = "version";
    word = next_word(1, argc, argv);
    if (word == argc)
        return refuse(argv[1]);
    command = find_command(word, argv);
    if (!command || !command->starts_program)
        set_signals();
    if (command)
        return run_command(command, argc - 1, argv + 1, kept, confine);
    return look_first(word, argc, argv, kept, confine);
}

int mv_program(int argc, char **argv, struct mv_kept_files *kept)
{
    return program(argc, argv, kept, NULL);
}

int mv_program_alone(int argc, char **argv, mv_confine_fn *confine)
{
    return program(argc, argv, NULL, confine);
}
