#include "capture/live/confined.h"

#include <pthread.h>
#include <sys/mman.h>

enum { PAGES_BYTES = 8 << 20, ALIGNED = 64 };

atomic_bool mv_confined_now;

static mv_set_aside pages;

void *mv_set_aside_take(mv_set_aside *from, uint64_t bytes)
{
    uint64_t at;

    if (!from->memory || bytes > from->bytes)
        return NULL;
    at = atomic_fetch_add(&from->used, bytes);
    if (at <= from->bytes - bytes)
        return from->memory + at;
    atomic_fetch_sub(&from->used, bytes);
    return NULL;
}

/* Reserves memory, which costs nothing until its pages are touched. */
void mv_confined_prepare(void)
{
    void *memory;

    if (pages.memory)
        return;
    memory = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    pages.bytes = PAGES_BYTES;
    pages.memory = memory;
}

void *mv_confined_pages(size_t bytes)
{
    return mv_set_aside_take(&pages, (bytes + ALIGNED - 1) & ~(size_t)(ALIGNED - 1));
}

/* Finds the thread's id by locking an error-checking mutex, which records its owner. */
uint32_t mv_confined_thread(void)
{
    pthread_mutex_t mine = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    int owner;

    pthread_mutex_lock(&mine);
    owner = mine.__data.__owner;
    pthread_mutex_unlock(&mine);
    return (uint32_t)owner;
}
