/* The program as users experience it: exit statuses, streams, options and help. */
#include "base/texts.h"
#include "cli/input/input.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/in_process.h"

LongTest(cli, wrong_usage_is_reported_in_one_line)
{
    static const mvt_expected_run all[] = {
        {"", 2, NULL, "expected a command"},
        {"tarce x", 2, NULL, "did you mean 'trace'?"},
        {"frobnicate x", 2, NULL, "no command 'frobnicate'"},
        {"''", 2, NULL, "not an empty argument"},
        {"--jsn", 2, NULL, "expected a command or a file before '--jsn'"},
        {"trace", 2, NULL, "memviz: trace: expected FILE"},
        {"trace a b", 2, NULL, "trace takes one file, so 'b' is too many: memviz FILE..."},
        {"diff a b c", 2, NULL, "unexpected argument 'c'"},
        {"convert a", 2, NULL, "convert: expected IN OUT"},
        {"convert a b.bin -o c.bin", 2, NULL, "OUT is given twice: b.bin, and c.bin with -o"},
        {"trace -o b a -o c", 2, NULL, "trace: -o is given twice: b and c"},
        {"trace_plot --top 0 a", 2, NULL, "--top 0: expected N, at least 1"},
        {"trace_plot --size 99999x9 a", 2, NULL, "expected WxH, each from 1 to 16384"},
        {"trace --jsno a", 2, NULL, "unknown option --jsno; did you mean --json?"},
        {"trace --wibble a", 2, NULL, "unknown option --wibble (see"},
        {"trace --calls a", 2, NULL, "option --calls does not apply here"},
        {"trace -Z a", 2, NULL, "unknown option -Z"},
        {"trace -j a", 2, NULL, "unknown option -j; did you mean --json?"},
        {"leaks --sort bytes a", 2, NULL, "sort the rows of --json"},
        {"leaks --top 5 a", 2, NULL, "unknown option --top; did you mean --limit?"},
        {"leaks --format=json a", 2, NULL, "--format json: expected one of: md junit; or --json"},
        {"trace a --limit", 2, NULL, "option --limit needs an argument"},
        {"trace a --json=1", 2, NULL, "option --json takes no argument"},
        {"trace --limit ten a", 2, NULL, "--limit ten: expected N, such as 20; 0 is all"},
        {"trace --limit -1 a", 2, NULL, "--limit -1: expected N"},
        {"trace --limit 99999999999999999999 a", 2, NULL, "expected N"},
        {"trace --device cuda:0 a", 2, NULL, "--device cuda:0: expected N, such as 0"},
        {"trace --level '' a", 2, NULL, "--level '': expected LEVEL: "},
        {"lines --source= a", 2, NULL, "--source '': expected DIR: "},
        {"fit --at '' a=1", 2, NULL, "--at '': expected WHEN: sizes to predict"},
        {"whatif --conf max_split_size_mb:5 a", 2, NULL, "max_split_size_mb: must be at least 20"},
        {"whatif --ranks four a", 2, NULL, "--ranks four: expected R: number of ranks"},
        {"whatif --ranks 4 a", 2, NULL, "--ranks needs --zero"},
        {"whatif --zero 1 a", 2, NULL, "--zero 1: expected 1, 2 or 3, and --ranks R"},
        {"trace --color sometimes a", 2, NULL, "one of: auto always never"},
        {"trace --frames some a", 2, NULL, "one of: user all"},
        {"leaks --fail-on 'peak>1G' a", 2, NULL, "not a gate of leaks"},
        {"trace --from noon a", 2, NULL, "'noon' is not a valid --from: expected an event number"},
        {"leaks --to -1 a", 2, NULL, "'-1' is not a valid --to: expected an event number"},
        {"peak --at -1 a", 2, NULL, "'-1' is not a valid --at: expected peak, res"},
        {"peak --at oom#0 a", 2, NULL, "'oom#0' is not a valid --at"},
        {"peak --at @ a", 2, NULL, "'@' is not a valid --at"},
        {"trace --max-memory 4Q a", 2, NULL, "--max-memory 4Q: expected SIZE"},
        {"trace --max-memory 0 a", 2, NULL, "--max-memory 0: expected SIZE"},
        {"whatif --capacity 80 a", 2, NULL, "--capacity 80: expected BYTES with a unit"},
        {"run --max-size 1M -- true", 2, NULL, "--max-size 1M: expected SIZE of 16M or more"},
        {"whatif --target 0 a", 2, NULL, "--target 0: expected SIZE"},
        {"peak --target 1048575 a", 2, NULL, "a plain number is bytes, at least 1048576"},
        {"whatif $(yes -- --one-stream | head -33) a", 2, NULL, "more than 32 changes"},
        {"whatif $(yes -- --conf= | head -65) a", 2, NULL, "--conf: more than 64 of this option"},
        {"help tarce", 2, NULL, "did you mean 'trace'?"},
        {"completion tcsh", 2, NULL, "expected bash, zsh or fish"},
    };
    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

LongTest(cli, output_has_the_ending_of_its_format)
{
    static const mvt_expected_run wrong[] = {
        {"diff a b -o x.html", 2, NULL,
         "diff: x.html: diff writes .svg, .png, .folded; choose another name for text"},
        {"diff a b --json -o x.svg", 2, NULL,
         "x.svg: the output is --json, which does not match .svg"},
        {"peak a -o x.svg", 2, NULL,
         "peak: x.svg: peak writes no pictures; choose another name for text"},
        {"peak a -o x.jpg", 2, NULL, "x.jpg: peak writes no pictures"},
        {"dump a -o x.folded", 2, NULL, "x.folded: dump writes no pictures"},
        {"peak a -o x.json", 2, NULL, "peak: x.json: add --json"},
        {"triage a -o x.csv", 2, NULL, "triage: x.csv: add --csv"},
        {"peak --csv a -o x.json", 2, NULL,
         "x.json: the output is --csv, which does not match .json"},
    };
    static const char *const right[] = {"diff $SNAPS/oom.pickle $SNAPS/oom.pickle -o x.svg",
                                        "peak $SNAPS/oom.pickle -o x.txt",
                                        "peak $SNAPS/oom.pickle --json -o x.json",
                                        "peak $SNAPS/oom.pickle --csv -o x.csv",
                                        "trace_plot $SNAPS/oom.pickle --json -o x.svg",
                                        "peak $SNAPS/oom.pickle -o x"};

    MVT_EXPECT_RUNS("$MEMVIZ %s", wrong);
    for (unsigned i = 0; i < sizeof right / sizeof *right; i++) {
        mvt_run r = mvt_here("$MEMVIZ %s", right[i]);
        cr_expect_eq(r.status, 0, "%s: %s", right[i], r.err);
    }
}

LongTest(cli, good_usage_has_its_output)
{
    static const mvt_expected_run all[] = {
        {"--version", 0, "memviz " MV_PROGRAM_VERSION "\n", NULL},
        {"version", 0, "memviz " MV_PROGRAM_VERSION "\n", NULL},
        {"--help", 0, "Start here", NULL},
        {"help", 0, "Start here", NULL},
        {"-h", 0, "Start here", NULL},
        {"trace -h", 0, "Example", NULL},
        {"trace $SNAPS/mempool.pickle", 0, "segment_alloc", NULL},
        {"trace -- $SNAPS/mempool.pickle", 0, "segment_alloc", NULL},
        {"trace $SNAPS/mempool.pickle --lim 1", 0, "13 more events", NULL},
        {"trace -n1 -q $SNAPS/mempool.pickle", 0, "13 more events", NULL},
        {"trace --max-memory 1.5GiB $SNAPS/mempool.pickle", 0, "alloc", NULL},
        {"peak --target 1048576 $SNAPS/mempool.pickle", 0, "target 1.00 MiB", NULL},
        {"peak --target 80B $SNAPS/mempool.pickle", 0, "target 80 B", NULL},
    };
    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

/* `$MEMVIZ --json leaks FILE` used to run triage on a file named "leaks". */
Test(cli, options_before_a_command_belong_to_the_command)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ --json leaks $SNAPS/mempool.pickle", 0, "\"command\":\"leaks\"", NULL},
        {"$MEMVIZ --no-pager leaks $SNAPS/mempool.pickle", 0, "170 MiB retained", NULL},
        {"$MEMVIZ --at end peak --json $SNAPS/mempool.pickle", 0, "\"command\":\"peak\"", NULL},
        {"$MEMVIZ --at=end --json peak $SNAPS/mempool.pickle", 0, "\"command\":\"peak\"", NULL},
        {"$MEMVIZ -n1 trace $SNAPS/mempool.pickle", 0, "13 more events", NULL},
        {"$MEMVIZ -qn 1 trace $SNAPS/mempool.pickle", 0, "13 more events", NULL},
        {"$MEMVIZ --lim 1 trace $SNAPS/mempool.pickle", 0, "13 more events", NULL},
        {"$MEMVIZ --json $SNAPS/mempool.pickle", 0, "\"command\":\"triage\"", NULL},
        {"$MEMVIZ --cpu 'size>1M' --cpu nothing whatif $SNAPS/mempool.pickle", 0, "cpu nothing",
         NULL},
        {"$MEMVIZ --cpu run -q sh -c 'echo without an argument' 2>&1", 0, "without an argument\n",
         NULL},
        {"$MEMVIZ --cpu $SNAPS/mempool.pickle", 2, NULL, "option --cpu does not apply here"},
        {"$MEMVIZ -q run sh -c 'echo no more than that' 2>&1", 0, "no more than that\n", NULL},
        {"cp $SNAPS/mempool.pickle leaks; $MEMVIZ -q -- leaks", 0, "leaks: snapshot", NULL},
        {"cp $SNAPS/mempool.pickle ./-x; $MEMVIZ -- -x", 0, "-x: snapshot", NULL},
        {"cp $SNAPS/mempool.pickle a; $MEMVIZ --json a leaks", 2, NULL,
         "no file 'leaks'; did you mean 'memviz leaks a'?"},
        {"cp $SNAPS/mempool.pickle a; $MEMVIZ a --title leaks", 2, NULL,
         "option --title does not apply"},
        {"cp $SNAPS/mempool.pickle leaks; $MEMVIZ leaks", 2, NULL, "leaks: expected FILE"},
        {"$MEMVIZ --jsn leaks a", 2, NULL, "leaks: unknown option --jsn; did you mean --json?"},
        {"$MEMVIZ --json tarce a", 2, NULL, "no command 'tarce'; did you mean 'trace'?"},
    };

    MVT_EXPECT_RUNS("%s", all);
}

