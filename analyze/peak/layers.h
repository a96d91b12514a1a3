/* Finds layers: the allocations of each module call, if one line calls modules repeatedly. The
 * order of the stacks is enough to find the calls:
 *
 *     stacks within one pass, through the line `for b in blocks: x = b(x)`
 *
 *         ln qkv attn up gelu | ln qkv attn up gelu | ln qkv attn up gelu
 *         layer 1               layer 2               layer 3
 *
 * A loop is such a line, together with the lines that lead to it, inside a module call. The visits
 * to this line are split where the first place recurs. Every part must contain the places of the
 * shortest part in the same order, and there must be at least two such places, or three if there
 * are only two parts. Otherwise there are no layers. Library workspaces do not belong to any call,
 * because the first of many calls creates them.
 *
 * A trace does not show whether a line calls different modules or calls the same module for each
 * time step, so both count as calls. See "Layers" in docs/peak.md. */
#pragma once

#include "analyze/peak/category.h"

typedef struct {
    mv_stack_id stack; /* one of the stacks through the line */
    uint32_t depth; /* number of Python frames, counted from the outermost, that lead to the line */
    mv_frame_id line; /* the line; if it is in torch, the line that leads to torch */
    uint32_t count;   /* the most calls in a single pass */
    /* [count] for each call in that pass, the range or the user metadata at its start
     * (open_range.h); NULL unless all of them are different. */
    mv_string_id *name;
    uint32_t *first; /* [count] first event of each call in that pass */
} mv_layer_loop;

/* Maximum number of loops. */
#define MV_MOST_LOOPS 1024

typedef struct {
    uint32_t loop_count;
    mv_layer_loop *loops; /* [loop_count] sorted by first occurrence */
    uint32_t *loop;       /* [allocs.count] row of `loops`, plus 1; 0: none */
    uint32_t *index;      /* [allocs.count] number of the call within its pass, from 0 */
} mv_layers;

/* Finds the layers. `categories` must come from the same lives. All results are allocated in
 * `arena`. O(n log n) plus the number of frames in all stacks. Fails only when out of memory. */
mv_code mv_layers_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_categories *categories, mv_layers *out, mv_err *err);
