/* Tracks the live blocks while a live file is read, and makes the final heap at its end.
 *
 * A holding is an allocation that has not been freed: a block, a segment of the allocator, or, in
 * an expandable segment, a range mapped by one call. */
#pragma once

#include "base/map.h"
#include "parse/model/build.h"

/* Each device has a list, numbered by the accelerator's ordinal; CPU tensors are in list
 * MV_LIVE_CPU. */
enum { MV_LIVE_CPU = 128, MV_LIVE_LISTS };

typedef struct {
    uint64_t addr, size;
    uint64_t order; /* number that orders holdings; later holdings have higher numbers */
    mv_stack_id stack;
    uint32_t call;
    uint32_t list; /* list of the holding; MV_NO_ROW: the row is unused */
    bool is_expandable;
} mv_live_holding;

typedef struct {
    mv_arena *arena;
    mv_map row_of[MV_LIVE_LISTS]; /* rows of each list, by address */
    mv_live_holding *rows;        /* [count] holdings, with unused rows where holdings ended */
    uint32_t count, capacity;
    uint32_t spare; /* first unused row; its `call` is the next unused row */
} mv_live_holdings;

void mv_live_holdings_init(mv_arena *arena, mv_live_holdings *out);

/* Adds a holding. If the end of an earlier holding was not recorded, the new one replaces it and
 * *old receives it; otherwise old->size is 0. Returns false when out of memory. */
bool mv_live_hold(mv_live_holdings *h, const mv_live_holding *holding, mv_live_holding *old);

/* Removes the holding at an address. Returns false if there is none. */
bool mv_live_release(mv_live_holdings *h, uint32_t list, uint64_t addr, mv_live_holding *out);

/* Removes the holding at an address from whichever of the first `lists` lists contains it. */
bool mv_live_release_any(mv_live_holdings *h, uint32_t lists, uint64_t addr, mv_live_holding *out);

typedef struct {
    const mv_live_holdings *blocks, *segments;
    const mv_live_holdings *reservations; /* reservations of expandable segments, all in list 0 */
    bool has_segments[MV_LIVE_LISTS];     /* whether each list has segments made by the allocator */
} mv_live_heap;

/* Appends the final heap, which consists of segments, sorted by device and address and filled with
 * blocks. Adjacent ranges of an expandable segment become one, unless a reservation begins between
 * them. A block outside all segments gets an invented segment if its list has segments, and is left
 * out otherwise. Rows that contradict newer ones are left out and counted. *out is the range of
 * rows in b->segments. Returns false when out of memory. */
bool mv_live_heap_build(mv_arena *scratch, mv_build *b, const mv_live_heap *heap, mv_range *out);
