/* Layers: the allocations of each module call, if one line calls modules repeatedly. The order of
 * the stacks is enough to find them:
 *
 *     stacks within one pass, through the line `for b in blocks: x = b(x)`
 *
 *         ln qkv attn up gelu | ln qkv attn up gelu | ln qkv attn up gelu
 *         layer 1               layer 2               layer 3
 *
 * A loop is such a line, with the lines that lead to it, inside a module call. The visits are split
 * at each recurrence of the first place, provided that every part has the places of the shortest
 * part in the same order: at least two places, or three if there are only two parts. Otherwise
 * there are no layers. Library workspaces do not belong to any call: the first of many calls
 * creates them.
 *
 * A trace does not show whether a line calls different modules or the same one for each time step:
 * both are calls. See Layers in docs/peak.md. */
#ifndef MV_LAYERS_H
#define MV_LAYERS_H

#include "analyze/peak/category.h"

typedef struct {
    mv_stack_id stack; /* a stack through the line */
    uint32_t depth;    /* number of Python frames, outermost first, that lead to the line */
    mv_frame_id line;  /* the line; if it is in torch, the line that leads to it */
    uint32_t count;    /* most calls in a single pass */
    /* [count] the range or user metadata at the start of each call in that pass (open_range.h);
     * NULL unless all are different. */
    mv_string_id *name;
    uint32_t *first; /* [count] first event of each call */
} mv_layer_loop;

/* Maximum number of loops. */
#define MV_MOST_LOOPS 1024

typedef struct {
    uint32_t loop_count;
    mv_layer_loop *loops; /* [loop_count] in order of first occurrence */
    uint32_t *loop;       /* [allocs.count] or MV_NO_ROW */
    uint32_t *index;      /* [allocs.count] number of the call within its pass, from 0 */
} mv_layers;

/* `categories` must be from the same lives. O(n log n) plus the frames of all stacks. All results
 * are in `arena`. Fails only when out of memory. */
mv_code mv_layers_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_categories *categories, mv_layers *out, mv_err *err);

#endif
