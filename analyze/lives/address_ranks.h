/* Lists the distinct addresses of one device in ascending order: starts of blocks, and starts and
 * ends of segments, both in the events and in the final heap, if it can be used (living.h). With these
 * ranks, the layout of the heap can be stored by rank, a small dense number, instead of by
 * address. */
#pragma once

#include "parse/model/trace.h"

typedef struct {
    uint32_t count;
    uint64_t *addr;          /* [count] ascending */
    uint32_t *of_event;      /* [events.count] rank of the event's address, or MV_NO_ROW; NULL: not
                              * kept (lives_join.h) */
    uint32_t segment_events; /* number of events about segments */
    uint32_t alloc_events;
    /* [basis_count] events that the state before the first event depends on, in order: segment
     * events, and the first alloc or free of each address. If several threads searched, there may be
     * more allocs and frees. */
    uint32_t *basis;
    uint64_t basis_count;
} mv_address_ranks;

/* Finds the ranks. Every event about a block or a segment has a rank, provided that it has an
 * address; other events have none. Fails with MV_NOMEM or MV_LIMIT. O(n log n) in the number of
 * distinct addresses. */
mv_code mv_address_ranks_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              mv_address_ranks *out, mv_err *err);

/* Runs mv_address_ranks_find in pieces of about `events` events, for callers that do other work in
 * between. With several threads, there is only one piece. mv_address_search_begin returns NULL when
 * out of memory. mv_address_search_some sets *again if pieces remain, and must not be called after
 * a failure. mv_address_search_end may be called at any time. */
typedef struct mv_address_search mv_address_search;
mv_address_search *mv_address_search_begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                           mv_address_ranks *out);
mv_code mv_address_search_some(mv_address_search *search, uint32_t events, bool *again,
                               mv_err *err);
void mv_address_search_end(mv_address_search *search);

/* Returns the rank of an address. If the address is not in the list, returns the rank of the next
 * higher address, or `count` if there is none. */
uint32_t mv_address_rank(const mv_address_ranks *ranks, uint64_t addr);

/* Does the same as mv_address_rank for an address at or above that of `rank`. Fast if it is near. */
uint32_t mv_address_rank_after(const mv_address_ranks *ranks, uint32_t rank, uint64_t addr);

/* Returns the end of a range, or the highest possible address if the size is too large. */
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
