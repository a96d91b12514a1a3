/* Finds the bytes that each group of sites holds at the floors of the bins. */
#pragma once

#include "analyze/leaks/leak_state.h"

/* How many more bytes a group holds at the floor of a bin than at the floor of the previous bin. */
typedef struct {
    uint32_t group, bin;
    int64_t bytes;
} mv_group_change;

/* Returns all changes, [*count], sorted by group and bin; a group may have several changes in the
 * same bin. `bytes` is allocs.block or allocs.requested. Blocks whose entry in `skip` is set are
 * left out; `skip` may be NULL. Returns NULL when out of memory. O(n log n). */
mv_group_change *mv_group_changes(const mv_leak_state *w, const uint64_t *bytes,
                                  const uint8_t *skip, uint32_t *count);
