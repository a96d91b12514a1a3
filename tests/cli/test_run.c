/* memviz run without a GPU: what the program can observe, its status and signals, and the files
 * that remain. $MARKING (tests/programs/marking.c) is recorded through its marks. */
#include <unistd.h>

#include "tests/fixture/fixture_program.h"

/* Tells the process that `leave` started to end, and waits until it has ended. */
#define END_OF_LEFT "touch enough; while [ -e enough ]; do sleep 0.05; done"

/* ---- the program is unchanged ----------------------------------------------------------- */

Test(run, the_status_is_the_programs)
{
    mvt_prints("$MEMVIZ run -q -- true", 0, "");
    mvt_prints("$MEMVIZ run -q -- sh -c 'exit 7'", 7, "");
    mvt_prints("$MEMVIZ run -q -- sh -c 'exit 255'", 255, "");
    mvt_prints("$MEMVIZ run -q $MARKING kill 9", 137, "");
    mvt_prints("$MEMVIZ run -q $MARKING kill 15", 143, "");
}

Test(run, a_program_that_cannot_be_started_has_the_status_of_a_shell)
{
    mvt_warns("$MEMVIZ run -- no-such-program", 127, "no-such-program: No such file");
    mvt_warns("$MEMVIZ run ./no/such/program", 127, "No such file");
    mvt_warns("touch t.py; $MEMVIZ run t.py", 127,
              "t.py: this file is not a program on its own: "
              "memviz run -- python t.py\n");
    mvt_warns("touch t.py; $MEMVIZ dry-run t.py", 127, "memviz dry-run -- python t.py\n");
    mvt_warns("touch t.py; $MEMVIZ run ./t.py", 126, "memviz run -- python ./t.py\n");
    mvt_warns("touch prog; $MEMVIZ run prog", 127,
              "prog: no program on the PATH has that name; "
              "the file here is ./prog\n");
    mvt_warns("touch prog; $MEMVIZ run ./prog", 126, "./prog: Permission denied");
    mvt_warns("$MEMVIZ run /etc/passwd", 126, "Permission denied");
    mvt_warns("$MEMVIZ run /", 126, "/: ");
    mvt_warns("$MEMVIZ run", 2, "expected");
    mvt_warns("$MEMVIZ run --stacks some true", 2, "none python native all");
}

Test(run, input_and_output_pass_through)
{
    mvt_prints("printf 'a\\0b' | $MEMVIZ run -q -- cat | od -An -c | tr -s ' '", 0, " a \\0 b\n");
    mvt_prints("$MEMVIZ run -q -- sh -c 'echo out; echo err >&2' 2>err; cat err", 0, "out\nerr\n");
    /* A closed pipe affects the program exactly as it does without memviz. */
    mvt_prints("$MEMVIZ run -q -- sh -c 'yes; echo $? >&2' 2>err | head -n 1; cat err", 0,
               "y\n141\n");
}

Test(run, options_after_the_program_belong_to_the_program)
{
    mvt_prints("$MEMVIZ run -q echo -q --json -o x -- y", 0, "-q --json -o x -- y\n");
}

Test(run, signal_dispositions_are_unchanged)
{
    mvt_prints("$MARKING signals >bare; $MEMVIZ run -q $MARKING signals >under; cmp bare under", 0,
               "");
    mvt_prints("trap '' PIPE CHLD INT TERM; $MARKING signals >bare;"
               "$MEMVIZ run -q $MARKING signals >under; cmp bare under; grep -c 'ignored 0' under",
               1, "0\n");
}

Test(run, the_program_sees_the_same_descriptors)
{
    mvt_prints("ls /proc/self/fd >bare; $MEMVIZ run -q ls /proc/self/fd >under; cmp bare under", 0,
               "");
}

Test(run, sigterm_reaches_the_program)
{
    mvt_prints(
        "$MEMVIZ run -q sh -c 'trap \"echo caught; exit 5\" TERM; echo up; while :; do sleep 0.05;"
        " done' >out & until [ -s out ]; do sleep 0.05; done; kill -TERM $!; wait $!; "
        "echo $?; cat out",
        0, "5\nup\ncaught\n");
}

