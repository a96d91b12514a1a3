/* The distinct addresses of one device in ascending order: starts of blocks, starts and ends of
 * segments, both in the events and in the final heap. The layout of the heap can then be stored by
 * rank, a small dense number, instead of by address. */
#ifndef MV_ADDRESS_RANKS_H
#define MV_ADDRESS_RANKS_H

#include "parse/model/trace.h"

typedef struct {
    uint32_t count;
    uint64_t *addr;          /* [count] ascending */
    uint32_t *of_event;      /* [events.count] rank of the event's addr, or MV_NO_ROW */
    uint32_t segment_events; /* number of events about segments */
} mv_address_ranks;

/* Events about blocks and segments have a rank; other events, and events without an address, have
 * none. Fails with MV_NOMEM or MV_LIMIT. O(n log n) in the distinct addresses. */
mv_code mv_address_ranks_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              mv_address_ranks *out, mv_err *err);

/* mv_address_ranks_find in pieces of about `events` events, for callers with other work in between;
 * with several threads there is only one piece. begin: NULL when out of memory. some: sets *again
 * if pieces remain; must not be called after a failure. end: may be called at any time. */
typedef struct mv_address_search mv_address_search;
mv_address_search *mv_address_search_begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                           mv_address_ranks *out);
mv_code mv_address_search_some(mv_address_search *search, uint32_t events, bool *again,
                               mv_err *err);
void mv_address_search_end(mv_address_search *search);

/* The rank of an address, or of the next higher address if it is not in the list (`count` if there
 * is none). */
uint32_t mv_address_rank(const mv_address_ranks *ranks, uint64_t addr);

/* The end of a range, or the highest address if the size is too large. */
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
