/* The blocks alive while a live file is read, and the final heap at its end.
 *
 * A holding is an allocation that was not freed yet: a block, a segment of the allocator, or, in an
 * expandable segment, a range mapped by one call. */
#ifndef MV_LIVE_HEAP_H
#define MV_LIVE_HEAP_H

#include "base/map.h"
#include "parse/model/build.h"

/* One list per device: an accelerator has its ordinal, CPU tensors have MV_LIVE_CPU. */
enum { MV_LIVE_CPU = 128, MV_LIVE_LISTS };

typedef struct {
    uint64_t addr, size;
    uint64_t order; /* later ones have more */
    mv_stack_id stack;
    uint32_t call;
    uint32_t list; /* MV_NO_ROW: unused row */
    bool is_expandable;
} mv_live_holding;

typedef struct {
    mv_arena *arena;
    mv_map row_of[MV_LIVE_LISTS]; /* by address */
    mv_live_holding *rows;        /* [count] with gaps where holdings ended */
    uint32_t count, capacity;
    uint32_t spare; /* the first gap; its `call` is the next one */
} mv_live_holdings;

void mv_live_holdings_init(mv_arena *arena, mv_live_holdings *out);

/* Adds a holding. *old is the holding that it replaces, whose end was not recorded; its size is 0
 * if there is none. False: memory is out. */
bool mv_live_hold(mv_live_holdings *h, const mv_live_holding *holding, mv_live_holding *old);

/* Removes a holding; false if there is none. */
bool mv_live_release(mv_live_holdings *h, uint32_t list, uint64_t addr, mv_live_holding *out);

/* Removes it from whichever of the first `lists` lists has the address. */
bool mv_live_release_any(mv_live_holdings *h, uint32_t lists, uint64_t addr, mv_live_holding *out);

typedef struct {
    const mv_live_holdings *blocks, *segments;
    const mv_live_holdings *reservations; /* blocks by address; in list 0 */
    bool has_segments[MV_LIVE_LISTS];     /* lists for which the allocator made segments */
} mv_live_heap;

/* Appends the final heap: segments by device and address, filled by blocks. Ranges of an expandable
 * segment that touch become one, unless a reservation begins there. A block outside all segments
 * gets a made-up segment if its list has segments, and is left out otherwise. Rows that contradict
 * newer ones are left out and counted. *out: the rows of b->segments. False: memory is out. */
bool mv_live_heap_build(mv_arena *scratch, mv_build *b, const mv_live_heap *heap, mv_range *out);

#endif