Test(run, an_interrupt_from_the_terminal_does_not_end_the_launcher)
{
    /* The signal is sent to both, as a terminal does. Of two pending signals, INT is delivered
     * first. */
    mvt_prints("env --default-signal setsid $MEMVIZ run -q sh -c 'trap \"\" INT; "
               "exec $MARKING touch began await never' & until [ -e began ]; do sleep 0.05; done; "
               "kill -INT -- -$!; kill -TERM $!; wait $!; echo $?",
               0, "143\n");
}

/* A program that prints which of these signals it receives, under a launcher that leads a process
 * group. The launcher forwards pending signals one after another, those with the highest number
 * last. Once `done_with` returns, every earlier signal has been forwarded or never will be. */
#define SIGNALLED                                                                           \
    "all='INT QUIT ABRT ALRM USR1 PIPE XCPU WINCH IO HUP TERM 34 40'; "                     \
    "await() { until [ $(grep -cx $1 out) -ge ${2:-1} ]; do sleep 0.05; done; }; "          \
    "done_with() { kill -s 60 $1; await 60 $2; }; "                                         \
    "env --default-signal setsid $MEMVIZ run -q sh -c 'for s in '\"$all\"' 60; do "         \
    "trap \"echo $s\" $s; done; echo up; until [ -e enough ]; do sleep 0.05; done' >out & " \
    "until [ -e out ]; do sleep 0.05; done; await up; "
#define EACH_TO(whom)                                                            \
    "for s in $all; do kill -s $s -- " whom "; await $s; done; done_with $! 1; " \
    "touch enough; wait $!; echo $?; tr '\\n' ' ' <out"

LongTest(run, signals_to_the_launcher_reach_the_program_once)
{
    static const char once[] =
        "0\nup INT QUIT ABRT ALRM USR1 PIPE XCPU WINCH IO HUP TERM 34 40 60 ";

    mvt_prints(SIGNALLED EACH_TO("$!"), 0, once);
    mvt_prints(SIGNALLED EACH_TO("-$!"), 0,
               once); /* sends the signal to the launcher's whole group */
    /* Sends the signal to the group first, then only to the launcher. */
    mvt_prints(SIGNALLED
               "kill -s INT -- -$!; await INT; done_with $! 1; kill -s INT $!; await INT 2; "
               "done_with $! 2; touch enough; wait $!; grep -c INT out",
               0, "2\n");
    /* Sends the signal to the processes whose command line matches. */
    mvt_prints(SIGNALLED
               "pkill -USR1 -s $! -f 'memviz run'; await USR1; done_with $! 1; touch enough; "
               "wait $!; grep -c USR1 out",
               0, "1\n");
}

Test(run, signals_to_the_programs_group_reach_it_once)
{
    mvt_prints(
        "setsid $MEMVIZ run -q sh -c 'trap \"echo caught\" USR1 WINCH; trap \"touch enough\" 60; "
        "kill -USR1 0; kill -USR1 $PPID; touch sent; until [ -e enough ]; do sleep 0.05; done' & "
        "until [ -e sent ]; do sleep 0.05; done; kill -s 60 $!; wait $!",
        0, "caught\n");
}

Test(run, nothing_is_lost_without_a_reader_of_messages)
{
    mvt_prints("mkfifo said; { $MEMVIZ run -o a.bin sh -c '$MARKING mark x; $MARKING mark y; "
               "until [ -e closed ]; do sleep 0.05; done; exit 3'; echo $? >status; } >said 2>&1 & "
               "exec 3<said 3<&-; touch closed; wait; cat status; ls *.bin | wc -l; ls *.live 2>no",
               2, "3\n2\n");
}

