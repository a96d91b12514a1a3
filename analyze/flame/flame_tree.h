/* Arranges a flame graph's rows as a tree, in which each node is the sum of all rows that begin
 * with the same frames.
 *
 *     main;step;forward 4      all 7 ── main 7 ─┬─ step 6 ─┬─ forward 4
 *     main;step         2                       │          └─ (2 end here)
 *     main;save         1                       └─ save 1
 *
 * Frames with the same label and the same parent are one node, as in folded stacks. */
#pragma once

#include "analyze/flame/flame.h"

typedef enum {
    MV_FLAME_ROOT,
    MV_FLAME_PLACE, /* a segment, its pool, or its stream; only in `segments` */
    MV_FLAME_STATE, /* a state: (allocated), (waiting for a stream) and (free), only in
                     * `segments`; or (other allocations) */
    MV_FLAME_FRAME,
    MV_FLAME_NO_FRAME /* stands for a stack that has no frames to show */
} mv_flame_node_kind;

typedef struct {
    uint32_t parent;   /* row of the parent, which is earlier; MV_NO_ROW: this is the root, row 0 */
    uint32_t child;    /* the child with the most bytes; 0: no children */
    uint32_t next;     /* the parent's next child in order of bytes, largest first; 0: none */
    uint32_t depth;    /* distance from the root, which has depth 0 */
    uint8_t kind;      /* mv_flame_node_kind */
    uint8_t part;      /* for MV_FLAME_STATE: mv_flame_part */
    uint8_t side;      /* in a graph of changes: side of the frame (flame_change.h); otherwise 0 */
    mv_frame_id frame; /* for MV_FLAME_FRAME: the first frame with this label */
    const char *label;
    uint64_t bytes;  /* bytes of all rows that pass through this node */
    uint64_t less;   /* part of `bytes` that was lost (flame_change.h); otherwise 0 */
    uint64_t blocks; /* blocks of all rows that pass through this node */
} mv_flame_node;

typedef struct {
    uint32_t count; /* at least 1 */
    mv_flame_node *nodes;
    uint32_t depth;      /* depth of the deepest node */
    uint64_t unrecorded; /* bytes that are in use but have no recorded stack */
} mv_flame_tree;

/* Builds the tree. `sites` must be the sites with which the flame graph was built; NULL: show all
 * frames. `kinds` comes from mv_frame_kinds. Rows without bytes have no node. O(frames of the rows,
 * sorted). Fails only when memory or row numbers run out. */
mv_code mv_flame_tree_make(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const mv_flame *flame, const mv_sites *sites, const uint8_t *kinds,
                           mv_flame_tree *out, mv_err *err);

typedef struct {
    bool is_inverted; /* innermost frames are directly below the root, and their callers are
                       * below them */
    bool by_blocks;   /* swaps `bytes` and `blocks` of every node, so that order and widths
                       * follow the number of blocks */
} mv_flame_tree_opts;

mv_code mv_flame_tree_make_as(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_flame *flame, const mv_sites *sites, const uint8_t *kinds,
                              mv_flame_tree_opts opts, mv_flame_tree *out, mv_err *err);

/* The code on one side of a comparison. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds; /* frame kinds of the trace, from mv_frame_kinds */
    bool has_all_frames;
} mv_flame_code;

/* Does the same as mv_flame_tree_make for rows whose stacks come from `sides` traces: the stack of
 * a row belongs to code[row.side]. `lives` is needed only for rows of segments. */
mv_code mv_flame_tree_of(mv_arena *arena, const mv_flame_code *code, uint32_t sides,
                         const mv_lives *lives, const mv_flame *flame, mv_flame_tree_opts opts,
                         mv_flame_tree *out, mv_err *err);

/* A path of labels, outermost label first, and the bytes at its end. The strings belong to the
 * caller. */
typedef struct {
    const char *const *label; /* [count] */
    uint32_t count;
    uint32_t blocks;
    uint64_t bytes;
} mv_flame_path;

/* Does the same as mv_flame_tree_make for paths instead of stacks. The nodes are
 * MV_FLAME_NO_FRAME. */
mv_code mv_flame_tree_of_paths(mv_arena *arena, const mv_flame_path *paths, uint32_t count,
                               mv_flame_tree *out, mv_err *err);
