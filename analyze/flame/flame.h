/* The rows of flame graphs: bytes by stack; and bytes of each segment by the state of its parts,
 * then by stack.
 *
 *     memory     sum of rows = allocated at the moment
 *     segments   sum of rows = reserved at the moment: allocated, pending and free parts */
#ifndef MV_FLAME_H
#define MV_FLAME_H

#include "analyze/code/sites.h"
#include "analyze/heap/heap.h"

typedef enum {
    MV_FLAME_ALLOCATED, /* blocks */
    MV_FLAME_PENDING,   /* freed, but waiting for a stream */
    MV_FLAME_FREE,
    MV_FLAME_OTHER /* also allocated: all blocks excluded by a filter or a limit */
} mv_flame_part;

typedef struct {
    uint32_t segment;  /* row of the map; MV_NO_ROW in `memory` */
    mv_stack_id stack; /* MV_NO_STACK: not recorded, free, or other */
    uint32_t blocks;   /* number of pieces in this row */
    uint8_t part;      /* mv_flame_part */
    uint8_t side;      /* in a change: side of the stack, 0 before, 1 after; else 0 */
    bool is_less;      /* in a change: the bytes are gone; else false */
    uint64_t bytes;
} mv_flame_row;

typedef struct {
    uint32_t count;
    mv_flame_row *rows; /* [count] by segment, part, then most bytes first */
    mv_heap_map map;    /* for `segments`: addresses and sizes */
} mv_flame;

/* One row for each stack or, with `sites`, for each site, with the site's first stack. In
 * `segments`, allocations with `is_other` ([allocs.count]; NULL: none) are MV_FLAME_OTHER. O(n log
 * n). Both functions fail only when memory or row numbers run out. */
mv_code mv_flame_memory(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        const mv_sites *sites, mv_flame *out, mv_err *err);
mv_code mv_flame_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          uint32_t event, const mv_sites *sites, const uint8_t *is_other,
                          mv_flame *out, mv_err *err);

/* mv_flame_segments from an existing map of the heap after `event`. */
mv_code mv_flame_of_map(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        const mv_heap_map *map, const mv_sites *sites, const uint8_t *is_other,
                        mv_flame *out, mv_err *err);

/* Keeps the `top` allocated rows with most bytes; the other rows become MV_FLAME_OTHER, one row
 * per segment. */
void mv_flame_keep_top(mv_flame *flame, uint32_t top);

enum { MV_FLAME_TEXT = 128, MV_FLAME_PREFIX = 4 };

/* The texts before a row's stack. In `segments`: the segment with its address and bytes, its pool
 * (mv_pool_text), its stream, and the part; in `memory`: nothing, except for MV_FLAME_OTHER.
 * Returns the number of texts. */
uint32_t mv_flame_prefix(const mv_trace *trace, const mv_lives *lives, const mv_flame *flame,
                         const mv_flame_row *row, char text[MV_FLAME_PREFIX][MV_FLAME_TEXT]);

#endif
