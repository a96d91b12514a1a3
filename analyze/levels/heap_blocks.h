/* Replays heaps, which are allocators that the program registered, from mv_heap_calls
 * (docs/heaps.md).
 *
 *     alloc     begins a block at the address, and ends an older block of the heap at this address
 *     free      ends the heap's block at the address; without a heap, the newest block there
 *     resize    replaces the block with a block of the new size at the address, in the same heap
 *     reset     ends all blocks of the heap
 *
 * Contradictory calls are counted and have no other effect. A block of 0 bytes, or of more bytes
 * than any device has, holds no memory. */
#pragma once

#include "base/map.h"
#include "parse/model/trace.h"

typedef struct {
    mv_string_id name;
    uint64_t allocs, frees;
    uint64_t held, held_bytes; /* number of blocks and bytes held now */
    uint64_t peak_bytes;
    uint64_t lone_frees; /* number of frees at addresses without a block of the heap */
    uint64_t doubles;    /* number of allocs at the address of a living block of the heap */
    uint64_t odd_sizes;  /* number of allocs of 0 bytes, or of more bytes than any device has */
    uint32_t first;      /* newest block of the heap, or MV_NO_ROW */
} mv_heap_sum;

/* Writes "3 frees of unknown blocks, 1 block allocated twice"; "" if there are no contradictions.
 * Returns `words`. */
#define MV_HEAP_WORDS 160
const char *mv_heap_doubts(const mv_heap_sum *heap, char words[MV_HEAP_WORDS]);

typedef struct {
    uint64_t address, bytes; /* address and size; bytes is 0 if the block holds no memory */
    uint64_t place;          /* free for use by the watcher */
    mv_string_id name;       /* name of the heap */
    uint32_t heap;           /* row of `sums` */
    uint32_t call;           /* row in heap_calls of the call that allocated the block, even if
                              * it was resized later */
    uint32_t prev, next;     /* neighbours in the list of the heap's blocks */
    uint32_t below;          /* row of an older block of another heap at the same address */
    int32_t device;          /* device of the block; 0 if unknown */
} mv_heap_block;

/* A function that is called with each gained or lost block and the call that gained or lost it. If
 * a block is lost, the function is called before the block is removed. */
typedef void mv_heap_watch(void *user, mv_heap_block *block, uint32_t call, bool is_gain);

typedef struct {
    const mv_heap_calls *calls;
    mv_arena *arena;
    mv_heap_watch *watch; /* called for each gain and loss; NULL: none */
    void *user;           /* argument for `watch` */
    mv_map by_addr;       /* newest block at each address */
    mv_map by_name;       /* rows of `sums` by the row of the heap's name */
    mv_heap_sum *sums;    /* [count] sums, sorted by the heaps' first calls */
    mv_heap_block *blocks;
    uint32_t count, capacity, blocks_used, blocks_capacity;
    uint32_t free_blocks; /* list of unused rows of `blocks`, or MV_NO_ROW */
    uint64_t lone_frees;  /* number of frees that name no heap and match no block */
} mv_heaps;

/* Prepares for the first call. Memory comes from `arena`. */
void mv_heaps_init(mv_heaps *heaps, mv_arena *arena, const mv_trace *trace);

/* Applies one call. `call` is a row of heap_calls, and calls must be applied in order. Returns
 * false when out of memory. */
bool mv_heaps_apply(mv_heaps *heaps, uint32_t call);

/* Frees the memory of the heaps. */
void mv_heaps_drop(mv_heaps *heaps);

/* Applies all calls of the trace. Returns MV_NOMEM when out of memory. */
mv_code mv_heaps_find(mv_arena *arena, const mv_trace *trace, mv_heaps *out, mv_err *err);
