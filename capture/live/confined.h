/* Supports programs that permanently restrict their system calls (seccomp), which an unexpected
 * call may kill. Memory and file space are reserved just before a filter is installed
 * (hooks/filters.c). Afterwards the shim makes no system calls: it records into the reserve, and
 * stops when the reserve is used up.
 *
 * Children inherit filters, and this state with them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Used as an errno number: a confined process could not allocate more memory or file space. */
enum { MV_CONFINED_ERROR = -1 };

extern atomic_bool mv_confined_now;

static inline bool mv_is_confined(void)
{
    return atomic_load_explicit(&mv_confined_now, memory_order_relaxed);
}

/* Reserved memory, filled with zeros, of which the first `used` bytes have been taken. */
typedef struct {
    uint8_t *memory; /* the reserved memory; NULL: none */
    uint64_t bytes;
    _Atomic uint64_t used;
} mv_set_aside;

/* Takes the next `bytes` bytes; NULL if fewer remain. */
void *mv_set_aside_take(mv_set_aside *from, uint64_t bytes);

/* Reserves memory for mv_pages_get, once. */
void mv_confined_prepare(void);
void *mv_confined_pages(size_t bytes);

/* Returns the kernel's id of this thread, without a system call. */
uint32_t mv_confined_thread(void);
