/* Keeps track of the holes of one device's heap while the heap changes. Holes are the free bytes
 * between used blocks, as the caching allocator treats them: neighbouring free blocks merge, even
 * across two pieces of an expandable segment, but never from one cudaMalloc to another.
 *
 *     run      ├─ used ─┤░░ hole ░░├ used ┤░░░░░░ hole ░░░░░░┤
 *     ranks    0        .          1      .                  2
 *
 * A hole belongs to the block on its left or, if there is none, to the start of the run.
 *
 * Addresses are ranks of mv_address_ranks, and segments are rows of mv_segment_lives. All
 * operations are O(log n). The largest hole in any range of domains is known at all times. */
#pragma once

#include "analyze/heap/domains.h"
#include "analyze/lives/address_ranks.h"
#include "analyze/lives/ranges.h"
#include "analyze/replay/gaps.h"

/* A tournament tree, which finds the maximum of any range of values while the values change. */
typedef struct {
    uint32_t leaves; /* number of leaves, a power of two; all values are initially 0 */
    uint64_t *node;  /* [2 * leaves] node i is the larger of nodes 2i and 2i + 1; the leaves are the
                      * second half */
} mv_maxtree;

typedef struct {
    const mv_lives *lives;
    const mv_address_ranks *ranks;
    const mv_domains *domains;
    mv_ranges held;        /* segments that are held; `row` is a row of lives->segments */
    mv_rankset walls;      /* starts of runs. A run is one cudaMalloc, or several adjacent pieces */
    mv_rankset ends;       /* ends of runs */
    mv_rankset used;       /* starts of used blocks */
    uint64_t *used_end;    /* [ranks] end address of the used block that starts here */
    uint32_t *used_row;    /* [ranks] row in lives->allocs of the used block that starts here */
    mv_maxtree by_rank;    /* for each rank, the size of the hole after the block or run that starts
                            * there */
    mv_maxtree by_segment; /* [segments] size of the largest hole that starts in each segment, in
                            * `order` */
    uint32_t *order; /* [segments] index of each segment in by_segment, which is sorted by domain */
    uint32_t *first; /* [domains + 1] index in by_segment at which each domain begins */
    uint64_t *free;  /* [domains] bytes in holes in each domain */
    uint64_t free_all;     /* bytes in holes in all domains */
    mv_gaps *by_size;      /* [domains] distinct sizes of holes. The owner of a size is the number
                            * of holes that have it. NULL unless mv_holes_order_sizes was called */
    bool is_missing_sizes; /* a size is missing because memory ran out */
} mv_holes;

/* Initializes holes with no segment held. All three arguments must outlive the holes. Returns false
 * when out of memory. */
bool mv_holes_init(mv_arena *arena, const mv_lives *lives, const mv_address_ranks *ranks,
                   const mv_domains *domains, mv_holes *out);

/* Sorts the sizes of holes; must be called before mv_holes_least. Returns false when out of memory;
 * a later failure sets `is_missing_sizes`. */
bool mv_holes_order_sizes(mv_arena *arena, mv_holes *holes);

/* Update the holes when a segment row begins or ends. The row's used blocks must be cleared before
 * it ends. */
void mv_holes_hold(mv_holes *holes, uint32_t segment);
void mv_holes_unhold(mv_holes *holes, uint32_t segment);

/* Update the holes when a row of lives->allocs at `rank` starts or stops using its bytes.
 * mv_holes_clear does nothing for a row that is not there. */
void mv_holes_fill(mv_holes *holes, uint32_t rank, uint32_t row);
void mv_holes_clear(mv_holes *holes, uint32_t rank, uint32_t row);

/* Returns the size of the largest hole in the domains of `span`. */
uint64_t mv_holes_largest(const mv_holes *holes, mv_domain_span span);

/* Returns the size of the smallest hole of at least `bytes` (> 0) in a domain; 0 if there is none.
 * Only allowed after mv_holes_order_sizes. */
uint64_t mv_holes_least(const mv_holes *holes, uint32_t domain, uint64_t bytes);

/* Returns the size of the hole that contains the address of `rank`; 0 if there is none. */
uint64_t mv_holes_around(const mv_holes *holes, uint32_t rank);

/* Returns the end of the run that starts at `wall`. */
static inline uint32_t mv_holes_run_end(const mv_holes *holes, uint32_t wall)
{
    return mv_rankset_next(&holes->ends, wall + 1);
}