LongTest(cli, failures_are_one_line)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ trace nowhere.pickle", 1, NULL, "memviz: nowhere.pickle: "},
        {"$MEMVIZ trace .", 1, NULL, "memviz: .: this is a folder: memviz . and memviz ranks ."},
        {"$MEMVIZ trace /dev/null", 1, NULL, "the file is empty"},
        {"ln -s nowhere link; $MEMVIZ link", 1, NULL,
         "link: this is a symbolic link to a file that"},
        {"$MEMVIZ http://host/a.pickle", 1, NULL, "memviz reads files; download it first"},
        {"echo import torch >t.py; $MEMVIZ t.py", 1, NULL, "memviz run -- python SCRIPT"},
        {"echo '#!/bin/sh' >t.sh; $MEMVIZ t.sh", 1, NULL, "this is a script, not a snapshot"},
        {"$MEMVIZ /bin/sh", 1, NULL, "this is a program or a library, not a snapshot"},
        {"echo '{}' | $MEMVIZ trace -", 1, NULL, "memviz: -: byte 0: "},
        {"head -c 1000 $SNAPS/mempool.pickle >cut; $MEMVIZ dump cut", 1, NULL,
         "memviz: cut: byte 1000: input ends inside a record"},
        {"$MEMVIZ trace --max-memory 100K --max-disk 0 $SNAPS/gpt_train.pickle", 1, NULL,
         "memory limit reached"},
        {"$MEMVIZ trace --device 7 $SNAPS/mempool.pickle", 1, NULL,
         "no device 7; the file contains device 0 alone"},
        {"$MEMVIZ triage --device 7 $SNAPS/two_devices.pickle", 1, NULL,
         "no device 7; the file contains devices 0 and 1"},
        {"$MEMVIZ trace --from @noon $SNAPS/mempool.pickle", 1, NULL, "no annotation 'noon'"},
        {"$MEMVIZ trace -o no/such/file $SNAPS/mempool.pickle", 1, NULL, "cannot write"},
        {"$MEMVIZ trace \"$(printf 'a\\nb\\033')\"", 1, NULL, "memviz: a?b?: "},
    };

    MVT_EXPECT_RUNS("%s", all);
}

