/* memviz completion: completion scripts for shells, from the tables of commands, options and
 * terms. */
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/report/table.h"
#include "cli/terms.h"

static bool takes_file(const mv_option *o)
{
    return o->argument && strcmp(o->argument, "FILE") == 0;
}

static uint64_t options_of(const mv_command *c)
{
    return c->options | MV_COMMON_OPTIONS;
}

/* The arguments of help are names of commands or terms; those of completion are words; those of
 * other commands are files. */
static bool takes_names(const mv_command *c)
{
    return c->run == mv_cmd_help;
}

static bool takes_words(const mv_command *c)
{
    return c->run == mv_cmd_completion;
}

/* Completions for a file without a command. */
static const mv_command *first_look(void)
{
    return mv_command_find("triage");
}

enum { MOST_WORDS = MV_TABLE_PATHS };

/* The words that complete the option's argument in this command, separated by spaces; built in
 * `buffer` if they differ from the option's own list. NULL: anything. */
static const char *words_of(const mv_command *c, mv_option_id id, char buffer[MOST_WORDS])
{
    char *to = buffer;

    if (id == MV_OPTION_FAIL_ON)
        return mv_gates_text(c->gates, buffer, MOST_WORDS);
    if (id != MV_OPTION_TABLE || !(c->options & MV_HAS(CSV)))
        return mv_option_words(id, options_of(c));
    mv_table_paths(c->report, buffer);
    for (const char *from = buffer; *from; from++)
        if (*from != ',')
            *to++ = *from;
    *to = 0;
    return buffer;
}

/* "triage|report": the command's names, with `between` between them. */
static void put_names(mv_out *out, const mv_command *c, const char *between)
{
    mv_out_text(out, c->name);
    if (c->alias)
        mv_out_format(out, "%s%s", between, c->alias);
}

static void put_command_names(mv_out *out)
{
    for (const mv_command *c = mv_commands; c->name; c++) {
        if (c != mv_commands)
            mv_out_char(out, ' ');
        mv_out_text(out, c->name);
    }
}

static void put_term_names(mv_out *out)
{
    for (const mv_term *t = mv_terms; t->name; t++) {
        if (t != mv_terms)
            mv_out_char(out, ' ');
        mv_out_text(out, t->name);
    }
}

/* "bash|zsh|fish" as three words. */
static void put_argument_words(mv_out *out, const mv_command *c)
{
    for (const char *words = c->arguments; *words; words++)
        mv_out_char(out, *words == '|' ? ' ' : *words);
}

/* For shells that parse the words as a command line, where '>' would be a redirection. */
static void put_quoted_words(mv_out *out, const char *words)
{
    for (; *words; words++) {
        if (*words == '>')
            mv_out_char(out, '\\');
        mv_out_char(out, *words);
    }
}

/* The options in `options` that take an argument, letters first: "-o|--output|--color". */
static void put_with_argument(mv_out *out, uint64_t options, const char *between)
{
    const char *separator = "";

    for (uint32_t i = 0; i < 2 * MV_OPTION_COUNT; i++) {
        const mv_option *o = &mv_option_table[i % MV_OPTION_COUNT];
        bool is_letter = i < MV_OPTION_COUNT;
        if (!(options & (UINT64_C(1) << i % MV_OPTION_COUNT)) || !o->argument ||
            (is_letter && !o->letter))
            continue;
        if (is_letter)
            mv_out_format(out, "%s-%c", separator, o->letter);
        else
            mv_out_format(out, "%s--%s", separator, o->name);
        separator = between;
    }
}

/* ---- bash -------------------------------------------------------------------------------- */

static void put_bash_values(mv_out *out, const mv_command *c)
{
    char buffer[MOST_WORDS];

    mv_out_text(out, "        case $before in\n");
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++) {
        const mv_option *o = &mv_option_table[i];
        const char *words = words_of(c, (mv_option_id)i, buffer);
        if (!o->argument || !(options_of(c) & (UINT64_C(1) << i)))
            continue;
        mv_out_format(out, "        --%s", o->name);
        if (o->letter)
            mv_out_format(out, "|-%c", o->letter);
        if (takes_file(o))
            mv_out_text(out, ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
        else
            mv_out_format(out, ") COMPREPLY=($(compgen -W '%s' -- \"$word\"))%s; return ;;\n",
                          words ? words : "",
                          i == MV_OPTION_LEVEL ? "; _memviz_names \"$word\" '' levels" : "");
    }
    mv_out_text(out, "        esac ;;\n");
}

