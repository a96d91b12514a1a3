/* A few commands in which one call after another fails; scripts/attack/faults covers all commands.
 * Each run must end with the right result, or with one line, status 1 and an unchanged folder. */
#include "tests/fixture/fixture_program.h"

/* Runs the command under faults and checks the server's last line (tests/programs/failing.h). Under
 * a sanitizer, a run that leaked memory ends with a special status, which counts as wrong. */
static void play(const char *fault, const char *runs, const char *old, const char *command)
{
    mvt_run r = mvt_sh("mkdir f && { echo wait idle; echo dump; } >dump && "
                       "ASAN_OPTIONS=verify_asan_link_order=0:allocator_may_return_null=1 "
                       "LSAN_OPTIONS=exitcode=98 MEMVIZ_FAULT=%s MEMVIZ_FAULT_RUNS=%s "
                       "MEMVIZ_FAULT_OLD=%s MEMVIZ_FAULT_FOLDER=$PWD/f LD_PRELOAD=" MV_FAILING
                       " $MEMVIZ %s",
                       fault, runs, old, command);

    cr_expect(r.status == 0 && strstr(r.out, " others 0 "), "%s, %s: %d: %s%s", command, fault,
              r.status, r.out, r.err);
    cr_expect_not(strstr(r.out, "without a fault"), "%s, %s: %s", command, fault, r.out);
}

#define TRAIN MV_TESTDATA "/snapshots/mlp_train.pickle"
#define SMALL MV_TESTDATA "/snapshots/two_devices.pickle"

/* The step is a prime number, different for each command. */
LongTest(faults, failed_allocations_are_reported)
{
    play("memory=ENOMEM", "1:0:7", "o", "leaks -q --csv -o o " TRAIN);
    play("memory=ENOMEM", "3:0:11", "o", "peak -q --json " TRAIN);
    /* The output is not a .bin file, because a .bin file without a digest would be right, too. */
    play("memory=ENOMEM", "2:0:13", "o.msgpack", "convert -q " TRAIN " o.msgpack");
    play("memory=ENOMEM", "5:0:29", "o.png", "trace_plot -q --size 300x200 " TRAIN " -o o.png");
    play("memory=ENOMEM+", "4:0:17", "o", "ledger -q " MV_TESTDATA "/captures/train.bin");
}

Test(faults, names_of_steps_without_memory_are_reported)
{
    play("memory=ENOMEM", "88:99:1", "o", "leaks -q " TRAIN);
}

/* These are analyses for one column of the output, not separate reports. */
LongTest(faults, an_export_without_memory_for_leaks_fails)
{
    play("memory=ENOMEM", "60:0:1", "o.csv", "export -q " TRAIN " -o o.csv");
}

LongTest(faults, fonts_without_memory_fail)
{
    play("memory=ENOMEM", "150:175:3", "o.png", "trace_plot -q --size 300x200 " TRAIN " -o o.png");
}

LongTest(faults, failed_reads_are_reported)
{
    static const char *const faults[] = {"read=EIO", "read=EINTR",   "open=EMFILE+", "close=EIO",
                                         "file=EIO", "file=ENOSPC+", "thread=EAGAIN"};

    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        play(faults[i], "1:0:1", "o.bin", "convert -q " TRAIN " o.bin");
    play("read=SHORT+", "1:1:1", "o.bin", "convert -q " TRAIN " o.bin");
}

LongTest(faults, failed_writes_are_reported)
{
    static const char *const faults[] = {"write=ENOSPC", "write=ENOSPC+", "write=EIO",
                                         "write=EINTR", "write=SHORT"};

    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        play(faults[i], "1:0:1", "o.svg", "segment_plot -q " SMALL " -o o.svg");
        play(faults[i], "1:0:1", "o", "leaks -q --json " TRAIN);
    }
    play("write=EPIPE", "1:0:1", "o", "leaks -q --json " TRAIN);
    play("write=SHORT+", "1:1:1", "o.bin", "convert -q " TRAIN " o.bin");
}

/* If the program is ended while it writes, no partial file remains. */
LongTest(faults, a_signal_at_any_call_leaves_whole_files)
{
    static const char *const faults[] = {"write=SIGTERM", "file=SIGTERM", "open=SIGTERM",
                                         "close=SIGTERM"};

    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        play(faults[i], "1:0:1", "o.svg", "segment_plot -q " SMALL " -o o.svg");
}

