/* Allocates memory directly from the system. The heap must not be used, because a hook may run
 * inside malloc. */
#pragma once

#include "capture/live/confined.h"

#include <sys/mman.h>

/* Returns memory filled with zeros. When out of memory, returns NULL and sets errno. */
static inline void *mv_pages_get(size_t bytes)
{
    void *memory;

    if (mv_is_confined())
        return mv_confined_pages(bytes);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static inline void mv_pages_give(void *memory, size_t bytes)
{
    if (!mv_is_confined())
        munmap(memory, bytes);
}