/* The pattern of a command's names. Returns the command whose options follow: `c`, or for NULL (a
 * word that is not a command) the first look. */
static const mv_command *begin_case(mv_out *out, const mv_command *c)
{
    mv_out_text(out, "    ");
    if (c)
        put_names(out, c, "|");
    else
        mv_out_char(out, '*');
    return c ? c : first_look();
}

static void put_bash_command(mv_out *out, const mv_command *c)
{
    c = begin_case(out, c);
    mv_out_text(out, ") options='");
    for (uint32_t i = 0, first = 1; i < MV_OPTION_COUNT; i++) {
        if (!(options_of(c) & (UINT64_C(1) << i)))
            continue;
        mv_out_format(out, "%s--%s", first ? "" : " ", mv_option_table[i].name);
        first = 0;
    }
    mv_out_text(out, "'");
    if (takes_words(c)) {
        mv_out_text(out, " words='");
        put_argument_words(out, c);
        mv_out_text(out, "'");
    } else if (takes_names(c)) {
        mv_out_text(out, " words=\"$commands terms\"\n"
                         "        [[ $before == terms ]] && words='");
        put_term_names(out);
        mv_out_text(out, "'");
    }
    mv_out_char(out, '\n');
    put_bash_values(out, c);
}

/* From the word `at` on: to the first one that is neither an option nor the argument of one. */
static void put_bash_options(mv_out *out, uint64_t options)
{
    mv_out_text(out, "    while (( at < COMP_CWORD )); do\n"
                     "        case ${COMP_WORDS[at]} in\n"
                     "        --) (( at++ )); break ;;\n"
                     "        ");
    put_with_argument(out, options, "|");
    mv_out_text(out, ")\n"
                     "            [[ ${COMP_WORDS[at+1]} == = ]] && (( at++ ))\n"
                     "            (( at += 2 )) ;;\n"
                     "        -*) (( at++ )) ;;\n"
                     "        *) break ;;\n"
                     "        esac\n"
                     "    done\n");
}

/* Completes the program that a command starts, and that program's arguments. `at` in the script is
 * the position of the program on the command line. */
static void put_bash_program(mv_out *out, const mv_command *c)
{
    mv_out_format(out,
                  "    if [[ $command == %s ]]; then\n"
                  "    (( at++ ))\n",
                  c->name);
    put_bash_options(out, options_of(c));
    mv_out_text(out,
                "        if (( at < COMP_CWORD )) && declare -F _command_offset >/dev/null; then\n"
                "            _command_offset $at\n"
                "            return\n"
                "        elif (( at < COMP_CWORD )); then\n"
                "            COMPREPLY=($(compgen -f -- \"$word\"))\n"
                "            return\n"
                "        elif (( at == COMP_CWORD )) && [[ $before == -- || $word != -* ]]; then\n"
                "            COMPREPLY=($(compgen -c -- \"$word\") $(compgen -f -- \"$word\"))\n"
                "            return\n"
                "        fi\n"
                "    fi\n");
}

/* The names of annotations in the first file on the command line, for --at @NAME, or of its levels.
 * They come from the file: a shell must treat them only as text. */
#define NAMES_OF_FILE(table)                                          \
    "memviz info -q --csv --table " table " \"$file\" 2>/dev/null | " \
    "tr -d '\\r' | sed '1d; s/^[0-9]*,//; s/^\"\\(.*\\)\"$/\\1/; s/\"\"/\"/g'"

static bool takes_names_of_file(mv_option_id id)
{
    return id == MV_OPTION_AT || id == MV_OPTION_FROM || id == MV_OPTION_TO;
}

