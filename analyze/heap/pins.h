/* Finds the blocks that pin free memory, and their lines of code. A block pins the holes next to
 * it, because these can neither be returned to the device nor grow.
 *
 *     segment   ├ a ─┤░░░░ hole 1 ░░░░├ b ┤░░ hole 2 ░░┤        (░: stranded bytes)
 *               a strands 1/2 hole 1;  b strands 1/2 hole 1 + hole 2
 *
 * Each hole is split between its two neighbours, or belongs to its only neighbour, so the stranded
 * bytes add up to the totals of the segments and of the heap. All blocks of one line (a group of
 * mv_sites) in the same segment are one row of this segment. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/heap/heap.h"

typedef struct {
    uint64_t stranded; /* bytes of holes next to the row's blocks */
    uint64_t bytes;    /* bytes of the row's blocks */
    uint32_t blocks;
    uint32_t segments; /* number of segments that the blocks pin */
    uint32_t oldest;   /* birth of the row's oldest block, or MV_BEFORE */
    mv_stack_id stack; /* stack of the row's largest block */
    uint64_t largest;  /* size of the row's largest block */
    uint32_t group;    /* group of mv_sites */
} mv_pin;

typedef struct {
    uint32_t segment;         /* row of mv_heap_map */
    uint64_t stranded;        /* free bytes that cannot be returned to the device while these blocks
                               * are alive */
    uint32_t first_pin, pins; /* rows of mv_pins.pins, sorted by stranded bytes, largest first */
} mv_stranded;

/* A block that pins memory. */
typedef struct {
    uint32_t group; /* group of mv_sites */
    uint32_t row;   /* row of lives->allocs */
} mv_pin_block;

typedef struct {
    uint64_t stranded; /* stranded bytes in total */
    uint32_t segment_count;
    mv_stranded *segments; /* [segment_count] segments with stranded bytes, sorted by these, largest
                            * first */
    mv_pin *pins;          /* pins of all segments */
    uint32_t line_count;
    mv_pin *lines; /* [line_count] one row per line of code for the whole heap, sorted by stranded
                    * bytes, largest first */
    uint32_t block_count;
    mv_pin_block *blocks; /* [block_count] blocks of all lines, sorted by segment and address */
} mv_pins;

/* Returns the age of a line's oldest block in events, after `event`, which may be MV_BEFORE. For a
 * block from before the first event, this is the number of all events so far. */
static inline uint64_t mv_pin_age(const mv_pin *pin, uint32_t event)
{
    return (uint64_t)(uint32_t)(event + 1) - (uint32_t)(pin->oldest + 1);
}

/* Adds an allocation, of which `size` bytes count, to a row: everything but what it pins. */
void mv_pin_add(mv_pin *pin, const mv_alloc_lives *allocs, uint32_t row, uint64_t size);

/* Finds the pins in one domain, or in all domains if `domain` is MV_NO_ROW. O(n log n) in the size
 * of the map. Fails only when out of memory. */
mv_code mv_pins_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                     const mv_sites *sites, uint32_t domain, mv_pins *out, mv_err *err);