Test(run, the_shim_comes_after_other_preloaded_libraries)
{
    mvt_prints(
        "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libm.so.6 "
        "$MEMVIZ run -q sh -c 'echo "
        "${LD_PRELOAD%%:*}; test \"${LD_PRELOAD#*:}\" = \"'$SHIM'\" && echo after'",
        0, "/usr/lib/x86_64-linux-gnu/libm.so.6\nafter\n");
    /* The loader reports that it cannot load this library, and then continues. */
    mvt_prints("echo >shim; export LD_PRELOAD=$PWD/shim MEMVIZ_SHIM=$PWD/shim; $MEMVIZ run -q "
               "sh -c 'test $LD_PRELOAD = $PWD/shim && echo once'",
               0, "once\n");
    mvt_prints("NVTX_INJECTION64_PATH=/x $MEMVIZ run -q sh -c 'echo $NVTX_INJECTION64_PATH'", 0,
               "/x\n");
    mvt_prints("MEMVIZ_CPU=1 $MEMVIZ run -q --stacks all sh -c 'echo $MEMVIZ_STACKS $MEMVIZ_CPU'",
               0, "all\n");
    mvt_prints("$MEMVIZ run -q --cpu --wait-free sh -c 'echo $MEMVIZ_STACKS $MEMVIZ_CPU "
               "$MEMVIZ_WAIT_FREE'",
               0, "python 1 1\n");
    mvt_prints("$MEMVIZ run -q sh -c 'echo $MEMVIZ_NVTX_ALL'", 0, "\n");
    mvt_prints("$MEMVIZ run -q --nvtx-all sh -c 'echo $MEMVIZ_NVTX_ALL'", 0, "1\n");
}

Test(run, a_shim_that_cannot_be_preloaded_is_refused)
{
    mvt_warns("MEMVIZ_SHIM=/no/shim.so $MEMVIZ run true", 1, "/no/shim.so");
    mvt_warns("mkdir 'a b'; ln -s $SHIM 'a b/s.so'; MEMVIZ_SHIM=\"$PWD/a b/s.so\" $MEMVIZ run true",
              1, "space");
}

Test(run, an_empty_recording_has_a_reason)
{
    mvt_warns("$MEMVIZ run true; ls", 0, "nothing was recorded: no CUDA call");
    mvt_prints("$MEMVIZ run true 2>err; ls", 0, "err\n");
    mvt_prints("$MEMVIZ run -q true 2>&1; ls", 0, "");
    mvt_warns("printf 'int main(void) { return 3; }' >a.c; cc -static a.c -o a || exit 77;"
              "$MEMVIZ run ./a",
              3, "linked statically");
    mvt_warns("cp $MARKING a; chmod g+s a; chgrp 65534 a; chmod g+s a; $MEMVIZ run ./a || :", 0,
              "nothing was recorded");
}

Test(run, a_scripts_interpreter_is_checked)
{
    /* A program whose loader is named like musl's. musl's loader would refuse the shim. */
    mvt_prints(
        "cp $(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>no) ld-musl.so.1; "
        "printf '#include <stdlib.h>\\nint main(void) { return !getenv(\"LD_PRELOAD\"); }' >a.c; "
        "cc a.c -o a -Wl,--dynamic-linker=$PWD/ld-musl.so.1; "
        "printf '#! %s -x\\n' $PWD/a >s; printf '#!%s' $PWD/s >t; chmod +x s t; "
        "for p in a s t; do $MEMVIZ run -q ./$p; echo $?; done",
        0, "1\n1\n1\n");
    mvt_warns("printf 'int main(void) { return 3; }' >a.c; cc -static a.c -o a || exit 77;"
              "printf '#!%s\\n' $PWD/a >s; chmod +x s; $MEMVIZ run ./s",
              3, "linked statically");
}

/* ---- files ------------------------------------------------------------------------------- */

Test(run, one_process_makes_one_file)
{
    mvt_prints(
        "$MEMVIZ run -o a.bin $MARKING mark x mark y 2>err; ls; cat err | sed 's/, .* KiB\\|, "
        "[0-9.]* B//'",
        0, "a.bin\nerr\nmemviz: 2 events, 0 lost: a.bin\n");
    mvt_prints("$MEMVIZ run -q $MARKING mark x; ls | sed 's/[0-9][0-9]*/N/'", 0, "memviz.N.bin\n");
    mvt_prints("mkdir d; $MEMVIZ run -q -o d/%h.%r.bin $MARKING rank 3 mark x; ls d |"
               "sed \"s/$(uname -n)/HOST/\"",
               0, "HOST.3.bin\n");
}

Test(run, the_result_is_a_capture_that_can_be_read)
{
    mvt_prints("$MEMVIZ run -q -o a.bin $MARKING mark step0 mark step1; $MEMVIZ dump a.bin | "
               "grep -c '^mark.*step[01]'",
               0, "2\n");
    mvt_prints(
        "$MEMVIZ run -q -o a.bin $MARKING mark x kill 9; $MEMVIZ dump a.bin | grep -c '^mark.*x'",
        0, "1\n");
}

