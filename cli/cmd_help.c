/* memviz help and memviz version: print the tables of commands and of terms as text. */
#include <unistd.h>

#include "base/names.h"
#include "base/nearest.h"
#include "cli/complain.h"
#include "cli/report/prose.h"
#include "cli/report/table.h"
#include "cli/terms.h"

static void heading(mv_out *out, const char *text)
{
    mv_out_char(out, '\n');
    mv_out_styled(out, MV_STYLE_BOLD, text);
    mv_out_char(out, '\n');
}

static void put_indented(mv_out *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        mv_out_text(out, "  ");
        mv_out_bytes(out, text, length);
        mv_out_char(out, '\n');
        text += length;
        text += *text == '\n';
    }
}

enum { LEFT = 26 }; /* column where explanations begin */

/* Prints " -n, --limit N print at most N rows". If the left side is too long, it is printed on a
 * separate line. */
static void put_row(mv_out *out, const char *left, const char *text)
{
    size_t length = strlen(left);

    mv_out_text(out, "  ");
    mv_out_text(out, left);
    if (2 + length + 2 > LEFT) {
        mv_out_char(out, '\n');
        length = 0;
        mv_out_text(out, "  ");
    }
    mv_out_spaces(out, LEFT - 2 - (int64_t)length);
    mv_prose_put(out, LEFT, LEFT, "%s", text);
}

static void put_options(mv_out *out, const char *title, mv_option_set options,
                        mv_option_set allowed)
{
    char left[64];

    heading(out, title);
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++) {
        const mv_option *o = &mv_option_table[i];
        if (!(options & (MV_OPTION_BIT(i))))
            continue;
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
                 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
                 o->argument ? " " : "", o->argument ? o->argument : "");
        put_row(out, left, mv_option_help((mv_option_id)i, allowed));
    }
}

/* Wraps paragraphs, but prints lines that begin with blanks unchanged. */
static void put_help(mv_out *out, const char *text)
{
    char paragraph[2048] = "";

    while (*text) {
        size_t length = strcspn(text, "\n");
        bool is_list = *text == ' ';
        if (is_list && *paragraph)
            mv_prose_put(out, 0, 0, "%s", paragraph);
        if (is_list) {
            *paragraph = 0;
            mv_out_bytes(out, text, length);
            mv_out_char(out, '\n');
        } else {
            mv_prose_add(paragraph, sizeof paragraph, "%s%.*s", *paragraph ? " " : "", (int)length,
                         text);
        }
        text += length + (text[length] == '\n');
    }
    if (*paragraph)
        mv_prose_put(out, 0, 0, "%s", paragraph);
}

/* Prints which gates --fail-on can name for this command. */
static void put_gates(mv_out *out, uint32_t gates)
{
    char left[64];

    heading(out, "Gates of --fail-on");
    for (uint32_t i = 0; i < MV_GATE_COUNT; i++) {
        if (!(gates & (1u << i)))
            continue;
        mv_gates_text(1u << i, left, sizeof left);
        left[strcspn(left, " ")] = 0;
        put_row(out, left, mv_gate_meaning(i, gates));
    }
    if (mv_gates_without_bound(gates))
        put_row(out, "any",
                mv_gates_without_bound(gates) == gates ? "any of these"
                                                       : "any of these without BYTES");
    mv_out_text(out, "  ");
    mv_prose_put(out, 2, 2,
                 "The exit status is 3 if a gate is met, and 4 if that is unknown; ',known' after "
                 "a gate lets an unknown pass.");
    mv_out_text(out, "  ");
    mv_prose_put(
        out, 2, 2, "Quote a gate with a '>': --fail-on '%s>%s,known'.%s",
        gates & MV_GATES(DELTA) ? "delta" : "peak", gates & MV_GATES(DELTA) ? "100MiB" : "70GiB",
        gates & MV_GATES(DELTA) ? " BYTES may be a share of the memory before: delta>10%." : "");
}

/* Prints which tables --csv prints and --table can name. */
static void put_tables(mv_out *out, const mv_table *report)
{
    char tables[MV_TABLE_PATHS];

    heading(out, "Tables of --csv");
    mv_out_format(out, "  %s, unless --table names another:\n  ", mv_table_main(report));
    mv_prose_put(out, 2, 2, "%s", mv_table_paths(report, tables));
}

