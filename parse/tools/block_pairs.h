/* Finds the entries of a block log that belong together, and the totals of its allocators before
 * each: the first half of a balance (block_balance.h). */
#ifndef MV_BLOCK_PAIRS_H
#define MV_BLOCK_PAIRS_H

#include "base/rankset.h"
#include "parse/model/sums.h"
#include "parse/tools/block_balance.h"

enum { MV_BLOCK_ALLOCATORS = 256 };

/* The addresses at which blocks begin, and the blocks in use. */
typedef struct {
    uint64_t *addr; /* [count] rising, each once */
    uint32_t count;
    uint32_t *of;    /* [entries] its rank */
    uint32_t *block; /* [count] the block at the address */
    mv_rankset used;
} mv_block_places;

typedef struct {
    const mv_block_step *steps;
    uint32_t count;
    mv_block_balance *out;
    mv_arena *arena;
    mv_block_places places;
    uint32_t *block_of; /* [count] the block of an alloc, or of a free */
    uint32_t *birth_at; /* [count] the orphan that begins at a place with missing events;
                         * MV_NO_ROW */
    uint64_t *before;   /* [count] the allocator's total before the entry; MV_NO_BYTES: unknown */
    uint32_t *frees_of; /* [stacks] blocks of a stack with a free in the log */
    uint32_t stacks;
    struct {
        bool is_known;   /* some entry has a total */
        uint64_t before; /* the first entry */
    } allocators[MV_BLOCK_ALLOCATORS];
} mv_block_pairs;

/* Fills in all of *p except steps, count, out and arena; p->out->blocks has a block for each alloc
 * and for each free without an alloc. False when memory is out. */
bool mv_block_pairs_find(mv_block_pairs *p, uint32_t stacks);

/* The block in use that overlaps [addr, addr + bytes), or MV_NO_ROW. `rank` is addr's. */
uint32_t mv_block_places_overlap(const mv_block_pairs *p, uint32_t rank, uint64_t bytes);

static inline uint64_t mv_block_end(const mv_block *b)
{
    return b->bytes > UINT64_MAX - b->addr ? UINT64_MAX : b->addr + b->bytes;
}

#endif
