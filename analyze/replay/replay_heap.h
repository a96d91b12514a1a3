/* A simulation of PyTorch's caching allocator: the heap of one device, to which requests are made.
 *
 *     mv_replay_heap_init(&heap, arena, &conf, pools);
 *     block = mv_replay_malloc(&heap, bytes, stream, pool, false);   MV_NO_ROW: out of memory
 *     mv_replay_request_free(&heap, block);
 *     mv_replay_complete_free(&heap, block);                         at once, or after streams
 *     mv_replay_empty_cache(&heap);
 *
 * Its requests to the device are in heap.effects, in order, as in a trace. Source:
 * CUDACachingAllocator.cpp of PyTorch 2.6 to 2.14 (get_free_block, should_split, alloc_block,
 * release_available_cached_blocks, release_cached_blocks, garbage_collect_cached_blocks,
 * try_allocate_expandable_block, map_block, unmap_block). docs/whatif.md has the picture.
 *
 * Blocks are rows; the row of a block that was merged is used again. The free blocks of each pool
 * are in a tree, in the allocator's own order (stream, size, address). Nothing is searched by
 * walking. */
#ifndef MV_REPLAY_HEAP_H
#define MV_REPLAY_HEAP_H

#include "analyze/replay/alloc_conf.h"
#include "analyze/replay/replay_driver.h"
#include "analyze/totals/totals.h"

/* Address space of an expandable segment. PyTorch takes 9/8 of the device's memory, a size that no
 * trace has. This is more than any device has, so it is never used up. */
#define MV_RESERVATION ((uint64_t)1 << 40)

/* Releases walk over the free blocks, as PyTorch's do. A trace could be made to keep them busy for
 * hours, so all replays of a trace together take this many steps at most: blocks that are walked
 * over, and events. Recorded programs that are tried under all built-in settings take 20 to 60
 * steps an event. */
static inline uint64_t mv_replay_most_work(uint32_t events)
{
    return ((uint64_t)1 << 20) + ((uint64_t)events << 8);
}

typedef enum {
    MV_REPLAY_FREE,     /* in its pool */
    MV_REPLAY_USED,     /* handed out */
    MV_REPLAY_PENDING,  /* freed, but a stream may still use it */
    MV_REPLAY_UNMAPPED, /* address space of an expandable segment, without memory */
    MV_REPLAY_GONE      /* the row is spare */
} mv_replay_state;

/* 80 bytes, those first that a search reads. */
typedef struct {
    uint64_t stream; /* value */
    uint64_t size;
    uint64_t addr;
    uint32_t left,
        right;         /* in the tree of its pool; while pending, in the queue of pending blocks */
    uint32_t up;       /* the block above it in that tree; MV_NO_ROW: it is the root, or in none */
    uint32_t priority; /* of the row, in that tree */
    uint32_t pool;     /* row of mv_replay_heap.pools */
    uint32_t prev,
        next; /* neighbours in its segment, by address; MV_NO_ROW. Spare rows form a list */
    uint64_t requested;
    union {
        uint64_t since; /* free: number of searches in the pool when it became free, its age for
                         * garbage collection */
        uint64_t owner; /* used or pending: the caller's. Waiting for streams completes all pending
                         * frees, and the row may then be another owner's */
    };
    uint32_t home; /* expandable: row of reservations; otherwise what mv_replay_driver_free needs */
    uint8_t state; /* mv_replay_state */
    bool expandable;
} mv_replay_block;

static inline bool mv_replay_is_split(const mv_replay_block *block)
{
    return block->prev != MV_NO_ROW || block->next != MV_NO_ROW;
}

/* Blocks in the order of (stream, size, address), or of (stream, address) if `by_addr`. A treap. */
typedef struct {
    uint32_t root;
    bool by_addr;
} mv_replay_order;

typedef struct {
    mv_replay_order free;
    mv_replay_order unmapped;
    uint64_t calls; /* searches while garbage collection is on */
    bool is_small;
    bool is_private;
    bool may_release; /* default pools, and private ones that are no longer in use */
    /* Whether a free block may be a whole segment, or have whole pages of an expandable one: false,
     * and no release has to look at all free blocks for those. */
    bool may_have_whole, may_have_pages;
} mv_replay_pool;

