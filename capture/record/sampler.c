#include "capture/record/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "capture/record/process.h"
#include "capture/wire_status.h"

enum {
    REFUSED_MS = 1000,
    END_MS = 10000,
    PAUSE_US = 100000, /* between two samples that are asked for because of refusals */
    OUT_OF_MEMORY = 2, /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */
    /* The kernel starts with a table of 64 descriptors; growing it takes some milliseconds in a
     * program with threads. So the shim has one of the last eighth of these, or of those that the
     * program may have. */
    READY_FDS = 64,
    SHARE = 8
};

static atomic_uint_fast64_t seen_devices; /* bit i: device i was in use */
static atomic_uint_fast64_t refused_us;   /* when the last sample was asked for because of that */
static atomic_int owner;                  /* the process that asks at its end; 0: none yet */

static bool makes_device_memory(mv_api_action action)
{
#define BIT(name, number, text, way, key, memory) \
    | (uint64_t)(MV_API_MAKES_##memory == MV_API_MAKES_DEVICE) << (number)
    static const uint64_t makers = 0 MV_API_ACTION_LIST(BIT);
#undef BIT
    return makers >> action & 1;
}

/* Moves a descriptor to a high number, if the program may have one; else it stays where it is.
 * Programs rely on getting low numbers, and some use those that they have closed. It never stays at
 * that of a standard stream, where the program would read it or print into it: then it is closed,
 * and the result is -1. */
static int raised(int low)
{
    struct rlimit limit;
    int high = -1;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        int most = limit.rlim_cur < READY_FDS ? (int)limit.rlim_cur : READY_FDS;
        high = fcntl(low, F_DUPFD_CLOEXEC, most - (most + SHARE - 1) / SHARE);
    }
    if (high < 0 && low > STDERR_FILENO)
        return low;
    syscall(SYS_close, low);
    return high;
}

/* A connection to the launcher; -1: none. libc's connect, poll, write and close are cancellation
 * points. */
static int connected(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *name = mv_process.settings.sampler;
    size_t length = strlen(name);
    int link;

    if (length == 0 || mv_is_confined())
        return -1;
    memcpy(to.sun_path + 1, name, length);
    link = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    link = link < 0 ? link : raised(link);
    if (link < 0 ||
        syscall(SYS_connect, link, &to, offsetof(struct sockaddr_un, sun_path) + 1 + length) == 0)
        return link;
    syscall(SYS_close, link);
    return -1;
}

/* Waits until the launcher hangs up; not at all with 0. */
static void ask(int most_ms)
{
    struct timespec wait = {most_ms / 1000, most_ms % 1000 * 1000000L};
    struct pollfd link = {.fd = connected()};

    if (link.fd < 0)
        return;
    if (most_ms > 0)
        syscall(SYS_ppoll, &link, 1, &wait, NULL, 0);
    syscall(SYS_close, link.fd);
}

void mv_sampler_tell(int error)
{
    mv_status_told told = {MV_STATUS_MARK, error};
    int link = connected();

    if (link < 0)
        return;
    syscall(SYS_sendto, link, &told, sizeof told, MSG_NOSIGNAL, NULL, 0);
    syscall(SYS_close, link);
}

/* Children of a fork inherit the handler, but not the device. */
static void at_end(void)
{
    int kept = errno;

    if (!mv_is_confined() && atomic_load(&owner) == getpid())
        ask(END_MS);
    errno = kept;
}

/* CUDA has its own handlers by now, and those that came last are called first: so the device is
 * still in use when this one is. */
static void watch_end(void)
{
    int none = 0;

    if (!mv_is_confined() && atomic_compare_exchange_strong(&owner, &none, getpid()))
        atexit(at_end);
}

static void refused(void)
{
    uint64_t now = mv_process_now_us(), before = atomic_load(&refused_us);

    if (now - before >= PAUSE_US && atomic_compare_exchange_strong(&refused_us, &before, now))
        ask(REFUSED_MS);
}

void mv_sampler_after(const mv_rec_api *call)
{
    uint64_t device = call->device >= 0 && call->device < 64 ? 1ull << call->device : 0;

    if (!makes_device_memory(call->action))
        return;
    if (call->result == OUT_OF_MEMORY) {
        refused();
    } else if (call->result == 0 &&
               !(atomic_load_explicit(&seen_devices, memory_order_relaxed) & device) && device) {
        atomic_fetch_or(&seen_devices, device);
        watch_end();
        ask(0);
    }
}

void mv_sampler_before_end(void)
{
    ask(END_MS);
}
