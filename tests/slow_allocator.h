/* PyTorch's caching allocator written down as literally as it can be: one list of blocks in order
 * of address, searched from end to end. What analyze/replay_heap.h is compared with. */
#ifndef MVT_SLOW_ALLOCATOR_H
#define MVT_SLOW_ALLOCATOR_H

#include "analyze/alloc_conf.h"

enum { SLOW_FREE, SLOW_USED, SLOW_PENDING, SLOW_UNMAPPED };

typedef struct {
    uint64_t addr, size, stream, since, asked; /* asked: order of pending frees */
    uint64_t segment;                          /* its number; neighbours share it */
    uint64_t start;                            /* of its segment */
    unsigned pool;                             /* 2 * id, + 1 for large */
    int state;
    bool expandable;
} slow_block;

enum { SLOW_BLOCKS = 4096, SLOW_POOLS = 4 };

typedef struct {
    mv_alloc_conf conf;
    uint64_t limit;                /* UINT64_MAX: none */
    slow_block block[SLOW_BLOCKS]; /* by address */
    unsigned count;
    uint64_t calls[SLOW_POOLS];
    uint64_t reserved, allocated, active;
    uint64_t segment_allocs, segment_frees, ooms;
    uint64_t next_segment, next_addr, next_space, next_asked;
} slow_allocator;

/* Segments are placed upwards from `addr`, address spaces of expandable segments, a TiB each, from
 * `space`. */
void slow_init(slow_allocator *a, const mv_alloc_conf *conf, uint64_t limit, uint64_t addr,
               uint64_t space);

/* The address, 0 when it fails. */
uint64_t slow_malloc(slow_allocator *a, uint64_t bytes, uint64_t stream, unsigned pool_id,
                     bool capturing);
void slow_request_free(slow_allocator *a, uint64_t addr);
void slow_complete_free(slow_allocator *a, uint64_t addr);
void slow_empty_cache(slow_allocator *a);

/* The block at an address; NULL when none starts there. */
const slow_block *slow_at(const slow_allocator *a, uint64_t addr);

#endif
