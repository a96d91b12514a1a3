/* Layers: which allocations belong to which call of a module, where one line calls modules again
 * and again. The order of the calls shows it, and nothing else is needed:
 *
 *     stacks within one pass, through the line `for b in blocks: x = b(x)`
 *
 *         ln qkv attn up gelu | ln qkv attn up gelu | ln qkv attn up gelu
 *         layer 1               layer 2               layer 3
 *
 * A loop is such a line, with the lines that lead to it, inside a module's call. What it calls is
 * split where its first place recurs, and only if every part has the places of the shortest part in
 * the same order: two places at least, and three where there are but two parts. Else nothing is
 * claimed. Workspaces of libraries belong to no call: the first of many makes them.
 *
 * A trace does not show whether a line calls one module after the other or the same one for each
 * time step: both are calls. docs/peak.md, Layers, says more. */
#ifndef MV_LAYERS_H
#define MV_LAYERS_H

#include "analyze/peak/category.h"

typedef struct {
    mv_stack_id stack; /* a stack through the line */
    uint32_t depth;    /* how many of its Python frames, outermost first, lead to the line */
    mv_frame_id line;  /* the line; if that is one of torch, the one that leads to it */
    uint32_t count;    /* most calls in a pass */
    /* [count] the range or the user's metadata in which each call of that pass begins
     * (open_range.h), if no two are the same; NULL: they are not told apart so. */
    mv_string_id *name;
    uint32_t *first; /* [count] its first event */
} mv_layer_loop;

/* Most loops that are told apart. */
#define MV_MOST_LOOPS 1024

typedef struct {
    uint32_t loop_count;
    mv_layer_loop *loops; /* [loop_count] in the order in which they are first seen */
    uint32_t *loop;       /* [allocs.count] or MV_NO_ROW */
    uint32_t *index;      /* [allocs.count] of the call within its pass, from 0 */
} mv_layers;

/* `categories` of the same lives. O(n log n), and the frames of all stacks. Everything returned
 * lives in `arena`. Fails only when memory is out. */
mv_code mv_layers_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_categories *categories, mv_layers *out, mv_err *err);

#endif
