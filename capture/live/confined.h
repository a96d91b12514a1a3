/* Programs that give up system calls for good (seccomp): a call that their filter does not expect
 * may end them. So memory and file space are reserved just before a filter is installed
 * (hooks/filters.c), and from then on the shim makes no system call: it records into this reserve,
 * and stops when it is used up.
 *
 * Children inherit filters, and this state with them. */
#ifndef MV_CONFINED_H
#define MV_CONFINED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Used as an errno number: the reason why a confined process could not get more. */
enum { MV_CONFINED_ERROR = -1 };

extern atomic_bool mv_confined_now;

static inline bool mv_is_confined(void)
{
    return atomic_load_explicit(&mv_confined_now, memory_order_relaxed);
}

/* Reserved memory of zeros, and the unused rest. */
typedef struct {
    uint8_t *memory; /* NULL: none */
    uint64_t bytes;
    _Atomic uint64_t used;
} mv_set_aside;

/* The next `bytes`; NULL if fewer are left. */
void *mv_set_aside_take(mv_set_aside *from, uint64_t bytes);

/* Reserves memory for mv_pages_get, once. */
void mv_confined_prepare(void);
void *mv_confined_pages(size_t bytes);

/* The kernel's id of this thread, without a system call. */
uint32_t mv_confined_thread(void);

#endif
