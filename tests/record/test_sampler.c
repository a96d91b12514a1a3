/* Samples that the shim requests: at a device's first allocation, when a request is refused, and
 * before used memory is freed. First the test plays the launcher; then `memviz run` does, with a
 * stand-in for libnvidia-ml.so.1. */
#include "parse/model/shared_memory.h"
#include "tests/fixture/fixture_program.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 600000 }; /* a longer wait counts as a hang */

static char name[40];
static int listener;

static void start_listening(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int length = snprintf(name, sizeof name, "memviz-test-%d", (int)getpid());

    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(at.sun_path + 1, name, (size_t)length);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)),
                 0);
    cr_assert_eq(listen(listener, 8), 0);
}

static pid_t start(const char *environment)
{
    start_listening();
    pid_t child = fork();

    if (child)
        return child;
    const char *command =
        mvt_format("d=$(mktemp -d) && cd $d && env LD_LIBRARY_PATH=" MV_HOOKED " MEMVIZ_SAMPLER=%s "
                   "MEMVIZ_OUT=$PWD/a MEMVIZ_STACKS=none LD_PRELOAD=" MV_CAPTURE " %s " MV_HOOKED
                   "/hooked_linked linked >/dev/null; status=$?; rm -r $d; exit $status",
                   name, environment);
    execl("/bin/sh", "sh", "-c", command, NULL);
    _exit(99);
}

/* Waits for a client. Returns false if the program ends first. */
static int next_asker(pid_t child)
{
    struct pollfd asks = {listener, POLLIN, 0};

    for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
        int state;
        if (poll(&asks, 1, 10) > 0)
            return accept(listener, NULL, NULL);
        if (waitpid(child, &state, WNOHANG) == child) {
            cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
            return poll(&asks, 1, 0) > 0 ? accept(listener, NULL, NULL) : -1;
        }
    }
    cr_assert_fail("nothing happened");
    return -1;
}

/* The program calls cudaMalloc, cudaFree and cuMemAlloc_v2, and ends. */
static int count_askers(const char *environment)
{
    pid_t child = start(environment);
    int count = 0, asker;

    for (; (asker = next_asker(child)) >= 0; count++)
        close(asker);
    return count;
}

Test(sampler, a_sample_is_requested_at_the_first_memory_and_at_the_end)
{
    cr_assert_eq(count_askers("A=1"), 2);
}

Test(sampler, a_sample_is_requested_when_memory_is_refused)
{
    cr_assert_eq(count_askers("FAKE_FAIL=cudaMalloc"), 3);
}

/* Returns whether a process has a socket that it did not inherit from this process. */
static bool has_socket(pid_t pid)
{
    for (int n = 0; n < 1024; n++) {
        char path[64], target[128] = "", own[128] = "";
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, n);
        (void)!readlink(path, target, sizeof target - 1);
        snprintf(path, sizeof path, "/proc/self/fd/%d", n);
        (void)!readlink(path, own, sizeof own - 1);
        if (strncmp(target, "socket:", 7) == 0 && strcmp(target, own) != 0)
            return true;
    }
    return false;
}

/* Another thread of the program may close any descriptor number or use it for a separate file, and
 * CUDA's driver writes to the numbers it knows after the program has closed everything. The socket
 * therefore has no number. */
Test(sampler, the_socket_has_no_descriptor_number_in_the_program)
{
    pid_t child = start("A=1");
    struct ucred who;
    socklen_t size = sizeof who;

    for (int i = 0; i < 2; i++) {
        int asker = next_asker(child);
        cr_assert_geq(asker, 0);
        cr_assert_eq(getsockopt(asker, SOL_SOCKET, SO_PEERCRED, &who, &size), 0);
        cr_expect_not(has_socket(who.pid), "asker %d", i);
        close(asker);
    }
    cr_assert_lt(next_asker(child), 0);
}

/* A stopped launcher must not stop the program. */
Test(sampler, the_program_continues_without_an_answer)
{
    start_listening();
    close(listener);
    cr_assert_eq(mvt_sh("LD_LIBRARY_PATH=" MV_HOOKED " MEMVIZ_SAMPLER=%s MEMVIZ_OUT=$PWD/a "
                        "LD_PRELOAD=" MV_CAPTURE " " MV_HOOKED "/hooked_linked linked",
                        name)
                     .status,
                 0);
}

