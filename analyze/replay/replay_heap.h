/* Simulates PyTorch's caching allocator, which serves requests from the heap of one device.
 *
 *     mv_replay_heap_init(&heap, arena, &conf, pools);
 *     block = mv_replay_malloc(&heap, bytes, stream, pool, false);   MV_NO_ROW: out of memory
 *     mv_replay_request_free(&heap, block);
 *     mv_replay_complete_free(&heap, block);                         at once, or after streams
 *     mv_replay_empty_cache(&heap);
 *
 * The requests that the simulated allocator makes to the device are in heap.effects, in order, as
 * in a trace. Source: CUDACachingAllocator.cpp of PyTorch 2.6 to 2.14 (get_free_block,
 * should_split, alloc_block, release_available_cached_blocks, release_cached_blocks,
 * garbage_collect_cached_blocks, try_allocate_expandable_block, map_block, unmap_block).
 * docs/whatif.md has the picture.
 *
 * Blocks are rows, and the row of a block that was merged is reused. Each pool's free blocks are
 * sorted in the allocator's own order (stream, size, address). Sizes are divided into classes, with
 * a tree for each class, so a search usually visits one or two blocks, and never takes linear
 * time. */
#pragma once

#include "analyze/replay/alloc_conf.h"
#include "analyze/replay/replay_driver.h"
#include "analyze/totals/totals.h"

/* Size of the address space for an expandable segment. PyTorch takes 9/8 of the device's memory,
 * which is a size that traces do not contain. This value is more than any device has, so the space
 * is never used up. */
#define MV_RESERVATION ((uint64_t)1 << 40)

/* Returns the maximum number of steps (blocks visited, and events) that all replays of a trace
 * together may take. A release iterates over the free blocks, as in PyTorch, and without this limit
 * a trace could be crafted to keep releases busy for hours. Recorded programs that are tried under
 * all built-in settings take 20 to 60 steps per event. */
static inline uint64_t mv_replay_most_work(uint32_t events)
{
    return ((uint64_t)1 << 20) + ((uint64_t)events << 8);
}

typedef enum {
    MV_REPLAY_FREE,     /* free, and in its pool */
    MV_REPLAY_USED,     /* handed out to the program */
    MV_REPLAY_PENDING,  /* freed, but a stream may still use it */
    MV_REPLAY_UNMAPPED, /* address space of an expandable segment, without memory */
    MV_REPLAY_GONE      /* the row is unused */
} mv_replay_state;

/* A block takes 64 bytes. */
typedef struct {
    uint64_t size;
    uint64_t addr;
    uint32_t left, right; /* links in a tree of free or unmapped blocks or, if the block is pending,
                           * in the queue of pending blocks */
    uint32_t up;          /* parent in the tree; MV_NO_ROW: the block is the root, or is in no
                           * tree */
    uint32_t order;       /* row of mv_replay_heap.orders, which has the pool and the stream */
    uint32_t prev,
        next; /* neighbours in the block's segment, by address, or MV_NO_ROW. In unused rows,
               * links of a list */
    uint64_t requested;
    union {
        uint64_t since; /* for a free block, while garbage collection is on: number of searches in
                         * the pool at the time when the block became free, which gives its age */
        uint64_t owner; /* for a used or pending block: set by the caller. Waiting for streams
                         * completes all pending frees, after which the row may have a different
                         * owner */
    };
    uint32_t home;  /* for an expandable block: row of reservations; otherwise an argument for
                    * mv_replay_driver_free */
    uint16_t class; /* class of the size, if the block is in one */
    uint8_t state;  /* mv_replay_state */
    bool expandable;
} mv_replay_block;

static_assert(sizeof(mv_replay_block) == 64, "a block is one cache line");

static inline bool mv_replay_is_split(const mv_replay_block *block)
{
    return block->prev != MV_NO_ROW || block->next != MV_NO_ROW;
}

/* Classes of block sizes: one for each multiple of 512 bytes up to 32 KiB, and above that 32 for
 * each power of two. */
