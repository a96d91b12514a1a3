/* An output file that is also the input is refused, for every command and every name of the
 * file. */
#include "tests/fixture/fixture_program.h"

/* $f and $g are recordings, and each of the names below is another name for $f. */
#define MAKE                                                                              \
    "f=run.pickle; g=other.pickle; cp $SNAPS/mempool.pickle $f; cp $f $g; cp $f was;"     \
    "ln $f hard.pickle; ln -s $f soft.pickle; mkdir d; ln -s ../$f d/soft.pickle;"        \
    "ln $f hard.bin; ln -s $f soft.svg; ln -s $f soft.png; ln -s $f soft.html;"           \
    "ln -s $f soft.csv; ln -s $f soft.folded; ln -s $f soft.json; ln -s $f soft.msgpack;" \
    "ln -s $f soft.sqlite; ln -s $f soft.summary; ln -s $f $f.summary; ln -s $f $f.html;"

/* Checks that after each command line the recording is unchanged, one line was printed, and the
 * status is 2. */
static void check_refused(const char *command)
{
    mvt_run r = mvt_sh(MAKE "ls >before; $MEMVIZ %s; s=$?; ls | cmp - before >&2; cmp $f was >&2; "
                            "cmp $g was >&2; exit $s",
                       command);
    const char *end = strchr(r.err, '\n');

    cr_expect_eq(r.status, 2, "%s: %d: %s", command, r.status, r.err);
    cr_expect(end && end[1] == 0, "%s: one line: %s", command, r.err);
    cr_expect(strstr(r.err, "is the input"), "%s: %s", command, r.err);
    cr_expect_str_empty(r.out, "%s: %s", command, r.out);
}

