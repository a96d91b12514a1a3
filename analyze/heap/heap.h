/* Follows the heap of one device event by event. The heap contains the reserved, allocated, pending
 * and free bytes of each domain, and the holes, at the current moment.
 *
 *     reserved = allocated + pending + free + unexplained
 *
 * This is true for each domain and in total, to the byte. `unexplained` is 0 unless the trace
 * contradicts itself, which is the case if blocks overlap or are outside all segments; see `doubts`
 * in analyze/lives/lives.h.
 *
 *     mv_heap_init(arena, trace, lives, &heap, err);       before the first event
 *     while (mv_heap_next(&heap))                          after event heap.event
 *         ... mv_heap_total(&heap), mv_holes_largest(&heap.now, span) ...
 *     mv_heap_map_make(arena, &heap, &map, err);           its segments, blocks and holes
 * */
#pragma once

#include "analyze/heap/holes.h"
#include "analyze/totals/level_steps.h"

typedef struct {
    uint64_t reserved;  /* bytes in segments */
    uint64_t allocated; /* bytes in allocated blocks */
    uint64_t pending;   /* bytes in freed blocks that a stream may still use */
    uint64_t rounding;  /* the part of `allocated` and `pending` that was not requested */
    uint64_t free;      /* bytes in holes */
} mv_heap_sums;

static inline int64_t mv_heap_unexplained(const mv_heap_sums *sums)
{
    return (int64_t)(sums->reserved - sums->allocated - sums->pending - sums->free);
}

typedef struct {
    const mv_lives *lives;
    mv_address_ranks ranks;
    mv_domains domains;
    mv_level_steps steps;
    uint32_t event;   /* event before the moment; MV_BEFORE: the moment is before the first event */
    mv_holes now;     /* holes that requests can use */
    mv_holes settled; /* holes as they would be if no free were pending; only if `defers`, see
                       * mv_heap_settled */
    bool defers;      /* some frees in the trace wait for a stream */
    mv_heap_sums all; /* sums over the whole heap, without `free`: use mv_heap_total */
    mv_heap_sums *of; /* [domains.count] sums of each domain, without `free`: use mv_heap_domain */
} mv_heap;

/* Returns the sums of the whole heap, including blocks outside all segments; mv_heap_domain returns
 * the sums of one domain. */
static inline mv_heap_sums mv_heap_total(const mv_heap *heap)
{
    mv_heap_sums sums = heap->all;

    sums.free = heap->now.free_all;
    return sums;
}

static inline mv_heap_sums mv_heap_domain(const mv_heap *heap, uint32_t domain)
{
    mv_heap_sums sums = heap->of[domain];

    sums.free = heap->now.free[domain];
    return sums;
}

/* Returns the holes as they would be if no free were pending. */
static inline const mv_holes *mv_heap_settled(const mv_heap *heap)
{
    return heap->defers ? &heap->settled : &heap->now;
}

/* Makes the heap before the first event. All memory is allocated in `arena`; trace and lives must
 * outlive the heap. O(n log n). Fails only when memory (MV_NOMEM) or row numbers (MV_LIMIT) run
 * out. */
mv_code mv_heap_init(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_heap *out,
                     mv_err *err);

/* Moves the heap past the next event; returns false if there is none. */
bool mv_heap_next(mv_heap *heap);

/* Moves the heap forward past `event`; does nothing if the heap is already there or later. Blocks
 * that are both born and freed on the way cost almost nothing. */
void mv_heap_advance(mv_heap *heap, uint32_t event);

/* The heap as a list of segments. A segment is a run, which is one cudaMalloc, or adjacent pieces
 * of an expandable segment, as in snapshots. The pieces of a segment cover it completely. */
typedef struct {
    uint32_t count;        /* number of segments, which are sorted by address */
    uint64_t *addr;        /* [count] */
    uint64_t *size;        /* [count] */
    uint64_t *free;        /* [count] bytes in holes */
    uint64_t *whole;       /* [count] bytes of `free` that could be returned to the device: all
                            * bytes of an unused segment, or the free pages of an expandable one */
    uint32_t *segment;     /* [count] first row of lives->segments */
    uint32_t *first_piece; /* [count + 1] first piece of each segment */
    uint64_t *piece_addr;  /* [first_piece[count]] */
    uint64_t *piece_size;  /* [first_piece[count]] */
    uint64_t *piece_whole; /* [first_piece[count]] for a hole, how many of its bytes are part of
                            * `whole` */
    uint32_t *piece_row;   /* [first_piece[count]] row of lives->allocs; MV_NO_ROW: a hole */
} mv_heap_map;

/* Returns the number of bytes in whole pages between `low`, which is inside a row of expandable
 * memory, and `high` or the row's end. Pages are counted from the start of the row, because it was
 * mapped as a whole. */
uint64_t mv_segment_whole_pages(const mv_segment_lives *segments, uint32_t row, uint64_t low,
                                uint64_t high);

/* Allocates a map with this number of segments and pieces, which the caller fills. Returns false
 * when out of memory. */
bool mv_heap_map_init(mv_arena *arena, uint64_t segments, uint64_t pieces, mv_heap_map *map);

/* Makes the map. O(segments and blocks held). Fails only when out of memory. */
mv_code mv_heap_map_make(mv_arena *arena, const mv_heap *heap, mv_heap_map *out, mv_err *err);