/* Errors go to standard error, because the client's line is missing. */
Test(faults, a_server_for_agents_reports_why_it_ends)
{
    static const char ask[] =
        "{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"method\\\":\\\"ping\\\"}";

    mvt_prints(mvt_format("echo \"%s\" | $MEMVIZ mcp 2>&1 >/dev/full", ask), 1,
               "memviz: standard output: No space left on device\n");
    mvt_prints("$MEMVIZ mcp 2>&1 <.", 1, "memviz: standard input: Is a directory\n");
}

/* Zeros in the middle of a file, because of which a report may cover less. */
#define DAMAGED "$MEMVIZ convert -q $SNAPS/gpt_train.pickle f.bin; " DAMAGE
#define DAMAGE                                                         \
    "dd if=/dev/zero of=f.bin bs=64 count=1 conv=notrunc status=none " \
    "seek=$(($(stat -c %%s f.bin) / 128)); "

/* The message is on standard error; triage also prints it in its report. */
LongTest(faults, damage_is_reported_with_every_report_once)
{
    static const char *const commands[] = {"triage", "stats --json", "trace",         "leaks",
                                           "peak",   "lines",        "fragmentation", "memory",
                                           "whatif", "ranks f.bin",  "summarize -o s"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh(
            DAMAGED
            "$MEMVIZ %s f.bin 2>&1 >o | grep -c 'f.bin: damaged parts of "
            "the file were skipped (.* at byte .*)'; grep -c 'parts of the file were skipped' o; "
            "$MEMVIZ %s -q f.bin >o",
            commands[i], commands[i]);
        bool is_twice = strncmp(commands[i], "ranks", 5) == 0;
        cr_expect_str_eq(r.out,
                         is_twice ? "2\n0\n"
                         : i == 0 ? "1\n1\n"
                                  : "1\n0\n",
                         "%s: %s", commands[i], r.err);
        cr_expect_str_empty(r.err, "%s -q: %s", commands[i], r.err);
    }
}

/* The command reads the events, because the recording has no digest for them. */
Test(faults, info_reports_damage_itself)
{
    mvt_run r = mvt_sh("cp $SNAPS/../captures/loader.bin f.bin; " DAMAGE
                       "$MEMVIZ info f.bin | grep -c 'damaged parts'; "
                       "$MEMVIZ info --json f.bin | grep -c 'damaged_chunk'");

    cr_expect_str_eq(r.out, "1\n1\n");
    cr_expect_str_empty(r.err);
}

Test(faults, a_script_that_cannot_be_read_is_not_empty)
{
    play("read=EIO", "1:3:1", "o", "view -q --headless --size 300x200 --script ../../dump " SMALL);
}

/* Reading then ends early, which does not count as being out of memory. */
LongTest(faults, a_viewer_closed_while_it_reads_is_not_out_of_memory)
{
    mvt_prints("echo dump >dump; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do "
               "$MEMVIZ view -q --headless --size 300x200 --script dump "
               "$SNAPS/gpt_train.pickle 2>&1 >o || echo failed; done",
               0, "");
}

/* Nobody has received the address yet. */
Test(faults, a_server_without_an_output_ends)
{
    mvt_prints("MEMVIZ_PAGE=" MV_TESTDATA "/../tests/serve/page.html $MEMVIZ serve -q " SMALL
               " 2>&1 >/dev/full",
               1, "memviz: standard output: No space left on device\n");
}

/* Only a run's number, its facts and its samples depend on the time of day. */
Test(faults, a_jumping_clock_changes_nothing)
{
    mvt_prints("exec 2>&1; export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0; "
               "export LD_PRELOAD=" MV_JUMPING "; $MEMVIZ run -q -o o.bin -- " MV_MARKING
               " mark a mark b exit 3; echo $?; $MEMVIZ info --json -q o.bin >o.json; "
               "grep -o 'annotations\":2' o.json; grep -o 'duration[a-z_]*\": *-' o.json; "
               "$MEMVIZ view -q --headless --size 300x200 --shot o.png "
               "$SNAPS/two_devices.pickle",
               0, "3\nannotations\":2\no.png\n");
}

/* The failure is reported in one line, and the old file stays. The line goes to a pipe, to which
 * the size limit does not apply. */
