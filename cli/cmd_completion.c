/* memviz completion: prints scripts that let a shell complete words. The scripts ask this program
 * for the possible next words of a command line:
 *
 *     memviz completion words -- peak run.bin --at ""
 *
 * prints one candidate per line, with its help after a tab. A line that begins with a tab names a
 * whole group of candidates: files, commands, "program N" (word N and all later words are another
 * program's command line), or "names TABLE" (a column of `memviz info --csv --table TABLE`). */
#include "cli/complain.h"
#include "cli/report/table.h"
#include "cli/terms.h"

typedef struct {
    mv_out *out;
    char **words; /* the words after the program's name */
    int last;     /* the word under the cursor */
    const char *typed;
    char prefix[64]; /* --limit= */
} line;

static mv_option_set options_of(const mv_command *c)
{
    return c->options | MV_COMMON_OPTIONS;
}

static void offer(const line *l, const char *word, const char *help)
{
    if (strncmp(word, l->typed, strlen(l->typed)) != 0)
        return;
    mv_out_format(l->out, "%s%s%s%s\n", l->prefix, word, help ? "\t" : "", help ? help : "");
}

/* Offers each of `words`, which are separated by `between`. */
static void offer_each(const line *l, const char *words, const char *between)
{
    char word[64];

    for (size_t length; *words; words += length + strspn(words + length, between)) {
        length = strcspn(words, between);
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        offer(l, word, NULL);
    }
}

static void offer_commands(const line *l)
{
    for (const mv_command *c = mv_commands; c->name; c++)
        offer(l, c->name, c->summary);
}

/* Returns the command's option that a word names: --limit, -n, or --limit=... */
static mv_option_id option_of(const mv_command *c, const char *word)
{
    uint32_t i = 0;

    for (size_t length = strcspn(word, "="); i < MV_OPTION_COUNT; i++) {
        const mv_option *o = &mv_option_table[i];
        bool is_name = length > 2 && strncmp(word, "--", 2) == 0 && strlen(o->name) == length - 2 &&
                       memcmp(word + 2, o->name, length - 2) == 0;
        bool is_letter = length == 2 && *word == '-' && o->letter && word[1] == o->letter;
        if ((is_name || is_letter) && (options_of(c) & MV_OPTION_BIT(i)))
            break;
    }
    return (mv_option_id)i;
}

/* Offers the arguments of an option. Returns false if the option takes no argument in this
 * command. */
static bool offer_values(const line *l, const mv_command *c, mv_option_id id)
{
    char buffer[MV_TABLE_PATHS];
    const char *words;

    if (id == MV_OPTION_COUNT || !mv_option_table[id].argument)
        return false;
    words = mv_option_words(id, options_of(c));
    if (id == MV_OPTION_FAIL_ON)
        words = mv_gates_text(c->gates, buffer, sizeof buffer);
    else if (id == MV_OPTION_TABLE && (c->options & MV_HAS(CSV)))
        words = (mv_table_paths(c->report, buffer), buffer);
    offer_each(l, words ? words : "", " ,");
    if (strcmp(mv_option_table[id].argument, "FILE") == 0)
        mv_out_text(l->out, "\tfiles\n");
    else if ((id == MV_OPTION_AT && !c->takes_sizes) || id == MV_OPTION_FROM || id == MV_OPTION_TO)
        mv_out_text(l->out, "\tnames annotation_names\n");
    else if (id == MV_OPTION_LEVEL)
        mv_out_text(l->out, "\tnames levels\n");
    return true;
}

/* Returns the first word at or after `at` that is neither an option nor an option's argument. bash
 * splits words at '=' and '@'. */
static int skip_options(const line *l, int at)
{
    while (at < l->last && l->words[at][0] == '-') {
        const char *word = l->words[at++];
        if (strcmp(word, "--") == 0)
            break;
        if (mv_option_takes_next(word))
            at += at < l->last && strcmp(l->words[at], "=") == 0 ? 2 : 1;
    }
    return at;
}