Test(run, the_visible_devices_are_recorded_as_a_fact)
{
    mvt_prints("CUDA_VISIBLE_DEVICES=3,1 $MEMVIZ run -q -o a.bin $MARKING mark x; "
               "$MEMVIZ info --json a.bin | grep -o '\"cuda_visible_devices\",\"value\":\"[^\"]*'",
               0, "\"cuda_visible_devices\",\"value\":\"3,1\n");
}

Test(run, several_processes_make_several_files)
{
    /* The first process gets the name itself. */
    mvt_prints("$MEMVIZ run -q -o a.bin $MARKING mark x fork; ls | sed 's/[0-9][0-9]*/N/'", 0,
               "a.N.bin\na.bin\n");
    mvt_prints("$MEMVIZ run -q -o a.bin $MARKING mark x fork; $MEMVIZ dump a.bin | grep -c "
               "'^mark.*child'; "
               "$MEMVIZ dump a.[0-9]*.bin | grep -c '^mark.*child'",
               0, "0\n1\n");
    mvt_prints("$MEMVIZ run -q -o a.bin $MARKING mark x spawn; ls | wc -l", 0, "2\n");
    mvt_prints("$MEMVIZ run -q -o a.%p.bin $MARKING mark x fork spawn; ls | wc -l", 0, "3\n");
}

Test(run, the_lowest_rank_keeps_the_name)
{
    mvt_prints("$MEMVIZ run -q -o a.bin sh -c 'RANK=1 $MARKING mark one; RANK=0 $MARKING mark zero;"
               "$MARKING mark none'; ls | sed 's/[0-9][0-9][0-9]*/N/'; $MEMVIZ dump a.bin | "
               "grep -c '^mark.*zero'; $MEMVIZ dump a.r1.bin | grep -c '^mark.*one'",
               0, "a.N.bin\na.bin\na.r1.bin\n1\n1\n");
}

Test(run, one_launcher_for_each_rank_overwrites_nothing)
{
    mvt_prints("RANK=1 $MEMVIZ run -q -o a.bin $MARKING mark one; RANK=0 $MEMVIZ run -q -o a.bin "
               "$MARKING mark zero; ls; $MEMVIZ dump a.bin | grep -c '^mark.*zero'",
               0, "a.bin\na.r1.bin\n1\n");
}

Test(run, exec_leaves_both_recordings)
{
    mvt_prints("$MEMVIZ run -q -o a.%p.bin $MARKING mark x exec mark y exit 4; echo $?; ls | wc -l",
               0, "4\n2\n");
}

Test(run, a_process_that_stays_is_not_stopped)
{
    mvt_run run = mvt_sh(
        "$MEMVIZ run -o a.bin $MARKING mark x leave; ls *.live; " END_OF_LEFT "; for f in *.live;"
        " do $MEMVIZ convert -q $f b.bin; done; $MEMVIZ dump b.bin | grep -c '^mark.*left'");

    cr_assert_eq(run.status, 0, "%s", run.err);
    cr_assert_not_null(strstr(run.err, "still running"), "%s", run.err);
    cr_assert_not_null(strstr(run.out, ".live\n1\n"), "%s", run.out);
}

Test(run, two_runs_with_one_name_do_not_mix)
{
    mvt_prints(
        "$MEMVIZ run -q -o a.bin $MARKING mark x touch began await go mark y & "
        "until [ -e began ]; do sleep 0.05; done; "
        "$MEMVIZ run -q -o a.bin $MARKING mark z; ls *.live | wc -l; touch go; wait; rm began "
        "go; ls",
        0, "1\na.bin\n");
}

Test(run, a_missing_folder_is_reported_before_the_program_runs)
{
    mvt_prints("$MEMVIZ run -o no/a.bin echo ran 2>err; echo $?", 0, "1\n");
    mvt_prints("$MEMVIZ run -o no/ echo ran 2>err; echo $?", 0, "1\n");
}

LongTest(run, files_of_others_do_not_flood_the_messages)
{
    /* No process has such a high number. */
    mvt_prints("$MEMVIZ run -o a.bin sh -c '$MARKING mark x; for n in $(seq 5000001 5000500); do "
               "ln -s x \"$(ls a.bin.*.live | sed \"s/[0-9]*.live/$n.live/;q\")\"; done' 2>err; "
               "grep -c ignored err; grep -o '[0-9]* more files' err; ls a.bin",
               0, "9\n492 more files\na.bin\n");
}

