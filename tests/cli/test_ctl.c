/* memviz ctl: only the user who started a run can control it, and only while it is running. */
#include <unistd.h>

#include "tests/fixture/fixture_json.h"

/* Runs COMMAND while a program has made a mark and holds a block of 512 bytes; afterwards the
 * program makes another mark. */
#define WHILE_RUNNING(command)                                                                     \
    "$MEMVIZ run -q -o a.bin -- " MV_MARKING " heap pool mark one touch ready await enough "       \
    "mark two & L=$!; until [ -e ready ]; do sleep 0.01; done; P=$(pgrep -P $L marking); " command \
    "; S=$?; touch enough; wait $L || exit; "

#define SHOW_MARKS "$MEMVIZ dump a.bin | grep '^mark' | sed 's/.* \"//; s/\"//'"

Test(ctl, a_mark_is_recorded_at_its_place)
{
    mvt_prints(WHILE_RUNNING("$MEMVIZ ctl $P mark 'epoch 3'") SHOW_MARKS, 0, "one\nepoch 3\ntwo\n");
    mvt_prints(WHILE_RUNNING("$MEMVIZ ctl $L mark launcher") SHOW_MARKS, 0, "one\nlauncher\ntwo\n");
    mvt_prints(WHILE_RUNNING("$MEMVIZ ctl a.bin.*.live mark file") SHOW_MARKS, 0,
               "one\nfile\ntwo\n");
}

Test(ctl, status_describes_the_recording)
{
    const cJSON *s = mvt_json(0, WHILE_RUNNING("$MEMVIZ ctl $P status --json") "exit $S");

    mvt_json_has(s, "state events bytes bound kept lost");
    cr_expect_str_eq(mvt_json_text(s, "state"), "recording");
    cr_expect_eq(mvt_json_number(s, "events"), 2);
    cr_expect_eq(mvt_json_number(s, "lost"), 0);
    cr_expect_gt(mvt_json_number(s, "bytes"), 0);
    cr_expect_eq(cJSON_GetArraySize(mvt_member(s, "processes")), 1);
    cr_expect(cJSON_IsNull(mvt_member(s, "bound")));
}

LongTest(ctl, status_lists_the_bounds_and_the_kept_range)
{
    const cJSON *s = mvt_json(
        0, "$MEMVIZ run -q --max-size 16M --max-age 1s --on SIGUSR2 -o a.bin -- " MV_MARKING
           " heap pool mark one touch ready await enough 2>kept & L=$!; "
           "says() { while kill -0 $L && ! $MEMVIZ ctl $L status 2>no | grep -q \"$1\"; do sleep "
           "0.02; done; }; says 'max-age was reached'; kill -USR2 $L; says 'files written by "
           "--on: 1'; "
           "$MEMVIZ ctl $L status --json; touch enough; wait $L");

    cr_expect_eq(mvt_json_number(s, "bound.max_size"), 16 << 20);
    cr_expect_eq(mvt_json_number(s, "bound.max_age_us"), 1000000);
    cr_expect_eq(mvt_json_number(s, "kept_files"), 1);
    cr_expect_eq(mvt_json_number(s, "events"), 2);
    cr_expect_eq(mvt_json_number(s, "kept"), 2);
    cr_expect_eq(mvt_json_number(s, "processes.0.kept"), 2);
    cr_expect_str_eq(mvt_json_text(s, "processes.0.reached"), "age");
}

Test(ctl, pause_and_resume_alternate)
{
    mvt_prints(
        WHILE_RUNNING("$MEMVIZ ctl $P pause; $MEMVIZ ctl $P status | cut -d: -f1 | head -n 1; "
                      "$MEMVIZ ctl $P resume; $MEMVIZ ctl $P status | cut -d: -f1 | head -n 1")
            SHOW_MARKS,
        0, "paused\nrecording\none\nmemviz_pause\nmemviz_resume\ntwo\n");
    mvt_warns(WHILE_RUNNING("$MEMVIZ ctl $P resume") "exit $S", 1, "the recording is not paused");
    mvt_warns(WHILE_RUNNING("$MEMVIZ ctl $P pause; $MEMVIZ ctl $P pause") "exit $S", 1,
              "the recording is paused already");
}

Test(ctl, a_snapshot_is_a_separate_recording)
{
    mvt_prints(
        WHILE_RUNNING("mkdir out; cd out; $MEMVIZ ctl $P snapshot now.bin >said; cd ..; "
                      "$MEMVIZ ctl $L snapshot") "basename $(cat out/said); ls *.bin out; "
                                                 "for f in a.bin out/now.bin a.snapshot.2.bin; do "
                                                 "$MEMVIZ info --json $f | grep -o "
                                                 "'\"records\":[0-9]*'; done; ls *.live 2>no; true",
        0,
        "a.snapshot.2.bin\nnow.bin\na.bin\na.snapshot.2.bin\n\nout:\nnow.bin\nsaid\n"
        "\"records\":3\n\"records\":2\n\"records\":2\n");
    mvt_warns(WHILE_RUNNING("$MEMVIZ ctl $P snapshot no/such/now.bin") "exit $S", 1,
              "no/such/now.bin: No such file");
}

