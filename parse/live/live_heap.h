/* What is alive while a live file is read, and the final heap that is left of it.
 *
 * A table of holdings, by list and address: one for blocks, one for the allocator's segments (for
 * expandable ones, of the ranges that were mapped by one call each). */
#ifndef MV_LIVE_HEAP_H
#define MV_LIVE_HEAP_H

#include "parse/model/build.h"

/* Lists of devices: an accelerator's is its ordinal, below this; CPU tensors have this one. */
enum { MV_LIVE_CPU = 128, MV_LIVE_LISTS };

typedef struct {
    uint64_t addr, size;
    uint64_t order; /* later ones have more */
    mv_stack_id stack;
    uint32_t call;
    uint32_t list; /* MV_NO_ROW: the slot is empty */
    bool is_expandable;
} mv_live_holding;

typedef struct {
    mv_arena *arena;
    mv_live_holding *slots; /* [capacity], a power of two */
    uint64_t capacity, count;
} mv_live_holdings;

/* Adds a holding. *old is the one that it replaces, whose end nobody recorded; its size is 0 when
 * there is none. False: memory is out. */
bool mv_live_hold(mv_live_holdings *h, const mv_live_holding *holding, mv_live_holding *old);

/* Takes one out; false when nothing is there. */
bool mv_live_release(mv_live_holdings *h, uint32_t list, uint64_t addr, mv_live_holding *out);

/* Likewise in whatever list the address is, of `lists`. */
bool mv_live_release_any(mv_live_holdings *h, uint32_t lists, uint64_t addr, mv_live_holding *out);

typedef struct {
    const mv_live_holdings *blocks, *segments;
    const mv_live_holdings *reservations; /* of addresses; in list 0 */
    bool has_segments[MV_LIVE_LISTS];     /* lists whose allocator was seen at work */
} mv_live_heap;

/* Appends the final heap: segments by device and address, tiled by blocks. Ranges of an expandable
 * segment that touch each other are one, unless a reservation begins there. Blocks that stand in no
 * segment get one, made up, in lists that have segments, and none in others. What contradicts
 * something newer is left out and counted. The rows of b->segments; false: memory is out. */
bool mv_live_heap_build(mv_arena *scratch, mv_build *b, const mv_live_heap *heap, mv_range *out);

#endif