#define STAND_IN "ln -s " MV_NVML_STAND_IN " libnvidia-ml.so.1; export NVML_DEVICES=8"
#define RUN                                                                    \
    "LD_LIBRARY_PATH=$PWD:" MV_HOOKED " $MEMVIZ run -q -o a.bin -- " MV_HOOKED \
    "/hooked_linked linked >/dev/null; "
#define SAMPLES "$MEMVIZ export --format csv --table samples -o - a.bin"

/* The launcher's interval is longer than the program runs. Without the sample that the shim
 * requests and waits for, the last sample would be older than the last call. */
static void expect_last_sample(const char *preload)
{
    mvt_run run = mvt_sh(
        STAND_IN
        "; %s " RUN
        "for table in samples api_calls; do $MEMVIZ export --format csv --table $table -o - a.bin "
        "| tail -1 | tr , '\\n' | grep '^[12][0-9]\\{15\\}$'; done",
        preload);
    char *next;
    unsigned long long sample = strtoull(run.out, &next, 10), call = strtoull(next, NULL, 10);

    cr_assert(sample > 0 && call > 0, "%s%s", run.out, run.err);
    cr_assert_geq(sample, call, "%s", run.out);
    cr_assert_lt(sample - call, 86400000000, "%s: the clock jumps by years", run.out);
}

Test(sampler, a_short_program_has_a_sample_after_its_last_call)
{
    expect_last_sample("");
}

/* The time of day is changed while the program runs. Samples and calls use the same clock. */
LongTest(sampler, samples_are_not_moved_by_a_clock_that_jumps)
{
    for (int i = 0; i < 3; i++)
        expect_last_sample("ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" MV_JUMPING);
}

/* The program's environment determines how CUDA numbers the devices. */
static void expect_samples_in_order(const char *environment, bool are_there)
{
    mvt_run run =
        mvt_sh(STAND_IN " NVML_DIFFER=1; %s " RUN "$MEMVIZ info a.bin | tr -s ' \\n' ' '; " SAMPLES,
               environment);

    cr_assert_eq(strstr(run.out, "no samples: GPUs differ") == NULL, are_there, "%s%s", run.out,
                 run.err);
    cr_assert_eq(strstr(run.out, "\n4,") != NULL, are_there, "%s", run.out);
}

/* On GB10 and Jetson, for example, NVML does not report how much memory others use. */
LongTest(sampler, a_device_with_the_hosts_memory_has_no_other_users)
{
    static const char *const shared[] = {"NVML_SHARED=1", "NVML_SHARES=0"};

    for (int i = 0; i < 2; i++) {
        mvt_run run =
            mvt_sh(STAND_IN "; %s " RUN "$MEMVIZ ledger a.bin | tr -s ' \n' ' '", shared[i]);
        cr_assert_eq(strstr(run.out, "use of the device is unknown: " MV_SHARED_MEMORY_NOTE) !=
                         NULL,
                     i == 0, "%s%s", run.out, run.err);
        cr_assert_eq(strstr(run.out, "by others") != NULL, i == 1, "%s%s", run.out, run.err);
    }
}

LongTest(sampler, devices_of_unknown_order_have_no_samples)
{
    expect_samples_in_order("", false);
    expect_samples_in_order("CUDA_DEVICE_ORDER=PCI_BUS_ID", true);
}

/* On a device with other users, only the run's processes have levels. */
static bool has_own_level(const char *writes_number)
{
    mvt_run run =
        mvt_sh(STAND_IN " NVML_PID=number; echo $$ >number; LD_LIBRARY_PATH=$PWD:" MV_HOOKED
                        " $MEMVIZ run -q -o a.bin -- "
                        "sh -c '%s; exec " MV_HOOKED "/hooked_linked linked' >/dev/null; " SAMPLES,
               writes_number);

    cr_assert_eq(run.status, 0, "%s", run.err);
    /* The last column is "process"; a time could contain the same digits. */
    return strstr(run.out, ",77\r\n") != NULL;
}

Test(sampler, only_processes_of_the_run_have_levels)
{
    uint32_t runs = 0;

    /* Such a short program may end between two samples. */
    while (runs < 100 && !has_own_level("echo $$ >number"))
        runs++;
    cr_expect_lt(runs, 100);
    cr_expect_not(has_own_level("true"));
}