static void expect_line(const char *limit, const char *command)
{
    mvt_run r =
        mvt_sh("echo old >o; { %s; $MEMVIZ %s; echo $?; } 2>&1 | cat; cat o; ls", limit, command);
    const char *end = strchr(r.out, '\n');

    cr_expect(strncmp(r.out, "memviz: ", 8) == 0 && end && strcmp(end, "\n1\nold\no\n") == 0,
              "%s; %s: %s", limit, command, r.out);
}

LongTest(limits, outputs_under_a_file_size_limit_fail_in_one_line)
{
    static const char *const commands[] = {"leaks -q --json $SNAPS/gpt_train.pickle -o o",
                                           "dump -q $SNAPS/gpt_train.pickle -o o",
                                           "export -q --format sqlite $SNAPS/gpt_train.pickle -o o",
                                           "summarize -q $SNAPS/gpt_train.pickle -o o"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect_line("ulimit -f 0", commands[i]);
        expect_line("ulimit -f 4", commands[i]);
    }
}

/* The message is the same for all kinds of output. */
Test(limits, all_outputs_report_the_file_size_limit_alike)
{
    static const char *const commands[] = {"convert -q $SNAPS/gpt_train.pickle o.bin",
                                           "convert -q $SNAPS/gpt_train.pickle -o o.msgpack",
                                           "export -q $SNAPS/gpt_train.pickle -o o.csv",
                                           "summarize -q $SNAPS/gpt_train.pickle -o o.txt"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh("{ ulimit -f 0; $MEMVIZ %s; } 2>&1 | cat", commands[i]);
        const char *line = mvt_format(
            "memviz: cannot write %s: File too large: over 1 GiB plus 1 KiB for each byte of "
            "input, or over ulimit -f\n",
            strrchr(commands[i], ' ') + 1);
        cr_expect_str_eq(r.out, line, "%s: %s", commands[i], r.out);
    }
}

/* An output's size limit is derived from the size of the input. If a report is appended to a file,
 * the file's earlier contents do not count. */
Test(limits, reports_can_be_appended_to_a_long_log)
{
    mvt_run r = mvt_sh("truncate -s 3G log && $MEMVIZ stats -q $SNAPS/gpt_train.pickle >>log; "
                       "echo $?; tail -c 4096 log | grep -c allocated; rm log");

    cr_expect(strncmp(r.out, "0\n", 2) == 0 && strcmp(r.out, "0\n0\n") != 0, "%s", r.out);
}

/* The recorded program ends as it would without memviz. */
Test(limits, a_recording_that_may_not_grow_does_not_harm_the_program)
{
    mvt_run r = mvt_sh("{ ulimit -f 0; $MEMVIZ run -o o.bin -- " MV_MARKING " mark a exit 5 2>&1; "
                       "echo $?; } | cat");

    cr_expect(strncmp(r.out, "memviz: ", 8) == 0 && strstr(r.out, "\n5\n"), "%s", r.out);
}

/* The dynamic loader and the input need one descriptor each, and the limit does not allow a
 * third. */
Test(limits, running_out_of_descriptors_is_reported)
{
    expect_line("ulimit -n 4", "leaks -q $SNAPS/gpt_train.pickle -o o");
}

Test(limits, a_read_only_folder_is_reported)
{
    mvt_prints("exec 2>&1; mkdir d && chmod 555 d && if [ $(id -u) = 0 ]; then "
               "run='setpriv --reuid=65534 --clear-groups'; chmod 755 .; fi; "
               "$run $MEMVIZ convert -q $SNAPS/two_devices.pickle d/o.bin; s=$?; ls d; "
               "exit $s",
               1, "memviz: cannot write d/o.bin: Permission denied\n");
}

/* It is not an error if the reader closes the pipe, and no message is needed. */
Test(limits, a_closed_pipe_needs_no_message)
{
    static const char *const commands[] = {"trace -q --limit 0", "dump -q", "leaks -q --json",
                                           "memory -q --json", "export -q --format csv -o -"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh("{ $MEMVIZ %s $SNAPS/gpt_train.pickle; echo $? >s; } | head -c 1 "
                           ">/dev/null; cat s",
                           commands[i]);
        cr_expect_str_empty(r.err, "%s: %s", commands[i], r.err);
        cr_expect(strcmp(r.out, "141\n") == 0 || strcmp(r.out, "0\n") == 0, "%s: %s", commands[i],
                  r.out);
    }
}
