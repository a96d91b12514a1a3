/* Layers: the allocations of each module call, if one line calls modules repeatedly. The order of
 * the calls is sufficient:
 *
 *     stacks within one pass, through the line `for b in blocks: x = b(x)`
 *
 *         ln qkv attn up gelu | ln qkv attn up gelu | ln qkv attn up gelu
 *         layer 1               layer 2               layer 3
 *
 * A loop is such a line, with the lines that lead to it, inside a module's call. Its calls are
 * split at each recurrence of the first place, and only if every part has the places of the
 * shortest part in the same order: at least two places, and three if there are only two parts.
 * Otherwise there are no layers. Workspaces of libraries belong to no call: the first of many
 * creates them.
 *
 * A trace does not show whether a line calls different modules or the same one for each time step:
 * both are calls. See Layers in docs/peak.md. */
#ifndef MV_LAYERS_H
#define MV_LAYERS_H

#include "analyze/peak/category.h"

typedef struct {
    mv_stack_id stack; /* a stack through the line */
    uint32_t depth;    /* number of its Python frames, outermost first, that lead to the line */
    mv_frame_id line;  /* the line; if it is one of torch, the line that leads to it */
    uint32_t count;    /* most calls in a pass */
    /* [count] the range or user metadata at the start of each call of that pass (open_range.h), if
     * all are different; NULL: they are not. */
    mv_string_id *name;
    uint32_t *first; /* [count] its first event */
} mv_layer_loop;

/* Most loops that are distinguished. */
#define MV_MOST_LOOPS 1024

typedef struct {
    uint32_t loop_count;
    mv_layer_loop *loops; /* [loop_count] in order of first occurrence */
    uint32_t *loop;       /* [allocs.count] or MV_NO_ROW */
    uint32_t *index;      /* [allocs.count] of the call within its pass, from 0 */
} mv_layers;

/* `categories` of the same lives. O(n log n), and the frames of all stacks. Everything returned
 * lives in `arena`. Fails only when out of memory. */
mv_code mv_layers_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_categories *categories, mv_layers *out, mv_err *err);

#endif
