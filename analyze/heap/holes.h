/* The free holes of one device's heap while it changes: the bytes between used blocks, as the
 * caching allocator sees them (free neighbours merge, also from one piece of an expandable
 * segment into the next, but never from one cudaMalloc to another).
 *
 *     run      ├─ used ─┤░░ hole ░░├ used ┤░░░░░░ hole ░░░░░░┤
 *     ranks    0        .          1      .                  2
 *
 * A hole belongs to its left neighbour, or to the start of the run.
 *
 * Addresses are ranks of mv_address_ranks, segments are rows of mv_segment_lives. All operations
 * are O(log n); the largest hole of any range of domains is known at all times. */
#ifndef MV_HOLES_H
#define MV_HOLES_H

#include "analyze/heap/domains.h"
#include "analyze/lives/address_ranks.h"
#include "analyze/lives/ranges.h"
#include "analyze/replay/gaps.h"

/* The maximum of many changing numbers, and of any range of them: a tournament tree. */
typedef struct {
    uint32_t count;  /* numbers 0 to count - 1, initially 0 */
    uint32_t leaves; /* a power of two */
    uint64_t *node;  /* [2 * leaves] node i is the larger of nodes 2i and 2i + 1; the second half
                      * are the leaves */
} mv_maxtree;

typedef struct {
    const mv_lives *lives;
    const mv_address_ranks *ranks;
    const mv_domains *domains;
    mv_ranges held;        /* segments held; `row` is of lives->segments */
    mv_rankset walls;      /* where runs start: a cudaMalloc, or pieces that touch */
    mv_rankset ends;       /* where runs end */
    mv_rankset used;       /* where used blocks start */
    uint64_t *used_end;    /* [ranks] end address of the used block */
    uint32_t *used_row;    /* [ranks] its row of lives->allocs */
    mv_maxtree by_rank;    /* size of the hole after the block or run at a rank */
    mv_maxtree by_segment; /* [segments] largest hole that starts in the segment, in `order` */
    uint32_t *order;       /* [segments] position of a segment in by_segment, sorted by domain */
    uint32_t *first;       /* [domains + 1] where each domain begins in by_segment */
    uint64_t *free;        /* [domains] bytes in holes */
    uint64_t free_all;     /* in all domains */
    mv_gaps *by_size;      /* [domains] distinct sizes of holes; owner: the number of such holes.
                            * NULL unless mv_holes_order_sizes was called */
    bool is_missing_sizes; /* a size is missing: out of memory */
} mv_holes;

/* Starts with nothing held. All three arguments must outlive the holes. False when out
 * of memory. */
bool mv_holes_init(mv_arena *arena, const mv_lives *lives, const mv_address_ranks *ranks,
                   const mv_domains *domains, mv_holes *out);

/* Must be called before mv_holes_least. False when out of memory; later failures
 * set `is_missing_sizes`. */
bool mv_holes_order_sizes(mv_arena *arena, mv_holes *holes);

/* A segment row begins or ends. Clear its used blocks before the end. */
void mv_holes_hold(mv_holes *holes, uint32_t segment);
void mv_holes_unhold(mv_holes *holes, uint32_t segment);

/* A row of lives->allocs at `rank` begins or stops using its bytes. Stopping an absent row
 * does nothing. */
void mv_holes_fill(mv_holes *holes, uint32_t rank, uint32_t row);
void mv_holes_clear(mv_holes *holes, uint32_t rank, uint32_t row);

/* The largest hole of the domains in `span`. */
uint64_t mv_holes_largest(const mv_holes *holes, mv_domain_span span);

/* The smallest hole of at least `bytes` (> 0) in a domain; 0 if there is none. Only
 * after mv_holes_order_sizes. */
uint64_t mv_holes_least(const mv_holes *holes, uint32_t domain, uint64_t bytes);

/* The size of the hole that covers the address of `rank`; 0 if there is none. */
uint64_t mv_holes_around(const mv_holes *holes, uint32_t rank);

/* The end of the run that starts at `wall`. */
static inline uint32_t mv_holes_run_end(const mv_holes *holes, uint32_t wall)
{
    return mv_rankset_next(&holes->ends, wall + 1);
}

#endif