/* They are inserted into the line that the user is about to run, so the shell's words are quoted
 * here: bash's own quoting of file names does not escape backquotes. */
static void put_bash_names(mv_out *out)
{
    mv_out_text(out, "_memviz_names()\n{\n"
                     "    local file name quoted\n"
                     "    compopt +o filenames 2>/dev/null\n"
                     "    for file in \"${COMP_WORDS[@]:1}\"; do\n"
                     "        [[ -f $file ]] || continue\n"
                     "        while IFS= read -r name; do\n"
                     "            printf -v quoted %q \"$name\"\n"
                     "            [[ $name == \"$1\"* || $quoted == \"$1\"* ]] && "
                     "COMPREPLY+=(\"$2$quoted\")\n"
                     "        done < <(" NAMES_OF_FILE("$3") ")\n"
                                                             "        return\n"
                                                             "    done\n"
                                                             "}\n");
}

/* bash treats '@' as a separate word unless configured otherwise; the replaced text begins with the
 * '@' in both cases. */
static void put_bash_annotations(mv_out *out)
{
    mv_out_text(
        out,
        "    case ${COMP_WORDS[COMP_CWORD-2]}$before in\n"
        "    --at@|--from@|--to@) _memviz_names \"$word\" @ annotation_names; return ;;\n"
        "    esac\n"
        "    case $before$word in\n"
        "    --at@*|--from@*|--to@*) _memviz_names \"${word#@}\" @ annotation_names; return ;;\n"
        "    esac\n");
}

static void put_bash(mv_out *out)
{
    mv_out_text(out, "# bash completion for memviz; made by: memviz completion bash\n");
    put_bash_names(out);
    mv_out_text(out, "_memviz()\n{\n"
                     "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "    local commands='");
    put_command_names(out);
    mv_out_text(out, "' options= words= command= at=1\n"
                     "    COMPREPLY=()\n");
    put_bash_options(out, UINT64_MAX);
    mv_out_text(out,
                "    if (( at < COMP_CWORD )); then\n"
                "        command=${COMP_WORDS[at]}\n"
                "    elif (( at == COMP_CWORD )); then\n"
                "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\")\n"
                "                   $(compgen -f -- \"$word\"))\n"
                "        [[ $word == -* ]] || return\n"
                "    fi\n");
    for (const mv_command *c = mv_commands; c->name; c++)
        if (c->starts_program)
            put_bash_program(out, c);
    put_bash_annotations(out);
    mv_out_text(out, "    case $command in\n");
    for (const mv_command *c = mv_commands; c->name; c++)
        put_bash_command(out, c);
    put_bash_command(out, NULL);
    mv_out_text(out, "    esac\n"
                     "    if [[ $word == -* ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$options --version\" -- \"$word\"))\n"
                     "    elif [[ $words ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                     "    else\n"
                     "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
                     "    fi\n"
                     "}\n"
                     "complete -o filenames -F _memviz memviz\n");
}

/* ---- zsh --------------------------------------------------------------------------------- */

/* Text inside '...[text]...' of _arguments. */
static void put_zsh_text(mv_out *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
            mv_out_char(out, '\\');
        if (*text == '\'')
            mv_out_text(out, "'\\'");
        mv_out_char(out, *text);
    }
}

static void put_zsh_words(mv_out *out, const char *words)
{
    mv_out_char(out, '(');
    put_quoted_words(out, words);
    mv_out_char(out, ')');
}

static void put_zsh_option(mv_out *out, const mv_command *c, mv_option_id id)
{
    const mv_option *o = &mv_option_table[id];
    char buffer[MOST_WORDS];
    const char *words = words_of(c, id, buffer);

    if (o->letter)
        mv_out_format(out, "        '(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter,
                      o->name);
    else
        mv_out_format(out, "        '--%s%s[", o->name, o->argument ? "=" : "");
    put_zsh_text(out, mv_option_help(id, options_of(c)));
    mv_out_char(out, ']');
    if (o->argument) {
        mv_out_format(out, ":%s:", o->argument);
        if (takes_file(o))
            mv_out_text(out, "_files");
        else if (takes_names_of_file(id))
            mv_out_text(out, "_memviz_moments");
        else if (id == MV_OPTION_LEVEL)
            mv_out_text(out, "_memviz_levels");
        else if (words)
            put_zsh_words(out, words);
    }
    mv_out_text(out, "' \\\n");
}

