/* memviz top on files and on programs that are being recorded. */
#include <unistd.h>

#include "cli/live/followed.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_live.h"

Test(top, lines_add_up_to_allocated_bytes)
{
    const cJSON *report =
        mvt_json_here(0, "$MEMVIZ top --json --once $SNAPS/leak_in_training.pickle");
    const cJSON *device = mvt_member(report, "devices.0"), *lines = mvt_member(device, "lines");
    const cJSON *line;
    double sum = mvt_json_sum(lines, "bytes");

    cJSON_ArrayForEach(line, lines)
        mvt_json_has(line, "bytes blocks grown age_s frames");
    cr_expect_eq(sum, mvt_json_number(device, "listed"));
    cr_expect_eq(sum, mvt_json_number(device, "allocated") - mvt_json_number(device, "residual"));
    cr_expect_leq(mvt_json_sum(lines, "grown"), mvt_json_number(device, "grown"));
    cr_expect_str_eq(mvt_json_text(report, "leak.verdict"), "leak");
    cr_expect(cJSON_IsNull(mvt_member(device, "used")));
}

Test(top, the_option_older_omits_young_blocks)
{
    const cJSON *device = mvt_member(
        mvt_json_here(0, "$MEMVIZ top --json --older 200ms $SNAPS/leak_in_training.pickle"),
        "devices.0");
    const cJSON *line;

    cr_expect_gt(mvt_json_number(device, "younger"), 0);
    cr_expect_eq(mvt_json_number(device, "listed") + mvt_json_number(device, "younger"),
                 mvt_json_number(device, "allocated"));
    cJSON_ArrayForEach(line, mvt_member(device, "lines"))
        cr_expect_geq(mvt_json_number(line, "age_s"), 0.2);
    const cJSON *none =
        mvt_json_here(0, "$MEMVIZ top --json --older 5m $SNAPS/leak_in_training.pickle");
    cr_expect_eq(cJSON_GetArraySize(mvt_member(none, "devices.0.lines")), 0);
}

Test(top, several_files_are_side_by_side)
{
    const cJSON *report = mvt_json_here(
        0, "$MEMVIZ top --json $SNAPS/gpt_train.pickle $SNAPS/leak_in_training.pickle");

    cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "devices")), 2);
    cr_expect_not_null(strstr(mvt_json_text(report, "devices.0.file"), "gpt_train"));
    cr_expect_not_null(strstr(mvt_json_text(report, "devices.1.file"), "leak_in_training"));
    cr_expect_str_eq(mvt_json_text(report, "leak.verdict"), "leak");
}

Test(top, text_and_json_agree)
{
    mvt_run r = mvt_here("$MEMVIZ top -n 2 --older 100ms $SNAPS/leak_in_training.pickle");

    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_not_null(strstr(r.out, "leak so far: leak\n"), "%s", r.out);
    cr_expect_not_null(strstr(r.out, "in blocks that are at least 100 ms old"), "%s", r.out);
    cr_expect_not_null(strstr(r.out, "more; --limit 0 shows all"), "%s", r.out);
}

/* Runs COMMAND while a program holds a block of 512 bytes in the heap "pool". */
#define WHILE_RUNNING(command)                                                               \
    "$MEMVIZ run -q -o a.bin -- " MV_MARKING " heap pool touch ready await enough & L=$!; "  \
    "until [ -e ready ]; do sleep 0.01; done; P=$(pgrep -P $L marking); " command "; S=$?; " \
    "touch enough; wait $L; exit $S"

static void expect_pool(const cJSON *report)
{
    const cJSON *device = mvt_member(report, "devices.0");

    cr_expect_eq(mvt_json_number(device, "allocated"), 512);
    cr_expect_eq(mvt_json_number(device, "lines.0.bytes"), 512);
    cr_expect(cJSON_IsTrue(mvt_member(device, "running")));
    cr_expect_gt(mvt_json_number(device, "pid"), 0);
}

