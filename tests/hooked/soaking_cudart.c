/* The part of CUDA's runtime that soaking.c calls, for machines that do not have one. The kernel
 * chooses distinct address ranges and reuses them, as a driver does. No memory is mapped there. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { GRANULE = 1 << 21, SLOTS = 1 << 16 };

static struct {
    uintptr_t address;
    size_t bytes;
} given[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int cudaMalloc(void **out, size_t size);
int cudaFree(void *memory);

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void give(void)
{
    pthread_mutex_unlock(&lock);
}

/* A child must not inherit the lock in a locked state, because the thread that holds it does not
 * exist there. */
static __attribute__((constructor)) void begin(void)
{
    pthread_atfork(take, give, give);
}

static unsigned slot_of(uintptr_t address)
{
    unsigned slot = (unsigned)(address >> 12) % SLOTS;

    for (unsigned i = 0; i < SLOTS; i++, slot = (slot + 1) % SLOTS)
        if (given[slot].address == address)
            return slot;
    return SLOTS;
}

int cudaMalloc(void **out, size_t size)
{
    size_t bytes = (size + GRANULE - 1) / GRANULE * GRANULE;
    void *map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned slot;

    if (map == MAP_FAILED)
        return 2;
    take();
    for (slot = (unsigned)((uintptr_t)map >> 12) % SLOTS; given[slot].address > 1;)
        slot = (slot + 1) % SLOTS;
    given[slot].address = (uintptr_t)map;
    given[slot].bytes = bytes;
    give();
    *out = map;
    return 0;
}

int cudaFree(void *memory)
{
    size_t bytes = 0;

    take();
    unsigned slot = slot_of((uintptr_t)memory);
    if (slot < SLOTS) {
        bytes = given[slot].bytes;
        given[slot].address = 1; /* free, but other entries were inserted after it */
    }
    give();
    return bytes == 0 || munmap(memory, bytes) != 0;
}