#define MV_REPLAY_CLASSES     (64 + 49 * 32)
#define MV_REPLAY_CLASS_WORDS ((MV_REPLAY_CLASSES + 63) / 64)

/* The free blocks of one order by size. The blocks of a class are a treap, sorted by (size,
 * address). */
typedef struct {
    uint64_t words;                       /* bit i: used[i] is not 0 */
    uint64_t used[MV_REPLAY_CLASS_WORDS]; /* a bit for each class that has blocks */
    uint32_t root[MV_REPLAY_CLASSES];     /* valid if the class has blocks */
    uint32_t first[MV_REPLAY_CLASSES];    /* first block of the class; valid as `root` is */
} mv_replay_classes;

/* The free and the unmapped blocks of one pool and stream. */
typedef struct {
    uint64_t stream;            /* value of the stream, which is not a row number */
    uint32_t pool;              /* row of mv_replay_heap.pools */
    bool splits_small;          /* argument for mv_should_split */
    mv_replay_classes *classes; /* NULL: there were too many orders, and all free blocks of this one
                                 * are in a single class */
    uint32_t root;              /* for the single class: its treap */
    uint32_t unmapped;          /* treap of unmapped blocks, sorted by address */
} mv_replay_order;

typedef struct {
    uint32_t latest; /* order that was used last, or MV_NO_ROW */
    bool is_small;
    bool may_release; /* true for default pools, and for private pools that are no longer in use */
    /* Whether a free block may be a whole segment, or contain whole pages of an expandable segment.
     * If false, releases do not search the free blocks. */
    bool may_have_whole, may_have_pages;
    uint64_t calls; /* number of searches while garbage collection is on */
} mv_replay_pool;

/* Address space of an expandable segment. Pages are counted from its start. */
typedef struct {
    uint64_t start;
    uint64_t page;
} mv_replay_reservation;

typedef struct {
    uint64_t addr;
    uint64_t size;
    uint8_t action; /* kind of request, an mv_action: SEGMENT_ALLOC, _FREE, _MAP or _UNMAP */
} mv_replay_effect;

typedef struct {
    uint64_t segment_allocs; /* number of cudaMalloc calls and mappings that succeeded */
    uint64_t segment_frees;
    uint64_t retries; /* number of requests that succeeded only after cached blocks had been
                       * released */
    uint64_t ooms;
} mv_replay_counts;

/* Rows of the blocks to give back to the device, in order. */
typedef struct {
    uint32_t count, capacity;
    uint32_t *row;
} mv_replay_plan;

typedef struct {
    mv_arena *arena;
    mv_alloc_conf conf;
    bool rounds_up; /* conf rounds requests up to fractions of powers of two */
    uint64_t limit; /* maximum of reserved bytes; UINT64_MAX: no limit */

    uint32_t count, capacity; /* rows of blocks */
    uint32_t spare;           /* first unused row */
    mv_replay_block *blocks;
    uint32_t pool_count;
    mv_replay_pool *pools; /* [pool_count] row 2i is the small pool of mv_pool_id i, and row 2i +
                            * 1 is its large pool */
    uint32_t order_count, order_capacity, order_rows_capacity;
    mv_replay_order *orders;
    uint32_t *order_rows; /* [order_count] orders sorted by pool and stream */
    uint32_t reservation_count, reservation_capacity;
    mv_replay_reservation *reservations;
    uint32_t pending_first, pending_last; /* first and last block in the queue of pending blocks */

    mv_replay_driver driver;
    uint32_t effect_count, effect_capacity;
    mv_replay_effect *effects; /* requests to the device; the caller resets effect_count */
    mv_replay_plan plan;       /* releases that were planned by the mv_replay_plan_ functions
                                * below */

    mv_levels now, peak;
    uint64_t largest; /* size of the largest segment or mapping so far */
    mv_replay_counts counts;
    uint32_t least;     /* first result of the last search: the smallest block of the stream that
                         * is large enough */
    bool out_of_memory; /* the budget is used up, and the heap is no longer valid */
    uint64_t work;      /* number of blocks visited */
    uint64_t most_work; /* maximum of `work`, after which the replay is abandoned */
} mv_replay_heap;

