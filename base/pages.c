#include "base/pages.h"

#include <string.h>
#include <sys/mman.h>

#include "base/parallel_for.h"

/* Huge pages are not requested: in a virtual machine that returns free memory to its host, each one
 * costs the host's page faults again (4 times the time of `leaks` with 50 million events). */
void *mv_pages_map(uint64_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* Returning pages takes 0.1 s a GB. Threads can do this at the same time, but not unmap. */
#define SLICE ((uint64_t)16 << 20)

typedef struct {
    char *at;
    uint64_t bytes;
} range;

static void empty_slice(void *user, uint32_t nth)
{
    const range *r = user;
    uint64_t from = nth * SLICE, left = r->bytes - from;

    madvise(r->at + from, left < SLICE ? left : SLICE, MADV_DONTNEED);
}

void mv_pages_unmap(void *at, uint64_t bytes)
{
    range r = {at, bytes};

    if (bytes >= 2 * SLICE)
        mv_parallel_for((uint32_t)((bytes + SLICE - 1) / SLICE), 0, empty_slice, &r);
    munmap(at, bytes);
}

#if defined __SANITIZE_THREAD__ || defined MV_POSIX
/* ThreadSanitizer does not intercept mremap, and mistakes the new mapping for the old one. Systems
 * other than Linux have no mremap. */
void *mv_pages_resize(void *at, uint64_t old_bytes, uint64_t bytes)
{
    void *moved = mv_pages_map(bytes);

    if (moved) {
        memcpy(moved, at, old_bytes);
        munmap(at, old_bytes);
    }
    return moved;
}
#else
void *mv_pages_resize(void *at, uint64_t old_bytes, uint64_t bytes)
{
    void *moved = mremap(at, old_bytes, bytes, MREMAP_MAYMOVE);

    return moved == MAP_FAILED ? NULL : moved;
}
#endif

void mv_pages_take(void *at, uint64_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    enum { LEAST = 16 * MV_PAGE };
    uintptr_t first = ((uintptr_t)at + MV_PAGE - 1) & ~(uintptr_t)(MV_PAGE - 1);
    uintptr_t end = ((uintptr_t)at + bytes) & ~(uintptr_t)(MV_PAGE - 1);

    if (bytes >= LEAST)
        madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#else
    (void)at;
    (void)bytes;
#endif
}