static bool offer_option(line *l, const mv_command *c)
{
    const char *equals = strchr(l->typed, '=');
    int before = l->last - 1;

    if (before > 0 && (strcmp(l->words[before], "=") == 0 || strcmp(l->words[before], "@") == 0))
        before--;
    if (before >= 0 && mv_option_takes_next(l->words[before]) &&
        offer_values(l, c, option_of(c, l->words[before])))
        return true;
    if (*l->typed == '-' && equals) {
        mv_option_id id = option_of(c, l->typed);
        snprintf(l->prefix, sizeof l->prefix, "%.*s", (int)(equals + 1 - l->typed), l->typed);
        l->typed = equals + 1;
        offer_values(l, c, id);
    } else if (*l->typed == '-') {
        char name[64];
        for (uint32_t i = 0; i < MV_OPTION_COUNT; i++) {
            snprintf(name, sizeof name, "--%s", mv_option_table[i].name);
            if (options_of(c) & (MV_OPTION_BIT(i)))
                offer(l, name, mv_option_help((mv_option_id)i, options_of(c)));
        }
        offer(l, "--version", NULL);
    }
    return *l->prefix || *l->typed == '-';
}

/* `at`: the first word after the command */
static void offer_arguments(const line *l, const mv_command *c, int at)
{
    const char *before = l->words[l->last - 1];
    int number = 0; /* of arguments before the word */

    for (; (at = skip_options(l, at)) < l->last; at++)
        number++;
    if (c->run == mv_cmd_completion) {
        offer_each(l, c->arguments, "|");
    } else if (c->run == mv_cmd_ctl && number == 1) {
        offer_each(l, "status mark pause resume snapshot stop", " ");
    } else if (c->run == mv_cmd_ctl && strcmp(before, "mark") == 0) {
        return;
    } else if (c->run == mv_cmd_ctl || !c->takes_words) {
        mv_out_text(l->out, "\tfiles\n");
    } else if (strcmp(before, "terms") == 0) {
        for (const mv_term *t = mv_terms; t->name; t++)
            offer(l, t->name, NULL);
    } else {
        offer_commands(l);
        offer(l, "terms", NULL);
    }
}

static void complete(line *l)
{
    int at = skip_options(l, 0), program;
    const mv_command *c = at < l->last ? mv_command_find(l->words[at]) : NULL;

    if (c && (c->options & MV_STOP_AT_WORD)) {
        program = skip_options(l, at + 1);
        if (program < l->last)
            mv_out_format(l->out, "\tprogram %d\n", program + 1);
        else if (program == l->last &&
                 (*l->typed != '-' || strcmp(l->words[program - 1], "--") == 0))
            mv_out_text(l->out, "\tcommands\n\tfiles\n");
        else
            offer_option(l, c);
        return;
    }
    c = c ? c : mv_command_find("triage");
    if (offer_option(l, c))
        return;
    if (at < l->last) {
        offer_arguments(l, c, at + 1);
        return;
    }
    offer_commands(l);
    mv_out_text(l->out, "\tfiles\n");
}

/* ---- scripts ----------------------------------------------------------------------------- */

/* The names of annotations and levels come from the first file on the command line, so a shell must
 * treat them only as text. */
#define NAMES                                                      \
    "memviz info -q --csv --table $table \"$file\" 2>/dev/null | " \
    "tr -d '\\r' | sed '1d; s/^[0-9]*,//; s/^\"\\(.*\\)\"$/\\1/; s/\"\"/\"/g'"

/* A completed name becomes part of the line that the user is about to run. The shell's words are
 * quoted here, because bash's own quoting of file names does not escape backquotes. bash treats '@'
 * as a separate word unless it is configured otherwise. The replaced text begins with the '@' in
 * both cases. */