Test(run, recordings_that_cannot_be_finalised_stay)
{
    mvt_run run = mvt_sh("$MEMVIZ run -o a.bin sh -c '$MARKING mark x; mkdir a.bin; exit 3'; "
                         "echo $?; ls | grep -c live; $MEMVIZ dump *.live | grep -c '^mark.*x'");

    cr_assert_str_eq(run.out, "3\n1\n1\n", "%s%s", run.out, run.err);
    cr_assert_not_null(strstr(run.err, "left unchanged"), "%s", run.err);
}

Test(run, a_folder_with_a_percent_sign_is_only_a_folder)
{
    mvt_prints("mkdir 'x%p'; cd 'x%p'; $MEMVIZ run -q -o a.bin $MARKING mark x; ls", 0, "a.bin\n");
}

Test(run, an_impossible_result_is_reported_before_the_program_runs)
{
    mvt_prints("mkdir d; $MEMVIZ run -o d echo ran 2>err; echo $?; cat err", 0,
               "1\nmemviz: -o d: is a folder; a recording needs a file\n");
    mvt_prints("mkfifo f; $MEMVIZ run -o f echo ran 2>err; echo $?; cat err", 0,
               "1\nmemviz: -o f: is a device or a pipe; a recording needs a file\n");
    mvt_prints("$MEMVIZ run -o /dev/null $MARKING mark x 2>err; echo $?; ls -d /dev/null*", 0,
               "1\n/dev/null\n");
    mvt_prints("$MEMVIZ run -o /proc/a.bin echo ran 2>err; echo $?", 0, "1\n");
    mvt_prints("$MEMVIZ run -o - echo ran 2>err; echo $?", 0, "1\n");
}

/* Files that someone else puts next to a run's files, with similar names. MEMVIZ_OUT is their
 * common prefix. */
static void expect_refused(const char *alloc_nodes, const char *why)
{
    setenv("PLANT", alloc_nodes, 1);
    mvt_run run =
        mvt_sh("mkdir s v; $MEMVIZ run -o s/x.bin sh -c '$MARKING mark x; o=$MEMVIZ_OUT; "
               "f=$o.4000000.live; eval \"$PLANT\"; exit 4'; echo $?; ls s v | grep -c bin$");
    cr_assert_str_eq(run.out, "4\n1\n", "%s: %s%s", alloc_nodes, run.out, run.err);
    cr_assert_not_null(strstr(run.err, why), "%s: %s", alloc_nodes, run.err);
}

Test(run, files_of_other_users_are_refused)
{
    expect_refused("mkfifo $f", "not a regular file");
    expect_refused("mkdir $f", "not a regular file");
    expect_refused("ln -s $(ls $o.*.live) $f", "not a regular file");
    expect_refused("cp $(ls $o.*.live) v/a; ln v/a $f", "it has a second name (a hard link)");
    if (geteuid() == 0)
        expect_refused("cp $(ls $o.*.live) $f; chown 65534 $f", "it belongs to another user");
}

/* The name is as long as the real host name, because other facts follow it in the file. */
Test(run, a_host_that_looks_like_a_path_is_only_a_word)
{
    mvt_prints(
        "mkdir s; h=$(uname -n); evil=$(printf %s $h | tr -c '' x | sed 's|^.|/|');"
        "export h evil; $MEMVIZ run -q -o s/%h.bin sh -c '$MARKING mark x; "
        "sed -i \"s|$h|$evil|\" $MEMVIZ_OUT.*.live'; ls s | sed \"s/$(echo $evil | tr / _)/E/\"",
        0, "E.bin\n");
}

Test(run, a_process_that_stays_is_noticed_with_any_file_name)
{
    mvt_prints("$MEMVIZ run -o \"$(printf 'a\\nb.bin')\" $MARKING mark x leave 2>err; "
               "grep -c 'still running' err; ls | grep -c live; " END_OF_LEFT,
               0, "1\n1\n");
}