Test(cli, only_recordings_that_are_being_written_are_followed)
{
    static const mvt_expected_run all[] = {
        {"view --follow", 2, NULL, "needs the live file"},
        {"view --follow --headless --bench panzoom a.live", 2, NULL, "needs a window"},
        {"view --follow $SNAPS/gpt_train.pickle", 1, NULL, "is being written"},
        {"view --follow no.live", 1, NULL, "is being written"},
        {"view --follow 1", 1, NULL, "memviz: "},
    };

    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

/* A session used to be reported as a damaged snapshot. Only the viewer opens sessions. */
LongTest(cli, a_session_is_distinguished_from_a_snapshot)
{
    uint32_t met = 0;

    for (const mv_command *c = mv_commands; c->name; c++) {
        const char *to = strcmp(c->name, "export") == 0 ? "-o o.svg --format perfetto"
                         : c->writes_last               ? "o.bin"
                         : c->writes_file               ? "-o o.svg"
                         : c->takes_sizes               ? ""
                         : c->least_files == 2          ? "x.session"
                                                        : "";
        if (c->least_files == 0 || c->starts_program || c->takes_words ||
            strcmp(c->name, "view") == 0 || strcmp(c->name, "serve") == 0 ||
            strcmp(c->name, "completion") == 0)
            continue;
        mvt_run r =
            mvt_sh("printf 'memviz session 1\\npath a.bin\\nend\\n' >x.session; "
                   "$MEMVIZ %s %s %s 2>&1",
                   c->name, c->takes_sizes ? "x.session=1 x.session=2 --at 3" : "x.session", to);
        cr_expect(r.status == 1 && strstr(r.out, "memviz view opens it"), "%s: %d %s", c->name,
                  r.status, r.out);
        met++;
    }
    cr_expect_gt(met, 10);
}

LongTest(cli, every_command_has_help_with_an_example)
{
    mvt_run man = mvt_sh("cat '" MV_SOURCE_DIR "/cli/memviz.1'");

    for (const mv_command *c = mv_commands; c->name; c++) {
        mvt_run by_option = mvt_here("$MEMVIZ %s --help", c->name);
        mvt_run by_command = mvt_here("$MEMVIZ help %s", c->name);
        const char *at = strstr(by_option.out, "\nExample\n");

        cr_expect_eq(by_option.status, 0, "%s", c->name);
        cr_expect_str_eq(by_option.out, by_command.out, "%s", c->name);
        cr_expect(*by_option.err == 0, "%s", by_option.err);
        cr_assert(at, "%s has no example", c->name);
        cr_expect(strstr(at, mvt_format("memviz %s", c->name)),
                  "%s has an example of something else", c->name);
        cr_expect(strstr(man.out, c->name), "the man page does not name %s", c->name);
    }
}

LongTest(cli, help_fits_the_terminal)
{
    mvt_expect_narrow(mvt_here("$MEMVIZ help").out, 80, "help");
    mvt_expect_narrow(mvt_here_or_sh("COLUMNS=60 $MEMVIZ help").out, 60, "help");
    mvt_expect_narrow(mvt_here("$MEMVIZ help terms").out, 80, "terms");
    for (const mv_command *c = mv_commands; c->name; c++)
        mvt_expect_narrow(mvt_here("$MEMVIZ help %s", c->name).out, 80, c->name);
    mvt_expect_narrow(mvt_here_or_sh("COLUMNS=60 $MEMVIZ help peak").out, 60, "peak");
}

/* An option's help describes only its effect on this command. */
Test(cli, help_is_about_the_command)
{
    cr_expect_null(strstr(mvt_here("$MEMVIZ help peak").out, "--bench"));
    cr_expect(strstr(mvt_here("$MEMVIZ help view").out, "number to play"));
    cr_expect_null(strstr(mvt_here("$MEMVIZ help trace_plot").out, "annotation, forward"));
    cr_expect_null(strstr(mvt_here("$MEMVIZ help lines").out, "by use"));
    cr_expect(strstr(mvt_here("$MEMVIZ help leaks").out, "\n  leak  "));
    cr_expect_null(strstr(mvt_here("$MEMVIZ help leaks").out, "delta>"));
}

Test(cli, man_page_names_every_option_in_use)
{
    mvt_run man = mvt_sh("sed 's/\\\\-/-/g' '" MV_SOURCE_DIR "/cli/memviz.1'");
    mv_option_set used = MV_COMMON_OPTIONS;

    for (const mv_command *c = mv_commands; c->name; c++)
        used |= c->options;
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++) {
        const char *name = mvt_format("--%s", mv_option_table[i].name);
        cr_expect(!(used & (MV_OPTION_BIT(i))) || strstr(man.out, name),
                  "%s is missing from the man page", name);
    }
}

