/* Makes the rows of flame graphs. A flame graph of `memory` shows bytes by stack. A flame graph of
 * `segments` shows the bytes of each segment, first by the state of the segment's parts, then by
 * stack.
 *
 *     memory     sum of rows = allocated at the given moment
 *     segments   sum of rows = reserved at the given moment: allocated, pending and free parts */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/heap/heap.h"

typedef enum {
    MV_FLAME_ALLOCATED, /* blocks */
    MV_FLAME_PENDING,   /* freed, but waiting for a stream */
    MV_FLAME_FREE,
    MV_FLAME_OTHER /* blocks that are allocated but excluded by a filter or a limit */
} mv_flame_part;

typedef struct {
    uint32_t segment;  /* row of the segment in the map; MV_NO_ROW in `memory` */
    mv_stack_id stack; /* stack of the blocks; MV_NO_STACK: not recorded, free, or other */
    uint32_t blocks;   /* number of blocks or free parts in this row */
    uint8_t part;      /* mv_flame_part */
    uint8_t side;      /* in a graph of changes: side of the stack, 0 before, 1 after; otherwise
                        * 0 */
    bool is_less;      /* in a graph of changes: the bytes were lost; otherwise false */
    uint64_t bytes;
} mv_flame_row;

typedef struct {
    uint32_t count;
    mv_flame_row *rows; /* [count] rows sorted by segment, then part, then bytes, largest first */
    mv_heap_map map;    /* for `segments`: addresses and sizes of the segments */
} mv_flame;

/* Build a flame graph with one row for each stack or, if `sites` is given, for each site with the
 * site's first stack. In `segments`, allocations with `is_other` ([allocs.count]; NULL: none) are
 * MV_FLAME_OTHER. O(n log n). Both functions fail only when memory or row numbers run out. */
mv_code mv_flame_memory(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        const mv_sites *sites, mv_flame *out, mv_err *err);
mv_code mv_flame_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          uint32_t event, const mv_sites *sites, const uint8_t *is_other,
                          mv_flame *out, mv_err *err);

/* Does the same as mv_flame_segments, but with an existing map of the heap after `event`. */
mv_code mv_flame_of_map(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        const mv_heap_map *map, const mv_sites *sites, const uint8_t *is_other,
                        mv_flame *out, mv_err *err);

/* Keeps the `top` allocated rows with the most bytes. The other rows become MV_FLAME_OTHER, one row
 * per segment. */
void mv_flame_keep_top(mv_flame *flame, uint32_t top);

enum { MV_FLAME_TEXT = 128, MV_FLAME_PREFIX = 4 };

/* Writes the labels above a row's stack. In `segments` these are the segment with its address and
 * bytes, its pool (mv_pool_text), its stream, and the part's state. In `memory` there are none,
 * except for MV_FLAME_OTHER. Returns the number of labels. */
uint32_t mv_flame_prefix(const mv_trace *trace, const mv_lives *lives, const mv_flame *flame,
                         const mv_flame_row *row, char text[MV_FLAME_PREFIX][MV_FLAME_TEXT]);