Test(run, a_process_in_its_own_pid_namespace_is_finalised)
{
    mvt_prints("unshare -fp true 2>/dev/null || { echo a.bin; exit; }; "
               "$MEMVIZ run -q -o a.bin unshare -fp $MARKING mark x; ls",
               0, "a.bin\n");
}

/* Events that a daemon records after the program's end stay in the daemon's live file. */
Test(run, a_process_that_continues_without_a_file_is_named)
{
    mvt_run run = mvt_sh(
        "$MEMVIZ run -o a.bin -- sh -c '{ until [ -e enough ]; do sleep 0.05; done; $MARKING mark "
        "later; touch done; } </dev/null >/dev/null 2>&1 & exit 7'; echo $?; touch enough; "
        "until [ -e done ]; do sleep 0.05; done; ls | sed 's/[.].*live/.live/'");

    cr_expect(strstr(run.out, "7\na.live\ndone\nenough\n") == run.out, "%s", run.out);
    cr_expect(
        strstr(run.err, " is still running and has recorded nothing so far; later events go to "),
        "%s", run.err);
    run = mvt_sh("$MEMVIZ run -o b.bin -- sh -c '$MARKING mark x & wait'");
    cr_expect_null(strstr(run.err, "continues"), "%s", run.err);
}

/* ---- no space, modes --------------------------------------------------------------------- */

Test(run, a_program_whose_file_gets_no_space_keeps_its_status)
{
    mvt_prints("(ulimit -f 0; $MEMVIZ run -o a.bin $MARKING mark x exit 5; echo $?) 2>&1 | sed "
               "'s/process [0-9]*/process N/'; "
               "ls",
               0,
               "memviz: process N recorded nothing: its file is empty (no space, "
               "or another program truncated it)\n5\n");
}

Test(run, a_program_with_few_open_files_runs_without_being_recorded)
{
    static const char said[] = "nothing is recorded: the limit on open files (ulimit -n)";

    for (int files = 4; files < 9; files++)
        mvt_warns(mvt_format("ulimit -n %d; $MEMVIZ run -o a.bin $MARKING mark x exit 5", files), 5,
                  said);
    mvt_warns("ulimit -n 5; $MEMVIZ run no-such-program", 127, "no-such-program: No such file");
    mvt_prints("ulimit -n 32; $MEMVIZ run -q -o a.bin $MARKING mark x exit 5; echo $?; ls", 0,
               "5\na.bin\n");
}

/* The file is empty, as if the process had been killed after its space was allocated but before it
 * wrote anything. A file with contents is kept. */
Test(run, an_empty_file_is_removed)
{
    mvt_prints("$MEMVIZ run -o a.bin sh -c '$MARKING mark x; for f in $MEMVIZ_OUT.*.live; do "
               "dd if=/dev/zero of=$f bs=64k count=128 conv=notrunc 2>/dev/null; done' 2>&1 | "
               "sed 's/process [0-9]*/process N/'; ls",
               0,
               "memviz: process N recorded nothing: its file is empty (no space, "
               "or another program truncated it)\n");
    mvt_prints("$MEMVIZ run -o a.bin sh -c '$MARKING mark x; for f in $MEMVIZ_OUT.*.live; do "
               "dd if=/dev/zero of=$f bs=64k count=1 conv=notrunc 2>/dev/null; done' 2>/dev/null; "
               "ls | sed 's/a.bin.*live/left/'",
               0, "left\n");
}

/* 100 KiB is enough for the facts about the process, but not for any events. */
Test(run, a_recording_that_stopped_early_is_reported)
{
    mvt_prints(
        "(ulimit -f 200; $MEMVIZ run -o a.bin $MARKING mark x exit 5 2>&1; echo $?) | "
        "sed 's/ [0-9.]* KiB/ N KiB/'",
        0,
        "memviz: 0 events, N KiB, 0 lost: a.bin\n"
        "memviz: the recording stopped before the program ended: File too large: a.bin\n5\n");
}

Test(run, live_files_are_private_and_results_keep_their_mode)
{
    mvt_prints("umask 0; $MEMVIZ run -q -o a.bin sh -c '$MARKING mark x; stat -c %a *.live'; "
               "stat -c %a a.bin; chmod 640 a.bin; $MEMVIZ run -q -o a.bin $MARKING mark x; "
               "stat -c %a a.bin",
               0, "600\n666\n640\n");
}