/* Returns what the man page says about an option, without the backslashes before hyphens. */
static char *man_of_option(const char *name)
{
    return mvt_sh("sed 's/\\\\-/-/g' '" MV_SOURCE_DIR "/cli/memviz.1' |"
                  "sed -n '/^\\.B.* *--%s\\b/,/^\\.TP/p'",
                  name)
        .out;
}

Test(cli, man_page_names_every_word_of_an_option)
{
    static const char *const filters[] = {
        "size>", "life<",  "stream:", "pool:",   "addr:",   "cat:",
        "site:", "stack:", "leak",    "nostack", "nopython"};

    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++) {
        const mv_option *o = &mv_option_table[i];
        const char *page = o->words ? man_of_option(o->name) : "";
        for (const char *word = o->words; word && *word; word += strspn(word, " ")) {
            const char *one = mvt_format("%.*s", (int)strcspn(word, " "), word);
            cr_expect(strstr(page, one), "--%s of %s is missing from the man page: %s", o->name,
                      one, page);
            word += strlen(one);
        }
    }
    for (unsigned i = 0; i < sizeof filters / sizeof *filters; i++)
        cr_expect(strstr(man_of_option("filter"), filters[i]), "%s is missing from --filter",
                  filters[i]);
}

/* Each gate is followed by the commands that can use it. */
Test(cli, man_page_names_the_commands_of_each_gate)
{
    static const char *const names[MV_GATE_COUNT] = {
#define NAME_OF(id, word, has_bound, text) \
    has_bound ? "\n.BI " word "> BYTES\n" : "\n.B " word "\n",
        MV_GATE_LIST(NAME_OF)
#undef NAME_OF
    };
    const char *page = man_of_option("fail-on");

    for (unsigned gate = 0; gate < MV_GATE_COUNT; gate++) {
        const char *at = strstr(page, names[gate]), *end, *next;
        cr_assert(at, "no%s", names[gate]);
        at += strlen(names[gate]);
        end = strstr(at, "\n.B ");
        next = strstr(at, "\n.BI ");
        cr_assert(end);
        if (next && next < end)
            end = next;
        const char *list = mvt_format("%.*s", (int)(end - at), at);
        for (const mv_command *c = mv_commands; c->name; c++)
            cr_expect(!c->gates || !strstr(list, c->name) == !(c->gates & (1u << gate)), "%s: %s",
                      names[gate], c->name);
    }
}

