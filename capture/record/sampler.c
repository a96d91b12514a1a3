#include "capture/record/sampler.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "capture/live/apart.h"
#include "capture/record/process.h"
#include "capture/wire_status.h"

enum {
    REFUSED_MS = 1000,
    END_MS = 10000,
    PAUSE_US = 100000, /* shortest time between two samples that are requested because of failed
                        * requests */
    OUT_OF_MEMORY = 2, /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */
    MOST_COPIES = 4096 /* largest number of descriptors that are closed first; checking a descriptor
                        * takes 50 ns */
};

static atomic_uint_fast64_t seen_devices; /* bit i: device i has been in use */
static atomic_uint_fast64_t refused_us;   /* time of the last sample that was requested because of a
                                           * failed request */
static atomic_int owner;                  /* process that requests a sample at its end; 0: none */

static bool makes_device_memory(mv_api_action action)
{
#define BIT(name, number, text, way, key, memory) \
    | (uint64_t)(MV_API_MAKES_##memory == MV_API_MAKES_DEVICE) << (number)
    static const uint64_t makers = 0 MV_API_ACTION_LIST(BIT);
#undef BIT
    return makers >> action & 1;
}

/* A request to the launcher. */
typedef struct {
    const mv_status_message *message; /* message to send; NULL: a sample is requested */
    int most_ms;                      /* longest time to wait until the launcher closes the
                                       * connection */
} question;

/* Closes the copied descriptors; only for threads with a separate table. If another thread closes
 * one of its descriptors while this thread waits, the file must really be closed, which a remaining
 * copy would prevent. */
static void close_copies(void)
{
    struct rlimit limit;
    int most = MOST_COPIES;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MOST_COPIES)
        most = (int)limit.rlim_cur;
    for (int i = 0; i < most; i++)
        syscall(SYS_close, i);
}

/* Sends a request. System calls are made directly, because libc's connect, poll, write and close
 * are cancellation points. */
static void put_question(void *with, bool is_apart)
{
    const question *q = with;
    struct timespec wait = {q->most_ms / 1000, q->most_ms % 1000 * 1000000L};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(mv_process.settings.sampler);
    struct pollfd link = {0};

    (void)is_apart; /* only mv_apart calls it */
    close_copies();
    memcpy(to.sun_path + 1, mv_process.settings.sampler, length);
    link.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link.fd < 0 ||
        syscall(SYS_connect, link.fd, &to, offsetof(struct sockaddr_un, sun_path) + 1 + length))
        return;
    if (q->message)
        syscall(SYS_sendto, link.fd, q->message, sizeof *q->message, MSG_NOSIGNAL, NULL, 0);
    if (q->most_ms > 0)
        syscall(SYS_ppoll, &link, 1, &wait, NULL, 0);
}

static void put_apart(question q)
{
    mv_signals signals;

    if (!mv_process.settings.sampler[0] || mv_is_confined())
        return;
    signals = mv_signals_block();
    mv_apart(put_question, &q);
    mv_signals_restore(signals);
}

static void ask(int most_ms)
{
    put_apart((question){.most_ms = most_ms});
}

void mv_sampler_send_status(int error)
{
    put_apart((question){.message = &(mv_status_message){MV_STATUS_MARK, error}});
}

/* Called at the end of the process. Children of a fork inherit the handler, but not the device. */
static void at_end(void)
{
    int kept = errno;

    if (!mv_is_confined() && atomic_load(&owner) == getpid())
        ask(END_MS);
    errno = kept;
}

/* Registers the handler for the end of the process. At this point CUDA has already registered its
 * handlers. The handler registered last runs first, so the device is still in use when this handler
 * runs. */
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