/* Starts with an empty heap that has the default pool and `pools - 1` private pools. The heap
 * allocates memory from `arena` as it grows. Returns false when out of memory. */
bool mv_replay_heap_init(mv_replay_heap *heap, mv_arena *arena, const mv_alloc_conf *conf,
                         uint32_t pools);

/* Returns a block of at least `bytes` (> 0), or MV_NO_ROW if the limit or the budget does not
 * allow it. If `capturing`, no cached blocks are released for the request, as during CUDA graph
 * captures. */
uint32_t mv_replay_malloc(mv_replay_heap *heap, uint64_t bytes, uint64_t stream, uint32_t pool_id,
                          bool capturing);

/* Allocates a block that is freed at once, as most blocks of programs are. *is_freed is set
 * if it was freed already (mv_replay_use_briefly). */
uint32_t mv_replay_malloc_briefly(mv_replay_heap *heap, uint64_t bytes, uint64_t stream,
                                  uint32_t pool_id, bool capturing, bool *is_freed);

void mv_replay_request_free(mv_replay_heap *heap, uint32_t block);
/* Requests a free and completes it at once. */
void mv_replay_free(mv_replay_heap *heap, uint32_t block);
/* Completes a free. Merges the block with free neighbours, so the rows of the block and of its
 * neighbours may no longer be in use. */
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

/* Does the same as mv_round_request. */
static inline uint64_t mv_replay_round(const mv_replay_heap *heap, uint64_t bytes)
{
    return heap->rounds_up ? mv_round_request(&heap->conf.rules, bytes)
                           : mv_round_least(&heap->conf.rules, bytes);
}

/* get_alloc_size(): the size of a new segment for a rounded request. */
uint64_t mv_replay_segment_size(const mv_alloc_conf *conf, uint64_t rounded);

/* get_free_block(): finds the block that will serve the request, without removing it from its pool.
 * MV_NO_ROW if there is none. */
uint32_t mv_replay_search(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded);

/* Returns a free block that is not in its pool, from newly mapped pages. */
uint32_t mv_replay_expand(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t rounded);

/* mv_replay_take removes a free block from its pool. mv_replay_hand_out marks the low end of a
 * block as used, and splits off the remaining bytes if the allocator would do so. */
void mv_replay_take(mv_replay_heap *heap, uint32_t block);
void mv_replay_hand_out(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded);

/* Does both steps for the block that the last search found, which must have been for `rounded`.
 * This is faster, because the remaining bytes usually keep the block's position in the pool's
 * order. Returns the row handed out; MV_NO_ROW when out of memory. */
uint32_t mv_replay_serve(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded);

/* Does what mv_replay_serve and mv_replay_free of the result together do. As the free joins the
 * block again, only peaks change. Returns false, and does nothing, if more than that would change. */
bool mv_replay_use_briefly(mv_replay_heap *heap, uint32_t block, uint64_t bytes, uint64_t rounded);

/* These functions fill heap->plan with the blocks to give back. mv_replay_plan_cached plans all
 * cached blocks. mv_replay_plan_available plans the blocks that release_available_cached_blocks
 * selects for a request. mv_replay_plan_collection plans one pass of the garbage collector, and
 * returns false if no block is old enough. */
void mv_replay_plan_cached(mv_replay_heap *heap);
bool mv_replay_plan_available(mv_replay_heap *heap, uint32_t pool, uint64_t stream,
                              uint64_t rounded);
bool mv_replay_plan_collection(mv_replay_heap *heap);

/* mv_replay_give_back gives one planned block back. mv_replay_give_back_effect reports what giving
 * the block back would do to the device, without doing it (size 0: nothing). */
void mv_replay_give_back(mv_replay_heap *heap, uint32_t block);
mv_replay_effect mv_replay_give_back_effect(const mv_replay_heap *heap, uint32_t block);

/* ---- blocks ------------------------------------------------------------------------------ */

void mv_replay_block_drop(mv_replay_heap *heap, uint32_t block);