void mv_help_command(mv_out *out, const mv_command *command)
{
    mv_option_set options = command->options | MV_COMMON_OPTIONS;

    mv_out_format(out, "memviz %s: %s\n", command->name, command->summary);
    heading(out, "Usage");
    mv_out_format(out, "  memviz %s [OPTION...]%s%s\n", command->name,
                  *command->arguments ? " " : "", command->arguments);
    mv_out_char(out, '\n');
    put_help(out, command->help);
    if (command->alias)
        mv_out_format(out, "Also called %s.\n", command->alias);
    put_options(out, "Options", command->options & options, options);
    if (command->gates)
        put_gates(out, command->gates);
    if (command->options & MV_HAS(CSV))
        put_tables(out, command->report);
    put_options(out, "Options of every command", MV_COMMON_OPTIONS, options);
    heading(out, "Example");
    put_indented(out, command->example);
}

static void print_overview(mv_out *out)
{
    static const char *const titles[] = {MV_COMMAND_GROUP_LIST(MV_SECOND)};

    mv_out_text(out, "memviz: GPU memory snapshots of PyTorch, offline\n");
    heading(out, "Usage");
    mv_out_text(out, "  memviz FILE                  an overview of its problems\n"
                     "  memviz COMMAND [OPTION...] FILE\n"
                     "  memviz help COMMAND          explain a command, with an example\n"
                     "  memviz help terms            explain the words in the reports\n");
    for (uint32_t group = 0; group < MV_COMMAND_GROUP_COUNT; group++) {
        heading(out, titles[group]);
        for (const mv_command *c = mv_commands; c->name; c++)
            if (c->group == group) {
                mv_out_format(out, "  %-14s ", c->name);
                mv_prose_put(out, 17, 17, "%s", c->summary);
            }
    }
    mv_out_char(out, '\n');
    mv_prose_put(
        out, 0, 0,
        "FILE is a PyTorch snapshot pickle (torch.cuda.memory._dump_snapshot), msgpack, "
        "a memviz .bin, a torch.profiler trace with profile_memory=True (*.json), or a file from "
        "another tool: RMM's CSV log, XLA's *.xplane.pb, JAX's memory.prof. It may be compressed "
        "with gzip or zstd; - is standard input. "
        "Results go to standard output, everything else to standard error. Exit status: 0 "
        "done, 1 failed, 2 wrong usage, 3 a gate of --fail-on is met, 4 that is unknown.");
}

static int complain_of(const char *kind, const char *name, const mv_nearest *nearest)
{
    if (nearest->word)
        return mv_complain_usage(NULL, "no %s '%s'; did you mean '%s'?", kind, name, nearest->word);
    return mv_complain_usage(NULL, "no %s '%s'", kind, name);
}

static int explain_term(mv_out *out, const char *name)
{
    const mv_term *term = mv_term_find(name);
    mv_nearest nearest = {0};

    if (term) {
        mv_term_put(out, term);
        return MV_EXIT_DONE;
    }
    for (const mv_term *t = mv_terms; t->name; t++)
        mv_nearest_try(&nearest, name, t->name);
    return complain_of("term", name, &nearest);
}

static int explain_command(mv_out *out, const char *name)
{
    const mv_command *command = mv_command_find(name);
    mv_nearest nearest = {0};

    if (command) {
        mv_help_command(out, command);
        return MV_EXIT_DONE;
    }
    if (access(name, F_OK) == 0)
        return mv_complain_usage(NULL, "'%s' is a file, not a command: try memviz %s", name, name);
    if (mv_term_find(name))
        return explain_term(out, name);
    command = mv_command_meant(name);
    if (command)
        nearest.word = command->name;
    for (const mv_command *c = mv_commands; c->name && !command; c++)
        mv_nearest_try(&nearest, name, c->name);
    return complain_of("command", name, &nearest);
}

int mv_cmd_help(mv_cli *cli)
{
    char **word = cli->options.file;
    int words = cli->options.files;
    bool is_about_terms = words > 0 && strcmp(word[0], "terms") == 0;

    if (words == 2 && is_about_terms)
        return explain_term(&cli->out, word[1]);
    if (words == 2)
        return mv_complain_usage("help", "unexpected argument '%s'", word[1]);
    if (words == 1 && !is_about_terms)
        return explain_command(&cli->out, word[0]);
    if (is_about_terms)
        mv_terms_put(&cli->out);
    else
        print_overview(&cli->out);
    return MV_EXIT_DONE;
}

int mv_cmd_version(mv_cli *cli)
{
    mv_out_text(&cli->out, "memviz " MV_PROGRAM_VERSION "\n");
    return MV_EXIT_DONE;
}
