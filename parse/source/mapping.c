/* This is the only library file with file-level state, because there is no other way to give data
 * to a signal handler. */
#include "parse/source/mapping.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 64 };

/* The mappings. `begin` is set last and cleared first, because slots with begin 0 are skipped. */
static struct {
    atomic_bool is_taken;
    _Atomic uintptr_t begin, end;
    atomic_bool is_torn;
} slots[SLOTS];

static struct sigaction previous;
static uintptr_t page_bytes;

/* Handles a fault. The page of the fault and all later pages are replaced with zeros, because files
 * shrink from the end, and the instruction runs again. A fault elsewhere, or one that zeros do not
 * fix, is passed to the previous signal handler. */
static void mend(int signal, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;

    (void)signal;
    (void)context;
    for (uint32_t i = 0; i < SLOTS; i++) {
        uintptr_t begin = atomic_load(&slots[i].begin), end = atomic_load(&slots[i].end);
        uintptr_t page = at & ~(page_bytes - 1);
        void *to = (void *)page; /* NOLINT(performance-no-int-to-ptr) */
        if (begin == 0 || at < begin || at >= end)
            continue;
        atomic_store(&slots[i].is_torn, true);
        if (mmap(to, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == to)
            return;
    }
    sigaction(SIGBUS, &previous, NULL);
}

static void watch(void)
{
    struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_RESTART};

    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous);
}

bool mv_mapping_open(int fd, uint64_t bytes, mv_mapping *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint32_t slot = 0;

    *out = (mv_mapping){0};
    pthread_once(&once, watch);
    while (slot < SLOTS && atomic_exchange(&slots[slot].is_taken, true))
        slot++;
    if (slot == SLOTS)
        return false;
    out->data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (out->data == MAP_FAILED) {
        out->data = NULL;
        atomic_store(&slots[slot].is_taken, false);
        return false;
    }
    out->bytes = bytes;
    out->slot = slot;
    atomic_store(&slots[slot].is_torn, false);
    atomic_store(&slots[slot].end, (uintptr_t)out->data + bytes);
    atomic_store(&slots[slot].begin, (uintptr_t)out->data);
    return true;
}

bool mv_mapping_is_torn(const mv_mapping *mapping)
{
    return mapping->data && atomic_load(&slots[mapping->slot].is_torn);
}

void mv_mapping_close(mv_mapping *mapping)
{
    if (!mapping->data)
        return;
    atomic_store(&slots[mapping->slot].begin, 0);
    munmap(mapping->data, mapping->bytes);
    atomic_store(&slots[mapping->slot].is_taken, false);
    *mapping = (mv_mapping){0};
}