Test(cli, completion_offers_every_command_and_option)
{
    mvt_run r = mvt_here("$MEMVIZ completion words -- ''");

    for (const mv_command *c = mv_commands; c->name; c++)
        cr_expect(strstr(r.out, c->name), "%s", c->name);
    r = mvt_here("$MEMVIZ completion words -- peak --");
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (MV_COMMON_OPTIONS & (MV_OPTION_BIT(i)))
            cr_expect(strstr(r.out, mv_option_table[i].name));
    mvt_prints("$MEMVIZ completion words -- peak --color=al", 0, "--color=always\n");
}

Test(cli, completion_offers_the_arguments_of_each_command)
{
    static const mvt_expected_run all[] = {
        {"leaks --format ''", 0, "md\njunit\n", ""}, /* two options are called --format */
        {"export --format sp", 0, "speedscope\n", ""},
        {"fit --at ''", 0, NULL, ""}, /* a size, not a moment */
        {"ctl ''", 0, "\tfiles\n", ""},
        {"ctl 4711 st", 0, "status\nstop\n", ""},
        {"ctl 4711 snapshot ''", 0, "\tfiles\n", ""},
        {"ctl 4711 mark ''", 0, NULL, ""},
    };
    MVT_EXPECT_RUNS("$MEMVIZ completion words -- %s", all);
}