/* Address space of an expandable segment; pages are counted from its start. */
typedef struct {
    uint64_t start;
    uint64_t page;
} mv_replay_reservation;

typedef struct {
    uint64_t addr;
    uint64_t size;
    uint8_t action; /* mv_action: SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP */
} mv_replay_effect;

typedef struct {
    uint64_t segment_allocs; /* cudaMalloc calls and mappings that succeeded */
    uint64_t segment_frees;
    uint64_t retries; /* requests that were met only after cached blocks had been released */
    uint64_t ooms;
} mv_replay_counts;

/* Rows to be given back, in order. */
typedef struct {
    uint32_t count, capacity;
    uint32_t *row;
} mv_replay_plan;

typedef struct {
    mv_arena *arena;
    mv_alloc_conf conf;
    uint64_t limit; /* bytes that may be reserved; UINT64_MAX: no limit */

    uint32_t count, capacity; /* rows of blocks */
    uint32_t spare;           /* first spare row */
    mv_replay_block *blocks;
    uint32_t pool_count;
    mv_replay_pool *pools; /* [pool_count] row 2i: small pool of mv_pool_id i; 2i + 1: large */
    uint32_t reservation_count, reservation_capacity;
    mv_replay_reservation *reservations;
    uint32_t pending_first, pending_last; /* queue of pending blocks */

    mv_replay_driver driver;
    uint32_t effect_count, effect_capacity;
    mv_replay_effect *effects; /* the caller sets effect_count back to 0 */
    mv_replay_plan plan;       /* of a release, for the functions below */

    mv_levels now, peak;
    uint64_t largest; /* the largest segment or mapping so far */
    mv_replay_counts counts;
    uint32_t least; /* what the last search met first: the least block of the stream that fits */
    bool out_of_memory; /* the budget is spent: nothing here is valid any more */
    uint64_t work;      /* blocks that were walked over */
    uint64_t most_work; /* after which the replay is given up */
} mv_replay_heap;

/* An empty heap with the default pool and `pools - 1` private ones. It takes memory from `arena` as
 * it grows. False when out of memory. */
bool mv_replay_heap_init(mv_replay_heap *heap, mv_arena *arena, const mv_alloc_conf *conf,
                         uint32_t pools);

/* Returns a block of at least `bytes` (> 0), or MV_NO_ROW if the limit or the budget does not allow
 * it. `capturing`: no cached blocks are released for it, as during CUDA graph captures. */
uint32_t mv_replay_malloc(mv_replay_heap *heap, uint64_t bytes, uint64_t stream, uint32_t pool_id,
                          bool capturing);

void mv_replay_request_free(mv_replay_heap *heap, uint32_t block);
/* The block is merged with free neighbours, so its row, and rows that were free, may be gone. */
void mv_replay_complete_free(mv_replay_heap *heap, uint32_t block);

/* torch.cuda.empty_cache() */
void mv_replay_empty_cache(mv_replay_heap *heap);

/* ---- the allocator's own steps, for replays that check them one by one ------------------- */

static inline uint32_t mv_replay_pool_of(uint32_t pool_id, uint64_t rounded)
{
    return 2 * pool_id + (rounded > MV_SMALL_REQUEST);
}

static inline bool mv_replay_is_endless(const mv_replay_heap *heap)
{
    return heap->work > heap->most_work;
}

static inline bool mv_replay_collects(const mv_replay_heap *heap)
{
    return heap->limit != UINT64_MAX && heap->conf.gc_threshold > 0;
}

/* get_alloc_size(): bytes of a new segment for a rounded request. */
uint64_t mv_replay_segment_size(const mv_alloc_conf *conf, uint64_t rounded);

/* get_free_block(): the block that serves the request, still in its pool; MV_NO_ROW: none. */
uint32_t mv_replay_search(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded);

/* alloc_block(): a free block that is not in its pool, made of a new segment or of newly mapped
 * pages. */
uint32_t mv_replay_grow(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded);
uint32_t mv_replay_expand(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded);