/* Cuts `block` after `size` bytes. Returns the row of the upper part, which is a copy except for
 * its address and links; MV_NO_ROW when out of memory. Rows keep their numbers, but this call
 * invalidates pointers to blocks. */
uint32_t mv_replay_block_cut(mv_replay_heap *heap, uint32_t block, uint64_t size);

/* Joins a free block with free neighbours, or an unmapped block with unmapped neighbours, and puts
 * the result into its pool. Returns the joined row. */
uint32_t mv_replay_block_settle(mv_replay_heap *heap, uint32_t block);

/* Adds a segment with one free block. The block is not put into its pool. */
uint32_t mv_replay_segment_new(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t addr,
                               uint64_t size, uint32_t home);

/* Adds the address space of a new expandable segment. It is one unmapped block, which is put into
 * its pool. */
uint32_t mv_replay_reserve(mv_replay_heap *heap, uint32_t pool, uint64_t stream, uint64_t start);

/* Maps [addr, addr + size) within the unmapped block `space`. Returns a free block that is not in
 * its pool and is not joined with its neighbours; MV_NO_ROW if the range is not within `space`. */
uint32_t mv_replay_map_at(mv_replay_heap *heap, uint32_t space, uint64_t addr, uint64_t size);

void mv_replay_note_effect(mv_replay_heap *heap, mv_action action, uint64_t addr, uint64_t size);

static inline void mv_replay_raise(uint64_t now, uint64_t *peak)
{
    if ((int64_t)now > (int64_t)*peak) /* negative if the trace contradicts itself */
        *peak = now;
}

static inline void mv_replay_raise_peaks(mv_replay_heap *heap)
{
    mv_replay_raise(heap->now.allocated, &heap->peak.allocated);
    mv_replay_raise(heap->now.active, &heap->peak.active);
    mv_replay_raise(heap->now.requested, &heap->peak.requested);
    mv_replay_raise(heap->now.reserved, &heap->peak.reserved);
}

/* ---- order (replay_order.c) -------------------------------------------------------------- */

/* Returns the order of a pool and a stream. mv_replay_order_find returns MV_NO_ROW if the pool has
 * had no block of this stream, and mv_replay_order_make when out of memory. */
uint32_t mv_replay_order_search(mv_replay_heap *heap, uint32_t pool, uint64_t stream);
uint32_t mv_replay_order_make(mv_replay_heap *heap, uint32_t pool, uint64_t stream);

static inline uint32_t mv_replay_order_find(mv_replay_heap *heap, uint32_t pool, uint64_t stream)
{
    uint32_t latest = heap->pools[pool].latest;

    return latest != MV_NO_ROW && heap->orders[latest].stream == stream
               ? latest
               : mv_replay_order_search(heap, pool, stream);
}

static inline mv_replay_pool *mv_replay_pool_of_block(const mv_replay_heap *heap, uint32_t block)
{
    return &heap->pools[heap->orders[heap->blocks[block].order].pool];
}

/* Puts a free or unmapped block into its order. */
void mv_replay_order_add(mv_replay_heap *heap, uint32_t block);

/* Return blocks of an order, or MV_NO_ROW: the last free block with fewer than `size` bytes, the
 * first unmapped block, and the last unmapped block at or below `addr`. */
uint32_t mv_replay_free_before(const mv_replay_heap *heap, uint32_t order, uint64_t size);
uint32_t mv_replay_unmapped_first(const mv_replay_heap *heap, uint32_t order);
uint32_t mv_replay_unmapped_until(const mv_replay_heap *heap, uint32_t order, uint64_t addr);

/* Return the neighbours of a block in its order, or MV_NO_ROW. */
uint32_t mv_replay_order_next(const mv_replay_heap *heap, uint32_t block);
uint32_t mv_replay_order_prev(const mv_replay_heap *heap, uint32_t block);

/* Iterate over all free blocks of a pool, sorted by (stream, size, address). */
uint32_t mv_replay_pool_first(const mv_replay_heap *heap, uint32_t pool);
uint32_t mv_replay_pool_next(const mv_replay_heap *heap, uint32_t block);
