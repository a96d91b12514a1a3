/* memviz help and memviz version: the tables of commands and of terms as text. */
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/nearest.h"
#include "cli/report/prose.h"
#include "cli/report/table.h"
#include "cli/terms.h"

static void heading(mv_out *out, const char *text)
{
    mv_out_char(out, '\n');
    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_text(out, text);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
}

/* Prints the lines of `text`, indented. */
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

static void put_option(mv_out *out, const mv_option *option)
{
    char left[64];
    int length;

    length =
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", option->letter ? '-' : ' ',
                 option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
    mv_out_text(out, "  ");
    mv_out_text(out, left);
    mv_out_spaces(out, 24 - length);
    mv_out_text(out, option->help);
    mv_out_char(out, '\n');
}

/* The gates that --fail-on can name for this command. */
static void put_gates(mv_out *out, uint32_t gates)
{
    char left[64];

    heading(out, "What --fail-on can name");
    for (uint32_t i = 0; i < MV_GATE_COUNT; i++) {
        if (!(gates & (1u << i)))
            continue;
        mv_gates_text(1u << i, left, sizeof left);
        left[strcspn(left, " ")] = 0;
        mv_out_format(out, "  %-22s", left);
        mv_out_format(out, "%s\n", mv_gate_meaning(i, gates));
    }
    if (mv_gates_without_bound(gates))
        mv_out_format(out, "  %-22sany of these%s\n", "any",
                      mv_gates_without_bound(gates) == gates ? "" : ", except those with BYTES");
    mv_out_text(out, "  A gate whose answer is unknown fails too, unless ',known' follows it.\n"
                     "  Quote a gate with a '>': --fail-on 'peak>70GiB,known'.\n");
}

/* What --csv prints, and --table can name. */
static void put_tables(mv_out *out, const mv_table *report)
{
    char tables[MV_TABLE_PATHS];

    heading(out, "Tables of --csv");
    mv_out_format(out, "  %s, unless --table names another one:\n  ", mv_table_main(report));
    mv_prose_put(out, 2, 2, "%s", mv_table_paths(report, tables));
}

void mv_help_command(mv_out *out, const mv_command *command)
{
    uint64_t options = command->options | MV_COMMON_OPTIONS;

    mv_out_format(out, "memviz %s: %s\n", command->name, command->summary);
    heading(out, "Usage");
    mv_out_format(out, "  memviz %s [OPTION...]%s%s\n", command->name,
                  *command->arguments ? " " : "", command->arguments);
    mv_out_char(out, '\n');
    mv_out_text(out, command->help);
    if (command->alias)
        mv_out_format(out, "Also called %s.\n", command->alias);
    heading(out, "Options");
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (options & (UINT64_C(1) << i))
            put_option(out, &mv_option_table[i]);
    if (command->gates)
        put_gates(out, command->gates);
    if (command->options & MV_HAS(CSV))
        put_tables(out, command->report);
    heading(out, "Example");
    put_indented(out, command->example);
}

void mv_help_overview(mv_out *out)
{
    mv_out_text(out, "memviz: GPU memory snapshots of PyTorch, offline\n");
    heading(out, "Usage");
    mv_out_text(out, "  memviz COMMAND [OPTION...] FILE\n");
    heading(out, "Commands");
    for (const mv_command *c = mv_commands; c->name; c++) {
        mv_out_format(out, "  %-12s  %s\n", c->name, c->summary);
    }
    mv_out_text(out,
                "\nmemviz help COMMAND explains a command and gives an example.\n"
                "memviz help terms explains the words that the reports use.\n"
                "\n"
                "FILE is a PyTorch snapshot pickle (torch.cuda.memory._dump_snapshot), msgpack,\n"
                "or a memviz .bin, plain or compressed with gzip or zstd; - is standard input.\n"
                "Results go to standard output, everything else to standard error.\n"
                "\n"
                "Exit status: 0 done, 1 failed, 2 wrong usage, 3 --fail-on found something.\n");
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
        return mv_complain_usage(NULL, "'%s' is a file: memviz %s says what is wrong in it", name,
                                 name);
    for (const mv_command *c = mv_commands; c->name; c++)
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
        mv_help_overview(&cli->out);
    return MV_EXIT_DONE;
}

int mv_cmd_version(mv_cli *cli)
{
    mv_out_text(&cli->out, "memviz " MV_PROGRAM_VERSION "\n");
    return MV_EXIT_DONE;
}