LongTest(cli, bash_completes)
{
    static const struct {
        const char *words, *expected;
    } all[] = {
        {"memviz trac", "trace"},
        {"memviz --fail", "--fail-on"},
        {"memviz ./", "./c"},
        {"memviz ./c --js", "--json"},
        {"memviz trace --lim", "--limit"},
        {"memviz trace --color al", "always"},
        {"memviz completion z", "zsh"},
        {"memviz help du", "dump"},
        {"memviz help ter", "terms"},
        {"memviz help terms stra", "stranded"},
        {"memviz run --sta", "--stacks"},
        {"memviz run --stacks nat", "native"},
        {"memviz run bas", "bas"}, /* a program */
        {"memviz run -o x.bin --stacks=all -- bas", "bas"},
        {"memviz run -- cat ./", "./c"}, /* an argument of the program */
        {"memviz run cat --sta", "\n"},
        {"memviz ledger --js", "--json"},
        {"memviz ledger --at reserved", "reserved-peak"},
        {"memviz leaks --level ho", "host"},
        {"memviz compare --fail-", "--fail-on"}, /* an alias */
        {"memviz report --json --li", "--limit"},
        {"memviz --json lea", "leaks"}, /* options before the command */
        {"memviz --limit 3 -q lea", "leaks"},
        {"memviz --limit = 3 leaks --color al", "always"},
        {"memviz --color al", "always"},
        {"memviz -q run -- cat ./", "./c"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("$MEMVIZ completion bash >c; bash -c '. ./c; memviz() { $MEMVIZ \"$@\"; "
                           "}; COMP_WORDS=(%s);"
                           "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _memviz; echo ${COMPREPLY[@]}'",
                           all[i].words);
        cr_expect_eq(r.status, 0, "%s", r.err);
        cr_expect(strstr(r.out, all[i].expected) == r.out, "%s: %s", all[i].words, r.out);
    }
}

/* Every word that is offered for an option must be accepted by the command. */
LongTest(cli, completed_words_are_accepted)
{
    static const mv_option_id ids[] = {MV_OPTION_BY, MV_OPTION_TABLE, MV_OPTION_FAIL_ON,
                                       MV_OPTION_AT, MV_OPTION_VIEW,  MV_OPTION_THEME};
    unsigned words = 0;

    mvt_folder_put("c", mv_text_span("no snapshot"));
    for (const mv_command *c = mv_commands; c->name; c++)
        for (unsigned i = 0; i < sizeof ids / sizeof *ids; i++) {
            const char *option = mv_option_table[ids[i]].name;
            bool is_of_report = ids[i] == MV_OPTION_TABLE && (c->options & MV_HAS(CSV));
            bool is_size = ids[i] == MV_OPTION_AT && c->takes_sizes;
            if (!(c->options & (MV_OPTION_BIT(ids[i]))) || c->least_files == 0 || is_size)
                continue;
            mvt_run r = mvt_sh("$MEMVIZ completion bash >c; bash -c '. ./c; memviz() { $MEMVIZ "
                               "\"$@\"; }; COMP_WORDS=(memviz %s --%s "
                               "\"\"); COMP_CWORD=3; _memviz; printf \"%%s\n\" ${COMPREPLY[@]}'",
                               c->name, option);
            cr_expect(*r.out != '\n', "%s --%s has no words", c->name, option);
            for (char *word, *rest = r.out; (word = strtok_r(rest, "\n", &rest)); words++) {
                char *unit = strstr(word, "BYTES");
                mvt_run t =
                    mvt_here("$MEMVIZ %s %s --%s '%.*s' %s", c->name, is_of_report ? "--csv" : "",
                             option, unit ? (int)(unit - word) : (int)strlen(word), word,
                             c->least_files > 1 ? "c c" : "c");
                cr_expect(!strstr(t.err, "expected one of") && !strstr(t.err, "no table") &&
                              !strstr(t.err, "not a gate"),
                          "%s --%s %s: %s", c->name, option, word, t.err);
            }
        }
    cr_expect_gt(words, 100);
}

/* Annotation names come from the file, and must stay text whatever they contain. */
LongTest(cli, bash_completes_annotations)
{
    static const struct {
        const char *words, *breaks, *expected;
    } all[] = {
        {"peak f.pickle --at @ Optimizer.s", "@=", "<@Optimizer.step#AdamW.step>"},
        {"peak f.pickle --at @",
         "@=", "<@\\##\\ step\\ 0\\ ##><@Optimizer.zero_grad#AdamW.zero_grad>"},
        {"peak f.pickle --at @Optimizer.s", "=", "<@Optimizer.step#AdamW.step>"},
        {"trace f.pickle --from @ Opt", "@=", "<@Optimizer.zero_grad#AdamW.zero_grad>"},
        {"peak f.pickle --at pe", "@=", "<peak>"},
        {"peak --at @", "@=", "<>"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_sh("cp $SNAPS/annotated.pickle f.pickle; $MEMVIZ completion bash >c;"
                           "bash -c '. ./c; memviz() { $MEMVIZ \"$@\"; }; COMP_WORDBREAKS=%s;"
                           "COMP_WORDS=(memviz %s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _memviz;"
                           "printf \"<%%s>\" \"${COMPREPLY[@]}\"'",
                           all[i].breaks, all[i].words);
        cr_expect_eq(r.status, 0, "%s", r.err);
        cr_expect(strstr(r.out, all[i].expected) == r.out, "%s: %s%s", all[i].words, r.out, r.err);
    }
}

/* The same holds for heap names. */
Test(cli, bash_completes_levels)
{
    mvt_prints("$MEMVIZ run -q -o f.bin " MV_MARKING
               " heap 'my pool' heap moon && $MEMVIZ completion bash "
               ">c; bash -c '. ./c; memviz() { $MEMVIZ \"$@\"; }; COMP_WORDS=(memviz leaks "
               "f.bin --level m);"
               "COMP_CWORD=4; _memviz; printf \"<%s>\" \"${COMPREPLY[@]}\"'; "
               "$MEMVIZ info --json f.bin | grep -o '\"levels\":.*]'",
               0, "<my\\ pool><moon>\"levels\":[\"my pool\",\"moon\"]\n");
}

/* A shell prints an error when it cannot read a script. */
Test(cli, other_shells_read_their_scripts)
{
    mvt_run r = mvt_sh("export XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD XDG_CACHE_HOME=$PWD; "
                       "mkdir bin; ln -s $MEMVIZ bin/memviz; PATH=$PWD/bin:$PATH; "
                       "$MEMVIZ completion fish >c.fish; $MEMVIZ completion zsh >_memviz; "
                       "fish -c 'source c.fish; complete -C \"memviz peak --fail-on pe\"; "
                       "complete -C \"memviz leaks --fail-on \"; "
                       "complete -C \"memviz run -- cat ./c\"' | cut -f 1; "
                       "zsh -f -c 'compdef() :; . ./_memviz'");

    cr_expect_str_eq(r.out, "peak>BYTES\nany\nleak\nunknown\n./c.fish\n", "%s", r.out);
    cr_expect_str_eq(r.err, "", "%s", r.err);
}

Test(cli, closed_pipe_is_quiet)
{
    mvt_run r = mvt_sh("{ $MEMVIZ trace $SNAPS/gpt_train.pickle; echo $? >status; } | head -1;"
                       "cat status");

    cr_expect_str_eq(r.err, "");
    cr_expect(strstr(r.out, "141\n"), "the writer should end by SIGPIPE: %s", r.out);
    /* Even if the parent ignores the signal, the program must print nothing. */
    r = mvt_sh("trap '' PIPE; $MEMVIZ trace $SNAPS/gpt_train.pickle | head -1");
    cr_expect_str_eq(r.err, "");
    cr_expect_eq(mvt_count_lines(r.out), 1);
}

Test(cli, full_disk_is_reported)
{
    static const mvt_expected_run all[] = {
        {"trace $SNAPS/mempool.pickle >/dev/full", 1, NULL, "standard output: "},
        {"trace --json $SNAPS/gpt_train.pickle >/dev/full", 1, NULL, "standard output: "},
        {"dump -o /dev/full $SNAPS/mempool.pickle", 1, NULL, "cannot write /dev/full"},
        {"--help >/dev/full", 1, NULL, "standard output: "},
        {"--version >&-", 1, NULL, "standard output: "},
    };
    MVT_EXPECT_RUNS("$MEMVIZ %s", all);
}

Test(cli, standard_input_is_a_file)
{
    mvt_run file = mvt_here("$MEMVIZ dump $SNAPS/streams.pickle");
    mvt_run pipe = mvt_sh("cat $SNAPS/streams.pickle | $MEMVIZ dump -");
    mvt_run gzip = mvt_sh("gzip -c $SNAPS/streams.pickle | $MEMVIZ dump -");

    cr_expect_eq(file.status + pipe.status + gzip.status, 0);
    cr_assert(file.out_length > 10000);
    cr_expect_str_eq(file.out, pipe.out);
    cr_expect_str_eq(file.out, gzip.out);
}

/* A process that is already confined prints the same message. */
Test(cli, output_folder_is_distinguished_from_a_file)
{
    static const mvt_expected_run all[] = {
        {"mkdir d; $MEMVIZ peak $SNAPS/oom.pickle -o d", 1, NULL,
         "cannot write d: Is a directory: name a file in it"},
        {"mkdir d.bin; $MEMVIZ convert $SNAPS/oom.pickle d.bin", 1, NULL,
         "cannot write d.bin: Is a directory: name a file in it"},
        {"mkdir d; $MEMVIZ summarize $SNAPS/oom.pickle -o d/", 1, NULL,
         "cannot write d/: Is a directory: name a file in it"},
    };

    MVT_EXPECT_RUNS("%s", all);
}

Test(cli, output_file_is_whole_or_absent)
{
    mvt_run direct = mvt_here("$MEMVIZ trace $SNAPS/streams.pickle");
    mvt_run r = mvt_sh("$MEMVIZ trace -o x $SNAPS/streams.pickle; cat x");

    cr_expect_eq(r.status, 0);
    cr_expect_str_eq(r.out, direct.out);
    mvt_prints("echo old >x; head -c 9999 $SNAPS/streams.pickle >cut;"
               "$MEMVIZ trace -o x cut; cat x; ls",
               0, "old\ncut\nx\n");
}

Test(cli, colors_are_for_terminals_that_want_them)
{
    static const struct {
        const char *command;
        bool colored;
    } all[] = {
        {"$MEMVIZ trace $SNAPS/mempool.pickle", false},
        {"$MEMVIZ trace --color never $SNAPS/mempool.pickle", false},
        {"$MEMVIZ trace --color always $SNAPS/mempool.pickle", true},
        {"NO_COLOR=1 $MEMVIZ trace --color always $SNAPS/mempool.pickle", true},
        {"NO_COLOR=1 $MEMVIZ trace $SNAPS/mempool.pickle", false},
        {"TERM=xterm script -qec '$MEMVIZ trace $SNAPS/mempool.pickle' /dev/null", true},
        {"TERM=xterm NO_COLOR=1 script -qec '$MEMVIZ trace $SNAPS/mempool.pickle' /dev/null",
         false},
        {"TERM=xterm NO_COLOR= script -qec '$MEMVIZ trace $SNAPS/mempool.pickle' /dev/null", true},
        {"TERM=dumb script -qec '$MEMVIZ trace $SNAPS/mempool.pickle' /dev/null", false},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        if (strstr(all[i].command, "script"))
            mvt_need_terminal();
        mvt_run r = mvt_sh("%s", all[i].command);
        cr_expect_eq(r.status, 0, "%s: %s", all[i].command, r.err);
        cr_expect(strstr(r.out, "alloc"), "%s", all[i].command);
        cr_expect_eq(strchr(r.out, '\033') != NULL, all[i].colored, "%s", all[i].command);
    }
}

LongTest(cli, limits_and_ranges_choose_rows)
{
    static const struct {
        const char *options;
        unsigned lines;
    } all[] = {
        {"", 6562 + 2},
        {"--limit 0", 6562 + 2},
        {"--limit 10", 10 + 3},
        {"--from 6560", 2 + 2},
        {"--from 6560 --to 6561", 1 + 2},
        {"--to 5 --limit 3", 3 + 3},
        {"--from 0s --to 0.000001s", 1 + 2},
        {"--device 0 --to 1", 1 + 2},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_here("$MEMVIZ trace %s $SNAPS/gpt_train.pickle", all[i].options);
        cr_expect_eq(r.status, 0, "%s: %s", all[i].options, r.err);
        cr_expect_eq(mvt_count_lines(r.out), all[i].lines, "%s: %u lines", all[i].options,
                     mvt_count_lines(r.out));
    }
}

Test(cli, only_files_named_by_users_may_be_pipes)
{
    char *named[] = {(char *)"run", (char *)"a.pickle"};
    mv_kept_files kept = {0};
    mv_cli cli = {.options = {.named_files = 2, .named_file = named}};

    cr_expect_not(mv_input_is_file(&cli, "a.pickle"));
    cr_expect(mv_input_is_file(&cli, "run/a.pickle"), "its folder was named");
    cli.kept = &kept;
    cr_expect(mv_input_is_file(&cli, "a.pickle"), "a client of mcp waits for no pipe");
}
