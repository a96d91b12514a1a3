/* Memory from the system itself: the program's heap may be in the middle of a call. */
#ifndef MV_PAGES_H
#define MV_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* Zeros; NULL when there is none. Changes errno then. */
static inline void *mv_pages_get(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static inline void mv_pages_give(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

#endif
