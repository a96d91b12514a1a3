/* Finds the domains of a heap, which are the parts between which the caching allocator never moves
 * memory.
 *
 * A free block only serves requests of its own pool (the default pool or a private one), its own
 * kind (small, up to 1 MiB, or large) and its own stream. Source: get_pool() and get_free_block(),
 * PyTorch CUDACachingAllocator.cpp. Domains of the same kind have consecutive numbers, and so do
 * domains that differ only in the stream:
 *
 *     domain      0        1        2        3        4
 *     kind        large    large    large    small    small
 *     pool        (0,0)    (0,0)    (1,0)    (0,0)    (1,0)
 *     stream      0        7        0        0        0
 *
 * A segment whose pool is not in the file counts as part of the default pool. */
#pragma once

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t first, end; /* domains [first, end) */
} mv_domain_span;

typedef struct {
    uint32_t count;
    uint8_t *kind;             /* [count] mv_segment_kind: LARGE or SMALL */
    mv_pool_id *pool;          /* [count] pool of each domain */
    mv_stream_id *stream;      /* [count] stream of each domain */
    mv_domain_span *same_pool; /* [count] domains of the same kind and pool */
    mv_domain_span *same_kind; /* [count] domains of the same kind */
    uint32_t *of_segment;      /* [lives.segments.count] domain of each segment */
} mv_domains;

/* Returns the pool of a domain, which is the default pool if the file contains none. */
static inline mv_pool_id mv_domain_pool(mv_pool_id pool)
{
    return pool.row == MV_NO_ROW ? MV_DEFAULT_POOL : pool;
}

/* Finds the domains. O(n log n) in the number of segments. Returns false when out of memory. */
bool mv_domains_find(mv_arena *arena, const mv_lives *lives, mv_domains *out);

/* Returns the domain of a request, or MV_NO_ROW if that domain never contained a segment. */
uint32_t mv_domain_of(const mv_domains *domains, uint8_t kind, mv_pool_id pool,
                      mv_stream_id stream);
