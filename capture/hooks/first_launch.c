/* The set of kernels that were launched. Handles are only added to it. Launches are frequent but
 * first launches are rare, so a call usually costs only one load. The set needs no lock, and no
 * memory besides the table. */
#include <stdatomic.h>

#include "capture/hooks/hooks.h"

enum { SLOTS = 1 << 14, MOST_PROBES = 64 };

static _Atomic uint64_t kernels[SLOTS]; /* handles of kernels; 0: free slot */

bool mv_kernel_is_new(uint64_t kernel)
{
    uint64_t hash = kernel * UINT64_C(0x9e3779b97f4a7c15) >> 50;

    for (uint64_t i = 0; kernel && i < MOST_PROBES; i++) {
        _Atomic uint64_t *slot = &kernels[(hash + i) % SLOTS];
        uint64_t found = atomic_load_explicit(slot, memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong_explicit(
                              slot, &found, kernel, memory_order_relaxed, memory_order_relaxed))
            return true;
        if (found == kernel)
            return false;
    }
    return false;
}
