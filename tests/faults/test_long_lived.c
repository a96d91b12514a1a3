/* Long-lived commands: failed requests must leave nothing open, and files change while the commands
 * run. */
#include <dirent.h>
#include <sched.h>

#include "tests/serve/fixture_server.h"

/* Counts a process's descriptors, and its mappings of files with a certain name. */
static unsigned count_open(pid_t process, const char *name)
{
    char path[64], line[4096];
    unsigned count = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    FILE *maps = fopen(path, "re");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, name) != NULL;
    fclose(maps);
    return count;
}

/* A pickle that ends early, a container with zeros, and a file that is not a snapshot. */
#define BAD_FILES                                                         \
    "head -c 3000 $SNAPS/gpt_train.pickle >a.pickle; echo no >b.pickle; " \
    "$MEMVIZ convert -q $SNAPS/gpt_train.pickle c.bin; "                  \
    "dd if=/dev/zero of=c.bin bs=64 seek=40 count=1 conv=notrunc status=none; "

Test(long_lived, failing_requests_of_a_page_leave_nothing_open, .timeout = 250)
{
    static const char *const names[] = {"a.pickle", "b.pickle", "c.bin"};
    static const char bad[] = "GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\n";
    const char *folder = mvt_serve_folder();
    unsigned before = 0;

    mvt_in_folder(folder, "mkdir run; cd run; " BAD_FILES);
    mvt_server server = mvt_serve(folder, "run/a.pickle run/b.pickle run/c.bin");
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 3; i++) {
            const cJSON *row = mvt_served_row(mvt_served(&server), names[i]);
            mvt_get_made(&server, mvt_served_path(row, "files"));
            mvt_get(&server, "/files/99/0");
            mvt_send(&server, bad, sizeof bad - 1);
            /* A new version of the file, which makes the server read the file again. */
            mvt_in_folder(folder, "echo >>run/%s", names[i]);
        }
        if (round == 3)
            before = count_open(server.child, "/run/");
    }
    /* The server closes the last connection shortly after its answer. If it did not, the test would
     * time out. */
    while (count_open(server.child, "/run/") > before)
        sched_yield();
}

LongTest(long_lived, failing_requests_of_an_agent_leave_nothing_open, .timeout = 250)
{
    static const char script[] =
        "mkdir run && cd run && " BAD_FILES
        "mkfifo in && { $MEMVIZ mcp <in >out & } && exec 3>in && "
        "ask() { echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"'$1'\",\"arguments\":{\"file\":\"'$2'\"}}}' >&3; } && "
        "round() { for f in a.pickle b.pickle c.bin none . in; do ask leaks $f; ask picture $f; "
        "ask nosuch $f; echo >>a.pickle; done; until [ $(grep -c result out) -ge $1 ]; do "
        "kill -0 $!; done; }; "
        "count() { ls /proc/$!/fd | wc -l; grep -c /run/ /proc/$!/maps; }; "
        "round 12; round 24; count; for i in 3 4 5 6 7 8 9 10 11 12; do round $((12 * i)); done; "
        "count; exec 3>&-; wait $!; echo $?; rm in";
    mvt_run r = mvt_sh("%s", script);
    unsigned fd[2], maps[2], status = 99;

    cr_assert_eq(sscanf(r.out, "%u %u %u %u %u", &fd[0], &maps[0], &fd[1], &maps[1], &status), 5,
                 "%s %s", r.out, r.err);
    cr_expect(fd[0] == fd[1] && maps[0] == maps[1] && status == 0, "%s", r.out);
}

/* If a client kills the process, no trace of the process remains, because its output has no name
 * yet. */
LongTest(long_lived, an_agent_that_is_killed_leaves_nothing)
{
    mvt_prints("mkfifo in && { $MEMVIZ mcp <in >out & } && exec 3>in && "
               "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
               "\"picture\",\"arguments\":{\"file\":\"'$SNAPS/two_devices.pickle'\"}}}' >&3 && "
               "until grep -q image/png out; do kill -0 $!; done; "
               "for f in /proc/$!/fd/*; do [ -f $f ] && stat -L -c %h $f; done | sort -u; "
               "kill -KILL $!; wait $!; rm in",
               0, "0\n1\n");
}

/* If there is no standard error, messages have no destination, and must not end up in our files. */
Test(long_lived, closed_descriptors_are_not_files)
{
    mvt_run r =
        mvt_sh("echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | $MEMVIZ mcp 2>&-; "
               "$MEMVIZ leaks -q $SNAPS/gpt_train.pickle >&-; echo $?; "
               "$MEMVIZ leaks -q - <&-; echo $?");

    cr_expect_str_eq(r.out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n1\n1\n");
    cr_expect_str_eq(r.err,
                     "memviz: standard output: Bad file descriptor\n"
                     "memviz: -: byte 0: Bad file descriptor\n",
                     "%s", r.err);
}
