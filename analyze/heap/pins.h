/* The blocks that pin free memory, and their lines of code: blocks next to holes that can neither
 * be returned to the device nor grow.
 *
 *     segment   ├ a ─┤░░░░ hole 1 ░░░░├ b ┤░░ hole 2 ░░┤        (░: stranded bytes)
 *               a strands 1/2 hole 1;  b strands 1/2 hole 1 + hole 2
 *
 * Each hole is split between its two neighbours, or belongs to its only neighbour; so stranded
 * bytes add up to the totals of segments and heap. Blocks of one line (a group of mv_sites) in one
 * segment are one row of that segment. */
#ifndef MV_PINS_H
#define MV_PINS_H

#include "analyze/code/sites.h"
#include "analyze/heap/heap.h"

typedef struct {
    uint64_t stranded; /* bytes of holes next to the row's blocks */
    uint64_t bytes;    /* bytes of the row's blocks */
    uint32_t blocks;
    uint32_t segments; /* number of pinned segments */
    uint32_t oldest;   /* birth of the oldest block, or MV_BEFORE */
    mv_stack_id stack; /* stack of the largest block */
    uint64_t largest;  /* size of the largest block */
    uint32_t group;    /* of mv_sites */
} mv_pin;

typedef struct {
    uint32_t segment;         /* row of mv_heap_map */
    uint64_t stranded;        /* free bytes that cannot be returned while these blocks live */
    uint32_t first_pin, pins; /* rows of mv_pins.pins: most stranded first */
} mv_stranded;

/* A block that pins memory. */
typedef struct {
    uint32_t group; /* of mv_sites */
    uint32_t row;   /* of lives->allocs */
} mv_pin_block;

typedef struct {
    uint64_t stranded; /* bytes in total */
    uint32_t segment_count;
    mv_stranded *segments; /* [segment_count] segments with stranded bytes; largest first */
    mv_pin *pins;          /* pins of all segments */
    uint32_t line_count;
    mv_pin *lines; /* [line_count] one per line of code for the whole heap, most stranded first */
    uint32_t block_count;
    mv_pin_block *blocks; /* [block_count] blocks of all lines, by segment and address */
} mv_pins;

/* The age of a line's oldest block in events, after `event`, which may be MV_BEFORE. For blocks
 * from before the first event, all events so far. */
static inline uint64_t mv_pin_age(const mv_pin *pin, uint32_t event)
{
    return (uint64_t)(uint32_t)(event + 1) - (uint32_t)(pin->oldest + 1);
}

/* Pins in one domain; MV_NO_ROW: in all. O(n log n) in the map. Fails only when out of memory. */
mv_code mv_pins_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                     const mv_sites *sites, uint32_t domain, mv_pins *out, mv_err *err);

#endif