static void put_zsh_command(mv_out *out, const mv_command *c)
{
    c = begin_case(out, c);
    mv_out_format(out, ") _arguments%s \\\n", c->starts_program ? " -S" : "");
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (options_of(c) & (UINT64_C(1) << i))
            put_zsh_option(out, c, (mv_option_id)i);
    if (c->starts_program) {
        mv_out_text(out, "        '(-)1:program:_command_names -e' '*::argument:_normal' ;;\n");
        return;
    }
    if (takes_words(c)) {
        mv_out_text(out, "        '*:argument:(");
        put_argument_words(out, c);
        mv_out_text(out, ")' ;;\n");
    } else if (takes_names(c)) {
        mv_out_text(out, "        '1:command:(");
        put_command_names(out);
        mv_out_text(out, " terms)' '2:term:(");
        put_term_names(out);
        mv_out_text(out, ")' ;;\n");
    } else {
        mv_out_text(out, "        '*:argument:_files' ;;\n");
    }
}

static void put_zsh(mv_out *out)
{
    mv_out_text(out,
                "#compdef memviz\n"
                "# zsh completion for memviz; made by: memviz completion zsh\n"
                "_memviz_moments()\n{\n"
                "    local file\n"
                "    local -a names\n"
                "    for file in $words; do [[ -f $file ]] && break; done\n"
                "    [[ -f $file ]] && names=(\"${(@f)$(" NAMES_OF_FILE(
                    "annotation_names") ")}\")\n"
                                        "    compadd -- peak reserved-peak end oom @${^names}\n"
                                        "}\n"
                                        "_memviz_levels()\n{\n"
                                        "    local file\n"
                                        "    local -a names=(pytorch cuda host all)\n"
                                        "    for file in $words; do [[ -f $file ]] && break; done\n"
                                        "    [[ -f $file ]] && names=(\"${(@f)$(" NAMES_OF_FILE(
                                            "levels") ")}\")\n"
                                                      "    compadd -- $names\n"
                                                      "}\n"
                                                      "_memviz()\n{\n"
                                                      "    local -a commands=(\n");
    for (const mv_command *c = mv_commands; c->name; c++) {
        mv_out_format(out, "        '%s:", c->name);
        put_zsh_text(out, c->summary);
        mv_out_text(out, "'\n");
    }
    mv_out_text(out, "    )\n"
                     "    local at=2\n"
                     "    while (( at < CURRENT )); do\n"
                     "        case $words[at] in\n"
                     "        ");
    put_with_argument(out, UINT64_MAX, "|");
    mv_out_text(out, ") (( at += 2 )) ;;\n"
                     "        -*) (( at++ )) ;;\n"
                     "        *) break ;;\n"
                     "        esac\n"
                     "    done\n"
                     "    if (( at == CURRENT )) && [[ $words[at] != -* || at -eq 2 ]]; then\n"
                     "        _describe command commands\n"
                     "        _files\n"
                     "        return\n"
                     "    fi\n"
                     "    local command=$words[at]\n"
                     "    if (( at < CURRENT )); then\n"
                     "        words[at]=()\n"
                     "        words[1]=$command\n"
                     "        (( CURRENT-- ))\n"
                     "    fi\n"
                     "    case $command in\n");
    for (const mv_command *c = mv_commands; c->name; c++)
        put_zsh_command(out, c);
    put_zsh_command(out, NULL);
    mv_out_text(out, "    esac\n"
                     "}\n"
                     "compdef _memviz memviz\n");
}

/* ---- fish -------------------------------------------------------------------------------- */

static void put_fish_text(mv_out *out, const char *text)
{
    mv_out_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            mv_out_char(out, '\\');
        mv_out_char(out, *text);
    }
    mv_out_char(out, '\'');
}

