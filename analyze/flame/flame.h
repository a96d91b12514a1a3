/* What flame graphs of memory are made of: bytes by stack, and bytes of each segment by what is in
 * it and then by stack.
 *
 *     memory     sum of rows = allocated at the moment
 *     segments   sum of rows = reserved at the moment: allocated, pending and free parts */
#ifndef MV_FLAME_H
#define MV_FLAME_H

#include "analyze/code/sites.h"
#include "analyze/heap/heap.h"

typedef enum {
    MV_FLAME_ALLOCATED, /* blocks handed out */
    MV_FLAME_PENDING,   /* freed, but waiting for a stream */
    MV_FLAME_FREE,
    MV_FLAME_OTHER /* handed out too, but not told apart: what a filter or a limit leaves out */
} mv_flame_part;

typedef struct {
    uint32_t segment;  /* of the map; MV_NO_ROW in `memory` */
    mv_stack_id stack; /* MV_NO_STACK: not recorded, free, or other */
    uint32_t blocks;   /* pieces that were summed */
    uint8_t part;      /* mv_flame_part */
    uint64_t bytes;
} mv_flame_row;

typedef struct {
    uint32_t count;
    mv_flame_row *rows; /* [count] by segment, part, then most bytes first */
    mv_heap_map map;    /* of `segments`: addresses and sizes */
} mv_flame;

/* One row a stack, or with `sites` a row for stacks that differ in native frames alone (then each
 * shows the first stack of its site). In `segments`, allocations with `is_other` ([allocs.count];
 * NULL: none) are MV_FLAME_OTHER. O(n log n). Fail only for want of memory or rows. */
mv_code mv_flame_memory(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        const mv_sites *sites, mv_flame *out, mv_err *err);
mv_code mv_flame_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          uint32_t event, const mv_sites *sites, const uint8_t *is_other,
                          mv_flame *out, mv_err *err);

/* Of the allocated rows only the `top` with most bytes stay; the others are MV_FLAME_OTHER, a row a
 * segment. */
void mv_flame_keep_top(mv_flame *flame, uint32_t top);

enum { MV_FLAME_TEXT = 128, MV_FLAME_PREFIX = 4 };

/* What stands in front of a row's stack in `segments`: the segment with its address and bytes, its
 * pool, its stream, and the part; nothing in `memory`, but for what is other. Returns how many
 * texts there are. */
uint32_t mv_flame_prefix(const mv_trace *trace, const mv_lives *lives, const mv_flame *flame,
                         const mv_flame_row *row, char text[MV_FLAME_PREFIX][MV_FLAME_TEXT]);

#endif
