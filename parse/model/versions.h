/* Counts the allocations at each address. The version of an event of a block is the number of
 * allocations at its address so far: 0x7f00#3 is the third block there. It is 0 before the first
 * one. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "parse/model/trace.h"

/* The numbers of allocations before an event, at each address of the events of blocks that follow,
 * in the order of the addresses' first events. */
typedef struct {
    uint32_t count;
    uint32_t *allocs; /* [count] */
} mv_opening;

/* Returns true if events with this action have a version. */
static inline bool mv_action_has_version(uint8_t action)
{
    return action == MV_ACTION_ALLOC || action == MV_ACTION_FREE_REQUESTED ||
           action == MV_ACTION_FREE_COMPLETED || action == MV_ACTION_ANNOTATE;
}

/* Stores the versions of the events [from, end) in `out`, 0 for events without one, and counts from
 * event `first`. `opening` is that of the events [first, end), and then `from` must be `first`;
 * NULL: nothing was allocated before `first`. Fails with MV_NOMEM, or with MV_CORRUPT if the events
 * have more or fewer addresses than `opening`. */
mv_code mv_versions_find(mv_arena *arena, const mv_events *events, uint32_t first, uint32_t from,
                         uint32_t end, const mv_opening *opening, uint32_t *out);