/* `c` NULL: without a command, for the first look. */
static void put_fish_option(mv_out *out, const mv_command *c, mv_option_id id)
{
    const mv_option *o = &mv_option_table[id];
    char buffer[MOST_WORDS];
    const char *words = words_of(c ? c : first_look(), id, buffer);

    mv_out_text(out, "complete -c memviz -n '");
    if (c) {
        mv_out_text(out, "__fish_seen_subcommand_from ");
        put_names(out, c, " ");
    } else {
        mv_out_text(out, "__fish_use_subcommand");
    }
    c = c ? c : first_look();
    mv_out_format(out, "' -l %s", o->name);
    if (o->letter)
        mv_out_format(out, " -s %c", o->letter);
    if (takes_file(o))
        mv_out_text(out, " -r -F");
    else if (words || takes_names_of_file(id)) {
        mv_out_text(out, " -x -a '");
        put_quoted_words(out, words ? words : "");
        mv_out_text(out, takes_names_of_file(id) ? " (__memviz_names)'"
                         : id == MV_OPTION_LEVEL ? " (__memviz_levels)'"
                                                 : "'");
    } else if (o->argument)
        mv_out_text(out, " -x");
    mv_out_text(out, " -d ");
    put_fish_text(out, mv_option_help(id, options_of(c)));
    mv_out_char(out, '\n');
}

static void put_fish_arguments(mv_out *out, const mv_command *c)
{
    if (c->starts_program) {
        mv_out_format(out,
                      "complete -c memviz -n '__fish_seen_subcommand_from %s' -x "
                      "-a '(__fish_complete_subcommand --fcs-skip=2 ",
                      c->name);
        put_with_argument(out, options_of(c),
                          " "); /* fish takes long names before a letter as its own options */
        mv_out_text(out, ")'\n");
        return;
    }
    if (!takes_names(c) && !takes_words(c))
        return;
    mv_out_format(out, "complete -c memviz -n '__fish_seen_subcommand_from %s' -f -a '", c->name);
    if (takes_words(c)) {
        put_argument_words(out, c);
    } else {
        put_command_names(out);
        mv_out_format(out,
                      " terms'\n"
                      "complete -c memviz -n '__fish_seen_subcommand_from %s; and "
                      "__fish_seen_subcommand_from terms' -f -a '",
                      c->name);
        put_term_names(out);
    }
    mv_out_text(out, "'\n");
}

static void put_fish(mv_out *out)
{
    mv_out_text(out, "# fish completion for memviz; made by: memviz completion fish\n"
                     "function __memviz_names\n"
                     "    for file in (commandline -opc)\n"
                     "        test -f $file; or continue\n"
                     "        " NAMES_OF_FILE(
                         "annotation_names") " | string replace -r '^' '@'\n"
                                             "        return\n"
                                             "    end\n"
                                             "end\n"
                                             "function __memviz_levels\n"
                                             "    for file in (commandline -opc)\n"
                                             "        test -f $file; or continue\n"
                                             "        " NAMES_OF_FILE("levels") "\n"
                                                                                "        return\n"
                                                                                "    end\n"
                                                                                "end\n");
    for (const mv_command *c = mv_commands; c->name; c++) {
        mv_out_format(out, "complete -c memviz -n __fish_use_subcommand -a %s -d ", c->name);
        put_fish_text(out, c->summary);
        mv_out_char(out, '\n');
        put_fish_arguments(out, c);
        for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
            if (options_of(c) & (UINT64_C(1) << i))
                put_fish_option(out, c, (mv_option_id)i);
    }
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (options_of(first_look()) & (UINT64_C(1) << i))
            put_fish_option(out, NULL, (mv_option_id)i);
}

int mv_cmd_completion(mv_cli *cli)
{
    static const struct {
        const char *shell;
        void (*put)(mv_out *out);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    const char *shell = cli->options.file[0];

    for (unsigned i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].shell, shell) != 0)
            continue;
        shells[i].put(&cli->out);
        return MV_EXIT_DONE;
    }
    return mv_complain_usage("completion", "no completion for '%s'; expected bash, zsh or fish",
                             shell);
}