Test(top, a_running_program_is_named_by_its_process_its_launcher_or_its_file)
{
    expect_pool(mvt_json(0, WHILE_RUNNING("$MEMVIZ top -q --json $P")));
    expect_pool(mvt_json(0, WHILE_RUNNING("$MEMVIZ top -q --json $L")));
    expect_pool(mvt_json(0, WHILE_RUNNING("$MEMVIZ top -q --json a.bin.*.live")));
}

Test(top, a_finished_recording_is_not_running)
{
    const cJSON *report = mvt_json(0, "$MEMVIZ run -q -o a.bin -- " MV_MARKING " heap pool && "
                                      "$MEMVIZ top -q --json a.bin");

    cr_expect(cJSON_IsFalse(mvt_member(report, "devices.0.running")));
}

Test(top, a_process_without_a_recording_is_an_error)
{
    mvt_warns("$MEMVIZ top $$", 1, "is not being recorded: start the program with memviz run");
    mvt_warns("$MEMVIZ top 2147483647", 1, "process 2147483647 does not exist");
    mvt_warns("$MEMVIZ top 4711.bin", 1, "No such file");
    mvt_warns("$MEMVIZ run -q -- sh -c 'touch ready; until [ -e enough ]; do sleep 0.01; done' & "
              "L=$!; until [ -e ready ]; do sleep 0.01; done; $MEMVIZ top $L; S=$?; touch enough; "
              "wait $L; exit $S",
              1, "has not used the GPU since memviz run started it");
}

/* The stored verdict is replaced with a wrong one, so that the output shows whether it is computed
 * again. */
Test(top, a_verdict_is_computed_again_only_for_new_records)
{
    mv_cli cli = {.command = mv_command_find("top"), .budget.limit = (uint64_t)1 << 30};
    mvt_live *l = mvt_live_new();
    mv_followed f = {0};
    mv_trace trace;

    mv_arena_init(&cli.arena, &cli.budget);
    mv_arena_init(&cli.scratch, &cli.budget);
    mvt_live_segment(l, 0x7f0000000000, 2 << 20);
    mvt_live_block(l, .addr = 0x7f0000000000, .size = 512);
    const char *path = mvt_temp_file(mvt_live_bytes(l));
    cr_assert(mv_followed_read(&cli, &f, path, 1000000, &trace));
    cr_assert_eq(f.judged_count, 1);
    for (int i = 0; i < 2; i++) {
        f.judged[0].verdict = MV_VERDICT_LEAK;
        f.judged_ms = f.next_ms = 1;
        cr_assert(mv_followed_read(&cli, &f, path, 1000000, &trace));
        cr_expect_eq(mv_followed_judged(&f, 0).verdict == MV_VERDICT_LEAK, i == 0);
        cr_expect_gt(f.judged_ms, 1);
        mvt_live_block(l, .addr = 0x7f0000001000, .size = 512);
        mvt_file_put(path, mvt_live_bytes(l));
    }
    mv_followed_close(&f);
    mv_arena_release(&cli.arena);
    mv_arena_release(&cli.scratch);
}

/* All verdicts on a long recording, taken together, read each record only a bounded number of
 * times. */
Test(top, a_verdict_is_kept_until_a_share_of_the_recording_is_new)
{
    mv_cli cli = {.command = mv_command_find("top"), .budget.limit = (uint64_t)1 << 30};
    mvt_live *l = mvt_live_new();
    mv_followed f = {0};
    uint32_t made = 0, judged = 0;
    const char *path;
    mv_trace trace;

    mv_arena_init(&cli.arena, &cli.budget);
    mv_arena_init(&cli.scratch, &cli.budget);
    mvt_live_segment(l, 0x7f0000000000, 2 << 20);
    for (; made < 320; made++)
        mvt_live_block(l, .addr = 0x7f0000000000 + made * 512, .size = 512);
    path = mvt_temp_file(mvt_live_bytes(l));
    cr_assert(mv_followed_read(&cli, &f, path, 1000000, &trace));
    for (; made < 640; made++) {
        mvt_live_block(l, .addr = 0x7f0000000000 + made * 512, .size = 512);
        mvt_file_put(path, mvt_live_bytes(l));
        f.judged_ms = f.next_ms = 1;
        cr_assert(mv_followed_read(&cli, &f, path, 1000000, &trace));
        judged += f.judged_ms > 1;
    }
    cr_expect(judged > 10 && judged < 32, "%u times", judged); /* ln 2 / ln(1 + 1/32) = 22 */
    mv_followed_close(&f);
    mv_arena_release(&cli.arena);
    mv_arena_release(&cli.scratch);
}