LongTest(overwrite, outputs_do_not_replace_their_input)
{
    static const char *const commands[] = {"stats -o $f $f",
                                           "stats $f -o ./$f",
                                           "stats $f -o $PWD/$f",
                                           "stats $f -o d/../$f",
                                           "info $f -o hard.pickle",
                                           "trace hard.pickle -o $f",
                                           "leaks $f -o soft.pickle",
                                           "leaks soft.pickle -o $f",
                                           "peak $f -o d/soft.pickle",
                                           "lines d/soft.pickle -o hard.pickle",
                                           "fragmentation --json $f -o $f",
                                           "oom $f -o $f",
                                           "whatif $f -o $f",
                                           "ledger $f -o $f",
                                           "dump $f -o $f",
                                           "ranks $g $f -o $f",
                                           "diff $f $g -o $f",
                                           "diff $g $f -o $f",
                                           "compare $g $f -o hard.pickle",
                                           "convert hard.bin hard.bin",
                                           "convert $f hard.bin",
                                           "convert $f soft.msgpack",
                                           "export $f -o soft.csv",
                                           "export $f -o soft.sqlite",
                                           "export --format folded $f -o $f",
                                           "trace_plot $f -o soft.svg",
                                           "trace_plot $f -o soft.png",
                                           "trace_plot $f -o soft.html",
                                           "segment_plot $f -o soft.html",
                                           "memory $f -o soft.folded",
                                           "memory $f -o soft.html",
                                           "segments $f -o soft.svg",
                                           "summarize $f -o soft.summary",
                                           "summarize $g $f -o $f",
                                           "view --headless --shot soft.png $f",
                                           "view --headless --shot hard.pickle $g $f"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        check_refused(commands[i]);
}

Test(overwrite, names_that_the_command_makes_are_checked)
{
    check_refused("summarize $f");
    check_refused("trace_plot $f");
    check_refused("segment_plot -q $f");
}

LongTest(overwrite, standard_input_and_output_are_checked)
{
    static const char *const commands[] = {"stats - <$f -o $f",
                                           "stats $f >>$f",
                                           "stats - <$f >>$f",
                                           "trace --json hard.pickle 1<>$f",
                                           "memory $f -o - >>$f",
                                           "stats /dev/stdin <$f >>$f",
                                           "memory $f -o /dev/fd/5.svg 5<>$f",
                                           "export $f -o /proc/self/fd/5.csv 5>>$f"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh(MAKE "$MEMVIZ %s; s=$?; cmp $f was >&2; exit $s", commands[i]);
        cr_expect_eq(r.status, 2, "%s: %d: %s", commands[i], r.status, r.err);
        cr_expect(strstr(r.err, "is the input") || strstr(r.err, "an input file"), "%s: %s",
                  commands[i], r.err);
        cr_expect_not(strstr(r.err, "differ"), "%s: %s", commands[i], r.err);
    }
}

/* Text files that are read are protected, too. */
Test(overwrite, rules_and_scripts_are_not_replaced)
{
    mvt_warns("echo 'a b' >rules; cp rules was; $MEMVIZ peak --rules rules -o rules "
              "$SNAPS/mempool.pickle; s=$?; cmp rules was; exit $s",
              2, "rules is the input");
}

/* In a session, a picture must not overwrite an open file. */
Test(overwrite, scripts_of_the_viewer_do_not_replace_their_file)
{
    mvt_run r = mvt_sh("cp $SNAPS/mempool.pickle x.png; cp x.png was; echo 'shot x.png' >s; "
                       "$MEMVIZ view --headless --script s x.png; s=$?; cmp x.png was; exit $s");

    cr_expect_eq(r.status, 1, "%s", r.err);
    cr_expect(strstr(r.err, "is one of the open files"), "%s", r.err);
    cr_expect_str_empty(r.out, "%s", r.out);
}

/* It must not overwrite the files that the script opened or the script, either. Only pictures are
 * replaced. */
LongTest(overwrite, scripts_of_the_viewer_replace_nothing_else)
{
    mvt_run r = mvt_sh(
        "cp $SNAPS/mempool.pickle x.pickle; cp x.pickle o.png; cp x.pickle was; "
        "printf 'open o.png\\nwait idle\\nshot o.png\\n' >s; $MEMVIZ view --headless --script s "
        "x.pickle; echo $?; cmp o.png was; "
        "echo 'shot t' >t; $MEMVIZ view --headless --script t x.pickle; echo $?; cat t");

    cr_expect_str_eq(r.out, "1\n1\nshot t\n", "%s%s", r.out, r.err);
    cr_expect(strstr(r.err, "s: line 3: input or output error: o.png is one of the open files"),
              "%s", r.err);
    cr_expect(strstr(r.err, "t: line 1: t: the output is a PNG: use a name ending in .png"), "%s",
              r.err);
}

/* If a file next to the shown one cannot be read, the command fails and writes no picture. */
Test(overwrite, a_picture_of_files_that_fail_is_not_written)
{
    mvt_prints("echo none >bad; echo old >o.png; echo 'shot o.png' >s; "
               "for files in \"$SNAPS/mempool.pickle bad\" \"bad $SNAPS/mempool.pickle\"; do "
               "$MEMVIZ view --headless --shot o.png $files; echo $?; "
               "$MEMVIZ view --headless --script s $files; echo $?; "
               "done; cat o.png",
               0, "1\n1\n1\n1\nold\n");
}

LongTest(overwrite, other_files_are_written)
{
    static const char *const commands[] = {
        "stats $f -o $g",
        "stats $f -o new",
        "stats $f -o /dev/null",
        "stats /dev/stdin -o new <$f",
        "convert $f x.bin && $MEMVIZ convert x.bin y.bin",
        "convert $f x.bin && $MEMVIZ convert $g x.bin",
        "stats $f >new",
        "stats $f >>new",
        "completion bash -o bash && $MEMVIZ completion bash -o bash",
        "stats - <$f >new"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh(MAKE "$MEMVIZ %s && cmp $f was", commands[i]);
        cr_expect_eq(r.status, 0, "%s: %d: %s", commands[i], r.status, r.err);
    }
}