/* Takes a free block out of its pool. Hands out the low end of a block, and splits off the rest
 * where the allocator would. */
void mv_replay_take(mv_replay_heap *heap, uint32_t block);
void mv_replay_hand_out(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded);

/* Both for the block that was found by the last search, which was for `rounded`: faster, since the
 * rest mostly keeps its place in the pool's order. Returns the row that is handed out, MV_NO_ROW
 * when out of memory. */
uint32_t mv_replay_serve(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded);

/* Fill heap->plan with the blocks that would be given back: everything cached; what
 * release_available_cached_blocks selects for a request; one pass of the garbage collector (false:
 * nothing is old enough). */
void mv_replay_plan_cached(mv_replay_heap *heap);
bool mv_replay_plan_available(mv_replay_heap *heap, uint32_t pool, uint64_t stream,
                              uint64_t rounded);
bool mv_replay_plan_collection(mv_replay_heap *heap);

/* Gives one planned block back. The second returns the effect on the device in advance (size 0:
 * none). */
void mv_replay_give_back(mv_replay_heap *heap, uint32_t block);
mv_replay_effect mv_replay_give_back_effect(const mv_replay_heap *heap, uint32_t block);

/* ---- blocks ------------------------------------------------------------------------------ */

/* A new row, all zero except its links; MV_NO_ROW: memory is out. Rows keep their numbers, but
 * pointers to blocks are invalid after this call. */
uint32_t mv_replay_block_new(mv_replay_heap *heap);
void mv_replay_block_drop(mv_replay_heap *heap, uint32_t block);

/* Cuts `block` after `size` bytes. Returns the row of the upper part, a copy except for its place.
 * */
uint32_t mv_replay_block_cut(mv_replay_heap *heap, uint32_t block, uint64_t size);

/* Joins a free block with free neighbours, or an unmapped block with unmapped ones, and puts it
 * into its pool. Returns the row of all of that. */
uint32_t mv_replay_block_settle(mv_replay_heap *heap, uint32_t block);

/* A segment of one free block, which is not in its pool. */
uint32_t mv_replay_segment_new(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t addr,
                               uint64_t size, uint32_t home);

/* The address space of a new expandable segment: one unmapped block, in its pool. */
uint32_t mv_replay_reserve(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t start);

/* Maps [addr, addr + size) within the unmapped block `space`. Returns a free block that is not in
 * its pool and not joined with its neighbours; MV_NO_ROW if the range is not within. */
uint32_t mv_replay_map_at(mv_replay_heap *heap, uint32_t space, uint64_t addr, uint64_t size);

void mv_replay_note_effect(mv_replay_heap *heap, mv_action action, uint64_t addr, uint64_t size);
void mv_replay_raise_peaks(mv_replay_heap *heap);

/* ---- order (replay_order.c) -------------------------------------------------------------- */

typedef struct {
    uint64_t stream, size, addr; /* size is ignored where the order is by address */
    uint32_t row; /* distinguishes blocks that a contradictory trace put at the same place */
} mv_replay_key;

void mv_replay_order_add(mv_replay_heap *heap, mv_replay_order *order, uint32_t block);
void mv_replay_order_drop(mv_replay_heap *heap, mv_replay_order *order, uint32_t block);
/* Gives a block of the order another address and size. */
void mv_replay_order_move(mv_replay_heap *heap, mv_replay_order *order, uint32_t block,
                          uint64_t addr, uint64_t size);
/* The first block at or after the key; the last one before it; the neighbours of a block.
 * MV_NO_ROW: none. */
uint32_t mv_replay_order_at(const mv_replay_heap *heap, const mv_replay_order *order,
                            mv_replay_key key);
uint32_t mv_replay_order_before(const mv_replay_heap *heap, const mv_replay_order *order,
                                mv_replay_key key);
uint32_t mv_replay_order_first(const mv_replay_heap *heap, const mv_replay_order *order);
uint32_t mv_replay_order_next(const mv_replay_heap *heap, const mv_replay_order *order,
                              uint32_t block);
uint32_t mv_replay_order_prev(const mv_replay_heap *heap, const mv_replay_order *order,
                              uint32_t block);

#endif