#define GET                                                                       \
    "python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); "            \
    "s.connect(sys.argv[1]); s.sendall(b\"GET /metrics HTTP/1.1\\r\\n\\r\\n\"); " \
    "sys.stdout.write(s.makefile().read())' "

Test(top, metrics_are_served_on_a_socket)
{
    mvt_run r = mvt_sh(
        "cp $SNAPS/leak_in_training.pickle a.pickle; $MEMVIZ top --metrics m.sock -n 1 a.pickle & "
        "until [ -S m.sock ]; do sleep 0.01; done; stat -c %%a m.sock; " GET
        "m.sock | tr -d '\r'; kill $!; wait $!; echo $?; ls *.sock 2>no");

    cr_expect_eq(strncmp(r.out, "600\nHTTP/1.1 200 OK\n", 20), 0, "%s%s", r.out, r.err);
    cr_expect_not_null(strstr(r.out, "\nmemviz_allocated_bytes{device=\"0\",pid=\"\",rank=\"\"} "
                                     "215179264\n"),
                       "%s", r.out);
    cr_expect_not_null(strstr(r.out, "\nmemviz_leak{device=\"0\",pid=\"\",rank=\"\"} 1\n0\n"), "%s",
                       r.out);
    cr_expect_null(strstr(r.out, "memviz_used_bytes{"));
    cr_expect_null(strstr(r.out, "place=\"2\""));
}

/* The second answer reads only the new records. */
Test(top, metrics_follow_a_running_program)
{
    mvt_run r = mvt_sh(WHILE_RUNNING(
        "$MEMVIZ top --metrics m.sock $P & T=$!; until [ -S m.sock ]; do sleep 0.01; done; " GET
        "m.sock; " GET "m.sock; kill $T; wait $T"));
    const char *first = strstr(r.out, "memviz_allocated_bytes{device=\"0\"");
    const char *second = first ? strstr(first + 1, "memviz_allocated_bytes{device=\"0\"") : NULL;

    cr_assert_not_null(second, "%s%s", r.out, r.err);
    cr_expect_eq(strncmp(strstr(first, "} "), "} 512", 5), 0, "%s", r.out);
    cr_expect_eq(strncmp(strstr(second, "} "), "} 512", 5), 0, "%s", r.out);
}

Test(top, metrics_replace_only_a_socket_that_was_left)
{
    mvt_warns("touch m.sock; $MEMVIZ top --metrics m.sock $SNAPS/gpt_train.pickle", 1,
              "--metrics m.sock: Address already in use");
    mvt_warns("$MEMVIZ top --metrics 65536 $SNAPS/gpt_train.pickle", 1, "a port is 1 to 65535");
    mvt_warns("$MEMVIZ top --metrics m.sock $SNAPS/gpt_train.pickle & until [ -S m.sock ]; do "
              "sleep 0.01; done; kill -9 $!; wait $!; [ -S m.sock ] || exit 7; cp "
              "$SNAPS/gpt_train.pickle a.pickle; $MEMVIZ top --metrics m.sock a.pickle & "
              "until " GET "m.sock >out 2>no; do sleep 0.01; done; rm a.pickle; " GET
              "m.sock; wait $!",
              1, "cannot be read any longer");
}

/* script(1) provides the terminal. */
Test(top, keys_work_on_a_terminal)
{
    mvt_need_terminal();
    mvt_prints("(until grep -aq 'by bytes' typed; do sleep 0.01; done 2>no; printf s; "
               "until grep -aq 'by growth' typed; do sleep 0.01; done; printf q) | TERM=xterm "
               "script -qefc \"$MEMVIZ top $SNAPS/gpt_train.pickle\" typed >no; echo $?",
               0, "0\n");
}
