/* A flame's rows as a tree: each node is the sum of all rows that begin alike.
 *
 *     main;step;forward 4      all 7 ── main 7 ─┬─ step 6 ─┬─ forward 4
 *     main;step         2                       │          └─ (2 end here)
 *     main;save         1                       └─ save 1
 *
 * Frames with the same label are one node below the same parent, as they are in folded stacks. */
#ifndef MV_FLAME_TREE_H
#define MV_FLAME_TREE_H

#include "analyze/flame/flame.h"

typedef enum {
    MV_FLAME_ROOT,
    MV_FLAME_PLACE, /* a segment, its pool, its stream: only in `segments` */
    MV_FLAME_STATE, /* (allocated), (waiting for a stream), (free): only in `segments`;
                     * (other allocations) */
    MV_FLAME_FRAME,
    MV_FLAME_NO_FRAME /* for a stack without frames to show */
} mv_flame_node_kind;

typedef struct {
    uint32_t parent;   /* a row before this one; MV_NO_ROW: the root, which is row 0 */
    uint32_t child;    /* its child with most bytes; 0: none */
    uint32_t next;     /* the parent's next child, with as many bytes or fewer; 0: none */
    uint32_t depth;    /* 0: the root */
    uint8_t kind;      /* mv_flame_node_kind */
    uint8_t part;      /* mv_flame_part of MV_FLAME_STATE */
    uint8_t side;      /* of a change: side of the frame (flame_change.h); else 0 */
    mv_frame_id frame; /* of MV_FLAME_FRAME: the first with this label */
    const char *label;
    uint64_t bytes;  /* of all rows through this node */
    uint64_t less;   /* of these, bytes gone since before (flame_change.h); else 0 */
    uint64_t blocks; /* of all rows through this node */
} mv_flame_node;

typedef struct {
    uint32_t count; /* at least 1 */
    mv_flame_node *nodes;
    uint32_t depth;      /* of the deepest */
    uint64_t unrecorded; /* bytes in use whose stack was not recorded */
} mv_flame_tree;

/* `sites` that the flame was made with: NULL shows all frames. `kinds` from mv_frame_kinds. Rows
 * without bytes get no node. O(frames of the rows, sorted). Fails only when memory or row numbers
 * run out. */
mv_code mv_flame_tree_make(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const mv_flame *flame, const mv_sites *sites, const uint8_t *kinds,
                           mv_flame_tree *out, mv_err *err);

typedef struct {
    bool is_inverted; /* innermost frames are below the root, and their callers below them */
    bool by_blocks;   /* swaps `bytes` and `blocks` of every node, so that the order and the widths
                       * are by blocks */
} mv_flame_tree_opts;

mv_code mv_flame_tree_make_as(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_flame *flame, const mv_sites *sites, const uint8_t *kinds,
                              mv_flame_tree_opts opts, mv_flame_tree *out, mv_err *err);

/* The code of one side of a change. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds; /* of its frames, from mv_frame_kinds */
    bool has_all_frames;
} mv_flame_code;

/* The same for rows with stacks of `sides` traces: code[row.side]. `lives` is only needed for rows
 * of segments. */
mv_code mv_flame_tree_of(mv_arena *arena, const mv_flame_code *code, uint32_t sides,
                         const mv_lives *lives, const mv_flame *flame, mv_flame_tree_opts opts,
                         mv_flame_tree *out, mv_err *err);

/* Bytes below a chain of labels that the caller has, outermost first. */
typedef struct {
    const char *const *label; /* [count] */
    uint32_t count;
    uint32_t blocks;
    uint64_t bytes;
} mv_flame_path;

/* The same for paths instead of stacks: their nodes are MV_FLAME_NO_FRAME. */
mv_code mv_flame_tree_of_paths(mv_arena *arena, const mv_flame_path *paths, uint32_t count,
                               mv_flame_tree *out, mv_err *err);

#endif
