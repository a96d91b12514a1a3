#include "capture/stacks/safe_read.h"

#include "capture/live/apart.h"
#include "capture/live/confined.h"
#include "capture/record/signals.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct {
    uint64_t address;
    void *out;
    size_t bytes;
    bool is_read;
} peek;

/* Reads the memory through a file. System calls are made directly, because libc's functions are
 * cancellation points. */
static void read_file(void *with, bool is_apart)
{
    peek *p = with;
    int file = mv_apart_open("/proc/self/mem", O_RDONLY, is_apart);

    if (file < 0)
        return;
    p->is_read = syscall(SYS_pread64, file, p->out, p->bytes, (off_t)p->address) == (long)p->bytes;
    syscall(SYS_close, file);
}

/* Used if process_vm_readv is refused, as sandboxes do even for the process itself. */
static bool peek_by_file(uint64_t address, void *out, size_t bytes)
{
    peek p = {address, out, bytes, false};
    mv_signals signals = mv_signals_block();

    mv_apart_or_here(read_file, &p);
    mv_signals_restore(signals);
    return p.is_read;
}

bool mv_peek(uint64_t address, void *out, size_t bytes)
{
    struct iovec to = {out, bytes};
    struct iovec from = {(void *)(uintptr_t)address, bytes}; // NOLINT: an address
    char probe = 1;
    struct iovec probe_to = {out, 1}, probe_from = {&probe, 1};

    if (address == 0)
        return false;
    if (mv_is_confined()) {
        memcpy(out, (const void *)(uintptr_t)address, bytes); // NOLINT: an address
        return true;
    }
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)bytes)
        return true;
    if (process_vm_readv(getpid(), &probe_to, 1, &probe_from, 1, 0) == 1)
        return false; /* the call works on this system, so the memory is not mapped */
    return peek_by_file(address, out, bytes);
}