Test(ctl, stop_ends_the_recording_and_not_the_program)
{
    mvt_prints(WHILE_RUNNING("$MEMVIZ ctl $P stop; $MEMVIZ ctl $P pause 2>&1; "
                             "$MEMVIZ ctl $P status | cut -d: -f1 | head -n 1") SHOW_MARKS
               "; $MEMVIZ info --json a.bin | grep -o '\"stopped\":\"[^\"]*\"'",
               0,
               "memviz: the recording was stopped\nstopped\none\n"
               "\"stopped\":\"as memviz ctl stop requested\"\n");
}

Test(ctl, wrong_words_are_wrong_usage)
{
    mvt_warns("$MEMVIZ ctl 1", 2, "expected PID|FILE status");
    mvt_warns("$MEMVIZ ctl 1 halt", 2, "expected status, mark TEXT");
    mvt_warns("$MEMVIZ ctl 1 mark", 2, "expected status, mark TEXT");
    mvt_warns("$MEMVIZ ctl 1 pause now", 2, "expected status, mark TEXT");
    mvt_warns("$MEMVIZ ctl a.bin status", 2, "is not a process ID or a live file");
    mvt_warns("$MEMVIZ ctl $$ status", 1, "was not started by memviz run, or has ended");
    mvt_warns("$MEMVIZ ctl a.bin.0123abcd.2147483647.live status", 1, "process 2147483647 was not");
}

Test(ctl, the_program_continues_without_its_launcher)
{
    mvt_warns(WHILE_RUNNING("kill -9 $L; while kill -0 $L 2>no; do wait $L; done; "
                            "$MEMVIZ ctl $P mark x; touch enough; exit"),
              0, "has ended");
}

Test(ctl, nothing_is_left_in_the_temporary_folder)
{
    mvt_prints("mkdir tmp; export TMPDIR=$PWD/tmp; " WHILE_RUNNING(
                   "ls tmp; $MEMVIZ ctl $P mark x") "ls tmp",
               0, "");
    mvt_prints(
        "mkdir tmp; export TMPDIR=$PWD/tmp; " WHILE_RUNNING(
            "kill -9 $L; touch enough; while kill -0 $P 2>no; do sleep 0.01; done; ls tmp; exit"),
        0, "");
    mvt_prints(
        "export TMPDIR=/no/such/folder; " WHILE_RUNNING("$MEMVIZ ctl $P mark x 2>&1 | "
                                                        "sed 's/[0-9][0-9]*/N/'"),
        0, "memviz: memviz run (process N) has no socket: it could not make a folder in TMPDIR\n");
}

/* Blocks in the heap "pool" that live between two marks, and one that stays. Recorded times are in
 * microseconds, so times within a pause differ from times outside it. */
static const char phases[] = "cat >phases.c <<'EOF'\n"
                             "#include <unistd.h>\n"
                             "#include \"capture/memviz.h\"\n"
                             "static char block[8];\n"
                             "static void phase(const char *name)\n"
                             "{\n"
                             "    unsigned heap = memviz_heap(\"pool\");\n"
                             "    usleep(2);\n"
                             "    memviz_mark(name);\n"
                             "    memviz_alloc(heap, block, 512);\n"
                             "    memviz_free(heap, block);\n"
                             "    usleep(2);\n"
                             "}\n"
                             "int main(void)\n"
                             "{\n"
                             "    phase(\"one\");\n"
                             "    memviz_pause();\n"
                             "    memviz_alloc(memviz_heap(\"pool\"), block + 1, 4096);\n"
                             "    phase(\"two\");\n"
                             "    memviz_resume();\n"
                             "    phase(\"three\");\n"
                             "    return 0;\n"
                             "}\n"
                             "EOF\n"
                             "cc -I" MV_SOURCE_DIR " phases.c -o phases || exit 9\n";

LongTest(ctl, pauses_omit_blocks_that_lived_within_them)
{
    mvt_prints(
        mvt_format(
            "%s"
            "count() { $MEMVIZ dump $1 | grep '^heap_calls'; "
            "$MEMVIZ top -q --json $1 | grep -o '\"allocated\":[0-9]*'; }\n"
            "$MEMVIZ run -q -o a.bin ./phases && count a.bin;"
            "$MEMVIZ run -q -o b.bin --start-after three ./phases && count b.bin;"
            "MEMVIZ_STOP_AFTER=two $MEMVIZ run -q -o c.bin ./phases && count c.bin;"
            "$MEMVIZ run --start-after '' ./phases; $MEMVIZ run --stop-after 0 ./phases 2>&1 | "
            "cut -c 1-50; ./phases; echo $?",
            phases),
        0,
        "heap_calls 5\n\"allocated\":4096\nheap_calls 3\n\"allocated\":4096\n"
        "heap_calls 3\n\"allocated\":4096\n"
        "memviz: run: '0' is not a moment for --stop-after:\n0\n");
}