static const char bash[] =
    "# bash completion for memviz; made by: memviz completion bash\n"
    "_memviz_names()\n{\n"
    "    local file name quoted table=$3\n"
    "    compopt +o filenames 2>/dev/null\n"
    "    for file in \"${COMP_WORDS[@]:1}\"; do\n"
    "        [[ -f $file ]] || continue\n"
    "        while IFS= read -r name; do\n"
    "            printf -v quoted %q \"$name\"\n"
    "            [[ $name == \"$1\"* || $quoted == \"$1\"* ]] && COMPREPLY+=(\"$2$quoted\")\n"
    "        done < <(" NAMES ")\n"
    "        return\n"
    "    done\n"
    "}\n"
    "_memviz()\n{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} line\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        $'\\tfiles') COMPREPLY+=($(compgen -f -- \"$word\")) ;;\n"
    "        $'\\tcommands') COMPREPLY+=($(compgen -c -- \"$word\")) ;;\n"
    "        $'\\tprogram '*)\n"
    "            if declare -F _command_offset >/dev/null; then\n"
    "                _command_offset ${line##* }\n"
    "            else\n"
    "                COMPREPLY+=($(compgen -f -- \"$word\"))\n"
    "            fi ;;\n"
    "        $'\\tnames levels') _memviz_names \"$word\" '' levels ;;\n"
    "        $'\\tnames '*)\n"
    "            [[ $word == @* || $before == @ ]] && _memviz_names \"${word#@}\" @ ${line##* } "
    ";;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(memviz completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -o filenames -F _memviz memviz\n";

static const char zsh[] =
    "#compdef memviz\n"
    "# zsh completion for memviz; made by: memviz completion zsh\n"
    "_memviz()\n{\n"
    "    local line file table tab=$'\\t'\n"
    "    local -a candidates names\n"
    "    for line in \"${(@f)$(memviz completion words -- \"${(@Q)words[2,CURRENT]}\" "
    "2>/dev/null)}\"; do\n"
    "        case $line in\n"
    "        '') ;;\n"
    "        ${tab}files) _files ;;\n"
    "        ${tab}commands) _command_names -e ;;\n"
    "        ${tab}program\\ *)\n"
    "            shift ${line##* } words\n"
    "            (( CURRENT -= ${line##* } ))\n"
    "            _normal ;;\n"
    "        ${tab}names\\ *)\n"
    "            table=${line##* }\n"
    "            for file in $words; do [[ -f $file ]] && break; done\n"
    "            [[ -f $file ]] && names=(\"${(@f)$(" NAMES ")}\")\n"
    "            [[ $words[CURRENT] == --*=* ]] && compset -P '*='\n"
    "            [[ $table == levels ]] || names=(@${^names})\n"
    "            compadd -- $names ;;\n"
    "        *) candidates+=(\"${${line%%$tab*}//:/\\\\:}:${${line#*$tab}:#$line}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( $#candidates )) && _describe memviz candidates\n"
    "}\n"
    "compdef _memviz memviz\n";

static const char fish[] =
    "# fish completion for memviz; made by: memviz completion fish\n"
    "function __memviz_names\n"
    "    set -l table $argv[1]\n"
    "    for file in (commandline -opc)[2..-1]\n"
    "        test -f $file; or continue\n"
    "        " NAMES "\n"
    "        return\n"
    "    end\n"
    "end\n"
    "function __memviz_complete\n"
    "    for line in (memviz completion words -- (commandline -opc)[2..-1] (commandline -ct) "
    "2>/dev/null)\n"
    "        switch $line\n"
    "            case \\tfiles\n"
    "                __fish_complete_path (commandline -ct)\n"
    "            case \\tcommands\n"
    "                __fish_complete_command\n"
    "            case \\t'program *'\n"
    "                set -l words (commandline -opc) (commandline -ct)\n"
    "                __fish_complete_subcommand --commandline $words[(math (string split ' ' "
    "$line)[2] + 1)..-1]\n"
    "            case \\t'names levels'\n"
    "                __memviz_names levels\n"
    "            case \\t'names *'\n"
    "                __memviz_names annotation_names | string replace -r '^' '@'\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c memviz -f -a '(__memviz_complete)'\n";

int mv_cmd_completion(mv_cli *cli)
{
    static const struct {
        const char *shell, *script;
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    const mv_options *o = &cli->options;

    if (strcmp(o->file[0], "words") == 0 && o->files > 1) {
        complete(&(line){&cli->out, o->file + 1, o->files - 2, o->file[o->files - 1], ""});
        return MV_EXIT_DONE;
    }
    for (unsigned i = 0; o->files == 1 && i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].shell, o->file[0]) != 0)
            continue;
        mv_out_text(&cli->out, shells[i].script);
        return MV_EXIT_DONE;
    }
    return mv_complain_usage("completion", "no completion for '%s'; expected bash, zsh or fish",
                             o->file[0]);
}
