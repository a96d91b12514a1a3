/* The distinct addresses of one device, in order, so that the layout of its heap can be kept in
 * small dense numbers ("ranks") instead of addresses: where blocks start, where segments start
 * and end, both in the events and in the final heap. */
#ifndef MV_ADDRESS_RANKS_H
#define MV_ADDRESS_RANKS_H

#include "parse/model/trace.h"

typedef struct {
    uint32_t count;
    uint64_t *addr;     /* [count] ascending */
    uint32_t *of_event; /* [events.count] rank of an event's addr; MV_NO_ROW: it has no place */
    uint32_t segment_events; /* how many events are about segments */
} mv_places;

/* Events on blocks and segments have a place; others, and those without an address, do not.
 * Fails with MV_NOMEM or MV_LIMIT. O(n log n) in the distinct addresses. */
mv_code mv_places_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_places *out,
                       mv_err *err);

/* The rank of an address that is among them, or of the next one above (`count`: none). */
uint32_t mv_places_rank(const mv_places *places, uint64_t addr);

/* Where a range ends, for ranges of nonsense size too. */
static inline uint64_t mv_range_end(uint64_t addr, uint64_t size)
{
    return size > MV_NO_BYTES - 1 - addr ? MV_NO_BYTES - 1 : addr + size;
}

static inline bool mv_is_block_action(uint8_t action)
{
    return action == MV_ACTION_ALLOC || action == MV_ACTION_FREE_REQUESTED ||
           action == MV_ACTION_FREE_COMPLETED || action == MV_ACTION_ANNOTATE;
}

static inline bool mv_is_segment_action(uint8_t action)
{
    return action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_FREE ||
           action == MV_ACTION_SEGMENT_MAP || action == MV_ACTION_SEGMENT_UNMAP;
}

#endif
